//! A drive whose blocks wear out, as its host sees it.

use crate::support;
use crate::support::{KIB, counter, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

/// A drive of 256 MiB whose blocks endure `erases`.
fn short_lived(erases: u32) -> SimulatedDrive {
    let settings = [
        ("flash.dies", "8"),
        ("flash.blocks_per_plane", "48"),
        ("flash.pages_per_block", "64"),
        ("capacity.user", "256 MiB"),
    ];
    let wear = format!(
        "[wear]\nendurance = {{ value = {erases}, source = \"test\" }}\nlevelling = {{ value = \"dynamic\", source = \"test\" }}\n"
    );
    support::drive_of(&format!("{}\n{wear}", support::drive_file("ocz-vector-256gb")), &settings)
}

#[test]
fn a_worn_out_drive_fails_writes_and_still_reads() {
    let mut drive = short_lived(20);
    let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
    writes.streams[0].alignment_bytes = Some(4096);
    writes.stop.ios = Some(3_000_000);
    let recording = run(&mut drive, &writes);
    let write = &recording.operations[Operation::Write.index()];
    let failed: u64 = write.errors.values().sum();
    assert_eq!(write.errors.keys().copied().collect::<Vec<_>>(), [libc::EIO]);
    assert!(failed > 0 && write.ios > 500_000, "{} served, {failed} failed", write.ios);
    assert!(counter(&drive, "bad_blocks") > 0.0);

    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 4);
    reads.stop.ios = Some(1_000);
    assert_eq!(run(&mut drive, &reads).operations[Operation::Read.index()].ios, 1_000);

    // A secure erase does not heal it.
    drive.purge();
    writes.stop.ios = Some(100);
    assert_eq!(run(&mut drive, &writes).operations[Operation::Write.index()].ios, 0);
}
