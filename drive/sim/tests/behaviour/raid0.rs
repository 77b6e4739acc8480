//! RAID 0 of drives of the catalog against closed forms.

use crate::support::arrays::{array, array_of, try_array};
use crate::support::{KIB, MIB, SECOND_NS, assert_within, drive, random_iops, run, workload};
use fourcorners_sim::{Model, SimulatedDrive};
use fourcorners_workload::Operation::{Read, Write};
use fourcorners_workload::{Operation, Pattern, Workload};

const X25: &str = "intel-x25-m-g2-80gb";
const WD: &str = "wd6400aaks";
const GB: u64 = 1_000_000_000;

/// The span that the tests of SSDs read and write, per member.
const SPAN: u64 = 4 * GB;

fn on_span(operation: Operation, pattern: Pattern, block: u64, depth: u32, n: u64) -> Workload {
    let mut on_span = workload(operation, pattern, block, depth);
    on_span.streams[0].span_bytes = Some(SPAN * n);
    on_span.streams[0].alignment_bytes = Some(4096);
    on_span
}

/// An array of `n` SSDs whose span is written, at rest.
fn filled(n: u32, settings: &[(&str, &str)]) -> SimulatedDrive {
    let mut array = array(X25, n, settings);
    let mut fill = on_span(Write, Pattern::Sequential, MIB, 32, u64::from(n));
    fill.stop.bytes = Some(SPAN * u64::from(n));
    run(&mut array, &fill);
    array.idle(SECOND_NS);
    array
}

/// Bytes per second and mean latency in nanoseconds.
fn measure(array: &mut SimulatedDrive, measured: &Workload) -> (f64, f64) {
    let recording = run(array, measured);
    let index = usize::from(measured.streams[0].read_fraction == 0.0);
    let operation = &recording.operations[index];
    let seconds = recording.elapsed_ns as f64 * 1e-9;
    (operation.bytes as f64 / seconds, operation.latencies.sum_ns() as f64 / operation.ios as f64)
}

fn counter(array: &SimulatedDrive, name: &str) -> f64 {
    array.counters().iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn capacity_is_that_of_whole_chunks() {
    let member = drive(X25, &[]).capacity_bytes();
    let chunk = 128 * KIB;
    assert_eq!(array(X25, 3, &[]).capacity_bytes(), member / chunk * chunk * 3);
}

#[test]
fn an_array_of_one_is_its_member() {
    // The disk has a whole number of such chunks: nothing is cut off.
    for settings in [&[][..], &[("cache.write_back", "false")][..]] {
        let to_member: Vec<(String, &str)> =
            settings.iter().map(|(path, value)| (format!("member.{path}"), *value)).collect();
        let mut of_array: Vec<(&str, &str)> =
            to_member.iter().map(|(path, value)| (path.as_str(), *value)).collect();
        of_array.push(("array.chunk", "4 KiB"));
        for operation in [Read, Write] {
            let mut member = drive(WD, settings);
            let mut array = array(WD, 1, &of_array);
            assert_eq!(array.capacity_bytes(), member.capacity_bytes());
            let mut random = workload(operation, Pattern::Random, 64 * KIB, 8);
            random.stop.ios = Some(2_000);
            let (alone, inside) = (run(&mut member, &random), run(&mut array, &random));
            assert_eq!(alone.elapsed_ns, inside.elapsed_ns, "{operation:?} {settings:?}");
        }
    }
}

#[test]
fn large_sequential_requests_scale_with_members() {
    for operation in [Read, Write] {
        let rate = |n: u32| {
            let mut array = filled(n, &[]);
            let block = u64::from(n) * MIB;
            let mut sequential = on_span(operation, Pattern::Sequential, block, 4, u64::from(n));
            sequential.ramp_ns = SECOND_NS;
            sequential.stop.time_ns = Some(10 * SECOND_NS);
            measure(&mut array, &sequential).0
        };
        let one = rate(1);
        for n in [2, 3, 4, 8] {
            let what = format!("{operation:?} of {n} members against one");
            assert_within(&what, rate(n) / one, f64::from(n), 1.0);
        }
    }
}

#[test]
fn the_host_limits_what_members_could_do() {
    // Eight drives deliver more than twice of what passes the host.
    let mut array = filled(8, &[("host.data_rate", "660 MB/s")]);
    for depth in [1, 8] {
        let mut reads = on_span(Read, Pattern::Sequential, 8 * MIB, depth, 8);
        reads.ramp_ns = SECOND_NS;
        reads.stop.time_ns = Some(10 * SECOND_NS);
        assert_within("MB/s", measure(&mut array, &reads).0 / 1e6, 660.0, 0.1);
    }
}

#[test]
fn a_lone_random_read_gains_nothing() {
    let reads = |n: u32| {
        let mut reads = on_span(Read, Pattern::Random, 4 * KIB, 1, u64::from(n));
        reads.stop.ios = Some(5_000);
        reads
    };
    let (_, alone_ns) = measure(&mut filled(1, &[]), &reads(1));
    for n in [2, 4] {
        let (_, latency_ns) = measure(&mut filled(n, &[]), &reads(n));
        assert_within("mean latency", latency_ns, alone_ns, 0.05);
        let settings = [("host.overhead", "7 us")];
        let (_, with_overhead_ns) = measure(&mut filled(n, &settings), &reads(n));
        assert_within("with overhead", with_overhead_ns, alone_ns + 7_000.0, 0.05);
    }
}

#[test]
fn at_deep_queues_random_requests_scale_with_members() {
    let rate = |operation, n: u32| {
        let mut random = on_span(operation, Pattern::Random, 4 * KIB, 256 * n, u64::from(n));
        random.ramp_ns = SECOND_NS / 2;
        random.stop.time_ns = Some(15 * SECOND_NS);
        measure(&mut filled(n, &[]), &random).0
    };
    for operation in [Read, Write] {
        let one = rate(operation, 1);
        for n in [2, 4] {
            // Outstanding commands are spread over the members at random: now
            // and then one runs out of work.
            let what = format!("{operation:?} of {n} members against one");
            assert_within(&what, rate(operation, n) / one, f64::from(n), 1.0);
        }
    }
}

#[test]
fn a_queue_of_constant_servers_is_shared_as_the_closed_network_says() {
    // With one command at a time and a constant service time per member, Q
    // outstanding random reads keep this many of N members busy (simulated
    // independently, as for the dies of an SSD).
    for (n, depth, busy) in [(8u32, 1, 1.0), (8, 2, 1.876), (8, 8, 4.947), (8, 32, 7.157)] {
        let settings =
            [("member.link.queue_depth", "1"), ("member.controller.read_overhead", "10 ms")];
        let mut array = array(X25, n, &settings);
        // Never written: nothing but firmware, host and link takes time.
        let mut reads = on_span(Read, Pattern::Random, 4 * KIB, depth, u64::from(n));
        reads.ramp_ns = SECOND_NS;
        reads.stop.ios = Some(100_000);
        let (bytes_per_second, _) = measure(&mut array, &reads);
        let service_s = 10e-3 + 4096.0 / 300e6;
        assert_within(
            &format!("{n} members, depth {depth}"),
            bytes_per_second / 4096.0 * service_s,
            busy,
            0.7,
        );
    }
}

#[test]
fn a_request_over_chunks_takes_as_long_as_its_slowest_part() {
    // An SSD and a disk in one array: the disk's part decides.
    let latencies = |drive: &mut SimulatedDrive, offset: u64, length: u64| {
        let mut reads = workload(Read, Pattern::Sequential, length, 1);
        reads.streams[0].offset_bytes = offset;
        reads.streams[0].span_bytes = Some(length);
        reads.stop.ios = Some(1);
        measure(drive, &reads).1
    };
    let mixed = || array_of(&[X25, WD], &[("array.chunk", "64 KiB")]);
    let (ssd_only, disk_only, both) = (
        latencies(&mut mixed(), 0, 64 * KIB),
        latencies(&mut mixed(), 64 * KIB, 64 * KIB),
        latencies(&mut mixed(), 0, 128 * KIB),
    );
    assert!(disk_only > 2.0 * ssd_only, "{disk_only} against {ssd_only}");
    assert_eq!(both, disk_only.max(ssd_only));
    // Each serves as much as the smaller one.
    let smaller = drive(X25, &[]).capacity_bytes() / (64 * KIB) * (64 * KIB);
    assert_eq!(mixed().capacity_bytes(), 2 * smaller);
    assert!(matches!(mixed().model, Model::Raid0(_)));
}

#[test]
fn chunks_of_one_request_are_joined_on_their_member() {
    let mut array = array(X25, 4, &[("array.chunk", "16 KiB")]);
    let mut writes = on_span(Write, Pattern::Sequential, MIB, 1, 4);
    writes.stop.ios = Some(100);
    run(&mut array, &writes);
    array.idle(SECOND_NS);
    assert_eq!(counter(&array, "array_commands"), 100.0);
    assert_eq!(counter(&array, "array_parts"), 400.0);
    assert_eq!(counter(&array, "host_units_written"), 100.0 * MIB as f64 / 4096.0);
}

#[test]
fn littles_law_holds_for_mixed_traffic() {
    let mut array = filled(3, &[("array.chunk", "4 KiB"), ("host.overhead", "5 us")]);
    let mut mixed = on_span(Read, Pattern::Random, 12 * KIB, 24, 3);
    mixed.streams[0].read_fraction = 0.6;
    mixed.stop.time_ns = Some(5 * SECOND_NS);
    let recording = run(&mut array, &mixed);
    let latency_sum: u128 = recording.operations.iter().map(|o| o.latencies.sum_ns()).sum();
    let depth = latency_sum as f64 / recording.elapsed_ns as f64;
    assert_within("rate times latency", depth, 24.0, 0.1);
}

#[test]
fn disks_in_an_array_share_random_reads() {
    let iops = |n, depth| random_iops(&mut array(WD, n, &[]), Read, 512, depth, 2_000);
    // A lone read pays one disk's access time, with its data anywhere on it.
    assert_within("depth 1", iops(4, 1), iops(1, 1), 1.5);
    assert!(!array(WD, 2, &[]).keeps_state() && array(X25, 2, &[]).keeps_state());
    // Every disk's own queue is full, but for the 2 % of the time in which a
    // random share of the commands is too small.
    assert_within("full queues", iops(4, 4096) / iops(1, 1024), 4.0, 1.0);
}

#[test]
fn mistakes_are_named() {
    let refusal = |settings: &[(&str, &str)]| try_array(X25, 2, settings).unwrap_err().0;
    for (path, value, message) in [
        ("array.chunk", "3 KiB", "array.chunk: use a power of two"),
        ("array.count", "0", "array.count: use 1 to 64"),
        ("array.count", "1000", "array.count: use 1 to 64"),
        ("array.member", "nothing", "member nothing: its drive file is missing"),
        ("host.data_rate", "1 B/s", "host.data_rate: use at least 1 MB/s"),
        ("member.flash.dies", "0", "member intel-x25-m-g2-80gb: flash.dies: use 1 to 4096"),
        (
            "member.seek.base",
            "1 ms",
            "member intel-x25-m-g2-80gb: seek.base: this drive has no section seek",
        ),
        ("link.line_rate", "3 Gb/s", "link.line_rate: this drive has no section link"),
    ] {
        let refused = refusal(&[(path, value)]);
        assert!(refused.starts_with(message), "{refused}");
    }
}

#[test]
fn trim_and_steady_state_reach_the_members() {
    let rate_within = |array: &mut SimulatedDrive, share: f64, operation, depth| {
        let mut random = workload(operation, Pattern::Random, 4 * KIB, depth);
        random.streams[0].span_bytes = Some((array.capacity_bytes() as f64 * share) as u64);
        random.streams[0].alignment_bytes = Some(4096);
        random.stop.time_ns = Some(2 * SECOND_NS);
        measure(array, &random).0
    };
    let rate =
        |array: &mut SimulatedDrive, operation, depth| rate_within(array, 1.0, operation, depth);
    let mut one = drive(X25, &[]);
    let mut pair = array(X25, 2, &[("array.chunk", "4 KiB")]);
    for share in [0.5, 1.0] {
        one.enter_steady_state(share, None).unwrap();
        pair.enter_steady_state(share, None).unwrap();
        let alone = rate_within(&mut one, share, Write, 32);
        let both = rate_within(&mut pair, share, Write, 64);
        let what = format!("steady writes of two against one, {share} filled");
        assert_within(&what, both / alone, 2.0, 2.0);
    }
    // Reads of what was trimmed need no flash.
    let full = rate(&mut pair, Read, 1);
    pair.trim(0, pair.capacity_bytes());
    assert!(rate(&mut pair, Read, 1) > 1.5 * full, "{full}");
    assert!(array(WD, 2, &[]).enter_steady_state(1.0, None).is_err());
}

#[test]
fn an_array_of_which_one_member_has_no_steady_state_stays_as_it_is() {
    let mut mixed = array_of(&[X25, WD], &[]);
    let mut writes = workload(Write, Pattern::Sequential, 128 * KIB, 8);
    writes.stop.bytes = Some(64 * MIB);
    run(&mut mixed, &writes);
    mixed.idle(SECOND_NS);
    let before = mixed.counters();
    assert!(mixed.enter_steady_state(1.0, None).is_err());
    assert_eq!(mixed.counters(), before);
}
