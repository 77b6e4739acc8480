//! A saved state goes on where the drive stopped.

mod support;

use fourcorners_recording::Recording;
use fourcorners_sim::{SimulatedDrive, StateError};
use fourcorners_workload::{Operation, Pattern};
use support::arrays::array_of;
use support::{KIB, SECOND_NS, drive, drive_file, drive_of, log_block_file, run, workload};

/// Reads and writes at random for two seconds, a quarter of them large, which
/// leaves work pending on the drive.
fn use_it(drive: &mut SimulatedDrive, seed: u64) -> Recording {
    let mut mixed = workload(Operation::Write, Pattern::Random, 4 * KIB, 8);
    mixed.streams[0].read_fraction = 0.3;
    let mut large = workload(Operation::Write, Pattern::Sequential, 256 * KIB, 2);
    mixed.streams.append(&mut large.streams);
    mixed.stop.time_ns = Some(2 * SECOND_NS);
    mixed.seed = seed;
    run(drive, &mixed)
}

fn saved(drive: &SimulatedDrive) -> Vec<u8> {
    let mut state = Vec::new();
    drive.save(&mut state).unwrap();
    state
}

#[track_caller]
fn goes_on(make: impl Fn() -> SimulatedDrive) {
    let mut original = make();
    use_it(&mut original, 1);
    let state = saved(&original);
    let mut copy = make();
    copy.load(&state[..]).unwrap();
    assert_eq!(saved(&copy), state, "saved again");
    original.idle(SECOND_NS);
    copy.idle(SECOND_NS);
    let (first, second) = (use_it(&mut original, 2), use_it(&mut copy, 2));
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
    assert_eq!(original.counters(), copy.counters());
    assert_eq!(saved(&original), saved(&copy));
    // What is not part of the state is there, too.
    original.purge();
    copy.purge();
    assert_eq!(saved(&original), saved(&copy));
}

/// A small drive with all of the optional parts that a page-mapped SSD can
/// have together.
fn small_page_mapped() -> SimulatedDrive {
    let sections = r#"
        [slc_cache]
        program_time = { value = "0.2 ms", source = "test" }
        static_size = { value = "16 MiB", source = "test" }
        when_full = { value = "direct", source = "test" }
        idle_delay = { value = "10 ms", source = "test" }
        [read_cache]
        size = { value = "4 MiB", source = "test" }
        [map_cache]
        size = { value = "64 KiB", source = "test" }
        page_size = { value = "4 KiB", source = "test" }
        entry_size = { value = "4 B", source = "test" }
        [write_streams]
        rule = { value = "detected", source = "test" }
        window = { value = "64 MiB", source = "test" }
        [wear]
        bad_block_share = { value = 0.02, source = "test" }
        endurance = { value = 3000, source = "test" }
        levelling = { value = "dynamic", source = "test" }
    "#;
    let idle = "[garbage_collection]\nidle_free_blocks = { value = 8, source = \"t\" }\nidle_delay = { value = \"0.1 s\", source = \"t\" }\n";
    let text = drive_file("ocz-vector-256gb").replace("[garbage_collection]\n", idle);
    let settings = [
        ("flash.dies", "8"),
        ("flash.blocks_per_plane", "50"),
        ("flash.pages_per_block", "64"),
        ("capacity.user", "256 MiB"),
        ("write_buffer.size", "512 KiB"),
    ];
    drive_of(&format!("{text}\n{sections}"), &settings)
}

#[test]
fn every_kind_of_drive_goes_on_from_its_state() {
    goes_on(small_page_mapped);
    goes_on(|| drive("ocz-core-64gb", &[("capacity.user", "1 GiB")]));
    goes_on(|| drive("wd6400aaks", &[]));
    goes_on(|| drive_of(&log_block_file(), &[]));
    let names = ["intel-x25-m-g2-80gb", "ocz-core-64gb", "wd6400aaks"];
    goes_on(|| array_of(&names, &[("member.capacity.user", "96 MiB")]));
}

#[test]
fn a_state_that_cannot_be_used_is_refused_and_changes_nothing() {
    let mut original = small_page_mapped();
    use_it(&mut original, 1);
    let state = saved(&original);
    let refusal = |drive: &mut SimulatedDrive, state: &[u8]| {
        let before = saved(drive);
        let error = drive.load(state).unwrap_err();
        assert_eq!(saved(drive), before);
        error
    };
    let mut other = drive("wd6400aaks", &[]);
    assert!(
        matches!(refusal(&mut other, &state), StateError::OtherDrive(name) if name.contains("Vector"))
    );
    let mut with_setting = drive("wd6400aaks", &[("cache.write_back", "false")]);
    assert!(matches!(refusal(&mut with_setting, &saved(&other)), StateError::OtherDrive(_)));

    let mut same = small_page_mapped();
    assert!(matches!(refusal(&mut same, b"something else"), StateError::Foreign));
    assert!(matches!(refusal(&mut same, &state[..state.len() / 2]), StateError::Damaged));
    let mut flipped = state.clone();
    flipped[state.len() / 2] ^= 1;
    assert!(matches!(refusal(&mut same, &flipped), StateError::Damaged));
    let mut newer = state.clone();
    newer["fourcorners drive state\n".len()] += 1;
    assert!(matches!(refusal(&mut same, &newer), StateError::Version(_)));
    same.load(&state[..]).unwrap();
}
