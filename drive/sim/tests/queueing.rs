//! Laws of queues: Little's, and the closed network of dies.

mod support;

use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};
use std::collections::HashMap;
use support::arrays::array;
use support::{KIB, MIB, assert_within, drive, log_block_file, run, workload};

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
