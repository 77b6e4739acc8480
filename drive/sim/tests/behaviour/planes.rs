//! Planes of a die that work at the same time, and the order in which data goes to
//! the parts of the flash.

use crate::support;
use crate::support::{
    KIB, MIB, assert_within, drive, drive_file, drive_of, only_dies, run, workload,
};
use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

const PAGE: u64 = 8 * KIB;
const READ_S: f64 = 10e-3;
const PROGRAM_S: f64 = 2e-3;

const CHANNEL_FIRST: &str = r#"["channel", "way", "die", "plane"]"#;

/// Small flash of which only dies and channels take time.
fn flash<'a>(more: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    let mut settings = only_dies("8");
    settings.extend([
        ("capacity.user", "256 MiB"),
        ("link.queue_depth", "256"),
        ("flash.channels", "8"),
        ("flash.planes", "4"),
        ("flash.blocks_per_plane", "64"),
        ("flash.pages_per_block", "64"),
        ("flash.program_time", "2 ms"),
        ("controller.write_overhead", "0 us"),
    ]);
    settings.extend(more);
    let mut last: Vec<(&str, &str)> = Vec::new();
    for setting in settings {
        last.retain(|known| known.0 != setting.0);
        last.push(setting);
    }
    last
}

/// The drive file on a link that takes as many commands as one likes.
fn file() -> String {
    let text = drive_file("ocz-vector-256gb");
    let line = text.lines().find(|line| line.starts_with("line_rate")).unwrap();
    let test =
        |name: &str, value: &str| format!("{name} = {{ value = {value}, source = \"t\" }}\n");
    let pcie = test("pcie_generation", "4") + &test("pcie_lanes", "4");
    let pcie = pcie + &test("command_latency", "\"0 us\"");
    let frames = text.lines().find(|line| line.starts_with("write_command")).unwrap();
    text.replace(&format!("{line}\n"), &pcie).replace(&format!("{frames}\n"), "")
}

fn empty(settings: &[(&'static str, &str)]) -> SimulatedDrive {
    drive_of(&file(), &flash(settings))
}

fn filled(settings: &[(&'static str, &str)]) -> SimulatedDrive {
    let mut drive = empty(settings);
    support::fill(&mut drive);
    drive.idle(100 * support::SECOND_NS);
    drive
}

fn random_reads(drive: &mut SimulatedDrive, block: u64, depth: u32, ios: u64) -> Recording {
    let mut reads = workload(Operation::Read, Pattern::Random, block, depth);
    reads.streams[0].alignment_bytes = Some(block as u32);
    reads.stop.ios = Some(ios);
    run(drive, &reads)
}

fn iops(recording: &Recording) -> f64 {
    recording.operations[0].ios as f64 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn saturated_reads_are_limited_by_merged_arrays_or_by_channels() {
    for (dies, channels, planes, bus, transfer_s) in [
        // One die: several now and then run out of reads, however many there are.
        ("1", "1", 1, "1000 GB/s", 0.0),
        ("1", "1", 2, "1000 GB/s", 0.0),
        ("1", "1", 4, "1000 GB/s", 0.0),
        // A die does not read on while its pages are transferred.
        ("1", "1", 4, "2 MB/s", 2.048e-3),
        // Four dies fill a channel, and their planes gain nothing.
        ("4", "1", 4, "1 MB/s", 4.096e-3),
        ("4", "1", 1, "2 MB/s", 2.048e-3),
    ] {
        let together = if planes > 1 { "true" } else { "false" };
        let mut drive = filled(&[
            ("capacity.user", "32 MiB"),
            ("flash.dies", dies),
            ("flash.channels", channels),
            ("flash.bus_rate", bus),
            ("flash.planes", if planes == 1 { "2" } else { ["2", "4"][usize::from(planes > 2)] }),
            ("flash.multi_plane_reads", together),
        ]);
        let rate = iops(&random_reads(&mut drive, 4 * KIB, 250, 60_000));
        let (dies, channels): (f64, f64) = (dies.parse().unwrap(), channels.parse().unwrap());
        let planes = f64::from(planes);
        let arrays = dies * planes / (READ_S + planes * transfer_s);
        let expected = if transfer_s > 0.0 { arrays.min(channels / transfer_s) } else { arrays };
        assert_within(&format!("{dies} dies, {planes} planes, {bus}"), rate, expected, 1.5);
    }
}

#[test]
fn a_read_over_the_planes_of_a_die_takes_one_array_time() {
    for (together, expected_s) in [("true", READ_S + 4.0 * 8.192e-3), ("false", 4.0 * 18.192e-3)] {
        let mut drive =
            filled(&[("flash.bus_rate", "1 MB/s"), ("flash.multi_plane_reads", together)]);
        let reads = random_reads(&mut drive, 4 * PAGE, 1, 50);
        assert_within(together, 1.0 / iops(&reads), expected_s, 0.5);
    }
}

/// Seconds that a read of so many pages in a row takes, on 2 channels of 4 dies.
fn in_order(order: &str, dies_per_way: &str, pages: u64) -> f64 {
    let mut drive = filled(&[
        ("capacity.user", "64 MiB"),
        ("flash.channels", "2"),
        ("flash.planes", "1"),
        ("flash.bus_rate", "1 MB/s"),
        ("flash.dies_per_way", dies_per_way),
        ("translation.allocation_order", order),
    ]);
    1.0 / iops(&random_reads(&mut drive, pages * PAGE, 1, 50))
}

#[test]
fn rows_that_follow_each_other_lie_where_the_order_says() {
    let at_once = |pages_of_a_channel: f64| READ_S + pages_of_a_channel * 8.192e-3;
    for (order, dies_per_way, pages, pages_of_a_channel) in [
        (r#"["plane", "channel", "way", "die"]"#, "1", 4, 2.0),
        (CHANNEL_FIRST, "1", 4, 2.0),
        (r#"["way", "channel", "die", "plane"]"#, "1", 4, 4.0),
        (r#"["plane", "way", "die", "channel"]"#, "2", 4, 4.0),
        // Two ways of two dies: the fourth row is on the other channel.
        (r#"["way", "channel", "die", "plane"]"#, "2", 2, 2.0),
        (r#"["way", "channel", "die", "plane"]"#, "2", 4, 2.0),
        (r#"["die", "way", "channel", "plane"]"#, "2", 4, 4.0),
    ] {
        let read_s = in_order(order, dies_per_way, pages);
        assert_within(order, read_s, at_once(pages_of_a_channel), 1.0);
    }
}

#[test]
fn rows_for_different_planes_are_programmed_together() {
    for (planes, together, rows) in [("4", "true", 4.0), ("2", "true", 2.0), ("4", "false", 1.0)] {
        for order in [CHANNEL_FIRST, r#"["plane", "channel", "way", "die"]"#] {
            let mut drive = empty(&[
                ("flash.planes", planes),
                ("flash.bus_rate", "100 MB/s"),
                ("flash.multi_plane", "false"),
                ("flash.multi_plane_programs", together),
                ("translation.allocation_order", order),
            ]);
            let mut writes = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 4);
            writes.stop.bytes = Some(200 * MIB);
            // Until the buffer is full its rate is the link's.
            writes.ramp_ns = 3 * support::SECOND_NS / 10;
            let recording = run(&mut drive, &writes);
            let rate = recording.operations[1].bytes as f64 / (recording.elapsed_ns as f64 * 1e-9);
            let page = PAGE as f64;
            let expected = 8.0 * rows * page / (PROGRAM_S + rows * page / 100e6);
            assert_within(&format!("{planes} planes, {order}, {together}"), rate, expected, 3.0);
            drive.assert_consistent();
        }
    }
}

#[test]
fn planes_that_work_apart_collect_what_they_hold() {
    let settings = flash(&[
        ("flash.multi_plane", "false"),
        ("flash.multi_plane_programs", "true"),
        ("flash.multi_plane_reads", "true"),
        ("translation.allocation_order", CHANNEL_FIRST),
        ("flash.read_time", "50 us"),
    ]);
    let mut drive = drive_of(&file(), &settings);
    support::fill(&mut drive);
    let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
    writes.streams[0].read_fraction = 0.3;
    writes.stop.bytes = Some(1 << 30);
    run(&mut drive, &writes);
    drive.assert_consistent();
    assert!(support::counter(&drive, "units_moved") > 0.0);
    drive.enter_steady_state(1.0, None).unwrap();
    run(&mut drive, &writes);
    drive.assert_consistent();
    // A saved state, with work on its way, goes on as the drive does.
    let mut state = Vec::new();
    drive.save(&mut state).unwrap();
    let owned: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let text = support::resized(&file(), &settings);
    let mut again = SimulatedDrive::new(&text, &owned, 7).unwrap();
    again.load(&state[..]).unwrap();
    let play = |drive: &mut SimulatedDrive| {
        execute(&writes, drive, &Progress::default()).unwrap().elapsed_ns
    };
    assert_eq!(play(&mut again), play(&mut drive));
}

#[test]
fn the_order_that_a_file_leaves_out_is_plane_channel_way_die() {
    let elapsed = |settings: &[(&str, &str)]| {
        let mut drive = drive("ocz-vector-256gb", settings);
        let mut mixed = workload(Operation::Read, Pattern::Random, 16 * KIB, 8);
        mixed.streams[0].read_fraction = 0.5;
        mixed.streams[0].span_bytes = Some(100 * MIB);
        mixed.stop.ios = Some(20_000);
        let recording = run(&mut drive, &mixed);
        (recording.elapsed_ns, recording.outstanding_integral_ns)
    };
    let order = |order| elapsed(&[("translation.allocation_order", order)]);
    assert_eq!(elapsed(&[]), order(r#"["plane", "channel", "way", "die"]"#));
    assert_ne!(elapsed(&[]), order(r#"["plane", "way", "channel", "die"]"#));
}

#[test]
fn what_cannot_be_is_refused() {
    let text = drive_file("ocz-vector-256gb");
    for (settings, why) in [
        (vec![("translation.allocation_order", r#"["channel", "way", "die"]"#)], "each once"),
        (vec![("translation.allocation_order", CHANNEL_FIRST)], "planes that work together"),
        (vec![("flash.multi_plane_programs", "true")], "flash.multi_plane = false"),
        (vec![("flash.dies_per_way", "3")], "a divisor of the dies of a channel"),
        (
            vec![
                ("capacity.user", "204800 MB"),
                ("translation.unit", "16 KiB"),
                ("flash.multi_plane_reads", "true"),
            ],
            "at most a page",
        ),
        (
            vec![
                ("flash.multi_plane", "false"),
                ("translation.allocation_order", CHANNEL_FIRST),
                ("translation.superblock_dies", "2"),
            ],
            "all dies, or none",
        ),
    ] {
        let owned: Vec<(String, String)> =
            settings.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
        let refusal = SimulatedDrive::new(&text, &owned, 1).unwrap_err().to_string();
        assert!(refusal.contains(why), "{refusal}");
    }
}

#[test]
fn truths_tell_the_levels_apart() {
    let drive = empty(&[("flash.channels", "2"), ("flash.multi_plane_reads", "true")]);
    let names = ["channels", "dies", "planes_per_die", "parallel_units"];
    let levels = names.map(|name| support::truth(&drive, name));
    assert_eq!(levels, [2.0, 8.0, 4.0, 32.0]);
}
