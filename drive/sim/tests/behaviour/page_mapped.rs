//! Page-mapped SSDs: times in closed form, queueing over dies, and the
//! catalog's drives against what was published about them.

use crate::support;
use crate::support::{
    GB, KIB, MIB, SECOND_NS, assert_within, counter, drive, fill_8_gb, only_dies, run, workload,
};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Content, Operation, Pattern};

/// Share of a SATA link's rate that is left for data.
const FRAMED: f64 = 8192.0 / (8192.0 + 600.0);

/// MB/s of 4 KB random I/O over 8 GB, aligned to 4 KB.
fn random_4k(
    drive: &mut SimulatedDrive,
    operation: Operation,
    depth: u32,
    content: Content,
) -> f64 {
    drive.purge();
    fill_8_gb(drive, content);
    let mut random = workload(operation, Pattern::Random, 4 * KIB, depth);
    random.streams[0].span_bytes = Some(8 * GB);
    random.streams[0].alignment_bytes = Some(4096);
    random.streams[0].content = content;
    random.ramp_ns = 2 * SECOND_NS;
    random.stop.time_ns = Some(10 * SECOND_NS);
    let recording = run(drive, &random);
    recording.operations[operation.index()].bytes as f64
        / 1e6
        / (recording.elapsed_ns as f64 * 1e-9)
}

/// MB/s of 128 KB sequential writes at queue depth 1 on an erased drive.
fn sequential_writes(drive: &mut SimulatedDrive, content: Content) -> f64 {
    drive.purge();
    let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 1);
    writes.streams[0].content = content;
    writes.stop.time_ns = Some(20 * SECOND_NS);
    let recording = run(drive, &writes);
    recording.operations[1].bytes as f64 / 1e6 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn planes_add_up_only_where_they_work_together() {
    const PAGE_BYTES: f64 = 8192.0;
    for (multi_plane, planes_together) in [("true", 2.0), ("false", 1.0)] {
        let mut settings = only_dies("8");
        settings
            .retain(|setting| !["capacity.user", "flash.blocks_per_plane"].contains(&setting.0));
        settings.extend([
            ("capacity.user", "1 GiB"),
            ("flash.blocks_per_plane", "250"),
            ("flash.pages_per_block", "64"),
            ("flash.planes", "2"),
            ("flash.multi_plane", multi_plane),
            ("flash.program_time", "2 ms"),
            ("flash.erase_time", "20 ms"),
        ]);
        let mut drive = drive("ocz-vector-256gb", &settings);
        let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 1);
        writes.stop.bytes = Some(3 << 30);
        // From then on a block is erased for each that is filled.
        run(&mut drive, &writes);
        let recording = run(&mut drive, &writes);
        // What is overwritten in sequence leaves blocks without valid data: 64
        // programs and an erase for a block.
        let block_bytes = 64.0 * planes_together * PAGE_BYTES;
        let expected = 8.0 * block_bytes / (64.0 * 2e-3 + 20e-3);
        let rate = recording.operations[1].bytes as f64 / (recording.elapsed_ns as f64 * 1e-9);
        assert_within(&format!("multi-plane {multi_plane}, B/s"), rate, expected, 1.0);
    }
}

#[test]
fn a_lone_read_takes_the_sum_of_its_parts() {
    let mut drive = drive("ocz-vector-256gb", &[]);
    fill_8_gb(&mut drive, Content::Incompressible);
    drive.idle(SECOND_NS);
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.streams[0].span_bytes = Some(7 * GB);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(1_000);
    let recording = run(&mut drive, &reads);
    // Host 18, firmware 10, tR 75, 4 KiB at 200 MB/s, 4 KiB at 600 MB/s with
    // frames of 8 KiB, in us.
    let expected_ns = 18e3 + 10e3 + 75e3 + 4096.0 / 0.2 + 4096.0 / (0.6 * FRAMED);
    let latencies = &recording.operations[0].latencies;
    let mean_ns = latencies.sum_ns() as f64 / 1_000.0;
    assert_within("mean latency", mean_ns, expected_ns, 0.01);
    assert_eq!(latencies.min_ns(), latencies.max_ns());
}

#[test]
fn reads_spread_over_dies_as_the_closed_network_says() {
    // Deterministic service, simulated independently: mean busy dies.
    for (dies, depth, busy) in [
        (8, 1, 1.0),
        (8, 2, 1.876),
        (8, 8, 4.947),
        (8, 32, 7.157),
        (16, 8, 6.315),
        (32, 16, 12.419),
        (32, 32, 19.001),
    ] {
        let dies_text = dies.to_string();
        let mut drive = drive("ocz-vector-256gb", &only_dies(&dies_text));
        fill_8_gb(&mut drive, Content::Incompressible);
        drive.idle(SECOND_NS);
        let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, depth);
        reads.streams[0].span_bytes = Some(7 * GB);
        reads.streams[0].alignment_bytes = Some(4096);
        reads.ramp_ns = SECOND_NS;
        reads.stop.ios = Some(100_000);
        let recording = run(&mut drive, &reads);
        let iops = recording.operations[0].ios as f64 / (recording.elapsed_ns as f64 * 1e-9);
        assert_within(&format!("{dies} dies, depth {depth}"), iops * 10e-3, busy, 0.7);
    }
}

#[test]
fn littles_law_holds_for_mixed_traffic() {
    let mut drive = drive("ocz-vertex-3-120gb", &[]);
    fill_8_gb(&mut drive, Content::Incompressible);
    let mut mixed = workload(Operation::Read, Pattern::Random, 4 * KIB, 24);
    mixed.streams[0].span_bytes = Some(8 * GB);
    mixed.streams[0].read_fraction = 0.6;
    mixed.stop.time_ns = Some(5 * SECOND_NS);
    let recording = run(&mut drive, &mixed);
    let latency_sum: u128 = recording.operations.iter().map(|o| o.latencies.sum_ns()).sum();
    let depth = latency_sum as f64 / recording.elapsed_ns as f64;
    assert_within("rate times latency", depth, 24.0, 0.1);
}

#[test]
fn small_vertex_3_is_slower_only_where_dies_are_the_limit() {
    // vertex3: 84 % at queue depth 3, a larger gap at 32, 76 % sequential;
    // equal with compressible data, and equal on a 3 Gb/s link.
    let ratio = |settings: &[(&str, &str)], measure: &dyn Fn(&mut SimulatedDrive) -> f64| {
        let mut small = drive("ocz-vertex-3-120gb", settings);
        let mut large = drive("ocz-vertex-3-240gb", settings);
        measure(&mut small) / measure(&mut large)
    };
    let write = |depth, content| {
        move |d: &mut SimulatedDrive| random_4k(d, Operation::Write, depth, content)
    };
    let shallow = ratio(&[], &write(3, Content::Incompressible));
    let deep = ratio(&[], &write(32, Content::Incompressible));
    assert_within("incompressible, depth 3", shallow, 0.84, 3.0);
    assert!(deep < shallow, "the gap grows with queue depth: {deep} against {shallow}");
    assert_within("repeated, depth 3", ratio(&[], &write(3, Content::Repeated)), 1.0, 0.5);
    let slow_link = [("link.line_rate", "3 Gb/s")];
    assert_within("3 Gb/s", ratio(&slow_link, &write(3, Content::Incompressible)), 1.0, 0.5);
    let sequential = |content| move |d: &mut SimulatedDrive| sequential_writes(d, content);
    assert_within("sequential", ratio(&[], &sequential(Content::Incompressible)), 0.76, 3.0);
    assert_within("sequential, repeated", ratio(&[], &sequential(Content::Repeated)), 1.0, 0.5);
}

#[test]
fn random_reads_need_dies() {
    // vertex3: at queue depth 3 the 120 GB drive is clearly slower.
    let read = |name| random_4k(&mut drive(name, &[]), Operation::Read, 3, Content::Incompressible);
    assert!(read("ocz-vertex-3-120gb") < 0.9 * read("ocz-vertex-3-240gb"));
}

#[test]
fn x25_m_random_writes() {
    let mut drive = drive("intel-x25-m-g2-80gb", &[]);
    let rate = random_4k(&mut drive, Operation::Write, 3, Content::Incompressible);
    assert_within("4 KB random writes, MB/s", rate, 36.1, 1.0);
}

#[test]
fn a_3_gbit_link_holds_random_reads_near_200_mb_per_second() {
    let mut drive = drive("ocz-vector-256gb", &[("link.line_rate", "3 Gb/s")]);
    let rate = random_4k(&mut drive, Operation::Read, 31, Content::Incompressible);
    assert_within("4 KB random reads, MB/s", rate, 200.0, 3.0);
}

#[test]
fn writes_across_mapping_units_cost_more_than_aligned_ones() {
    let mut drive = drive(
        "intel-x25-m-g2-80gb",
        &[("controller.write_overhead", "5 us"), ("controller.write_data_rate", "1 GB/s")],
    );
    let aligned = random_4k(&mut drive, Operation::Write, 3, Content::Incompressible);
    let unaligned = shifted_4k(&mut drive);
    // Two units are programmed and two are read where one was programmed.
    assert!(unaligned < 0.5 * aligned, "{unaligned} against {aligned} MB/s");
}

/// MB/s of 4 KB random writes, each shifted by a sector against the mapping units.
fn shifted_4k(drive: &mut SimulatedDrive) -> f64 {
    drive.purge();
    fill_8_gb(drive, Content::Incompressible);
    let mut shifted = workload(Operation::Write, Pattern::Random, 4 * KIB, 3);
    shifted.streams[0].span_bytes = Some(8 * GB);
    shifted.streams[0].alignment_bytes = Some(4096);
    shifted.streams[0].misalignment_bytes = 512;
    shifted.stop.time_ns = Some(10 * SECOND_NS);
    let recording = run(drive, &shifted);
    recording.operations[1].bytes as f64 / 1e6 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn firmware_that_waits_for_what_it_merges_is_the_limit_of_unaligned_writes() {
    let mut drive = drive("corsair-nova-v128", &[]);
    // A page and its transfer at each end of every write, and the write itself.
    let cycle_us = 83.0 + 2.0 * 112.0;
    assert_within("MB/s", shifted_4k(&mut drive), 4096.0 / cycle_us, 0.5);
    let aligned = random_4k(&mut drive, Operation::Write, 3, Content::Incompressible);
    assert_within("aligned, MB/s", aligned, 4096.0 / 83.0, 0.5);
}

#[test]
fn a_3_gbit_link_holds_random_writes_lower_than_reads() {
    // sata: Vertex 3 and m4 at about 180 MB/s beyond 10 outstanding.
    for name in ["ocz-vertex-3-240gb", "crucial-m4-256gb"] {
        let mut drive = drive(name, &[("link.line_rate", "3 Gb/s")]);
        let rate = random_4k(&mut drive, Operation::Write, 16, Content::Incompressible);
        assert_within("4 KB random writes, MB/s", rate, 180.0, 5.0);
    }
}

/// MB/s of 128 KiB sequential reads at queue depth 1, by as many workers as
/// are said, each on its own part of 8 GB.
fn sequential_reads(drive: &mut SimulatedDrive, workers: u32) -> f64 {
    drive.purge();
    fill_8_gb(drive, Content::Incompressible);
    drive.idle(SECOND_NS);
    let mut reads = workload(Operation::Read, Pattern::Sequential, 128 * KIB, 1);
    reads.streams[0].span_bytes = Some(8 * GB / (4 * 128 * KIB) * (4 * 128 * KIB));
    reads.streams[0].workers = workers;
    reads.ramp_ns = SECOND_NS;
    reads.stop.time_ns = Some(5 * SECOND_NS);
    let recording = run(drive, &reads);
    recording.operations[0].bytes as f64 / 1e6 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn read_ahead_leaves_the_link_as_the_limit_of_sequential_reads() {
    let mut drive = drive("intel-x25-m-g2-80gb", &[]);
    // Host 18 us, firmware 20 us, 128 KiB at what frames leave of 300 MB/s; the
    // dies work meanwhile.
    let rate = 300.0 * FRAMED;
    let expected = 131_072.0 / (18.0 + 20.0 + 131_072.0 / rate);
    assert_within("one stream, MB/s", sequential_reads(&mut drive, 1), expected, 0.5);
    // Four streams at once keep the link itself busy: 1650 B for each command.
    let expected = rate * 131_072.0 / (131_072.0 + 1650.0);
    assert_within("four streams, MB/s", sequential_reads(&mut drive, 4), expected, 0.5);
}

#[test]
fn read_ahead_hides_the_dies_only_as_far_as_its_buffer_reaches() {
    let rate = |size| {
        let settings = [("read_ahead.size", size), ("read_ahead.streams", "1")];
        sequential_reads(&mut drive("intel-x25-m-g2-80gb", &settings), 1)
    };
    // Without, a command waits for the first page of its 32: about 209 MB/s.
    let (little, some, much) = (rate("4 KiB"), rate("16 KiB"), rate("256 KiB"));
    assert!(little < 215.0 && little < some && some < much, "{little}, {some}, {much} MB/s");
}

#[test]
fn lower_and_upper_pages_take_turns() {
    // One die, a row of two 8 KiB pages, a buffer of two rows: each write of a
    // row waits for one of the last two programs.
    let settings = [
        ("flash.dies", "1"),
        ("flash.channels", "1"),
        ("flash.bus_rate", "1000 GB/s"),
        ("capacity.user", "6 GiB"),
        ("write_buffer.size", "32 KiB"),
    ];
    let text = support::drive_file("ocz-vector-256gb");
    let times =
        "[flash]\nprogram_times = { value = [\"0.4 ms\", \"2.2 ms\"], source = \"test\" }\n";
    let latencies = |text: &str| {
        let mut drive = support::drive_of(text, &settings);
        let mut writes = workload(Operation::Write, Pattern::Sequential, 16 * KIB, 1);
        writes.ramp_ns = SECOND_NS / 10;
        writes.stop.ios = Some(1_000);
        let recording = run(&mut drive, &writes);
        let latencies = &recording.operations[1].latencies;
        let mean_ns = latencies.sum_ns() as f64 / recording.operations[1].ios as f64;
        (mean_ns * 1e-6, latencies.min_ns().unwrap() as f64 * 1e-6)
    };
    let (mean_ms, fastest_ms) = latencies(&text);
    assert_within("all alike, mean, ms", mean_ms, 1.3, 1.0);
    assert_within("all alike, fastest, ms", fastest_ms, 1.3, 1.0);
    let (mean_ms, fastest_ms) = latencies(&text.replacen("[flash]\n", times, 1));
    assert_within("in turn, mean, ms", mean_ms, 1.3, 1.0);
    assert_within("in turn, fastest, ms", fastest_ms, 0.4, 1.0);
}

#[test]
fn the_mean_program_time_is_that_of_a_blocks_pages() {
    // Of the 256 pages of a block, 86 take the first time and 85 each other one.
    let times =
        "program_times = { value = [\"0.1 ms\", \"1.3 ms\", \"2.5 ms\"], source = \"test\" }";
    let drive = with_lines("ocz-vector-256gb", "flash", &format!("{times}\n"));
    let told = support::truth(&drive, "program_time");
    assert_within("mean, ms", told * 1e3, (86.0 * 0.1 + 85.0 * 3.8) / 256.0, 0.001);
}

/// A drive of the catalog with more lines at the start of a section.
fn with_lines(name: &str, section: &str, lines: &str) -> SimulatedDrive {
    let text = support::drive_file(name);
    let header = format!("[{section}]\n");
    assert!(text.contains(&header));
    support::drive_of(&text.replacen(&header, &format!("{header}{lines}\n"), 1), &[])
}

/// Longest 4 KB random read, in ms, and MB/s of writes, on one die that reads
/// and writes by turns.
fn reads_among_writes(drive: &mut SimulatedDrive) -> (f64, f64) {
    fill_8_gb(drive, Content::Incompressible);
    drive.idle(10 * SECOND_NS);
    let mut mixed = workload(Operation::Read, Pattern::Random, 4 * KIB, 4);
    mixed.streams[0].span_bytes = Some(7 * GB);
    mixed.streams[0].alignment_bytes = Some(4096);
    mixed.streams[0].read_fraction = 0.5;
    mixed.ramp_ns = SECOND_NS;
    mixed.stop.time_ns = Some(5 * SECOND_NS);
    let recording = run(drive, &mixed);
    let [reads, writes, ..] = &recording.operations;
    (
        reads.latencies.max_ns().unwrap() as f64 * 1e-6,
        writes.bytes as f64 / 1e6 / (recording.elapsed_ns as f64 * 1e-9),
    )
}

#[test]
fn reads_suspend_programs() {
    let (waits_ms, _) = reads_among_writes(&mut drive("ocz-vector-256gb", &[]));
    let lines = r#"suspend_time = { value = "20 us", source = "test" }
        resume_time = { value = "20 us", source = "test" }"#;
    let (suspends_ms, rate) =
        reads_among_writes(&mut with_lines("ocz-vector-256gb", "flash", lines));
    // A program takes 1.3 ms. With suspension reads wait for each other only.
    assert!(waits_ms > 1.3, "longest read {waits_ms} ms");
    assert!(suspends_ms < 0.6, "longest read {suspends_ms} ms");
    assert!(rate > 10.0, "writes go on: {rate} MB/s");
}

#[test]
fn trim_forgets_whole_parts_only() {
    let read_us = |granularity: &str, offset: u64, length: u64| {
        let line = format!("trim_granularity = {{ value = \"{granularity}\", source = \"test\" }}");
        let mut drive = with_lines("ocz-vector-256gb", "translation", &line);
        let mut write = workload(Operation::Write, Pattern::Sequential, 64 * KIB, 1);
        write.stop.bytes = Some(MIB);
        run(&mut drive, &write);
        drive.idle(SECOND_NS);
        drive.trim(offset, length);
        let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
        reads.streams[0].offset_bytes = 64 * KIB;
        reads.streams[0].span_bytes = Some(4 * KIB);
        reads.stop.ios = Some(100);
        run(&mut drive, &reads).operations[0].latencies.sum_ns() / 100_000
    };
    let written_us = read_us("0 B", 0, MIB);
    for (granularity, offset_kib, length_kib, forgotten) in [
        ("0 B", 64, 64, false),
        ("64 KiB", 64, 64, true),
        ("64 KiB", 0, 256, true),
        ("64 KiB", 64, 60, false),
        ("64 KiB", 60, 60, false),
    ] {
        let us = read_us(granularity, offset_kib * KIB, length_kib * KIB);
        assert_eq!(2 * us < written_us, forgotten, "{granularity}: {us} of {written_us} us");
    }
}

#[test]
fn what_was_trimmed_does_not_come_back_from_the_data_path() {
    let mut drive = drive("ocz-vertex-le-100gb", &[]);
    let mut write = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 8);
    write.stop.bytes = Some(2 * MIB);
    run(&mut drive, &write);
    let mut read_ns = || {
        drive.trim(0, drive.capacity_bytes());
        drive.idle(SECOND_NS);
        let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
        reads.streams[0].span_bytes = Some(2 * MIB);
        reads.stop.ios = Some(500);
        run(&mut drive, &reads).operations[0].latencies.sum_ns()
    };
    let (first, second) = (read_ns(), read_ns());
    assert_eq!(first, second);
}

#[test]
fn a_steady_state_that_is_refused_leaves_the_drive_as_it_is() {
    let mut drive = drive("ocz-vertex-le-100gb", &[]);
    let mut write = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 8);
    write.stop.bytes = Some(64 * MIB);
    run(&mut drive, &write);
    drive.idle(SECOND_NS);
    let before = drive.counters();
    write.streams[0].workers = 2;
    let refused = drive.enter_steady_state(1.0, Some(&write.streams[0]));
    assert!(refused.unwrap_err().contains("several workers"));
    assert_eq!(drive.counters(), before);
}

#[test]
fn parts_of_mapping_units_amplify_writes() {
    let parts = [("translation.unit", "16 KiB"), ("capacity.user", "256 GB")];
    let mut drive = drive("ocz-vector-256gb", &parts);
    let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
    writes.streams[0].alignment_bytes = Some(4096);
    writes.stop.ios = Some(10_000);
    run(&mut drive, &writes);
    assert_eq!(counter(&drive, "host_bytes_written"), 10_000.0 * 4096.0);
    assert_within("amplification", counter(&drive, "write_amplification"), 4.0, 0.1);
}
