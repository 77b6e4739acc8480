//! The WD6400AAKS of the catalog against what was published about it (steve8's
//! blog, 2008-07-25), and the disk model against closed forms.

use crate::support;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, drive, random_iops, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_sim::Specification;
use fourcorners_workload::Operation::{Read, Write};
use fourcorners_workload::{Operation, Pattern, Stream};

const UNCACHED: [(&str, &str); 1] = [("cache.write_back", "false")];

fn disk() -> SimulatedDrive {
    drive("wd6400aaks", &[])
}

/// MiB/s of sequential requests from `offset` on.
fn sequential_rate(
    drive: &mut SimulatedDrive,
    operation: Operation,
    block: u64,
    depth: u32,
    offset: u64,
) -> f64 {
    let mut sequential = workload(operation, Pattern::Sequential, block, depth);
    sequential.streams[0].offset_bytes = offset / block * block;
    // Long enough that what the cache holds at the end does not count.
    sequential.ramp_ns = 2 * SECOND_NS;
    sequential.stop.time_ns = Some(8 * SECOND_NS);
    let recording = run(drive, &sequential);
    let bytes = recording.operations[operation.index()].bytes;
    bytes as f64 / MIB as f64 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn small_random_requests() {
    let iops = random_iops(&mut disk(), Read, 512, 1, 2000);
    assert_within("random reads", iops, 77.77, 1.0);
    for depth in [1, 4, 32, 256] {
        let iops = random_iops(&mut disk(), Write, 512, depth, 1000);
        assert_within("random writes, cache on", iops, 143.0, 1.0);
    }
    let iops = random_iops(&mut drive("wd6400aaks", &UNCACHED), Write, 512, 1, 2000);
    assert_within("random writes, cache off", iops, 58.6, 1.0);
}

#[test]
fn large_random_requests() {
    for operation in [Read, Write] {
        let rate = 512.0 * random_iops(&mut disk(), operation, 512 * MIB, 1, 40_000);
        assert_within("512 MiB random requests", rate, 85.0, 1.0);
    }
}

#[test]
fn random_requests_gain_with_queue_depth_but_not_cached_writes() {
    let depths = [1, 2, 4, 8, 16, 32];
    for (settings, operation) in [(&[][..], Read), (&UNCACHED[..], Write)] {
        let iops: Vec<f64> = depths
            .iter()
            .map(|&depth| {
                random_iops(&mut drive("wd6400aaks", settings), operation, 64 * KIB, depth, 100)
            })
            .collect();
        println!("{operation:?} {iops:.1?}");
        assert!(iops.windows(2).all(|pair| pair[1] > pair[0] * 0.99), "{iops:?}");
        assert!(iops[5] > 1.8 * iops[0], "{iops:?}");
    }
    let cached = |depth| random_iops(&mut disk(), Write, 64 * KIB, depth, 100);
    assert_within("cached writes at depth 32 to 1", cached(32), cached(1), 2.0);
}

#[test]
fn sequential_requests_run_at_the_rate_of_their_zone() {
    let capacity = disk().capacity_bytes();
    for place in [0.02f64, 0.3, 0.6, 0.97] {
        // Capacity grows with the square of the radius, the rate with the
        // radius: v(x) = sqrt(vo^2 - x (vo^2 - vi^2)).
        let (outer, inner) = (113.6f64, 56.8f64);
        let expected = (outer * outer - place * (outer * outer - inner * inner)).sqrt();
        let offset = (place * capacity as f64) as u64;
        for (operation, block, depth) in [
            (Read, 64 * KIB, 1),
            (Read, 128 * KIB, 4),
            (Read, 8 * MIB, 1),
            (Write, 64 * KIB, 1),
            (Write, 128 * KIB, 32),
            (Write, 8 * MIB, 2),
        ] {
            let rate = sequential_rate(&mut disk(), operation, block, depth, offset);
            // A zone's rate is its middle's, and a zone is 1/16 of the way.
            assert_within(&format!("{operation:?} {block} at {place}"), rate, expected, 3.0);
        }
    }
}

#[test]
fn small_sequential_requests_are_streamed() {
    let overhead_ns = 50_000.0 + 6_850.0;
    let expected = 1e9 / (overhead_ns + 4096.0 / 0.3) * 4096.0 / MIB as f64;
    for operation in [Read, Write] {
        let rate = sequential_rate(&mut disk(), operation, 4 * KIB, 1, 0);
        assert!(rate > 0.9 * expected && rate < 1.15 * expected, "{operation:?} {rate} {expected}");
    }
}

/// A disk's parameters, times in seconds.
struct Disk {
    /// Sectors of a track in each zone, as geometry has it: rates fall linearly
    /// from zone to zone, and a track takes a turn and, on the average of a
    /// cylinder, the switch to the next.
    zones: Vec<f64>,
    turn_s: f64,
    track_s: f64,
    seek_base_s: f64,
    seek_stroke_s: f64,
    /// Per read that needs the mechanism.
    overhead_s: f64,
}

fn parameters(text: &str, settings: &[(&str, &str)]) -> Disk {
    let owned: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let Ok(Specification::Disk(_, disk)) = Specification::parse(text, &owned) else {
        panic!("the file is a disk's");
    };
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let (outer, inner) = (disk.geometry.outer_rate.0 as f64, disk.geometry.inner_rate.0 as f64);
    let turn_s = 60.0 / f64::from(disk.geometry.rotation_rpm.value);
    let heads = f64::from(disk.geometry.heads.value);
    let switches_s =
        seconds(disk.seek.track_switch.0) + (heads - 1.0) * seconds(disk.seek.head_switch_ns());
    let track_s = turn_s + switches_s / heads;
    let zones = disk.geometry.zones.value;
    let sectors = |zone: u32| {
        let inwards = (f64::from(zone) + 0.5) / f64::from(zones);
        ((outer - inwards * (outer - inner)) * track_s / 512.0).round()
    };
    let controller = &disk.controller;
    Disk {
        zones: (0..zones).map(sectors).collect(),
        turn_s,
        track_s,
        seek_base_s: seconds(disk.seek.base.0),
        seek_stroke_s: seconds(disk.seek.stroke.0),
        overhead_s: seconds(
            disk.host.overhead.0 + controller.command_overhead.0 + controller.access_overhead.0,
        ),
    }
}

/// Mean of `sqrt(d)` over pairs of uniform addresses, d being the distance of
/// their cylinders as a fraction of all. Cylinders hold data in proportion to
/// their zone's sectors.
fn mean_root_distance(zones: &[f64]) -> f64 {
    // Integrals of sqrt|x - y| over the unit squares of two zones: the second
    // difference of (4/15) |x - y|^(5/2).
    let integral = |distance: f64| 4.0 / 15.0 * distance.abs().powf(2.5);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, a) in zones.iter().enumerate() {
        for (j, b) in zones.iter().enumerate() {
            let apart = i as f64 - j as f64;
            let mean = integral(apart + 1.0) + integral(apart - 1.0) - 2.0 * integral(apart);
            sum += a * b * mean;
            weights += a * b;
        }
    }
    sum / weights / (zones.len() as f64).sqrt()
}

/// The disks of the catalog, and variations: name, drive, parameters.
fn disks() -> Vec<(String, SimulatedDrive, Disk)> {
    let variation = [
        ("host.overhead", "10 us"),
        ("geometry.zones", "64"),
        ("geometry.outer_rate", "120 MB/s"),
        ("geometry.inner_rate", "50 MB/s"),
        ("geometry.rotation_rpm", "5400"),
        ("seek.base", "1 ms"),
        ("seek.stroke", "17 ms"),
        ("controller.command_overhead", "20 us"),
        ("controller.access_overhead", "400 us"),
    ];
    let fast = [
        ("geometry.rotation_rpm", "15000"),
        ("geometry.heads", "8"),
        ("capacity.user", "300 GB"),
        ("seek.base", "0.5 ms"),
        ("seek.stroke", "6 ms"),
        ("seek.track_switch", "0.4 ms"),
        ("seek.head_switch", "0.9 ms"),
    ];
    let folder = format!("{}/../../fourcorners/catalog/drives", env!("CARGO_MANIFEST_DIR"));
    let mut disks = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string();
        let text = support::drive_file(&name);
        for settings in [&[][..], &variation, &fast] {
            if text.contains("kind = \"disk\"") {
                let what = format!("{name}, {} settings", settings.len());
                disks.push((what, drive(&name, settings), parameters(&text, settings)));
            }
        }
    }
    disks
}

#[test]
fn mean_access_is_seek_and_half_a_turn_and_overhead() {
    for (name, mut drive, disk) in disks() {
        let iops = random_iops(&mut drive, Read, 512, 1, 3000);
        let seek_s = disk.seek_base_s + disk.seek_stroke_s * mean_root_distance(&disk.zones);
        let sectors = disk.zones.iter().sum::<f64>() / disk.zones.len() as f64;
        let expected_s = seek_s + disk.turn_s * (0.5 + 1.0 / sectors) + disk.overhead_s;
        assert_within(&format!("{name}: access in ms"), 1e3 / iops, expected_s * 1e3, 0.5);
    }
}

#[test]
fn the_rate_of_each_zone_is_that_of_its_tracks() {
    for (name, mut drive, disk) in disks() {
        let all: f64 = disk.zones.iter().sum();
        for (index, sectors) in disk.zones.iter().enumerate().step_by(3) {
            // From a quarter of the zone on; ten seconds stay well inside.
            let before = disk.zones[..index].iter().sum::<f64>() + 0.25 * sectors;
            let offset = (before / all * drive.capacity_bytes() as f64) as u64;
            let expected = sectors * 512.0 / disk.track_s / MIB as f64;
            for (block, depth) in [(128 * KIB, 4), (8 * MIB, 1)] {
                let rate = sequential_rate(&mut drive, Read, block, depth, offset);
                assert_within(&format!("{name}: zone {index}, {block} B"), rate, expected, 0.5);
            }
        }
    }
}

#[test]
fn a_whole_sequential_fill_takes_the_harmonic_mean_rate() {
    let mut disk = disk();
    let started = std::time::Instant::now();
    let recording = support::fill(&mut disk);
    println!("wall time of the fill: {:?}", started.elapsed());
    let rate = disk.capacity_bytes() as f64 / MIB as f64 / (recording.elapsed_ns as f64 * 1e-9);
    assert_within("fill", rate, (113.6 + 56.8) / 2.0, 0.2);
}

#[test]
fn a_host_elevator_makes_up_for_the_cache() {
    // core: with the cache off, 256 outstanding writes of 64 KB (16 MB, the
    // size of the cache) equal the cached result. The drive's queue of 32 alone
    // has fewer to choose from than the cache's 64 places.
    let uncached = |window, depth| {
        let settings = [("cache.write_back", "false"), ("host.elevator_window", window)];
        random_iops(&mut drive("wd6400aaks", &settings), Write, 64 * KIB, depth, 400)
    };
    let cached = random_iops(&mut disk(), Write, 64 * KIB, 256, 400);
    assert_within("64 to choose from", uncached("64", 256), cached, 2.0);
    assert!(uncached("1", 256) < 0.95 * cached);
    assert!(uncached("1", 256) < uncached("16", 256) && uncached("64", 256) < uncached("224", 256));
    assert_eq!(uncached("64", 32), uncached("1", 32), "nothing waits at the host");
}

#[test]
fn a_stream_lets_no_command_wait_beyond_the_age_limit() {
    // What continues the transfer that ends needs no positioning, for as long as commands come.
    let longest_ns = |age_limit| {
        let mut disk = drive("wd6400aaks", &[("controller.age_limit", age_limit)]);
        let mut both = workload(Read, Pattern::Sequential, 128 * KIB, 16);
        both.streams[0].span_bytes = Some(100_000 * MIB);
        let elsewhere = workload(Read, Pattern::Random, 4 * KIB, 1).streams.remove(0);
        both.streams.push(Stream { offset_bytes: 300_000 * MIB, ..elsewhere });
        both.stop.time_ns = Some(6 * SECOND_NS);
        let latencies = &run(&mut disk, &both).operations[Read.index()].latencies;
        latencies.max_ns().unwrap()
    };
    assert!(longest_ns("1 h") > 5 * SECOND_NS);
    assert!((SECOND_NS..SECOND_NS * 11 / 10).contains(&longest_ns("1 s")));
}

#[test]
fn reads_that_follow_one_another_are_served_from_the_first_one_on() {
    // The arm comes from elsewhere, and one in the midst of the 32 would come under it first.
    let mut disk = disk();
    random_iops(&mut disk, Read, 512, 1, 10);
    let mut sequential = workload(Read, Pattern::Sequential, 128 * KIB, 32);
    sequential.stop.time_ns = Some(2 * SECOND_NS);
    let latencies = &run(&mut disk, &sequential).operations[Read.index()].latencies;
    assert!(latencies.max_ns().unwrap() < SECOND_NS / 10);
}
