//! The OCZ Core of the catalog against what was published about it
//! (steve8's blog, 2008-07-25).

use crate::support::{KIB, MIB, SECOND_NS, assert_within, drive, fill, random_iops, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

const CLUSTER: u64 = 4 * MIB;

fn filled() -> SimulatedDrive {
    let mut drive = drive("ocz-core-64gb", &[]);
    fill(&mut drive);
    drive
}

fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    let counters = drive.counters();
    counters.iter().find(|(n, _)| *n == name).unwrap().1
}

/// Merges that one request costs on average, and its throughput in MiB/s.
fn random_writes(drive: &mut SimulatedDrive, block: u64, alignment: u64, ios: u64) -> (f64, f64) {
    let mut writes = workload(Operation::Write, Pattern::Random, block, 1);
    writes.streams[0].alignment_bytes = Some(alignment as u32);
    writes.stop.ios = Some(ios);
    let before = counter(drive, "merges");
    let recording = run(drive, &writes);
    let merges = (counter(drive, "merges") - before) / ios as f64;
    let rate = (ios * block) as f64 / MIB as f64 / (recording.elapsed_ns as f64 * 1e-9);
    (merges, rate)
}

#[test]
fn small_random_reads() {
    let mut drive = filled();
    for depth in [1, 32] {
        let iops = random_iops(&mut drive, Operation::Read, 512, depth, 20);
        assert_within("512 B random reads", iops, 2220.0, 1.0);
    }
}

#[test]
fn small_random_writes_at_any_queue_depth() {
    let mut drive = filled();
    for depth in [1, 4, 32] {
        let iops = random_iops(&mut drive, Operation::Write, 512, depth, 300);
        assert_within("512 B random writes", iops, 4.07, 1.0);
    }
    let iops = random_iops(&mut drive, Operation::Write, 4 * KIB, 1, 300);
    assert_within("4 KiB random writes", iops, 4.06, 1.0);
}

#[test]
fn large_random_requests() {
    let mut drive = filled();
    let mib_per_second = |iops: f64| iops * 512.0;
    let reads = random_iops(&mut drive, Operation::Read, 512 * MIB, 1, 400);
    assert_within("512 MiB random reads", mib_per_second(reads), 125.0, 1.0);
    let writes = random_iops(&mut drive, Operation::Write, 512 * MIB, 1, 400);
    assert_within("512 MiB random writes", mib_per_second(writes), 72.8, 1.0);
}

#[test]
fn sequential_writes_of_any_size_stream() {
    for block in [4 * KIB, 64 * KIB, 8 * MIB] {
        let mut drive = filled();
        let mut writes = workload(Operation::Write, Pattern::Sequential, block, 1);
        writes.stop.bytes = Some(2048 * MIB);
        let recording = run(&mut drive, &writes);
        let rate = 2048.0 / (recording.elapsed_ns as f64 / SECOND_NS as f64);
        assert_within("sequential writes", rate, 78.23, 1.0);
    }
}

#[test]
fn penalties_follow_from_size_and_alignment() {
    let mut drive = filled();
    let (merges, rate) = random_writes(&mut drive, 4 * CLUSTER, CLUSTER, 100);
    assert_eq!(merges, 0.0);
    assert_within("aligned clusters", rate, 78.23, 1.0);

    // A size S below the cluster C touches 1 + S/C clusters on average, and
    // each of them is closed partly written.
    for (block, expected) in [(512, 1.0), (CLUSTER / 4, 1.25), (CLUSTER / 2, 1.5)] {
        let (merges, _) = random_writes(&mut drive, block, 512, 2000);
        assert_within("merges per write", merges, expected, 3.0);
    }
    for block in [CLUSTER, 16 * CLUSTER] {
        let (merges, _) = random_writes(&mut drive, block, 512, 200);
        assert_within("merges per large write", merges, 2.0, 1.0);
    }
}

#[test]
fn an_erased_drive_reads_without_flash() {
    let mut drive = drive("ocz-core-64gb", &[]);
    let erased = random_iops(&mut drive, Operation::Read, 512, 1, 5);
    fill(&mut drive);
    let full = random_iops(&mut drive, Operation::Read, 512, 1, 5);
    assert!(erased > 2.0 * full, "{erased} against {full}");
    drive.purge();
    let purged = random_iops(&mut drive, Operation::Read, 512, 1, 5);
    assert_within("after a purge", purged, erased, 0.1);
}
