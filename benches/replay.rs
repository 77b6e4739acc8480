//! How fast traces are replayed in virtual time.
//!
//! `cargo bench -p fourcorners-trace --bench replay` prints I/Os replayed per second of processor
//! time, of all threads together; some seconds. The trace is our own Parquet: 4 KiB at random places, every 10 µs, a
//! third of them writes. The drive does nothing, in 5 µs: what is counted is reading the trace,
//! issuing and recording. Each figure is the median of the repeats.

use fourcorners_execution::{Progress, replay};
use fourcorners_target::NoopTarget;
use fourcorners_trace::{Format, Operation, Record, Source, write};
use fourcorners_workload::{Pace, Pattern, Replay, Stop, Stream, Workload};
use std::path::Path;

const RECORDS: u64 = 4_000_000;
const REPEATS: usize = 5;
const SPAN_BYTES: u64 = 1 << 40;

fn main() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("a.parquet");
    write_trace(&path);
    let mut table = "| replay | million I/Os per second |\n| --- | ---: |\n".to_owned();
    for (title, pace) in [
        ("at recorded times", Pace::Recorded),
        ("with the recorded queue depth", Pace::Depth),
        ("with times to think", Pace::ThinkTimes),
    ] {
        let mut rates: Vec<f64> = (0..REPEATS).map(|_| rate(&path, pace)).collect();
        rates.sort_by(f64::total_cmp);
        table += &format!("| {title} | {:.1} |\n", rates[REPEATS / 2] / 1e6);
    }
    print!("{table}");
}

fn write_trace(path: &Path) {
    let mut writer = write::create(path, Format::Parquet).expect("there is room");
    let mut random = 1u64;
    let mut batch = Vec::new();
    for number in 0..RECORDS {
        // MMIX (Knuth).
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let operation = if random >> 32 & 3 == 0 { Operation::Write } else { Operation::Read };
        let offset_bytes = (random >> 20) % (SPAN_BYTES / 4096) * 4096;
        let latency_ns = Some(5_000);
        let record = Record::new(number * 10_000, operation, offset_bytes, 4096);
        batch.push(Record { latency_ns, ..record });
        if batch.len() == 4096 || number + 1 == RECORDS {
            writer.write(&batch, &["sda".to_owned()]).expect("there is room");
            batch.clear();
        }
    }
    writer.finish(&fourcorners_trace::Header::default()).expect("there is room");
}

fn rate(path: &Path, pace: Pace) -> f64 {
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
    let mut target = NoopTarget::new(SPAN_BYTES, 5_000);
    let start = processor_time();
    let recording =
        replay(&workload, &mut target, source, &Progress::default()).expect("it replays");
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
