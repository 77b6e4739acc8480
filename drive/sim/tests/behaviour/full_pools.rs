//! Pools with hardly any room to spare: the collector frees what there is to
//! free, and comes to an end.

use crate::support;
use crate::support::{KIB, counter, fill, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Content, Operation, Pattern, Stream, Workload};

const COMPRESSION: &str = "\n[compression]\nsmallest = { value = 0.25, source = \"t\" }\n";

/// A drive with 8 dies of 64 blocks of 64 pages, and further settings.
fn small(text: &str, settings: &[(&str, &str)]) -> SimulatedDrive {
    let geometry = [
        ("flash.dies", "8"),
        ("flash.channels", "8"),
        ("flash.blocks_per_plane", "64"),
        ("flash.pages_per_block", "64"),
    ];
    support::drive_of(text, &[&geometry, settings].concat())
}

fn random_writes(block: u64, alignment: u32, ios: u64) -> Workload {
    let mut writes = workload(Operation::Write, Pattern::Random, block, 1);
    writes.streams[0].alignment_bytes = Some(alignment);
    writes.stop.ios = Some(ios);
    writes
}

#[test]
fn the_room_in_padded_rows_is_collected() {
    let mut drive =
        small(&support::drive_file("ocz-vertex-le-100gb"), &[("capacity.user", "192 MiB")]);
    let mut writes = random_writes(4 * KIB, 4096, 60_000);
    writes.streams[0].flush_every_writes = Some(1);
    run(&mut drive, &writes);
    drive.assert_consistent();
    // Each row holds one of the two units that it has room for.
    assert_eq!(counter(&drive, "units_padded"), counter(&drive, "host_units_written"));
    let moved = counter(&drive, "units_moved") / counter(&drive, "host_units_written");
    assert!((0.1..10.0).contains(&moved), "{moved} moved per unit written");
}

#[test]
fn a_pool_over_its_share_ends_its_bursts() {
    // Rows go round the dies: every eighth one leaves room on the first die,
    // and fills the others beyond their share.
    for (sections, burst_blocks) in [("", "3"), ("", "0"), (COMPRESSION, "3"), (COMPRESSION, "0")] {
        let settings =
            [("capacity.user", "424 MiB"), ("garbage_collection.burst_blocks", burst_blocks)];
        let mut drive = small(&(support::drive_file("ocz-vector-256gb") + sections), &settings);
        fill(&mut drive);
        run(&mut drive, &random_writes(16 * KIB, 128 << 10, 20_000));
        drive.assert_consistent();
        run(&mut drive, &random_writes(4 * KIB, 4096, 20_000));
        drive.assert_consistent();
    }
}

#[test]
fn compressed_rows_shared_with_the_collector_are_not_overfilled() {
    const COLLECTION: &str = "[garbage_collection]\n";
    const SHARED: &str = "shared_stream = { value = true, source = \"t\" }\n";
    let text = support::drive_file("ocz-vertex-le-100gb").replacen(
        COLLECTION,
        &format!("{COLLECTION}{SHARED}"),
        1,
    );
    let mut drive = small(&text, &[("capacity.user", "192 MiB")]);
    fill(&mut drive);
    let mut writes = random_writes(4 * KIB, 4096, 100_000);
    let stream = writes.streams[0].clone();
    writes.streams = [Content::Compressible(30), Content::Incompressible, Content::Duplicated(50)]
        .map(|content| Stream { content, ..stream.clone() })
        .into();
    run(&mut drive, &writes);
    assert!(counter(&drive, "units_moved") > 10_000.0, "the collector takes part");
    drive.assert_consistent();
}
