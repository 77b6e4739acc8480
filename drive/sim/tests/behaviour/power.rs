//! Energy in closed form.

use crate::support;
use crate::support::{KIB, SECOND_NS, assert_within, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

/// A drive with the given power of each part, in mW; the others draw nothing.
fn drawing(parts: &[(&str, u32)]) -> SimulatedDrive {
    let mut text = support::drive_file("ocz-vector-256gb") + "\n[power]\n";
    for part in ["idle", "interface", "controller", "read", "program", "erase"] {
        let power = parts.iter().find(|given| given.0 == part).map_or(0, |given| given.1);
        text += &format!("{part} = {{ value = \"{power} mW\", source = \"test\" }}\n");
    }
    support::drive_of(&text, &[])
}

fn energy_j(drive: &SimulatedDrive) -> f64 {
    drive.counters().iter().find(|counter| counter.0 == "energy_j").unwrap().1
}

const IOS: u64 = 10_000;

/// Writes 128 KiB blocks in order, then reads them.
fn write_and_read(drive: &mut SimulatedDrive) {
    for operation in [Operation::Write, Operation::Read] {
        let mut stream = workload(operation, Pattern::Sequential, 128 * KIB, 4);
        stream.stop.ios = Some(IOS);
        run(drive, &stream);
        drive.idle(SECOND_NS);
    }
}

#[test]
fn an_idle_drive_draws_its_idle_power() {
    let mut drive = drawing(&[("idle", 900), ("program", 50), ("controller", 400)]);
    drive.idle(10 * SECOND_NS);
    assert_within("idle, J", energy_j(&drive), 9.0, 1e-6);
    drive.purge();
    drive.idle(10 * SECOND_NS);
    assert_within("after a secure erase, J", energy_j(&drive), 18.0, 1e-6);
}

#[test]
fn each_part_draws_its_power_while_it_works() {
    let bytes = (IOS * 128 * KIB) as f64;
    // Rows of two 8 KiB pages; reads take a page each, as the map is by page. The
    // link's frames take 600 B of line time beside 8 KiB of data.
    for (part, busy_s) in [
        ("program", bytes / 16_384.0 * 1.3e-3),
        ("read", bytes / 8_192.0 * 75e-6),
        ("interface", 2.0 * bytes / 600e6 * 8_792.0 / 8_192.0),
        ("erase", 0.0),
    ] {
        let mut drive = drawing(&[(part, 1_000)]);
        write_and_read(&mut drive);
        if busy_s == 0.0 {
            assert_eq!(energy_j(&drive), 0.0, "{part}");
        } else {
            assert_within(part, energy_j(&drive), busy_s, 0.1);
        }
        let spent_j = energy_j(&drive);
        drive.purge();
        assert_within("kept over a secure erase", 1.0 + energy_j(&drive), 1.0 + spent_j, 1e-9);
    }
}

#[test]
fn the_controller_draws_while_a_command_is_in_the_drive() {
    let mut drive = drawing(&[("controller", 1_000)]);
    write_and_read(&mut drive);
    drive.idle(SECOND_NS);
    let before_j = energy_j(&drive);
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.streams[0].span_bytes = Some(1 << 30);
    reads.streams[0].alignment_bytes = Some(4096);
    reads.stop.ios = Some(IOS);
    let recording = run(&mut drive, &reads);
    // All of a command's latency but the host's 18 us.
    let busy_s = recording.operations[0].latencies.sum_ns() as f64 * 1e-9 - IOS as f64 * 18e-6;
    assert_within("controller, J", energy_j(&drive) - before_j, busy_s, 0.01);
}

#[test]
fn a_recording_has_the_energy_of_the_measured_time() {
    let mut drive = drawing(&[("controller", 1_000)]);
    // At queue depth 4 the controller is busy from the ramp's first command on.
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 4);
    reads.ramp_ns = 2 * SECOND_NS;
    reads.stop.time_ns = Some(SECOND_NS);
    let recording = run(&mut drive, &reads);
    let elapsed_s = recording.elapsed_ns as f64 * 1e-9;
    assert_within("measured, J", recording.energy_j.unwrap(), elapsed_s, 0.01);
    assert_within("ramp included, J", energy_j(&drive), 2.0 + elapsed_s, 0.01);
}

#[test]
fn without_powers_there_is_no_energy() {
    let mut drive = support::drive("ocz-vector-256gb", &[]);
    assert!(drive.counters().iter().all(|counter| counter.0 != "energy_j"));
    let mut reads = workload(Operation::Read, Pattern::Random, 4 * KIB, 1);
    reads.stop.ios = Some(10);
    assert_eq!(run(&mut drive, &reads).energy_j, None);
}
