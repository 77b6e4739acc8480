//! A soak: random drives under random workloads, trims, idle time and purges,
//! with every invariant checked after each step.
//!
//! `cargo bench -p fourcorners-sim --bench soak [-- --seconds 600 --seed 1]` takes
//! one drive after another through 200 steps, from that seed on. A failure names
//! its seed; `-- --seed N --drives 1` replays it.

#[path = "../drive/sim/tests/support/mod.rs"]
mod support;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

const STEPS: u32 = 200;

fn option(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(value)) => value.parse().unwrap_or_else(|_| panic!("{name}: give a number")),
        _ => default,
    }
}

fn main() -> ExitCode {
    let (seconds, first) = (option("--seconds", 60), option("--seed", 1));
    let drives = option("--drives", u64::MAX);
    let started = Instant::now();
    let (mut served, mut seed) = (0, first);
    while seed - first < drives && started.elapsed().as_secs() < seconds {
        match catch_unwind(|| support::soak::soak(seed, STEPS)) {
            Ok((what, ios)) => {
                served += ios;
                let name = what.lines().find(|line| line.contains("kind")).unwrap_or(&what);
                println!("seed {seed}: {ios} I/Os, {}", name.trim());
            }
            Err(_) => {
                println!("seed {seed} failed after {served} I/Os before it; replay it with");
                println!("cargo bench -p fourcorners-sim --bench soak -- --seed {seed} --drives 1");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    println!("{} drives, {served} I/Os, {STEPS} steps each: all held", seed - first);
    ExitCode::SUCCESS
}
