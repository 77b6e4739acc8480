//! Laws of queues: Little's, and the closed network of dies.

use crate::support;
use crate::support::arrays::array;
use crate::support::{
    GB, KIB, MIB, SECOND_NS, assert_within, drive, fill_8_gb, log_block_file, only_dies, run,
    workload,
};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Content, Operation, Pattern};
use std::collections::HashMap;

/// All drives of the catalog, and kinds that the catalog has none of.
fn every_drive() -> Vec<(String, SimulatedDrive)> {
    let folder = format!("{}/../../fourcorners/catalog/drives", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    let mut drives: Vec<(String, SimulatedDrive)> =
        names.into_iter().map(|name| (name.clone(), drive(&name, &[]))).collect();
    drives.push(("log blocks".into(), support::drive_of(&log_block_file(), &[])));
    drives.push(("array".into(), array("intel-x25-m-g2-80gb", 3, &[])));
    drives
}

/// I/Os per second times mean latency: a queue depth by the sums of latencies.
fn depth_by_latency(recording: &Recording) -> f64 {
    let sum_ns: u128 = recording.operations.iter().map(|o| o.latencies.sum_ns()).sum();
    sum_ns as f64 / recording.elapsed_ns as f64
}

/// The same by what the issuing loop had outstanding.
fn depth_by_account(recording: &Recording) -> f64 {
    recording.outstanding_integral_ns as f64 / recording.elapsed_ns as f64
}

#[test]
fn littles_law_holds_on_every_drive() {
    for (name, mut drive) in every_drive() {
        for (read_fraction, pattern, block, depth) in [
            (1.0, Pattern::Random, 4 * KIB, 1),
            (1.0, Pattern::Random, 4 * KIB, 8),
            (1.0, Pattern::Sequential, 128 * KIB, 4),
            (0.0, Pattern::Random, 512, 1),
            (0.0, Pattern::Random, 4 * KIB, 6),
            (0.0, Pattern::Sequential, 64 * KIB, 4),
            (0.7, Pattern::Random, 4 * KIB, 3),
            (0.5, Pattern::Zipf { exponent: 0.99 }, 8 * KIB, 4),
        ] {
            let what = format!("{name}: {read_fraction} {pattern:?} {block} B, depth {depth}");
            let mut work = workload(Operation::Read, pattern, block, depth);
            work.streams[0].read_fraction = read_fraction;
            work.streams[0].span_bytes = Some((200 * MIB).min(drive.capacity_bytes()));
            // At the end no more is issued and the queue drains: part of a
            // queue is missing of so many. The last writes are slow, among reads
            // and where they wait for upper pages.
            let queues = if read_fraction < 1.0 { 12_000 } else { 3_000 };
            work.stop.ios = Some(queues * u64::from(depth));
            let recording = run(&mut drive, &work);
            assert_eq!(
                recording.operations.iter().map(|o| o.ios).sum::<u64>(),
                work.stop.ios.unwrap()
            );
            let (latency, account) = (depth_by_latency(&recording), depth_by_account(&recording));
            assert!((latency / account - 1.0).abs() < 1e-9, "{what}: {latency} and {account}");
            assert!((latency / f64::from(depth) - 1.0).abs() < 1e-3, "{what}: {latency}");
        }
    }
}

/// Mean number of busy dies with `q` reads outstanding over `dies` dies, each
/// read of one time: exactly, by the chain of how many wait where.
///
/// All dies finish together, and each read that is done is followed by one for
/// a die drawn at random; the state is how many wait at the dies, sorted.
fn busy_dies(dies: usize, q: usize) -> f64 {
    let mut start = vec![0; dies];
    start[0] = q;
    let mut states = HashMap::from([(start, 1.0)]);
    let mut busy = 0.0;
    loop {
        let mut next = HashMap::new();
        let mut busy_now = 0.0;
        for (state, chance) in &states {
            let served = state.iter().filter(|&&waiting| waiting > 0).count();
            busy_now += chance * served as f64;
            let left: Vec<usize> = state.iter().map(|waiting| waiting.saturating_sub(1)).collect();
            let mut spread = HashMap::from([(left, *chance)]);
            for _ in 0..served {
                let mut further = HashMap::new();
                for (state, chance) in spread {
                    for die in (0..dies).filter(|&die| die == 0 || state[die] != state[die - 1]) {
                        let alike = state.iter().filter(|&&waiting| waiting == state[die]).count();
                        let mut state = state.clone();
                        state[die] += 1;
                        state.sort_unstable();
                        *further.entry(state).or_insert(0.0) += chance * alike as f64 / dies as f64;
                    }
                }
                spread = further;
            }
            for (state, chance) in spread {
                *next.entry(state).or_insert(0.0) += chance;
            }
        }
        states = next;
        if (busy_now - busy).abs() < 1e-9 {
            return busy_now;
        }
        busy = busy_now;
    }
}

#[test]
fn the_chain_gives_the_published_values() {
    // Those were simulated, which leaves 0.2 %.
    for (dies, q, expected) in [(8, 2, 1.876), (8, 4, 3.267), (8, 8, 4.947), (10, 8, 5.434)] {
        assert_within("busy dies", busy_dies(dies, q), expected, 0.3);
    }
}

/// Busy dies under random 4 KiB reads, from the rate of a drive that takes
/// time for nothing but 10 ms of reading the array.
fn busy_dies_of_a_drive(dies: usize, depth: u32) -> f64 {
    let count = dies.to_string();
    let mut drive = drive(
        "ocz-vector-256gb",
        &[
            ("host.overhead", "0 us"),
            ("link.command_overhead", "0 B"),
            ("controller.read_overhead", "0 us"),
            ("controller.write_overhead", "0 us"),
            ("flash.bus_rate", "1000 GB/s"),
            ("flash.read_time", "10 ms"),
            ("flash.dies", &count),
            ("flash.channels", &count),
            ("capacity.user", "2 GiB"),
            ("flash.blocks_per_plane", "1024"),
        ],
    );
    // Whole rows on all dies: the same number of addresses on each.
    let row = 16 * KIB * dies as u64;
    let span = (1 << 30) / row * row;
    let mut fill = workload(Operation::Write, Pattern::Sequential, row, 4);
    fill.streams[0].span_bytes = Some(span);
    fill.stop.bytes = Some(span);
    run(&mut drive, &fill);
    drive.idle(10 * support::SECOND_NS);
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, depth);
    reads.streams[0].span_bytes = Some(span);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.ramp_ns = support::SECOND_NS;
    reads.stop.ios = Some(80_000);
    let recording = run(&mut drive, &reads);
    recording.operations[0].ios as f64 / recording.elapsed_ns as f64 * 10e6
}

#[test]
fn random_reads_keep_as_many_dies_busy_as_a_closed_network() {
    for (dies, depth) in [(2, 3), (4, 4), (4, 12), (8, 1), (8, 2), (8, 4), (8, 8), (8, 16), (16, 8)]
    {
        let expected = busy_dies(dies, depth as usize);
        let what = format!("{dies} dies, depth {depth}");
        assert_within(&what, busy_dies_of_a_drive(dies, depth), expected, 0.5);
    }
}

/// A drive of the catalog on four lanes of PCIe 3.0 with the given queue depth.
fn on_pcie(name: &str, queue_depth: u32, settings: &[(&str, &str)]) -> SimulatedDrive {
    let text = support::drive_file(name);
    let (before, rest) = text.split_once("[link]").unwrap();
    let (_, after) = rest.split_once("[capacity]").unwrap();
    let link = format!(
        r#"
        [link]
        pcie_generation = {{ value = 3, source = "test" }}
        pcie_lanes = {{ value = 4, source = "test" }}
        command_overhead = {{ value = "0 B", source = "test" }}
        command_latency = {{ value = "2 us", source = "test" }}
        queue_depth = {{ value = {queue_depth}, source = "test" }}
        [capacity]"#
    );
    support::drive_of(&format!("{before}{link}{after}"), settings)
}

#[test]
fn a_lone_nvme_read_takes_the_sum_of_its_parts() {
    let mut drive = on_pcie("ocz-vector-256gb", 1024, &[]);
    fill_8_gb(&mut drive, Content::Incompressible);
    drive.idle(SECOND_NS);
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.streams[0].span_bytes = Some(7 * GB);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(1_000);
    let recording = run(&mut drive, &reads);
    // Host 18, round trips 2, firmware 10, tR 75, 4 KiB at 200 MB/s, 4 KiB at
    // four lanes of 8 GT/s, 128b/130b, 256 of 280 B.
    let link_ns = 4096.0 / (4.0 * 128.0 / 130.0 * 256.0 / 280.0);
    let expected_ns = 18e3 + 2e3 + 10e3 + 75e3 + 4096.0 / 0.2 + link_ns;
    let mean_ns = recording.operations[0].latencies.sum_ns() as f64 / 1_000.0;
    assert_within("mean latency", mean_ns, expected_ns, 0.01);
}

#[test]
fn a_deeper_command_queue_keeps_more_dies_busy() {
    let iops = |queue_depth| {
        let settings = only_dies("64");
        let settings: Vec<_> =
            settings.into_iter().filter(|(path, _)| *path != "link.command_overhead").collect();
        let mut drive = on_pcie("ocz-vector-256gb", queue_depth, &settings);
        fill_8_gb(&mut drive, Content::Incompressible);
        drive.idle(SECOND_NS);
        let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1024);
        reads.streams[0].span_bytes = Some(7 * GB);
        reads.streams[0].alignment_bytes = Some(4096);
        reads.ramp_ns = SECOND_NS;
        reads.stop.ios = Some(100_000);
        let recording = run(&mut drive, &reads);
        recording.operations[0].ios as f64 / (recording.elapsed_ns as f64 * 1e-9)
    };
    // 64 dies of 10 ms serve 6,400 reads per second at most; random reads keep
    // more than Q / (Q + 63) of them busy, the value for exponential times.
    assert!(iops(32) < 2_600.0);
    assert_within("queue depth 1024", iops(1_024), 6_400.0 * 1_024.0 / 1_087.0, 3.0);
}

#[test]
fn links_say_what_is_wrong_with_them() {
    let refused = |edit: (&str, &str)| {
        let text = support::drive_file("ocz-vector-256gb").replacen(edit.0, edit.1, 1);
        SimulatedDrive::new(&text, &[], 1).unwrap_err().to_string()
    };
    let neither = refused(("line_rate", "pcie_lanes"));
    assert!(neither.starts_with("link"), "{neither}");
    let both = refused(("queue_depth", "pcie_lanes = { value = 4, source = \"t\" }\nqueue_depth"));
    assert!(both.contains("give either line_rate"), "{both}");
    let deep = refused(("queue_depth = { value = 32", "queue_depth = { value = 64"));
    assert!(deep.contains("link.queue_depth"), "{deep}");
}
