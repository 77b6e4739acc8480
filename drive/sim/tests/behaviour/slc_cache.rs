//! The SLC cache in closed form: how fast, how much, and what comes after.

use crate::support;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

/// One die with rows of 16 KiB, 1.3 ms programs, 0.2 ms in SLC mode, 75 us
/// reads, and 1 GiB for the user; transfers take no time to speak of.
fn one_die(cache: &str) -> SimulatedDrive {
    some_dies("1", "1000 GB/s", "32 KiB", cache)
}

fn some_dies(dies: &str, bus_rate: &str, buffer: &str, cache: &str) -> SimulatedDrive {
    let settings = [
        ("flash.dies", dies),
        ("flash.channels", "1"),
        ("flash.bus_rate", bus_rate),
        ("capacity.user", "1 GiB"),
        ("write_buffer.size", buffer),
    ];
    let text = support::drive_file("ocz-vector-256gb");
    let common = r#"
        [slc_cache]
        program_time = { value = "0.2 ms", source = "test" }
        idle_delay = { value = "1 s", source = "test" }
    "#;
    support::drive_of(&format!("{text}{common}{cache}"), &settings)
}

const DIRECT: &str = "when_full = { value = \"direct\", source = \"test\" }\n";
const FOLD: &str = "when_full = { value = \"fold\", source = \"test\" }\n";
const STATIC: &str = "static_size = { value = \"64 MiB\", source = \"test\" }\n";
const DYNAMIC: &str = "dynamic_share = { value = 0.5, source = \"test\" }
    bits_per_cell = { value = 2, source = \"test\" }\n";

/// Milliseconds per row of 16 KiB while `mib` MiB are written from `offset` on.
fn row_ms(drive: &mut SimulatedDrive, offset_mib: u64, mib: u64) -> f64 {
    let mut writes = workload(Operation::Write, Pattern::Sequential, 16 * KIB, 1);
    writes.streams[0].offset_bytes = offset_mib * MIB;
    writes.streams[0].span_bytes = Some(mib * MIB);
    writes.stop.bytes = Some(mib * MIB);
    let recording = run(drive, &writes);
    recording.elapsed_ns as f64 * 1e-6 / (mib * 64) as f64
}

fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    drive.counters().iter().find(|counter| counter.0 == name).unwrap().1
}

#[test]
fn a_static_cache_is_fast_until_it_is_full() {
    for (policy, beyond_ms) in [(DIRECT, 1.3), (FOLD, 0.2 + 0.075 + 1.3)] {
        let mut drive = one_die(&format!("{STATIC}{policy}"));
        assert_within("in the cache, ms", row_ms(&mut drive, 0, 63), 0.2, 1.0);
        row_ms(&mut drive, 63, 2);
        assert_within("beyond it, ms", row_ms(&mut drive, 65, 32), beyond_ms, 1.0);
    }
}

#[test]
fn endless_writes_leave_the_cache_full() {
    for (policy, beyond_ms) in [(DIRECT, 1.3), (FOLD, 0.2 + 0.075 + 1.3)] {
        let mut drive = one_die(&format!("{STATIC}{policy}"));
        drive.enter_steady_state(1.0, None).unwrap();
        // Spare area is so large that only erasing adds to this, by 0.5 %.
        assert_within("in steady state, ms", row_ms(&mut drive, 0, 32), beyond_ms, 1.5);
    }
}

#[test]
fn idle_time_empties_the_cache() {
    let mut drive = one_die(&format!("{STATIC}{DIRECT}"));
    row_ms(&mut drive, 0, 64);
    // Half of the 4096 rows, each a read and a program, after the delay.
    let half_ns = 2_048 * 1_375_000;
    drive.idle(SECOND_NS + half_ns);
    assert_within("folded, units", counter(&drive, "units_folded"), 2_048.0 * 4.0, 1.0);
    assert_within("as much again, ms", row_ms(&mut drive, 100, 31), 0.2, 1.0);
    row_ms(&mut drive, 131, 2);
    assert_within("no more, ms", row_ms(&mut drive, 133, 10), 1.3, 1.0);
    drive.idle(100 * SECOND_NS);
    let written = counter(&drive, "host_units_written");
    assert!(counter(&drive, "units_folded") < written);
    assert_within("empty again, ms", row_ms(&mut drive, 200, 60), 0.2, 1.0);
}

#[test]
fn a_short_pause_empties_nothing() {
    let mut drive = one_die(&format!("{STATIC}{DIRECT}"));
    row_ms(&mut drive, 0, 65);
    drive.idle(SECOND_NS / 2);
    row_ms(&mut drive, 65, 1);
    drive.idle(SECOND_NS / 2);
    row_ms(&mut drive, 66, 1);
    assert_eq!(counter(&drive, "units_folded"), 0.0);
}

#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills() {
    // A quarter of the free space: x = (1 GiB - x) / 4 is full at 204.8 MiB.
    let mut drive = one_die(&format!("{DYNAMIC}{DIRECT}"));
    assert_within("in the cache, ms", row_ms(&mut drive, 0, 204), 0.2, 1.0);
    row_ms(&mut drive, 204, 2);
    // Each row beyond it takes a quarter of a row from the cache, to be folded.
    assert_within("beyond, ms", row_ms(&mut drive, 206, 100), 1.3 + 0.25 * 1.375, 1.0);
    // Trimmed space is cache again once what is in it has been folded.
    drive.idle(60 * SECOND_NS);
    drive.trim(0, 1 << 30);
    assert_within("after TRIM, ms", row_ms(&mut drive, 0, 204), 0.2, 1.0);
}

#[test]
fn all_dies_fold_what_a_shrinking_cache_gives_back() {
    // One fold for every four rows: were it on the fourth's die, of eight dies
    // two would fold all of it.
    let mut drive = some_dies("8", "1000 GB/s", "2 MiB", &format!("{DYNAMIC}{DIRECT}"));
    row_ms(&mut drive, 0, 208);
    let alike_ms = (1.3 + 0.25 * 1.375) / 8.0;
    assert_within("beyond, ms", row_ms(&mut drive, 208, 200), alike_ms, 2.0);
}

#[test]
fn the_rate_of_folding_is_known_unless_dies_wait_for_their_channel() {
    // Three transfers of 16 KiB for each row of eight dies, which takes 1.575 ms besides.
    let measured = |bus: &str| {
        let mut drive = some_dies("8", bus, "2 MiB", &format!("{STATIC}{FOLD}"));
        let known = support::truth_if_any(&drive, "slc_direct_rate");
        row_ms(&mut drive, 0, 80);
        (known, 16_384.0 / (row_ms(&mut drive, 80, 200) * 1e-3))
    };
    for bus in ["1000 GB/s", "1 GB/s", "0.5 GB/s"] {
        let (known, rate) = measured(bus);
        assert_within("written, B/s", rate, known.unwrap(), 0.01);
    }
    // The channel is in use 0.58 of the time; its dies in turn would write 77.20 MB/s.
    let (known, rate) = measured("0.4 GB/s");
    assert_eq!(known, None);
    assert!(rate < 77.0e6, "{rate}");
}

#[test]
fn a_cache_that_is_absent_changes_nothing() {
    let text = support::drive_file("ocz-vector-256gb");
    let drive = support::drive_of(&text, &[]);
    assert_eq!(counter(&drive, "units_folded"), 0.0);
    let error = SimulatedDrive::new(&format!("{text}\n[slc_cache]\n"), &[], 1).unwrap_err();
    assert!(error.to_string().contains("slc_cache"), "{error}");
}
