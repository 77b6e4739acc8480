//! Today's classes of NVMe drives in the catalog: what a user would recognise.

use crate::support;
use crate::support::{KIB, SECOND_NS, drive, run, workload};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

const GB: u64 = 1_000_000_000;
const QLC: &str = "class-qlc-nvme-dramless-1tb";
const CONSUMER: &str = "class-tlc-nvme-consumer-1tb";
const ENTERPRISE: &str = "class-tlc-nvme-enterprise-1920gb";

/// Writes 128 KiB blocks in order from `offset_gb` on.
fn write_gb(drive: &mut SimulatedDrive, offset_gb: u64, gb: u64) -> Recording {
    let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 8);
    writes.streams[0].offset_bytes = offset_gb * GB / 4096 * 4096;
    writes.streams[0].span_bytes = Some(gb * GB / 4096 * 4096);
    writes.stop.bytes = Some(gb * GB);
    run(drive, &writes)
}

/// GB/s.
fn rate(recording: &Recording) -> f64 {
    let bytes: u64 = recording.operations.iter().map(|operation| operation.bytes).sum();
    bytes as f64 / recording.elapsed_ns as f64
}

/// Mean latency, in us, of 4 KiB random reads at queue depth 1.
fn read_latency_us(drive: &mut SimulatedDrive) -> f64 {
    write_gb(drive, 0, 4);
    drive.idle(SECOND_NS / 2);
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.streams[0].span_bytes = Some(3 * GB);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(10_000);
    run(drive, &reads).operations[0].latencies.sum_ns() as f64 * 1e-7
}

/// GB/s of 128 KiB sequential reads at queue depth 8.
fn sequential_reads(drive: &mut SimulatedDrive) -> f64 {
    let mut reads = workload(Operation::Read, Pattern::Sequential, 128 * KIB, 8);
    reads.streams[0].span_bytes = Some(3 * GB);
    reads.stop.bytes = Some(6 * GB);
    rate(&run(drive, &reads))
}

#[test]
fn each_class_reads_as_its_flash_and_link_allow() {
    // The read time of the class, and about 15 us of host, link and firmware.
    for (name, read_us, sequential) in
        [(QLC, 90.0, 1.0..3.6), (CONSUMER, 45.0, 4.0..7.2), (ENTERPRISE, 50.0, 5.0..7.2)]
    {
        let mut drive = drive(name, &[]);
        let latency_us = read_latency_us(&mut drive);
        assert!((read_us + 12.0..read_us + 25.0).contains(&latency_us), "{name}: {latency_us} us");
        let rate = sequential_reads(&mut drive);
        assert!(sequential.contains(&rate), "{name}: {rate} GB/s");
    }
}

#[test]
fn random_reads_over_a_wide_span_need_the_map_where_there_is_no_dram() {
    let latency_us = |name, gb: u64| {
        let mut drive = drive(name, &[]);
        write_gb(&mut drive, 0, gb);
        let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
        reads.streams[0].span_bytes = Some(gb * GB / 4096 * 4096);
        reads.streams[0].alignment_bytes = Some(4096);
        // From the first second on: the cache may still have map to write.
        reads.ramp_ns = SECOND_NS;
        reads.stop.time_ns = Some(8 * SECOND_NS);
        let recording = run(&mut drive, &reads);
        let reads = &recording.operations[0];
        reads.latencies.sum_ns() as f64 / reads.ios as f64 * 1e-3
    };
    // 64 MiB hold the map of 64 GiB; a map page takes 90 us and 4 KiB at 800 MB/s.
    let misses = 1.0 - 64.0 * 1.073_741_824 / 100.0;
    let (narrow, wide) = (latency_us(QLC, 20), latency_us(QLC, 100));
    let expected = misses * (90.0 + 4096.0 / 800.0);
    support::assert_within("more for the map, us", wide - narrow, expected, 5.0);
    let (narrow, wide) = (latency_us(CONSUMER, 20), latency_us(CONSUMER, 100));
    support::assert_within("with DRAM", wide, narrow, 1.0);
}

#[test]
fn consumer_drives_fall_off_a_cliff_and_recover_in_idle_time() {
    for (name, within_gb, fast, slow) in
        [(QLC, 120, 1.5..3.0, 0.1..0.3), (CONSUMER, 110, 4.0..6.0, 0.8..1.5)]
    {
        let mut drive = drive(name, &[]);
        let cached = rate(&write_gb(&mut drive, 0, within_gb));
        write_gb(&mut drive, within_gb, 40);
        let beyond = rate(&write_gb(&mut drive, within_gb + 40, 10));
        drive.idle(1_200 * SECOND_NS);
        let again = rate(&write_gb(&mut drive, within_gb + 50, 10));
        assert!(fast.contains(&cached), "{name}: {cached} GB/s in the cache");
        assert!(slow.contains(&beyond), "{name}: {beyond} GB/s beyond it");
        assert!(fast.contains(&again), "{name}: {again} GB/s after a rest");
    }
}

#[test]
fn server_drives_have_no_cliff() {
    let mut drive = drive(ENTERPRISE, &[]);
    let first = rate(&write_gb(&mut drive, 0, 20));
    write_gb(&mut drive, 20, 180);
    let later = rate(&write_gb(&mut drive, 200, 20));
    assert!((later / first - 1.0).abs() < 0.01, "{first} and {later} GB/s");
}
