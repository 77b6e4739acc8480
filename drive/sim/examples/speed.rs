//! How fast a full-size page-mapped drive is simulated on one core.
//!
//! `cargo run --release -p fourcorners-sim --example speed` prints simulated I/Os
//! per second for random reads, for random writes in
//! the steady state of garbage collection, and for the consistency test (erase,
//! sequential fill, 2000 s of random writes at queue depth 32). Every I/O passes
//! the whole model and is recorded. Each figure is the
//! median of the repeats, in processor time of the one thread that does it all.

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_workload::{Arrival, Content, Operation, Pattern, Stop, Stream, Workload};

const DRIVE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fourcorners/catalog/drives/ocz-vector-256gb.toml");
/// Nothing reserved leaves 7.4 % of spare area, the published case of theory.
const SETTINGS: [(&str, &str); 1] = [("translation.reserved_share", "0.0")];

fn workload(operation: Operation, pattern: Pattern, block_bytes: u32, stop: Stop) -> Workload {
    Workload {
        streams: vec![Stream {
            read_fraction: if operation == Operation::Read { 1.0 } else { 0.0 },
            block_bytes,
            pattern,
            offset_bytes: 0,
            span_bytes: None,
            alignment_bytes: None,
            misalignment_bytes: 0,
            queue_depth: 32,
            arrival: Arrival::Closed,
            workers: 1,
            content: Content::Incompressible,
            flush_every_writes: None,
            fua: false,
        }],
        stop,
        ramp_ns: 0,
        seed: 1,
    }
}

#[inline(never)]
fn run(drive: &mut SimulatedDrive, workload: &Workload) -> Recording {
    with_model!(&mut drive.model, model => execute(workload, model.as_mut(), &Progress::default()))
        .expect("the workload fits the drive")
}

fn counter(drive: &SimulatedDrive, name: &str) -> f64 {
    let counters = drive.counters();
    counters.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, value)| *value)
}

/// Processor time that this thread has used, in seconds. Other programs on the
/// machine stretch it less than they stretch time by the clock.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Median processor time of `work`, in seconds.
fn median(repeats: usize, mut work: impl FnMut()) -> f64 {
    let mut measure = || {
        let start = processor_time();
        work();
        processor_time() - start
    };
    let mut seconds: Vec<f64> = (0..repeats).map(|_| measure()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds[repeats / 2]
}

const USAGE: &str = "usage: speed [--drive FILE] [--repeats N] [--ios N] \
                     [enter|read|write|consistency]...";

fn main() {
    let (mut path, mut repeats, mut ios) = (String::from(DRIVE), 3, 10_000_000);
    let mut only = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect(USAGE);
        match argument.as_str() {
            "--drive" => path = value(),
            "--repeats" => repeats = value().parse().expect(USAGE),
            "--ios" => ios = value().parse().expect(USAGE),
            "enter" | "read" | "write" | "consistency" => only.push(argument),
            _ => panic!("{USAGE}"),
        }
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);

    let text = std::fs::read_to_string(&path).expect("a drive file");
    let settings = SETTINGS.map(|(path, value)| (path.to_string(), value.to_string()));
    let mut drive = SimulatedDrive::new(&text, &settings, 1).expect("a valid drive file");
    let capacity = drive.capacity_bytes();
    println!("{}: {:.0} GB, {repeats} repeats", drive.header().name, capacity as f64 / 1e9);

    let entering = median(if wanted("enter") { repeats } else { 1 }, || {
        drive.enter_steady_state().expect("a page-mapped drive");
    });
    println!("steady state entered at once   {entering:8.2} s");

    for operation in Operation::ALL.into_iter().filter(|operation| wanted(operation.name())) {
        let stop = Stop { ios: Some(ios), ..Stop::default() };
        let mut work = workload(operation, Pattern::Random, 4096, stop);
        let names = ["host_units_written", "units_moved"];
        let before = names.map(|name| counter(&drive, name));
        let seconds = median(repeats, || {
            // The same addresses again would be hotter than the rest.
            work.seed += 1;
            run(&mut drive, &work);
        });
        let after = names.map(|name| counter(&drive, name));
        let amplification = match operation {
            Operation::Read | Operation::Flush => String::new(),
            Operation::Write => format!(
                ", write amplification {:.2}",
                1.0 + (after[1] - before[1]) / (after[0] - before[0])
            ),
        };
        println!(
            "random 4 KiB {:5}             {:8.2} million I/Os per second{amplification}",
            operation.name(),
            ios as f64 / seconds / 1e6
        );
    }

    if wanted("consistency") {
        let fill_stop = Stop { bytes: Some(capacity / 131_072 * 131_072), ..Stop::default() };
        let fill = workload(Operation::Write, Pattern::Sequential, 131_072, fill_stop);
        let time = Stop { time_ns: Some(2_000_000_000_000), ..Stop::default() };
        let consistency = workload(Operation::Write, Pattern::Random, 4096, time);
        let seconds = median(repeats, || {
            drive.purge();
            run(&mut drive, &fill);
            run(&mut drive, &consistency);
        });
        println!("erase, fill, 2000 s of writes  {seconds:8.2} s");
    }
}
