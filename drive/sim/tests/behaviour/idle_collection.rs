//! What idle time and free dies do for a drive that was written hard.

use crate::support;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, counter, run, workload};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern};

const USER_BYTES: u64 = 256 * MIB;

/// 256 MiB on 8 dies of 47 blocks of 1 MiB, of which 4 are kept free.
fn small_drive(collection: &str) -> SimulatedDrive {
    let settings = [
        ("flash.dies", "8"),
        ("flash.blocks_per_plane", "48"),
        ("flash.pages_per_block", "64"),
        ("capacity.user", "256 MiB"),
        ("write_buffer.size", "512 KiB"),
    ];
    let text = support::drive_file("ocz-vector-256gb");
    let section = "[garbage_collection]\n";
    assert!(text.contains(section));
    support::drive_of(&text.replace(section, &format!("{section}{collection}")), &settings)
}

const IDLE: &str = "idle_free_blocks = { value = 12, source = \"test\" }
idle_delay = { value = \"1 s\", source = \"test\" }\n";

/// Bytes that the idle reserve holds beyond what is always kept free.
const RESERVE_BYTES: u64 = (12 - 4) * 8 * MIB;

/// Random 4 KiB writes per second while `bytes` are written.
fn iops(drive: &mut SimulatedDrive, bytes: u64, seed: u64) -> f64 {
    let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
    writes.streams[0].alignment_bytes = Some(4096);
    writes.stop.bytes = Some(bytes);
    writes.seed = seed;
    let recording = run(drive, &writes);
    (bytes / 4096) as f64 / (recording.elapsed_ns as f64 * 1e-9)
}

#[test]
fn an_idle_drive_recovers_its_reserve_and_no_more() {
    let mut drive = small_drive(IDLE);
    let fresh = iops(&mut drive, USER_BYTES / 2, 1);
    drive.enter_steady_state(1.0, None).unwrap();
    let steady = iops(&mut drive, 4 * USER_BYTES, 2);
    assert!(fresh > 1.8 * steady, "fresh {fresh}, steady {steady}");

    // Less than the delay changes nothing.
    drive.idle(SECOND_NS / 2);
    assert_within("no rest", iops(&mut drive, RESERVE_BYTES / 2, 3), steady, 10.0);

    drive.idle(60 * SECOND_NS);
    assert_within("rested", iops(&mut drive, RESERVE_BYTES * 9 / 10, 4), fresh, 3.0);
    iops(&mut drive, RESERVE_BYTES, 5);
    assert_within("worn out again", iops(&mut drive, USER_BYTES, 6), steady, 5.0);

    // Nothing happens that was not asked for.
    let mut plain = small_drive("");
    plain.enter_steady_state(1.0, None).unwrap();
    iops(&mut plain, 4 * USER_BYTES, 2);
    let moved = counter(&plain, "units_moved");
    plain.idle(60 * SECOND_NS);
    assert_eq!(counter(&plain, "units_moved"), moved);
}

#[test]
fn idle_collection_ends_with_its_reserve_or_with_what_can_be_freed() {
    for reserve in ["12", "40"] {
        let mut drive = small_drive(&IDLE.replace("12", reserve));
        drive.enter_steady_state(1.0, None).unwrap();
        drive.idle(600 * SECOND_NS);
        let moved = counter(&drive, "units_moved");
        assert!(moved > 0.0);
        drive.idle(600 * SECOND_NS);
        assert_eq!(counter(&drive, "units_moved"), moved, "reserve {reserve}");
    }
}

#[test]
fn trim_and_idle_time_bring_back_more() {
    let mut drive = small_drive(&IDLE.replace("12", "30"));
    let fresh = iops(&mut drive, USER_BYTES / 2, 1);
    drive.enter_steady_state(1.0, None).unwrap();
    drive.idle(60 * SECOND_NS);
    let free_bytes = |drive: &SimulatedDrive| {
        let free = counter(drive, "free_blocks_min");
        (free as u64 - 4) * 8 * MIB
    };
    let before = free_bytes(&drive);
    drive.trim(USER_BYTES / 2, USER_BYTES / 2);
    drive.idle(60 * SECOND_NS);
    let after = free_bytes(&drive);
    assert!(after > 2 * before, "{before} bytes before TRIM, {after} after");
    assert_within("after TRIM", iops(&mut drive, after * 9 / 10, 4), fresh, 3.0);
}

#[test]
fn free_dies_collect_while_the_drive_is_in_use() {
    // Bursts of eight rows for each die, with pauses.
    let background = "background_free_blocks = { value = 10, source = \"test\" }\n";
    let [plain_ns, background_ns] = ["", background].map(|collection| {
        let mut drive = small_drive(collection);
        drive.enter_steady_state(1.0, None).unwrap();
        let mut writes = workload(Operation::Write, Pattern::Random, 4 * KIB, 32);
        writes.streams[0].alignment_bytes = Some(4096);
        writes.stop.ios = Some(256);
        let mut busy_ns = 0;
        for burst in 0..1_000 {
            writes.seed = burst;
            let recording = run(&mut drive, &writes);
            drive.idle(SECOND_NS / 20);
            // The first ones fill what collecting has to keep ahead of.
            busy_ns += if burst >= 500 { recording.elapsed_ns } else { 0 };
        }
        assert!(counter(&drive, "units_moved") > 100_000.0, "nothing was collected");
        busy_ns
    });
    assert!(background_ns * 3 < plain_ns * 2, "{background_ns} against {plain_ns} ns");
}
