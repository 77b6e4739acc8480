//! Read cache and map cache against closed forms: hit ratios and what a miss
//! costs.

use crate::support;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, run, workload};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

/// The Vector with more sections.
fn vector(more: &str) -> SimulatedDrive {
    support::drive_of(&format!("{}{more}", support::drive_file("ocz-vector-256gb")), &[])
}

/// Writes so many MiB in order.
fn fill(drive: &mut SimulatedDrive, mib: u64) {
    let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 32);
    writes.stop.bytes = Some(mib * MIB);
    run(drive, &writes);
    drive.idle(SECOND_NS);
}

/// 4 KiB random reads over so many MiB at queue depth 1, once caches are warm.
fn random_reads(drive: &mut SimulatedDrive, mib: u64, warm: u64) -> Recording {
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.streams[0].span_bytes = Some(mib * MIB);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(warm);
    run(drive, &reads);
    reads.stop.ios = Some(40_000);
    reads.seed = 4;
    run(drive, &reads)
}

fn mean_us(recording: &Recording) -> f64 {
    let reads = &recording.operations[Operation::Read.index()];
    reads.latencies.sum_ns() as f64 / reads.ios as f64 * 1e-3
}

/// In us: host, firmware and 4 KiB over the link, half a frame, which takes
/// 600 B more; a page read and 4 KiB over the
/// channel.
const MEMORY_US: f64 = 18.0 + 10.0 + (4096.0 + 300.0) / 600.0;
const FLASH_US: f64 = 75.0 + 4096.0 / 200.0;

const READ_CACHE: &str = "\n[read_cache]\nsize = { value = \"64 MiB\", source = \"t\" }\n";

#[test]
fn a_read_cache_hits_in_proportion_to_its_size() {
    // Last used goes last: of uniform reads, what the cache holds of the span.
    for (mib, hits) in [(32, 1.0), (128, 0.5), (256, 0.25)] {
        let mut drive = vector(READ_CACHE);
        fill(&mut drive, mib);
        let recording = random_reads(&mut drive, mib, 4 * mib * 256);
        let expected_us = MEMORY_US + (1.0 - hits) * FLASH_US;
        assert_within(&format!("{mib} MiB, us"), mean_us(&recording), expected_us, 1.0);
    }
}

#[test]
fn a_read_cache_keeps_what_was_written_and_forgets_what_was_trimmed() {
    let mut drive = vector(READ_CACHE);
    fill(&mut drive, 80);
    let mut reads = workload(Operation::Read, Pattern::Sequential, 4 * KIB, 1);
    let mut read_us = |drive: &mut SimulatedDrive, from_mib: u64| {
        reads.streams[0].offset_bytes = from_mib * MIB;
        reads.stop.ios = Some(1);
        mean_us(&run(drive, &reads))
    };
    // The last 64 MiB of 80 are there.
    assert_within("old, us", read_us(&mut drive, 8), MEMORY_US + FLASH_US, 0.01);
    assert_within("again, us", read_us(&mut drive, 8), MEMORY_US, 0.01);
    assert_within("new, us", read_us(&mut drive, 70), MEMORY_US, 0.01);
    drive.power_cut();
    assert_within("after a power cut, us", read_us(&mut drive, 70), MEMORY_US + FLASH_US, 0.01);
}

#[test]
fn a_partial_write_reads_the_rest_of_its_unit_unless_the_read_cache_has_it() {
    let mut drive = vector(READ_CACHE);
    fill(&mut drive, 80);
    let mut one = |operation, bytes, offset_bytes| {
        let mut io = workload(operation, Pattern::Sequential, bytes, 1);
        io.streams[0].offset_bytes = offset_bytes;
        io.stop.ios = Some(1);
        run(&mut drive, &io)
    };
    // The neighbour on the page is read behind what the write needs of the same die.
    one(Operation::Write, 512, 8 * MIB);
    let behind_us = mean_us(&one(Operation::Read, 4 * KIB, 8 * MIB + 4096));
    assert!(behind_us > MEMORY_US + FLASH_US + 40.0, "not in the cache: {behind_us} us");
    one(Operation::Read, 4 * KIB, 9 * MIB);
    one(Operation::Write, 512, 9 * MIB);
    let alone_us = mean_us(&one(Operation::Read, 4 * KIB, 9 * MIB + 4096));
    assert_within("in the cache, us", alone_us, MEMORY_US + FLASH_US, 0.01);
}

#[test]
fn what_waits_to_be_programmed_is_read_from_the_buffer() {
    let mut drive = vector("");
    let mut writes = workload(Operation::Write, Pattern::Sequential, 16 * KIB, 1);
    writes.stop.ios = Some(8);
    run(&mut drive, &writes);
    // A program takes 1.3 ms: all eight rows are still under way.
    let mut reads = workload(Operation::Read, Pattern::Sequential, 4 * KIB, 1);
    reads.stop.ios = Some(1);
    assert_within("buffer, us", mean_us(&run(&mut drive, &reads)), MEMORY_US, 0.01);
    drive.idle(SECOND_NS);
    reads.streams[0].offset_bytes = 64 * 1024;
    let read_us = mean_us(&run(&mut drive, &reads));
    assert_within("flash, us", read_us, MEMORY_US + FLASH_US, 0.01);
}

/// 256 map pages of 4 KiB for 4 MiB each: 1 GiB of the drive.
const MAP_CACHE: &str = "\n[map_cache]\nsize = { value = \"1 MiB\", source = \"t\" }
entry_size = { value = \"4 B\", source = \"t\" }\npage_size = { value = \"4 KiB\", source = \"t\" }\n";

#[test]
fn random_reads_over_more_than_the_map_cache_covers_pay_for_the_map() {
    for (mib, hits) in [(512, 1.0), (2_048, 0.5), (4_096, 0.25)] {
        let mut drive = vector(MAP_CACHE);
        fill(&mut drive, mib);
        let recording = random_reads(&mut drive, mib, 10_000);
        // A map page takes as long as a unit: a page read and 4 KiB.
        let expected_us = MEMORY_US + FLASH_US * (1.0 + (1.0 - hits));
        assert_within(&format!("{mib} MiB, us"), mean_us(&recording), expected_us, 0.5);
    }
}

#[test]
fn reads_in_order_miss_the_map_once_in_a_map_page() {
    let mut drive = vector(MAP_CACHE);
    fill(&mut drive, 4_096);
    let mut reads = workload(Operation::Read, Pattern::Sequential, 4 * KIB, 1);
    // Over other addresses than those that are in memory, by strides of a unit.
    reads.stop.ios = Some(8 * 1_024);
    let recording = run(&mut drive, &reads);
    let mut plain = vector("");
    fill(&mut plain, 4_096);
    let without = run(&mut plain, &reads);
    let more_us = (recording.elapsed_ns - without.elapsed_ns) as f64 * 1e-3;
    assert_within("eight map pages, us", more_us, 8.0 * FLASH_US, 1.0);
}

#[test]
fn random_writes_over_more_than_the_map_cache_covers_write_the_map() {
    let amplification = |more: &str, mib: u64| {
        let mut drive = vector(more);
        fill(&mut drive, mib);
        let counts = |drive: &SimulatedDrive| {
            ["units_of_map", "host_units_written"]
                .map(|name| drive.counters().iter().find(|counter| counter.0 == name).unwrap().1)
        };
        let before = counts(&drive);
        let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
        writes.streams[0].span_bytes = Some(mib * MIB);
        writes.streams[0].alignment_bytes = Some(4096);
        writes.stop.ios = Some(100_000);
        run(&mut drive, &writes);
        let after = counts(&drive);
        (after[0] - before[0]) / (after[1] - before[1])
    };
    assert_eq!(amplification("", 4_096), 0.0);
    assert_eq!(amplification(MAP_CACHE, 512), 0.0);
    // Three writes of four take in a map page, and a changed one leaves for it.
    assert_within("map units per unit", amplification(MAP_CACHE, 4_096), 0.75, 1.0);
}

#[test]
fn commands_that_miss_the_same_map_page_wait_together() {
    let mut drive = vector(MAP_CACHE);
    fill(&mut drive, 4_096);
    // The first 4 MiB have left the cache; 32 reads at once of one map page.
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 32);
    reads.streams[0].span_bytes = Some(4 * MIB);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(32);
    let recording = run(&mut drive, &reads);
    let mut plain = vector("");
    fill(&mut plain, 4_096);
    let without = run(&mut plain, &reads);
    let more_us = (recording.elapsed_ns as f64 - without.elapsed_ns as f64) * 1e-3;
    assert!(more_us < 2.0 * FLASH_US, "{more_us} us more");
    assert!(more_us > 0.0);
}

#[test]
fn impossible_caches_are_refused_by_name() {
    for (path, value) in [
        ("read_cache.size", "1 KiB"),
        ("map_cache.size", "1 KiB"),
        ("map_cache.entry_size", "8 KiB"),
        ("map_cache.page_size", "64 KiB"),
    ] {
        let text = format!("{}{READ_CACHE}{MAP_CACHE}", support::drive_file("ocz-vector-256gb"));
        let settings = [(path.to_string(), value.to_string())];
        let message = SimulatedDrive::new(&text, &settings, 1).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{path}: use ")), "{message}");
    }
}
