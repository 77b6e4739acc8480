//! How fast traces are replayed in virtual time.
//!
//! `cargo bench -p fourcorners-trace --bench replay [-- --write docs/performance.md]` prints I/Os
//! replayed per second of processor time, of all threads together; some seconds. The trace is our
//! own Parquet: 4 KiB at random places, every 20 µs, a quarter of them writes. One drive does
//! nothing, in 5 µs: what is counted then is reading the trace, issuing and recording. The other
//! is simulated, full, in its steady state. Each figure is the median of the repeats.

mod tables;

use fourcorners_execution::{Progress, replay};
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_target::{NoopTarget, Target};
use fourcorners_trace::{Format, Header, Operation, Record, Source, write};
use fourcorners_workload::{Pace, Pattern, Replay, Stop, Stream, Workload};
use std::path::Path;

const RECORDS: u64 = 4_000_000;
const REPEATS: usize = 5;
/// Less than the simulated drive has.
const SPAN_BYTES: u64 = 250_000_000_000 / 4096 * 4096;
const VECTOR: &str = include_str!("../fourcorners/catalog/drives/ocz-vector-256gb.toml");

fn main() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.parquet");
    write_trace(&path);
    let mut vector = SimulatedDrive::new(VECTOR, &[], 1).expect("a valid drive file");
    vector.enter_steady_state(1.0, None).expect("a page-mapped drive");
    let mut table = "| replay | million I/Os per second |\n| --- | ---: |\n".to_owned();
    let mut row = |title: &str, measure: &mut dyn FnMut() -> f64| {
        let mut rates: Vec<f64> = (0..REPEATS).map(|_| measure()).collect();
        rates.sort_by(f64::total_cmp);
        table += &format!("| {title} | {:.1} |\n", rates[REPEATS / 2] / 1e6);
    };
    row(
        "OCZ Vector 256GB, at recorded times",
        &mut || with_model!(&mut vector.model, model => rate(&path, Pace::Recorded, model.as_mut())),
    );
    for (title, pace) in [
        ("nothing, at recorded times", Pace::Recorded),
        ("nothing, with the recorded queue depth", Pace::Depth),
        ("nothing, with times to think", Pace::ThinkTimes),
    ] {
        row(title, &mut || rate(&path, pace, &mut NoopTarget::new(SPAN_BYTES, 5_000)));
    }
    tables::give("replay.rs", &table);
}

fn write_trace(path: &Path) {
    let mut writer = write::create(path, Format::Parquet, None).expect("there is room");
    let mut random = 1u64;
    let mut batch = Vec::new();
    for number in 0..RECORDS {
        // MMIX (Knuth).
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let operation = if random >> 32 & 3 == 0 { Operation::Write } else { Operation::Read };
        let offset_bytes = (random >> 20) % (SPAN_BYTES / 4096) * 4096;
        let latency_ns = Some(5_000);
        let record = Record::new(number * 20_000, operation, offset_bytes, 4096);
        batch.push(Record { latency_ns, ..record });
        if batch.len() == 4096 || number + 1 == RECORDS {
            writer.write(&batch, &["sda".to_owned()]).expect("there is room");
            batch.clear();
        }
    }
    let header = Header { schema_version: 1, volumes: vec!["sda".to_owned()], ..Header::default() };
    writer.finish(&header).expect("there is room");
}

fn rate<T: Target>(path: &Path, pace: Pace, target: &mut T) -> f64 {
    let trace = Replay {
        files: vec![path.to_str().expect("a name in UTF-8").to_owned()],
        format: None,
        pace,
        speed: 1.0,
        depth: None,
        span_bytes: SPAN_BYTES,
        alignment_bytes: 512,
        ios: RECORDS,
        length_ns: 0,
        written_bytes: 0,
        writes: true,
        is_far_out_of_order: false,
    };
    let source = Box::new(Source::new(&trace));
    let stream = Stream::new(0.5, Pattern::Sequential, 4096);
    let workload = Workload {
        streams: vec![Stream { queue_depth_per_worker: 1024, trace: Some(trace), ..stream }],
        stop: Stop::default(),
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    };
    let start = processor_time();
    let recording = replay(&workload, target, source, &Progress::default()).expect("it replays");
    assert!(recording.failure.is_none(), "{:?}", recording.failure);
    assert_eq!(recording.operations.iter().map(|one| one.ios).sum::<u64>(), RECORDS);
    RECORDS as f64 / (processor_time() - start)
}

/// Of all threads of the process, in seconds.
fn processor_time() -> f64 {
    // SAFETY: getrusage fills the struct that it is given; zeroes are valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
