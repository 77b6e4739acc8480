//! Drives of some MiB, one of each model, and what can be done with them.

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_workload::Workload;

/// Bytes before what is packed in a state: a word and two fingerprints.
pub const START: usize = "fourcorners drive state\n".len() + 32;

const DRIVES: [(&str, &[(&str, &str)]); 6] = [
    (
        include_str!("../../fourcorners/catalog/drives/ocz-vector-256gb.toml"),
        &[
            ("flash.dies", "8"),
            ("flash.blocks_per_plane", "40"),
            ("flash.pages_per_block", "8"),
            ("capacity.user", "8 MiB"),
            ("write_buffer.size", "512 KiB"),
        ],
    ),
    (
        include_str!("../../fourcorners/catalog/drives/class-qlc-nvme-dramless-1tb.toml"),
        &[
            ("flash.channels", "2"),
            ("flash.dies", "2"),
            ("flash.blocks_per_plane", "40"),
            ("flash.pages_per_block", "4"),
            ("capacity.user", "8 MiB"),
            ("map_cache.size", "64 KiB"),
            ("translation.superblock_dies", "2"),
            ("write_buffer.size", "2 MiB"),
            ("slc_cache.static_size", "1 MiB"),
        ],
    ),
    (
        include_str!("../../fourcorners/catalog/drives/ocz-vertex-3-240gb.toml"),
        &[
            ("flash.dies", "8"),
            ("flash.blocks_per_plane", "40"),
            ("flash.pages_per_block", "8"),
            ("capacity.user", "8 MiB"),
            ("write_buffer.size", "2 MiB"),
        ],
    ),
    (
        include_str!("../../fourcorners/catalog/drives/ocz-core-64gb.toml"),
        &[("capacity.user", "64 MiB"), ("flash.pages_per_block", "8")],
    ),
    (
        include_str!("../../fourcorners/catalog/drives/wd6400aaks.toml"),
        &[("capacity.user", "64 MiB")],
    ),
    (include_str!("../../drive/sim/tests/support/log_block.toml"), &[("capacity.user", "4 MiB")]),
];

/// The number of the drive with log blocks, which has 4 MiB.
pub const LOG_BLOCK: usize = 5;

/// How many drives there are: those above, and an array.
pub const COUNT: usize = DRIVES.len() + 1;

/// The drive of a number.
pub fn drive(number: usize) -> SimulatedDrive {
    let owned = |settings: &[(&str, &str)], prefix: &str| -> Vec<(String, String)> {
        let path = |path: &str| format!("{prefix}{path}");
        settings.iter().map(|(name, value)| (path(name), (*value).to_string())).collect()
    };
    if let Some((text, settings)) = DRIVES.get(number % COUNT) {
        return SimulatedDrive::new(text, &owned(settings, ""), 1).expect("the drive is possible");
    }
    let array = "name = \"a\"\nkind = \"raid-0\"\nsummary = \"a\"\n[host]\n\
        overhead = { value = \"1 us\", source = \"t\" }\n[array]\n\
        chunk = { value = \"16 KiB\", source = \"t\" }\n\
        members = { value = [\"disk\", \"block\"], source = \"t\" }\n";
    let members = [("disk".into(), DRIVES[4].0.into()), ("block".into(), DRIVES[3].0.into())];
    let settings = owned(&[("capacity.user", "32 MiB")], "member.");
    SimulatedDrive::with_members(array, &members, &settings, 1).expect("the array is possible")
}

/// Some I/Os of every kind, rest, TRIM, a loss of power, and a secure erase.
pub fn use_drive(drive: &mut SimulatedDrive, seed: u64, ios: u64) {
    let capacity = drive.capacity_bytes();
    let block = 4096.min(capacity / 512 * 512);
    if block == 0 {
        return;
    }
    let workload = format!(
        r#"{{"streams": [
            {{"read_fraction": 0.4, "block_bytes": {block}, "pattern": "random",
              "alignment_bytes": 512, "queue_depth": 8}},
            {{"read_fraction": 0.0, "block_bytes": {block}, "pattern": "sequential",
              "queue_depth": 2, "flush_every_writes": 16}}],
            "stop": {{"ios": {ios}}}, "seed": {seed}}}"#
    );
    let workload = Workload::from_json(&workload).expect("the workload is possible");
    let run = |drive: &mut SimulatedDrive| {
        let recording = with_model!(&mut drive.model, model => {
            execute(&workload, &mut **model, &Progress::default())
        });
        recording.expect("the workload fits the drive");
    };
    run(drive);
    drive.idle(1_000_000_000);
    drive.trim(0, capacity / 2);
    drive.power_cut();
    run(drive);
    drive.assert_consistent();
    drive.purge();
    run(drive);
}

/// Bytes of what a drive was made from, at the start of its state: name, text,
/// members, settings and seed, each text after its length.
pub fn identity_bytes(number: usize) -> usize {
    let drive = drive(number);
    let identity = drive.identity();
    let length = |value: usize| (usize::BITS - value.max(1).leading_zeros()).div_ceil(7) as usize;
    let text = |text: &str| length(text.len()) + text.len();
    let pairs = |pairs: &[(String, String)]| {
        let each = pairs.iter().map(|(name, value)| text(name) + text(value));
        length(pairs.len()) + each.sum::<usize>()
    };
    text(&identity.name)
        + text(&identity.text)
        + pairs(&identity.members)
        + pairs(&identity.settings)
        + length(identity.seed as usize)
}
