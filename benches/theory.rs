//! Write amplification of the simulator against theory, as a table.
//!
//! `cargo bench -p fourcorners-sim --bench theory [-- docs/theory.md]` prints it
//! or writes it to a file. Every write goes through the whole model of a drive;
//! some minutes.

#[path = "../drive/sim/tests/support/theory.rs"]
mod theory;

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_workload::{Lane, Workload};
use std::fmt::Write;
use theory::{drive_file, paced, units_with_spare};

const SPARES: [f64; 10] = [0.05, 0.07, 0.10, 0.12, 0.15, 0.20, 0.25, 0.28, 0.5, 1.0];
const PAGES: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Measured in so many parts, whose scatter gives the standard error.
const PARTS: u64 = 10;
const UNIFORM: &str = "\"random\"";

/// Random 4 KiB writes at queue depth 32, without end or so many.
fn workload(pattern: &str, ios: Option<u64>, seed: u64) -> Workload {
    let ios = ios.map_or("null".into(), |ios| ios.to_string());
    Workload::from_json(&format!(
        r#"{{"streams": [{{"read_fraction": 0.0, "block_bytes": 4096, "pattern": {pattern},
             "queue_depth": 32}}], "stop": {{"ios": {ios}}}, "seed": {seed}}}"#
    ))
    .expect("a valid workload")
}

/// A measured write amplification.
struct Measured {
    value: f64,
    standard_error: f64,
    writes: u64,
}

/// Puts a drive into the steady state of uniform writes, writes `settle` times
/// its units, then measures over at least `rounds` times.
fn measure(text: &str, pattern: &str, settle: f64, rounds: f64) -> Measured {
    let mut drive = SimulatedDrive::new(text, &[], 1).expect("a valid drive");
    drive.enter_steady_state(1.0, None).expect("it has one");
    let units = drive.capacity_bytes() as f64 / 4096.0;
    let mut seed = 0;
    let mut write = |drive: &mut SimulatedDrive, ios: u64| {
        seed += 1;
        let before = moved(drive);
        let work = workload(pattern, Some(ios), seed);
        with_model!(&mut drive.model, model => execute(&work, model.as_mut(), &Progress::default()))
            .expect("the workload fits");
        1.0 + (moved(drive) - before) / ios as f64
    };
    write(&mut drive, (settle * units) as u64);
    let part = ((rounds * units) as u64 / PARTS).max(200_000);
    let values: Vec<f64> = (0..PARTS).map(|_| write(&mut drive, part)).collect();
    let value = values.iter().sum::<f64>() / PARTS as f64;
    let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
    let standard_error = (squares / (PARTS * (PARTS - 1)) as f64).sqrt();
    Measured { value, standard_error, writes: PARTS * part }
}

fn moved(drive: &SimulatedDrive) -> f64 {
    drive.counters().iter().find(|(name, _)| *name == "units_moved").expect("it counts").1
}

/// Blocks of a drive with `pages` pages per block: about a million pages, no
/// fewer than the 2,000 blocks beyond which nothing changes.
fn blocks(pages: u32) -> u32 {
    (1_000_000 / pages).clamp(2_500, 16_000)
}

struct Table {
    text: String,
    worst_percent: f64,
}

impl Table {
    fn new(first_columns: &str) -> Self {
        let columns = first_columns.matches('|').count() + 1;
        let mut text = format!(
            "| {first_columns} | theory | simulated | standard error | difference | writes |\n"
        );
        writeln!(text, "|{}", " --- |".repeat(columns + 5)).expect("into a string");
        Self { text, worst_percent: 0.0 }
    }

    fn row(&mut self, first: &str, theory: f64, measured: &Measured) {
        let percent = 100.0 * (measured.value / theory - 1.0);
        self.worst_percent = self.worst_percent.max(percent.abs());
        let line = format!(
            "| {first} | {theory:.4} | {:.4} | {:.4} | {percent:+.2} % | {:.1} M |",
            measured.value,
            measured.standard_error,
            measured.writes as f64 / 1e6,
        );
        eprintln!("{line}");
        writeln!(self.text, "{line}").expect("into a string");
    }

    /// The table and its largest difference.
    fn finish(self) -> String {
        format!("{}\nLargest difference: {:.2} %.\n", self.text, self.worst_percent)
    }
}

fn percent(spare: f64) -> String {
    format!("{:.0} %", 100.0 * spare)
}

fn greedy() -> String {
    let mut table = Table::new("spare | pages per block");
    for spare in SPARES {
        for pages in PAGES {
            let blocks = blocks(pages);
            let units = units_with_spare(blocks, pages, spare);
            let text = drive_file(1, 1, blocks, pages, units, &paced(""));
            let measured = measure(&text, UNIFORM, 1.0, 2.0);
            let first = format!("{} | {pages}", percent(spare));
            table.row(&first, theory::greedy(1.0 + spare, pages), &measured);
        }
    }
    table.finish()
}

fn policy(policy: &str, pages: u32, theory: impl Fn(f64) -> f64) -> String {
    let mut table = Table::new("spare");
    for spare in SPARES {
        let blocks = blocks(pages);
        let units = units_with_spare(blocks, pages, spare);
        let text = drive_file(1, 1, blocks, pages, units, &paced(policy));
        let measured = measure(&text, UNIFORM, 1.0, 4.0);
        table.row(&percent(spare), theory(1.0 + spare), &measured);
    }
    table.finish()
}

fn d_choices(d: u32) -> String {
    let rule = format!(
        "policy = {{ value = \"d-choices\", source = \"theory\" }}\n\
         candidates = {{ value = {d}, source = \"theory\" }}"
    );
    let theory = |alpha| match d {
        1 => theory::random_victim(alpha),
        _ => theory::choices(alpha, 256, f64::from(d)),
    };
    policy(&rule, 256, theory)
}

enum Skew {
    /// Fraction of the data and its share of the accesses.
    HotCold(f64, f64),
    /// Exponent.
    Zipf(f64),
}

/// Hot and cold data and Zipf's law, into one write frontier.
fn skewed(fifo: bool) -> String {
    let (blocks, pages) = if fifo { (1_500, 256) } else { (2_000, 64) };
    let mut table = Table::new("traffic | spare");
    for (name, skew) in [
        ("20/80", Skew::HotCold(0.2, 0.8)),
        ("10/90", Skew::HotCold(0.1, 0.9)),
        ("Zipf 0.8", Skew::Zipf(0.8)),
        ("Zipf 0.99", Skew::Zipf(0.99)),
        ("Zipf 1.2", Skew::Zipf(1.2)),
    ] {
        let pattern = match skew {
            Skew::HotCold(data, accesses) => {
                format!(r#"{{"hot-cold": {{"data": {data}, "accesses": {accesses}}}}}"#)
            }
            Skew::Zipf(exponent) => format!(r#"{{"zipf": {{"exponent": {exponent}}}}}"#),
        };
        for spare in [0.07, 0.12, 0.28] {
            // The block that collected data would fill is never used.
            let units = units_with_spare(blocks - 1, pages, spare);
            let policy =
                if fifo { "policy = { value = \"fifo\", source = \"theory\" }\n" } else { "" };
            let rule = format!("{policy}shared_stream = {{ value = true, source = \"theory\" }}");
            let text = drive_file(1, 1, blocks, pages, units, &paced(&rule));
            let measured = measure(&text, &pattern, 10.0, 10.0);
            let expected = if fifo {
                let classes = match skew {
                    Skew::HotCold(data, accesses) => {
                        vec![(data, accesses), (1.0 - data, 1.0 - accesses)]
                    }
                    Skew::Zipf(exponent) => theory::zipf_classes(units, exponent),
                };
                theory::first_in_first_out_of(1.0 + spare, &classes)
            } else {
                let reference_blocks = (blocks - theory::KEPT_FREE) as usize;
                let mut map =
                    theory::BareMap::new(reference_blocks, pages as usize, units as usize);
                let endless = workload(&pattern, None, 99);
                let mut lane = Lane::all(&endless, units * 4096).remove(0);
                let mut unit = || lane.next_request().expect("no end is set").offset_bytes / 4096;
                map.amplification(10 * units, &mut unit);
                map.amplification(10 * units, unit)
            };
            table.row(&format!("{name} | {}", percent(spare)), expected, &measured);
        }
    }
    table.finish()
}

/// What theory leaves out: few blocks, and pools that collect by themselves.
fn small() -> String {
    let mut table = Table::new("dies | superblock | blocks per die");
    let expected = theory::greedy(1.07, 256);
    for (dies, superblock, blocks) in [
        (1, 1, 100),
        (1, 1, 300),
        (1, 1, 1_000),
        (8, 1, 300),
        (8, 1, 1_000),
        (32, 1, 300),
        (32, 1, 1_000),
    ] {
        let units = u64::from(dies) * units_with_spare(blocks, 256, 0.07);
        let text = drive_file(dies, 1, blocks, 256, units, &paced(""));
        let measured = measure(&text, UNIFORM, 1.0, 2.0);
        table.row(&format!("{dies} | {superblock} | {blocks}"), expected, &measured);
    }
    let (dies, blocks) = (8, 2_000);
    let units = units_with_spare(blocks, dies * 32, 0.07);
    let text = drive_file(dies, 1, blocks, 32, units, &paced("")).replace(
        "[translation]",
        "[translation]\nsuperblock_dies = { value = 8, source = \"theory\" }",
    );
    let measured = measure(&text, UNIFORM, 1.0, 2.0);
    table.row(&format!("{dies} of 32 pages per block | {dies} | {blocks}"), expected, &measured);
    table.finish()
}

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let fifo = "policy = { value = \"fifo\", source = \"theory\" }";
    let document = format!(
        "# Write amplification against theory\n\n\
         Written by `cargo bench -p fourcorners-sim --bench theory -- docs/theory.md`; not edited by \
         hand.\n\n\
         The tables are for random 4 KiB writes to a drive of one pool in steady state; each write \
         passes through the whole model. The spare area is the ratio of the physical to the logical \
         size, less one. The physical size has all blocks but the {} that paced garbage collection \
         keeps free on average, including the free parts of open blocks. The drive is placed in its \
         steady state at once, and is overwritten before the measurement. The theory's values are \
         computed each time from the formulas in `drive/sim/tests/support/theory.rs`. The standard \
         error is that of ten parts of the measurement.\n\n\
         ## Greedy, uniform writes\n\n\
         Exact mean field (Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013).\n\n{}\n\
         ## First in, first out, uniform writes, 256 pages per block\n\n\
         Lambert's W (Desnoyers, SYSTOR 2012; Xiang and Kurkoski, arXiv 1110.4245).\n\n{}\n\
         ## Best of 10 blocks drawn at random, uniform writes, 256 pages per block\n\n\
         Mean field (Van Houdt, SIGMETRICS 2013).\n\n{}\n\
         ## A block drawn at random, uniform writes\n\n{}\n\
         ## Skewed writes, first in, first out, one write frontier, 256 pages per block\n\n\
         Desnoyers' fixed point, with a class for each unit under Zipf's law. 20/80: a fifth of the \
         data takes four fifths of the writes.\n\n{}\n\
         ## Skewed writes, greedy, one write frontier, 64 pages per block\n\n\
         No closed form: the theory column is a second, independent page map in memory.\n\n{}\n\
         ## Where theory does not hold\n\n\
         The theory assumes one pool of infinitely many blocks. A drive with few blocks, or with \
         dies that collect garbage independently, differs from it by this much (greedy, 7 % spare, \
         256 pages per block). Superblocks behave as one pool of larger blocks.\n\n{}",
        theory::KEPT_FREE,
        greedy(),
        policy(fifo, 256, theory::first_in_first_out),
        d_choices(10),
        d_choices(1),
        skewed(true),
        skewed(false),
        small(),
    );
    match path {
        // Cargo runs a bench in its package's folder.
        Some(path) => {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
            std::fs::write(format!("{root}{path}"), document).expect("the document can be written");
        }
        None => println!("{document}"),
    }
}
