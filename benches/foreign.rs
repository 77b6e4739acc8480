//! What it costs to ask another program: I/Os per second of a child that completes every request at
//! once, and of a target that does nothing in this process.
//!
//! `cargo bench -p fourcorners-foreign` compiles the reference child and prints a table; half a
//! minute. Unlike the simulator's, these figures are of the clock on the wall: two processes share
//! the work, so that they need two processors that are free. The median of the repeats.

use fourcorners_execution::{Progress, execute};
use fourcorners_foreign::{Command, ForeignDrive};
use fourcorners_target::{NoopTarget, Target};
use fourcorners_workload::{Pattern, Stop, Stream, Workload};
use std::path::Path;
use std::time::Instant;

const REPEATS: usize = 3;
const DEPTHS: [u32; 4] = [1, 4, 32, 256];
/// Of one that is outstanding: of more, as many more, since they go together.
const IOS: u64 = 40_000;

fn main() {
    let program = std::env::temp_dir().join(format!("fourcorners-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/drive.c");
    let compiled = std::process::Command::new("cc")
        .args(["-O2", "-o"])
        .args([&program, &source])
        .status()
        .expect("a C compiler");
    assert!(compiled.success());
    let child = |words: &[&str]| {
        let command = Command {
            program: program.to_string_lossy().into_owned(),
            arguments: words.iter().map(|word| (*word).into()).collect(),
        };
        ForeignDrive::start(&command, 1).expect("the reference child")
    };
    println!("| queue depth | by shared memory | by pipes | in this process |");
    println!("| ---: | ---: | ---: | ---: |");
    for depth in DEPTHS {
        let rings = median(|| rate(&mut child(&["noop"]), depth));
        let pipes = median(|| rate(&mut child(&["noop", "pipes"]), depth));
        let here = median(|| rate(&mut NoopTarget::new(64_000_000_000, 0), depth));
        println!("| {depth} | {} | {} | {} |", millions(rings), millions(pipes), millions(here));
    }
    let _ = std::fs::remove_file(program);
}

/// Random 4 KiB reads per second of the clock on the wall.
fn rate(target: &mut impl Target, depth: u32) -> f64 {
    let ios = IOS * u64::from(depth);
    let reads = Stream::new(1.0, Pattern::Random, 4096);
    let workload = Workload {
        streams: vec![Stream { queue_depth_per_worker: depth, ..reads }],
        stop: Stop { ios: Some(ios), ..Stop::default() },
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    };
    let begun = Instant::now();
    let recording = execute(&workload, target, &Progress::default()).expect("a workload that fits");
    assert_eq!(recording.operations[0].ios, ios);
    ios as f64 / begun.elapsed().as_secs_f64()
}

fn median(measure: impl Fn() -> f64) -> f64 {
    let mut rates: Vec<f64> = (0..REPEATS).map(|_| measure()).collect();
    rates.sort_by(f64::total_cmp);
    rates[REPEATS / 2]
}

fn millions(rate: f64) -> String {
    format!("{:.2} million", rate / 1e6)
}
