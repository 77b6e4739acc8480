//! Flushes, forced writes and power cuts: what they cost in closed form, and
//! what is lost.

use crate::support;
use crate::support::arrays::array_of;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, drive, run, workload};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_target::{Target, VirtualDrive};
use fourcorners_workload::{Content, Operation, Pattern, Request, Workload};

/// 4 KiB random writes over 1 GiB, queue depth 1.
fn writes(ios: u64) -> Workload {
    let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 1);
    writes.streams[0].span_bytes = Some(1024 * MIB);
    writes.streams[0].alignment_bytes = Some(4096);
    writes.stop.ios = Some(ios);
    writes
}

fn flushed(ios: u64, every: u32) -> Workload {
    let mut writes = writes(ios);
    writes.streams[0].flush_every_writes = Some(every);
    writes
}

fn forced(ios: u64) -> Workload {
    let mut writes = writes(ios);
    writes.streams[0].fua = true;
    writes
}

fn mean_us(recording: &Recording, operation: Operation) -> f64 {
    let operation = &recording.operations[operation.index()];
    operation.latencies.sum_ns() as f64 / operation.ios as f64 * 1e-3
}

fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    drive.counters().iter().find(|counter| counter.0 == name).unwrap().1
}

fn lost_bytes(drive: &mut SimulatedDrive) -> u64 {
    drive.power_cut().iter().map(|range| range.end - range.start).sum()
}

const PROTECTED: (&str, &str) = ("write_buffer.power_loss_protection", "true");
const WRITE_THROUGH: (&str, &str) = ("write_buffer.write_back", "false");

/// Of the Vector, in us: host and firmware; 4 KiB over the link, half a frame,
/// which takes 600 B more; 4 KiB over the channel and a program.
const COMMAND_US: f64 = 18.0 + 10.5;
const LINK_US: f64 = (4096.0 + 300.0) / 600.0;
const PROGRAM_US: f64 = 4096.0 / 200.0 + 1300.0;

#[test]
fn a_flush_takes_as_long_as_the_row_that_it_waits_for() {
    let mut ssd = drive("ocz-vector-256gb", &[]);
    let recording = run(&mut ssd, &flushed(1_000, 1));
    assert_eq!(
        recording.operations.each_ref().map(|operation| operation.ios),
        [0, 1_000, 1_000, 0, 0]
    );
    assert_within("write, us", mean_us(&recording, Operation::Write), COMMAND_US + LINK_US, 0.01);
    // The data is in the buffer when the flush begins: command and program.
    assert_within(
        "flush, us",
        mean_us(&recording, Operation::Flush),
        COMMAND_US + PROGRAM_US,
        0.01,
    );
    // Each flush programs a row of 16 KiB for 4 KiB of data.
    assert_eq!(counter(&ssd, "units_padded"), 3_000.0);
    assert_eq!(counter(&ssd, "write_amplification"), 4.0);
}

#[test]
fn rarer_flushes_waste_less() {
    for (every, padded) in [(2, 1.0), (4, 0.0), (6, 1.0 / 3.0), (64, 0.0)] {
        let mut ssd = drive("ocz-vector-256gb", &[]);
        run(&mut ssd, &flushed(1_920, every));
        let amplification = counter(&ssd, "write_amplification");
        assert_within(&format!("every {every}"), amplification, 1.0 + padded, 0.01);
    }
}

#[test]
fn full_rows_are_on_their_way_when_the_flush_comes() {
    let mut ssd = drive("ocz-vector-256gb", &[]);
    let mut rows = flushed(64, 4);
    rows.streams[0].block_bytes = 16 * 1024;
    let recording = run(&mut ssd, &rows);
    // From the write's completion on: the command overlaps with the program.
    let row_us = 16_384.0 / 200.0 + 1300.0;
    assert_within("flush, us", mean_us(&recording, Operation::Flush), row_us, 0.01);
    assert_eq!(counter(&ssd, "units_padded"), 0.0);
}

#[test]
fn a_forced_write_takes_a_write_and_a_program() {
    let expected_us = COMMAND_US + LINK_US + PROGRAM_US;
    let mut ssd = drive("ocz-vector-256gb", &[]);
    let by_request = run(&mut ssd, &forced(1_000));
    assert_within("forced, us", mean_us(&by_request, Operation::Write), expected_us, 0.01);
    let mut ssd = drive("ocz-vector-256gb", &[WRITE_THROUGH]);
    let by_setting = run(&mut ssd, &writes(1_000));
    assert_within("through, us", mean_us(&by_setting, Operation::Write), expected_us, 0.01);
    assert_eq!(lost_bytes(&mut ssd), 0);
}

#[test]
fn behind_capacitors_nobody_waits_and_nothing_is_padded() {
    for more in [&[PROTECTED][..], &[PROTECTED, WRITE_THROUGH]] {
        let mut ssd = drive("ocz-vector-256gb", more);
        let recording = run(&mut ssd, &flushed(1_000, 1));
        assert_within("flush, us", mean_us(&recording, Operation::Flush), COMMAND_US, 0.01);
        let recording = run(&mut ssd, &forced(1_000));
        let write_us = mean_us(&recording, Operation::Write);
        assert_within("write, us", write_us, COMMAND_US + LINK_US, 0.01);
        assert_eq!(counter(&ssd, "units_padded"), 0.0);
        assert_eq!(lost_bytes(&mut ssd), 0);
    }
}

#[test]
fn a_power_cut_takes_what_was_acknowledged_and_not_durable() {
    // In order, so that each written unit is there once; done before a row
    // could be programmed.
    let mut plain = writes(15);
    plain.streams[0].pattern = Pattern::Sequential;
    for name in ["ocz-vector-256gb", "ocz-vertex-3-120gb", "class-qlc-nvme-dramless-1tb"] {
        let mut ssd = drive(name, &[]);
        run(&mut ssd, &plain);
        assert_eq!(ssd.power_cut(), vec![0..15 * 4096], "{name}");
        assert_eq!(lost_bytes(&mut ssd), 0, "{name}: there is nothing left to lose");

        run(&mut ssd, &plain);
        ssd.idle(SECOND_NS);
        let open = lost_bytes(&mut ssd);
        assert!(open > 0 && open < 16 * 4096, "{name}: only the open row is lost, not {open}");

        run(&mut ssd, &plain);
        let mut last = flushed(1, 1);
        last.streams[0].offset_bytes = 1024 * MIB;
        run(&mut ssd, &last);
        assert_eq!(lost_bytes(&mut ssd), 0, "{name}: all was flushed");

        run(&mut ssd, &plain);
        let mut last = forced(1);
        last.streams[0].offset_bytes = 1024 * MIB;
        run(&mut ssd, &last);
        let lost = ssd.power_cut();
        assert!(lost.iter().all(|range| range.end <= 1024 * MIB), "{name}: {lost:?}");

        let mut ssd = drive(name, &[PROTECTED]);
        run(&mut ssd, &plain);
        assert_eq!(lost_bytes(&mut ssd), 0, "{name}: capacitors");
    }
}

#[test]
fn a_power_cut_spares_what_has_been_programmed() {
    let mut ssd = drive("ocz-vector-256gb", &[]);
    let mut plain = writes(103);
    plain.streams[0].pattern = Pattern::Sequential;
    run(&mut ssd, &plain);
    // The row of units 4r to 4r + 3 is on flash a transfer and a program after
    // its last unit came; the power goes when the last write is done.
    let write_us = COMMAND_US + LINK_US;
    let row_us = 16_384.0 / 200.0 + 1300.0;
    let rows = (103.0 - row_us / write_us) / 4.0;
    let first_lost = rows as u64 * 4;
    assert_eq!(ssd.power_cut(), vec![first_lost * 4096..103 * 4096]);
}

#[test]
fn lost_units_are_read_without_flash() {
    let mut ssd = drive("ocz-vector-256gb", &[]);
    let mut written = writes(15);
    written.streams[0].pattern = Pattern::Sequential;
    run(&mut ssd, &written);
    ssd.power_cut();
    let mut reads = written.clone();
    reads.streams[0].read_fraction = 1.0;
    let recording = run(&mut ssd, &reads);
    let expected_us = 18.0 + 10.0 + LINK_US;
    assert_within("read, us", mean_us(&recording, Operation::Read), expected_us, 0.01);
}

#[test]
fn a_disk_flushes_its_write_cache() {
    let mut disk = drive("wd6400aaks", &[]);
    // Cached writes are acknowledged at once; the flush waits for the last.
    let recording = run(&mut disk, &flushed(64, 64));
    let flush_us = mean_us(&recording, Operation::Flush);
    assert!(flush_us > 64.0 * 3_000.0, "64 random places in {flush_us} us");
    assert_eq!(lost_bytes(&mut disk), 0);
    run(&mut disk, &writes(64));
    let lost = lost_bytes(&mut disk);
    assert!(lost > 55 * 4096 && lost <= 64 * 4096, "{lost}");

    let mut uncached = drive("wd6400aaks", &[("cache.write_back", "false")]);
    let recording = run(&mut uncached, &flushed(8, 1));
    // Host and command overhead.
    assert_within("flush, us", mean_us(&recording, Operation::Flush), 50.0, 0.01);
    assert_eq!(lost_bytes(&mut uncached), 0);
}

#[test]
fn a_forced_write_of_a_disk_passes_its_cache() {
    let iops = |settings: &[(&str, &str)], work: &Workload| {
        let recording = run(&mut drive("wd6400aaks", settings), work);
        1e6 / mean_us(&recording, Operation::Write)
    };
    let through = iops(&[("cache.write_back", "false")], &writes(500));
    assert_eq!(iops(&[], &forced(500)), through);
    // It makes older data in the cache void.
    let mut disk = drive("wd6400aaks", &[]);
    let mut large = workload(Operation::Write, Pattern::Sequential, 4 * MIB, 1);
    large.stop.ios = Some(1);
    run(&mut disk, &large);
    let mut inside = forced(1);
    inside.streams[0].offset_bytes = 2 * MIB;
    inside.streams[0].span_bytes = Some(4096);
    run(&mut disk, &inside);
    let inside = 2 * MIB..2 * MIB + 4096;
    let lost = disk.power_cut();
    assert!(lost.iter().all(|r| r.end <= inside.start || r.start >= inside.end), "{lost:?}");
}

#[test]
fn an_array_flushes_all_members_and_loses_what_they_lose() {
    let array = || array_of(&["ocz-vector-256gb"; 3], &[("array.chunk", "64 KiB")]);
    let mut plain = workload(Operation::Write, Pattern::Sequential, 256 * KIB, 1);
    plain.stop.ios = Some(4);
    let mut unflushed = array();
    run(&mut unflushed, &plain);
    let lost = unflushed.power_cut();
    assert!(lost.last().is_some_and(|range| range.end <= 1024 * KIB), "{lost:?}");
    assert!(lost.windows(2).all(|pair| pair[0].end < pair[1].start), "{lost:?}");
    plain.streams[0].flush_every_writes = Some(4);
    let mut flushed = array();
    let recording = run(&mut flushed, &plain);
    assert_eq!(recording.operations[Operation::Flush.index()].ios, 1);
    assert_eq!(lost_bytes(&mut flushed), 0);
}

#[test]
fn ssds_without_a_page_map_flush_too() {
    let name = "ocz-core-64gb";
    let mut ssd = drive(name, &[]);
    let plain_us = mean_us(&run(&mut ssd, &writes(200)), Operation::Write);
    let mut ssd = drive(name, &[]);
    let forced_us = mean_us(&run(&mut ssd, &forced(200)), Operation::Write);
    assert!(forced_us >= plain_us, "{forced_us} against {plain_us}");
    let recording = run(&mut ssd, &flushed(200, 1));
    assert_eq!(recording.operations[Operation::Flush.index()].ios, 200);
    assert_eq!(lost_bytes(&mut ssd), 0, "all was flushed");
    let mut ssd = support::drive_of(&support::log_block_file(), &[]);
    let mut small = flushed(100, 1);
    small.streams[0].span_bytes = Some(ssd.capacity_bytes() / 4096 * 4096);
    let recording = run(&mut ssd, &small);
    let program_us = 800.0;
    assert!(mean_us(&recording, Operation::Flush) >= program_us);
    small.streams[0].flush_every_writes = None;
    small.streams[0].fua = true;
    assert!(mean_us(&run(&mut ssd, &small), Operation::Write) >= program_us);
}

/// Requests that are handed over, and how long they are served.
fn serve_some(ssd: &mut SimulatedDrive, requests: &[Request], for_ns: u64) -> Vec<u32> {
    let until_ns = Target::now_ns(ssd) + for_ns;
    for (slot, request) in (0..).zip(requests) {
        Target::submit(ssd, slot, request);
    }
    let mut slots = Vec::new();
    while Target::now_ns(ssd) < until_ns {
        let mut done = Vec::new();
        Target::wait(ssd, until_ns, &mut done).unwrap();
        slots.extend(done.iter().map(|completion| completion.slot));
    }
    slots
}

#[test]
fn what_is_at_risk_is_what_a_cut_takes_whatever_is_outstanding() {
    let request = |operation, block: u64, fua| Request {
        operation,
        offset_bytes: block * 7_919 % 65_536 * 4096,
        length_bytes: 4096 * (1 + block % 20) as u32,
        content: Content::Incompressible,
        fua,
    };
    for name in
        ["ocz-vector-256gb", "wd6400aaks", "class-tlc-nvme-enterprise-1920gb", "ocz-core-64gb"]
    {
        for settings in [&[][..], &[("array.chunk", "64 KiB")]] {
            for microseconds in [30, 3_000] {
                let mut ssd = match settings {
                    [] => drive(name, &[]),
                    _ => array_of(&[name; 2], settings),
                };
                for round in 0..2 {
                    let requests: Vec<Request> = (0..200)
                        .map(|number| match number % 50 {
                            49 => Request::FLUSH,
                            kind if kind % 7 == 0 => request(Operation::Read, number, false),
                            kind => request(Operation::Write, number * (round + 1), kind == 20),
                        })
                        .collect();
                    Target::prepare(&mut ssd, 200, 128 * 1024).unwrap();
                    serve_some(&mut ssd, &requests, microseconds * 1_000);
                    let at_risk = VirtualDrive::at_risk(&ssd).unwrap();
                    assert_eq!(ssd.power_cut(), at_risk, "{name}, {microseconds} us");
                    assert_eq!(VirtualDrive::at_risk(&ssd).unwrap(), [], "{name}");
                    // Nothing of before the cut completes, and the drive goes on.
                    let served = serve_some(&mut ssd, &requests[..1], 10 * SECOND_NS);
                    assert_eq!(served, [0], "{name}, {microseconds} us");
                }
                ssd.assert_consistent();
            }
        }
    }
}

#[test]
fn a_drive_that_lies_flushes_at_once_and_loses_what_it_said_was_durable() {
    for (name, setting) in [
        ("ocz-vector-256gb", ("write_buffer.ignores_flush", "true")),
        ("wd6400aaks", ("cache.ignores_flush", "true")),
        ("ocz-core-64gb", ("controller.ignores_flush", "true")),
    ] {
        let honest_us = mean_us(&run(&mut drive(name, &[]), &flushed(60, 1)), Operation::Flush);
        let mut liar = drive(name, &[setting]);
        let lying_us = mean_us(&run(&mut liar, &flushed(60, 1)), Operation::Flush);
        assert!(lying_us < honest_us / 3.0, "{name}: {lying_us} of {honest_us} us");
        assert!(!VirtualDrive::honours_flush(&liar));
        assert!(lost_bytes(&mut liar) > 0, "{name}: it flushed nothing");
        let through_us = mean_us(&run(&mut liar, &forced(20)), Operation::Write);
        // The Core merges at each random write, forced or not.
        let forced_us = if name == "ocz-core-64gb" { f64::INFINITY } else { honest_us / 3.0 };
        assert!(through_us < forced_us, "{name}: a forced write took {through_us} us");
        assert!(lost_bytes(&mut liar) > 0, "{name}: it forced nothing");
    }
}

/// Writes far from each other, of which nearly each makes the flash merge.
fn scattered(ssd: &mut SimulatedDrive, writes: u64, length_bytes: u32) {
    let request = |number: u64| Request {
        operation: Operation::Write,
        offset_bytes: number * 7_919 % (ssd.capacity_bytes() / 4096) * 4096,
        length_bytes,
        content: Content::Incompressible,
        fua: false,
    };
    let requests: Vec<Request> = (0..writes).map(request).collect();
    Target::prepare(ssd, writes as u32, 4096).unwrap();
    let served = serve_some(ssd, &requests, 100 * SECOND_NS);
    assert_eq!(served.len() as u64, writes);
}

#[test]
fn ssds_without_a_page_map_lose_what_is_in_their_buffers() {
    let core = || support::drive_file("ocz-core-64gb");
    for text in [core(), support::log_block_file()] {
        let drive = |settings: &[(&str, &str)]| support::drive_of(&text, settings);
        // What waits for the rest of its row.
        let mut ssd = drive(&[]);
        scattered(&mut ssd, 1, 512);
        ssd.idle(SECOND_NS);
        assert_eq!(ssd.power_cut(), vec![0..512]);
        assert_eq!(lost_bytes(&mut ssd), 0, "there is nothing left to lose");
        // No more than buffer and page registers hold, whatever was written.
        let buffer = text.split("buffer = { value = \"").nth(1).unwrap();
        let kib: u64 = buffer.split(' ').next().unwrap().parse().unwrap();
        let mut row = workload(Operation::Write, Pattern::Sequential, 64 * KIB, 1);
        row.stop.bytes = Some(4 * MIB);
        let mut ssd = drive(&[]);
        run(&mut ssd, &row);
        let lost = lost_bytes(&mut ssd);
        assert!(lost > 0 && lost <= 4 * kib * KIB, "{lost} of a buffer of {kib} KiB");
        // Capacitors keep it, and nobody waits for flash.
        let mut ssd = drive(&[("controller.power_loss_protection", "true")]);
        let protected = run(&mut ssd, &{
            let mut flushed = row.clone();
            flushed.streams[0].flush_every_writes = Some(1);
            flushed
        });
        assert_eq!(lost_bytes(&mut ssd), 0);
        assert!(VirtualDrive::is_write_through(&ssd));
        let flush_us = mean_us(&protected, Operation::Flush);
        assert!(flush_us < 600.0, "a flush took {flush_us} us");
        // In the midst of merges.
        let mut ssd = drive(&[]);
        scattered(&mut ssd, 40, 4096);
        ssd.power_cut();
        scattered(&mut ssd, 40, 4096);
        ssd.assert_consistent();
    }
}
