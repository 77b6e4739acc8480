//! SSDs with log blocks against closed forms.

use crate::support::{
    KIB, MIB, SECOND_NS, assert_within, drive_of, fill, log_block_file, run, workload,
};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::Operation::{Read, Write};
use fourcorners_workload::Pattern;

const ROW: u64 = 4 * KIB;
/// Rows of a mapped block: 16 pages on each of four dies.
const BLOCK_ROWS: f64 = 64.0;
/// Of the whole drive.
const BLOCKS: f64 = 1024.0;
const LOGS: f64 = 8.0;
/// A row over a channel: 4 KiB at 40 MB/s.
const BUS_S: f64 = 4096.0 / 40e6;
const READ_S: f64 = 50e-6;
const PROGRAM_S: f64 = 800e-6;
const ERASE_S: f64 = 2e-3;
/// Four dies copy at the same time.
const MERGE_S: f64 = BLOCK_ROWS / 4.0 * (READ_S + PROGRAM_S + 2.0 * BUS_S);

fn filled(settings: &[(&str, &str)]) -> SimulatedDrive {
    let mut drive = drive_of(&log_block_file(), settings);
    fill(&mut drive);
    drive
}

fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    drive.counters().iter().find(|(n, _)| *n == name).unwrap().1
}

/// What random writes of rows over the first bytes cost each: merges, copied
/// rows and seconds, after the logs have come into their steady state.
fn random_writes(drive: &mut SimulatedDrive, span: u64) -> (f64, f64, f64) {
    let mut writes = workload(Write, Pattern::Random, ROW, 8);
    writes.streams[0].span_bytes = Some(span);
    writes.streams[0].alignment_bytes = Some(ROW as u32);
    writes.stop.ios = Some(5_000);
    run(drive, &writes);
    writes.stop.ios = Some(20_000);
    writes.seed = 4;
    let merges =
        |drive: &SimulatedDrive| counter(drive, "full_merges") + counter(drive, "partial_merges");
    let before = (merges(drive), counter(drive, "rows_copied"));
    let recording = run(drive, &writes);
    (
        (merges(drive) - before.0) / 20_000.0,
        (counter(drive, "rows_copied") - before.1) / 20_000.0,
        recording.elapsed_ns as f64 * 1e-9 / 20_000.0,
    )
}

#[test]
fn sequential_overwrites_cost_an_erase_per_block() {
    for (sharing, block) in [("shared", 64 * KIB), ("per-block", 64 * KIB), ("shared", 2 * KIB)] {
        let mut drive = filled(&[("translation.sharing", sharing)]);
        let before = counter(&drive, "switch_merges");
        let mut writes = workload(Write, Pattern::Sequential, block, 4);
        writes.stop.bytes = Some(128 * MIB);
        let recording = run(&mut drive, &writes);
        assert_eq!(counter(&drive, "rows_copied"), 0.0);
        assert_eq!(counter(&drive, "full_merges") + counter(&drive, "partial_merges"), 0.0);
        assert_within("switches", counter(&drive, "switch_merges") - before, BLOCKS / 2.0, 0.2);
        // A die programs a quarter of the rows, one after the other.
        let block_s = BLOCK_ROWS / 4.0 * (PROGRAM_S + BUS_S) + ERASE_S;
        let seconds = recording.elapsed_ns as f64 * 1e-9;
        assert_within("time of a block", seconds / (BLOCKS / 2.0), block_s, 1.0);
    }
}

#[test]
fn shared_logs_collapse_to_full_merges_over_many_blocks() {
    let mut drive = filled(&[]);
    let (merges, copies, seconds) = random_writes(&mut drive, 256 * MIB);
    // A block is merged when the log that has the first of its rows comes round
    // again: after the rest of that log, half of it on average, and all others.
    // Then it waits for its next write, N writes on average. One write in 64
    // begins a block and displaces the log in order.
    let window = (LOGS - 0.5) * BLOCK_ROWS;
    let first = 1.0 / BLOCK_ROWS;
    let expected = (1.0 - first) * BLOCKS / (BLOCKS + (1.0 - first) * window) + first;
    assert_within("merges per write", merges, expected, 2.0);
    assert_within("copied rows per write", copies, expected * BLOCK_ROWS, 2.0);
    // An erase of the old data per merge, and of a log per 64 writes.
    let expected_s =
        merges * (MERGE_S + ERASE_S) + ERASE_S / BLOCK_ROWS + (PROGRAM_S + BUS_S) / 4.0;
    assert_within("seconds per write", seconds, expected_s, 3.0);
}

#[test]
fn logs_per_block_thrash_over_many_blocks() {
    let mut drive = filled(&[("translation.sharing", "per-block")]);
    let (merges, copies, _) = random_writes(&mut drive, 256 * MIB);
    // The least recently written of N blocks has given its log away already,
    // unless the block is among the L latest.
    let expected = 1.0 - LOGS / BLOCKS;
    assert_within("merges per write", merges, expected, 0.5);
    assert_within("copied rows per write", copies, expected * BLOCK_ROWS, 0.5);
}

#[test]
fn random_writes_within_few_blocks_are_cheap() {
    // As many blocks as logs: a log is merged when it is full, so that a row is
    // copied for each that is written.
    let few = LOGS as u64 * BLOCK_ROWS as u64 * ROW;
    let mut per_block = filled(&[("translation.sharing", "per-block")]);
    let (_, copies, seconds) = random_writes(&mut per_block, few);
    assert_within("copied rows per write", copies, 1.0, 1.0);
    let mut many = filled(&[("translation.sharing", "per-block")]);
    assert!(random_writes(&mut many, 256 * MIB).2 > 25.0 * seconds);

    // Shared logs also copy a block for each write that begins one.
    let (_, copies, _) = random_writes(&mut filled(&[]), few);
    assert!(copies < 2.5, "{copies}");
}

#[test]
fn writes_of_part_of_a_row_read_the_rest() {
    let elapsed = |block: u64| {
        let mut drive = filled(&[("translation.sharing", "per-block")]);
        let mut writes = workload(Write, Pattern::Random, block, 1);
        writes.streams[0].alignment_bytes = Some(ROW as u32);
        writes.streams[0].span_bytes = Some(BLOCK_ROWS as u64 * ROW);
        writes.stop.ios = Some(20_000);
        run(&mut drive, &writes).elapsed_ns as f64 * 1e-9 / 20_000.0
    };
    assert!(elapsed(512) > 1.02 * elapsed(ROW));
}

#[test]
fn write_amplification_counts_what_a_partial_row_wastes() {
    // Every write programs a row, and merges what its block owes as a write of
    // a whole row does (see above); over few blocks a row is copied for each.
    let few = LOGS as u64 * BLOCK_ROWS as u64 * ROW;
    for (span, copies) in [(256 * MIB, (1.0 - LOGS / BLOCKS) * BLOCK_ROWS), (few, 1.0)] {
        for block in [512, 2 * KIB, ROW] {
            let mut drive = filled(&[("translation.sharing", "per-block")]);
            let mut writes = workload(Write, Pattern::Random, block, 8);
            writes.streams[0].alignment_bytes = Some(ROW as u32);
            writes.streams[0].span_bytes = Some(span);
            writes.stop.ios = Some(5_000);
            run(&mut drive, &writes);
            let bytes = |drive: &SimulatedDrive| {
                ["bytes_programmed", "host_bytes_written"].map(|name| counter(drive, name))
            };
            let before = bytes(&drive);
            writes.stop.ios = Some(20_000);
            run(&mut drive, &writes);
            let after = bytes(&drive);
            let measured = (after[0] - before[0]) / (after[1] - before[1]);
            let expected = ROW as f64 / block as f64 * (1.0 + copies);
            assert_within(&format!("{block} B over {span} B"), measured, expected, 1.0);
        }
    }
    // In order, parts of rows meet in the buffer and waste nothing.
    let mut drive = drive_of(&log_block_file(), &[]);
    let mut writes = workload(Write, Pattern::Sequential, 512, 4);
    writes.stop.bytes = Some(32 * MIB);
    run(&mut drive, &writes);
    assert_eq!(counter(&drive, "write_amplification"), 1.0);
}

#[test]
fn reads_spread_over_dies_as_the_closed_network_says() {
    for (dies, depth, busy) in [(8, 1, 1.0), (8, 2, 1.876), (8, 8, 4.947), (8, 32, 7.157)] {
        let dies_text = dies.to_string();
        let mut drive = filled(&[
            ("host.overhead", "0 us"),
            ("controller.read_overhead", "0 us"),
            ("flash.channels", &dies_text),
            ("flash.dies", &dies_text),
            ("flash.read_time", "10 ms"),
            ("flash.bus_rate", "10 GB/s"),
            ("flash.program_time", "10 us"),
            ("translation.dies_per_block", "1"),
        ]);
        drive.idle(SECOND_NS);
        let mut reads = workload(Read, Pattern::Random, ROW, depth);
        reads.streams[0].alignment_bytes = Some(ROW as u32);
        reads.stop.ios = Some(50_000);
        let recording = run(&mut drive, &reads);
        let iops = 50_000.0 / (recording.elapsed_ns as f64 * 1e-9);
        assert_within(&format!("depth {depth}"), iops * 10e-3, busy, 0.7);
    }
}

#[test]
fn littles_law_holds_for_mixed_traffic() {
    let mut drive = filled(&[("translation.dies_per_block", "2")]);
    let mut mixed = workload(Read, Pattern::Random, 6 * KIB, 24);
    mixed.streams[0].read_fraction = 0.6;
    mixed.stop.ios = Some(100_000);
    let recording = run(&mut drive, &mixed);
    let latency_sum: u128 = recording.operations.iter().map(|o| o.latencies.sum_ns()).sum();
    let depth = latency_sum as f64 / recording.elapsed_ns as f64;
    assert_within("rate times latency", depth, 24.0, 0.1);
}
