//! A day in the life of served drives: random I/O, faults of every kind, losses of power and
//! restarts in virtual time, against a shadow copy of every sector.
//!
//! `cargo bench -p fourcorners-serve --bench serve_soak [-- --hours 24 --seed 1]` prints the table
//! of docs/serve.md, with `--skip 2` without its first two. A difference ends it with the request and the sector.

#[path = "../serve/tests/support/mod.rs"]
mod support;

use std::time::Instant;
use support::life::{Life, live};
use support::{ARRAY, CORE, DISK, ENTERPRISE, LOG_BLOCK, SECOND_NS, VECTOR};

fn option(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(value)) => value.parse().unwrap_or_else(|_| panic!("{name}: give a number")),
        _ => default,
    }
}

fn main() {
    let (hours, seed) = (option("--hours", 24), option("--seed", 1));
    let folder = std::env::temp_dir().join(format!("fourcorners-soak-{}", std::process::id()));
    println!(
        "| drive | I/Os | read, MB | written, MB | failed I/Os | changed writes | power cuts | \
         restarts | sectors lost, not durable | differences | took, s |"
    );
    println!("| --- | {} |", ["---:"; 10].join(" | "));
    for (name, drive) in [
        ("Vector, page-mapped", VECTOR),
        ("enterprise NVMe class, capacitors", ENTERPRISE),
        ("Core, block-mapped", CORE),
        ("log blocks", LOG_BLOCK),
        ("WD6400AAKS, a disk", DISK),
        ("RAID 0 of X25-M and Core", ARRAY),
    ]
    .into_iter()
    .skip(option("--skip", 0) as usize)
    {
        std::fs::create_dir_all(&folder).expect("a folder of our own");
        let started = Instant::now();
        let life = Life {
            drive,
            settings: &[],
            seed,
            virtual_ns: hours * 3600 * SECOND_NS,
            span_bytes: 8 << 20,
            mean_pause_ns: 60_000_000,
            mean_session_ns: 1200 * SECOND_NS,
            fault_every: 300,
        };
        let met = live(&life, &folder);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | 0 | {:.0} |",
            met.ios,
            met.read_bytes / 1_000_000,
            met.written_bytes / 1_000_000,
            met.failed_ios,
            met.corrupted_writes,
            met.power_cuts,
            met.restarts,
            met.lost_sectors,
            started.elapsed().as_secs_f64()
        );
        let _ = std::fs::remove_dir_all(&folder);
    }
}
