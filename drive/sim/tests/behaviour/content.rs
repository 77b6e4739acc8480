//! Compression and deduplication: what each makes of which data.

use crate::support;
use crate::support::{KIB, MIB, assert_within, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Content, Operation, Pattern};

/// One die that programs rows of 16 KiB in 1.3 ms, with more sections.
fn one_die(more: &str) -> SimulatedDrive {
    let settings = [
        ("flash.dies", "1"),
        ("flash.channels", "1"),
        ("flash.bus_rate", "1000 GB/s"),
        ("capacity.user", "1 GiB"),
        // A quarter of spare area.
        ("flash.blocks_per_plane", "330"),
        ("write_buffer.size", "32 KiB"),
    ];
    let text = support::drive_file("ocz-vector-256gb");
    support::drive_of(&format!("{text}{more}"), &settings)
}

const COMPRESSION: &str = "\n[compression]\nsmallest = { value = 0.25, source = \"t\" }\n";
const DEDUPLICATION: &str =
    "\n[deduplication]\nreference_size = { value = \"512 B\", source = \"t\" }\n";

/// Milliseconds per 16 KiB written.
fn row_ms(drive: &mut SimulatedDrive, content: Content) -> f64 {
    let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 1);
    writes.streams[0].content = content;
    writes.stop.bytes = Some(512 * MIB);
    let recording = run(drive, &writes);
    recording.elapsed_ns as f64 * 1e-6 / (512 * 64) as f64
}

#[test]
fn each_saves_what_it_can_find() {
    use Content::{Compressible, Duplicated, Incompressible, Repeated};
    let both = format!("{COMPRESSION}{DEDUPLICATION}");
    for (sections, content, share) in [
        ("", Repeated, 1.0f64),
        ("", Compressible(50), 1.0),
        (COMPRESSION, Incompressible, 1.0),
        // Random within a write: only what remembers other writes finds it.
        (COMPRESSION, Repeated, 1.0),
        (COMPRESSION, Compressible(50), 0.5),
        (DEDUPLICATION, Incompressible, 1.0),
        (DEDUPLICATION, Repeated, 0.125),
        (DEDUPLICATION, Compressible(50), 1.0),
        (COMPRESSION, Duplicated(50), 1.0),
        // On average 2304 B, of which seven fit into a row in place of four units.
        (DEDUPLICATION, Duplicated(50), 4.0 / 7.0),
        (&both, Repeated, 0.125),
        (&both, Compressible(50), 0.5),
        (&both, Compressible(1), 0.25),
    ] {
        // The host and the link take 18 + 10.5 us and 128 KiB at 600 MB/s.
        let host_ms = (18.0 + 10.5 + 131_072.0 / 600.0) * 1e-3 / 8.0;
        let expected = (1.3 * share).max(host_ms);
        let measured = row_ms(&mut one_die(sections), content);
        assert_within(&format!("{content:?} with {sections}"), measured, expected, 2.0);
    }
}

#[test]
fn what_is_stored_as_references_leaves_room() {
    // Over all of the drive four times: without deduplication blocks have to be
    // collected, with it an eighth of the flash is in use.
    let moved = |sections, content| {
        let mut drive = one_die(sections);
        let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 8);
        writes.streams[0].alignment_bytes = Some(4096);
        writes.streams[0].content = content;
        writes.stop.bytes = Some(4 * 1024 * MIB);
        run(&mut drive, &writes);
        drive.counters().iter().find(|counter| counter.0 == "units_moved").unwrap().1
    };
    let full = moved("", Content::Repeated);
    let referenced = moved(DEDUPLICATION, Content::Repeated);
    println!("{full} {referenced}");
    assert!(referenced < 0.05 * full, "{referenced} against {full}");
}

#[test]
fn impossible_references_are_refused() {
    let text = support::drive_file("ocz-vector-256gb");
    for size in ["100 B", "8 KiB"] {
        let settings = [("deduplication.reference_size".to_string(), size.to_string())];
        let error = SimulatedDrive::new(&format!("{text}{DEDUPLICATION}"), &settings, 1);
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("deduplication.reference_size: use a tenth"), "{message}");
    }
}

#[test]
fn rows_of_more_references_than_a_byte_counts_are_refused() {
    let settings = [
        ("flash.page_size".to_string(), "64 KiB".to_string()),
        ("flash.blocks_per_plane".to_string(), "330".to_string()),
        ("write_buffer.size".to_string(), "64 MiB".to_string()),
    ];
    let text = support::drive_file("ocz-vector-256gb");
    assert!(SimulatedDrive::new(&text, &settings, 1).is_ok());
    let error = SimulatedDrive::new(&format!("{text}{DEDUPLICATION}"), &settings, 1).unwrap_err();
    assert!(error.to_string().contains("deduplication.reference_size"), "{error}");
}
