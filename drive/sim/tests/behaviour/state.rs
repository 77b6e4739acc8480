//! A saved state goes on where the drive stopped.

#[path = "../../build/sources.rs"]
mod sources;

use crate::support;
use crate::support::arrays::array_of;
use crate::support::{KIB, SECOND_NS, drive, drive_file, drive_of, log_block_file, run, workload};
use fourcorners_recording::Recording;
use fourcorners_sim::{SimulatedDrive, StateError};
use fourcorners_workload::{Operation, Pattern};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

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
    // Wherever it is damaged: in lengths of lists and tables, too.
    let start = "fourcorners drive state\n".len();
    let packed = start + 32;
    for place in (packed..state.len()).step_by((state.len() - packed) / 40) {
        let mut flipped = state.clone();
        flipped[place] ^= 1 << (place % 8);
        let error = refusal(&mut same, &flipped);
        assert!(matches!(error, StateError::Damaged), "{place}: {error}");
    }
    let mut newer = state.clone();
    newer[start] ^= 1;
    let error = refusal(&mut same, &newer);
    assert!(error.to_string().starts_with("another version of this program"), "{error}");
    same.load(&state[..]).unwrap();
}

/// The drive becomes the one that was saved: its bad blocks and the collector's
/// draws are that one's, also after a secure erase.
#[test]
fn a_drive_with_another_seed_takes_over_the_state_with_its_seed() {
    let text = format!(
        "{}\n[wear]\nbad_block_share = {{ value = 0.03, source = \"t\" }}\n",
        drive_file("ocz-vector-256gb")
    );
    let settings = [
        ("flash.blocks_per_plane", "50"),
        ("flash.pages_per_block", "16"),
        ("flash.dies", "8"),
        ("capacity.user", "64 MiB"),
        ("garbage_collection.policy", "d-choices"),
        ("garbage_collection.candidates", "3"),
    ];
    let text = support::resized(&text, &settings);
    let settings = settings.map(|(path, value)| (path.to_string(), value.to_string()));
    let with_seed = |seed| SimulatedDrive::new(&text, &settings, seed).unwrap();
    let mut original = with_seed(1);
    use_it(&mut original, 1);
    let state = saved(&original);
    let mut other = with_seed(2);
    other.load(&state[..]).unwrap();
    assert_eq!(saved(&other), state);
    assert_eq!(other.identity().seed, 1);
    for drive in [&mut original, &mut other] {
        drive.purge();
        use_it(drive, 3);
    }
    assert_eq!(saved(&other), saved(&original));
}

/// A new model or a changed field has another fingerprint, wherever it is.
#[test]
fn every_change_of_source_code_changes_the_fingerprint() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources");
    let _ = fs::remove_dir_all(&root);
    let (models, requests) = (root.join("models"), root.join("requests"));
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let fingerprint = || sources::fingerprint(&[&models, &requests]).unwrap();
    write("models/a.rs", "struct A { b: u32, c: u32 }");
    write("models/deep/er/b.rs", "");
    write("requests/c.rs", "struct C;");
    let mut seen = vec![fingerprint()];
    write("models/notes.md", "no source code");
    assert_eq!(fingerprint(), seen[0]);
    for (path, text) in [
        ("models/a.rs", "struct A { c: u32, b: u32 }"),
        ("models/deep/er/b.rs", "struct B;"),
        ("models/new.rs", ""),
        ("requests/c.rs", "struct C(u8);"),
    ] {
        write(path, text);
        seen.push(fingerprint());
    }
    fs::rename(models.join("new.rs"), requests.join("new.rs")).unwrap();
    seen.push(fingerprint());
    let different: HashSet<_> = seen.iter().collect();
    assert_eq!(different.len(), 6, "{seen:?}");
    assert!(sources::fingerprint(&[&root.join("nowhere")]).is_err());
}
