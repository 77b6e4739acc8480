//! Runs workloads on drives of the catalog.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod arrays;
pub mod soak;
pub mod theory;

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_sim::{SimulatedDrive, Treatment};
use fourcorners_workload::{Content, Operation, Pattern, Stop, Stream, Workload};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GB: u64 = 1_000_000_000;
pub const SECOND_NS: u64 = 1_000_000_000;

/// The text of a drive file of the catalog.
pub fn drive_file(name: &str) -> String {
    let path =
        format!("{}/../../fourcorners/catalog/drives/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A made-up SSD with log blocks.
pub fn log_block_file() -> String {
    include_str!("log_block.toml").to_string()
}

/// A drive of the catalog, with settings as `("cache.write_back", "false")`.
pub fn drive(name: &str, settings: &[(&str, &str)]) -> SimulatedDrive {
    drive_of(&drive_file(name), settings)
}

/// The drive of a drive file's text.
pub fn drive_of(text: &str, settings: &[(&str, &str)]) -> SimulatedDrive {
    SimulatedDrive::new(&resized(text, settings), &owned(settings), 1).unwrap()
}

/// A drive file for these settings: a drive of another size, for which the free
/// blocks that collection keeps may be more than the file's spare area, has all of
/// its flash as spare area.
pub fn resized(text: &str, settings: &[(&str, &str)]) -> String {
    let sizes = ["capacity.user", "flash."];
    let path = |path: &str| path.strip_prefix("member.").unwrap_or(path).to_string();
    let is_resized = settings.iter().any(|(p, _)| sizes.iter().any(|s| path(p).starts_with(s)));
    let keeps = |line: &&str| !(is_resized && line.starts_with("spare_area = "));
    text.lines().filter(keeps).map(|line| format!("{line}\n")).collect()
}

fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect()
}

pub fn run(drive: &mut SimulatedDrive, workload: &Workload) -> Recording {
    execute(workload, drive, &Progress::default()).unwrap()
}

/// One stream on one worker, aligned to sectors when random, as Iometer does.
pub fn workload(operation: Operation, pattern: Pattern, block: u64, depth: u32) -> Workload {
    Workload {
        streams: vec![Stream {
            alignment_bytes: Some(512),
            queue_depth_per_worker: depth,
            ..Stream::new(
                if operation == Operation::Read { 1.0 } else { 0.0 },
                pattern,
                block as u32,
            )
        }],
        stop: Stop::default(),
        ramp_ns: 0,
        log_ios: 0,
        seed: 3,
    }
}

/// Writes the whole drive once, in order, but what is left of a last block.
pub fn fill(drive: &mut SimulatedDrive) -> Recording {
    let mut fill = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 1);
    fill.stop.ios = Some(drive.capacity_bytes() / (128 * KIB));
    run(drive, &fill)
}

/// Random I/Os per second after a ramp, as Iometer reports them.
pub fn random_iops(
    drive: &mut SimulatedDrive,
    operation: Operation,
    block: u64,
    depth: u32,
    seconds: u64,
) -> f64 {
    let mut random = workload(operation, Pattern::Random, block, depth);
    random.ramp_ns = 10 * SECOND_NS;
    random.stop.time_ns = Some(seconds * SECOND_NS);
    let recording = run(drive, &random);
    recording.operations[operation.index()].ios as f64 / (recording.elapsed_ns as f64 * 1e-9)
}

/// What the model counted under a name.
pub fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    drive.counters().iter().find(|counter| counter.0 == name).unwrap().1
}

/// What the drive says is true of it, by name, whatever was done to it.
pub fn truth(drive: &SimulatedDrive, name: &str) -> f64 {
    truth_if_any(drive, name).unwrap()
}

/// The same, if the drive says it.
pub fn truth_if_any(drive: &SimulatedDrive, name: &str) -> Option<f64> {
    let treatment = Treatment {
        burst_bytes: MIB,
        rest_ns: 1,
        flushed_bytes: 4096,
        overwrite_block_bytes: 4096,
        collected_valid_share: None,
    };
    drive.truths(&treatment).iter().find(|truth| truth.name == name).map(|truth| truth.value)
}

/// Fails unless `value` is within `percent` of `target`.
#[track_caller]
pub fn assert_within(what: &str, value: f64, target: f64, percent: f64) {
    let off = 100.0 * (value / target - 1.0);
    println!("{what}: {value:.4}, target {target} ({off:+.2} %)");
    assert!(
        off.abs() <= percent,
        "{what}: {value:.4}, expected {target} within {percent} %, is {off:+.2} % off"
    );
}

/// Writes the first 8 GB once, in order.
pub fn fill_8_gb(drive: &mut SimulatedDrive, content: Content) {
    let mut fill = workload(Operation::Write, Pattern::Sequential, 128 * KIB, 32);
    fill.streams[0].span_bytes = Some(8 * GB);
    fill.streams[0].content = content;
    fill.stop.bytes = Some(8 * GB);
    run(drive, &fill);
}

/// Settings under which nothing but the dies takes time.
pub fn only_dies(dies: &str) -> Vec<(&str, &str)> {
    vec![
        ("host.overhead", "0 us"),
        ("link.command_overhead", "0 B"),
        ("controller.read_overhead", "0 us"),
        ("flash.bus_rate", "1000 GB/s"),
        ("flash.read_time", "10 ms"),
        ("flash.dies", dies),
        ("flash.channels", "8"),
        ("capacity.user", "9 GiB"),
        // A power of two of rows divides the addresses evenly over the dies.
        ("flash.blocks_per_plane", "2048"),
    ]
}
