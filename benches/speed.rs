//! How fast drives are simulated on one core, and how much memory they take.
//!
//! `cargo bench -p fourcorners-sim --bench speed [-- --write docs/performance.md]`
//! prints simulated I/Os per second, or writes them between the marks of that
//! file; some minutes. Whole runs use a full-size page-mapped drive: random
//! reads, random writes in the steady state of garbage collection, and the
//! consistency test (erase, sequential fill, 2000 s of random writes at queue
//! depth 32); tests are workloads of `characterize` on a drive of today, once
//! each. Every I/O passes the whole model and is recorded. Each figure is the
//! median of the repeats, in processor time of the one thread that does it all.
//! For one part and another drive, and for profilers:
//!
//! ```text
//! cargo bench -p fourcorners-sim --bench speed -- --drive FILE --ios N --repeats N --scale N enter read write consistency models tests
//! ```

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_workload::Workload;
use std::path::{Path, PathBuf};

/// All of its flash, the published case of theory.
const SPARE_AREA: (&str, &str) = ("translation.spare_area", "7.35 %");

/// One drive of each model that the catalog has one of, and what is written to it first.
const MODELS: [(&str, &str); 4] = [
    ("page-mapped", "samsung-830-256gb"),
    ("page-mapped, compressing", "ocz-vertex-2-120gb-34nm"),
    ("block-mapped", "ocz-core-64gb"),
    ("disk", "wd6400aaks"),
];

/// Workloads of `characterize` on that drive: what it is called, the stream, when it stops, and
/// whether the drive is erased before.
const TESTS: [(&str, &str, &str, bool); 8] = [
    ("4 KiB random write over 8 GB, queue depth 3", SMALL_WRITES_3, r#""ios": 4000000"#, true),
    ("4 KiB random write over 8 GB, queue depth 31", SMALL_WRITES_31, r#""ios": 4000000"#, false),
    ("4 KiB random read over 8 GB, queue depth 31", SMALL_READS_31, r#""ios": 4000000"#, false),
    ("64 MiB random write over 8 GB", LARGE_WRITES, r#""bytes": 64000000000"#, true),
    ("128 KiB sequential fill", FILL, r#""bytes": 1000190509056"#, true),
    ("128 KiB sequential read", SEQUENTIAL_READS, r#""bytes": 64000000000"#, false),
    ("64 MiB random read", LARGE_READS, r#""bytes": 64000000000"#, false),
    (
        "4 KiB random write of the full drive, queue depth 32",
        FULL_WRITES,
        r#""ios": 4000000"#,
        false,
    ),
];
const SMALL_WRITES_3: &str = r#""read_fraction": 0.0, "block_bytes": 4096, "pattern": "random", "span_bytes": 8000000000, "queue_depth": 3"#;
const SMALL_WRITES_31: &str = r#""read_fraction": 0.0, "block_bytes": 4096, "pattern": "random", "span_bytes": 8000000000, "queue_depth": 31"#;
const SMALL_READS_31: &str = r#""read_fraction": 1.0, "block_bytes": 4096, "pattern": "random", "span_bytes": 8000000000, "queue_depth": 31"#;
const LARGE_WRITES: &str = r#""read_fraction": 0.0, "block_bytes": 67108864, "pattern": "random", "span_bytes": 8000000000, "queue_depth": 1"#;
const LARGE_READS: &str = r#""read_fraction": 1.0, "block_bytes": 67108864, "pattern": "random", "alignment_bytes": 512, "queue_depth": 1"#;
const FILL: &str =
    r#""read_fraction": 0.0, "block_bytes": 131072, "pattern": "sequential", "queue_depth": 4"#;
const SEQUENTIAL_READS: &str =
    r#""read_fraction": 1.0, "block_bytes": 131072, "pattern": "sequential", "queue_depth": 1"#;
const FULL_WRITES: &str =
    r#""read_fraction": 0.0, "block_bytes": 4096, "pattern": "random", "queue_depth": 32"#;

const USAGE: &str = "usage: speed [--drive FILE] [--repeats N] [--ios N] [--scale N] \
                     [--named TEXT] [--write FILE] [enter|read|write|consistency|models|tests]...";

struct Options {
    drive: PathBuf,
    repeats: usize,
    ios: u64,
    /// Times as many blocks and user bytes as the drive file says.
    scale: u64,
    write: Option<PathBuf>,
    only: Vec<String>,
    /// Of the tests' workloads, those whose name has this in it.
    named: String,
}

impl Options {
    fn parse() -> Self {
        let mut options = Self {
            drive: drive_file("ocz-vector-256gb"),
            repeats: 3,
            ios: 10_000_000,
            scale: 1,
            write: None,
            only: Vec::new(),
            named: String::new(),
        };
        // Cargo passes `--bench` to every benchmark.
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect(USAGE);
            match argument.as_str() {
                "--drive" => options.drive = value().into(),
                "--repeats" => options.repeats = value().parse().expect(USAGE),
                "--ios" => options.ios = value().parse().expect(USAGE),
                "--scale" => options.scale = value().parse().expect(USAGE),
                "--named" => options.named = value(),
                "--write" => options.write = Some(value().into()),
                "enter" | "read" | "write" | "consistency" | "models" | "tests" => {
                    options.only.push(argument);
                }
                _ => panic!("{USAGE}"),
            }
        }
        options
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

fn drive_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../fourcorners/catalog/drives/{name}.toml"))
}

/// The drive of a file, made `scale` times as large.
fn drive(path: &Path, scale: u64, settings: &[(&str, &str)]) -> SimulatedDrive {
    let text = std::fs::read_to_string(path).expect("a drive file");
    let own = |&(path, value): &(&str, &str)| (path.to_string(), value.to_string());
    let mut settings: Vec<(String, String)> = settings.iter().map(own).collect();
    if scale > 1 {
        let small = SimulatedDrive::new(&text, &settings, 1).expect("a valid drive file");
        let blocks = text.lines().find(|line| line.starts_with("blocks_per_plane"));
        let blocks = blocks.and_then(|line| line.split("value = ").nth(1)?.split(',').next());
        let blocks: u64 = blocks.and_then(|number| number.parse().ok()).expect("flash blocks");
        let capacity = format!("{} B", small.capacity_bytes() * scale);
        settings.push(("capacity.user".into(), capacity));
        settings.push(("flash.blocks_per_plane".into(), (blocks * scale).to_string()));
    }
    SimulatedDrive::new(&text, &settings, 1).expect("a valid drive file")
}

/// A stream at queue depth 32, given as JSON but for that, until `stop`.
fn workload(stream: &str, stop: &str) -> Workload {
    let text = format!(
        r#"{{"streams": [{{{stream}, "queue_depth": 32}}], "stop": {{{stop}}}, "seed": 1}}"#
    );
    Workload::from_json(&text).expect("a valid workload")
}

fn random(operation: &str, ios: u64) -> Workload {
    let read_fraction = if operation == "read" { "1.0" } else { "0.0" };
    let stream =
        format!(r#""read_fraction": {read_fraction}, "block_bytes": 4096, "pattern": "random""#);
    workload(&stream, &format!(r#""ios": {ios}"#))
}

// Profilers find the runs by this name.
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

/// Memory that the process holds, in bytes.
fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("kB");
    kib * 1024.0
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

/// What the page-mapped drive does, as rows of a table.
fn whole_runs(options: &Options) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = |what: &str, figure: String| {
        let row = format!("| {what} | {figure} |");
        println!("{row}");
        rows.push(row);
    };
    let empty_bytes = resident_bytes();
    let mut drive = drive(&options.drive, options.scale, &[SPARE_AREA]);
    let capacity = drive.capacity_bytes();
    let name = drive.header().name.clone();
    row("drive", format!("{name}, {:.0} GB, all flash in use", capacity as f64 / 1e9));

    let repeats = if options.wants("enter") { options.repeats } else { 1 };
    let entering =
        median(repeats, || drive.enter_steady_state(1.0, None).expect("a page-mapped drive"));
    row("steady state of random writes entered at once", format!("{entering:.2} s"));
    let per_page = (resident_bytes() - empty_bytes) / (capacity / 4096) as f64;
    row("memory per logical page of 4 KiB", format!("{per_page:.2} bytes"));

    for operation in ["read", "write"].into_iter().filter(|operation| options.wants(operation)) {
        let mut work = random(operation, options.ios);
        let before = ["host_units_written", "units_moved"].map(|name| counter(&drive, name));
        let seconds = median(options.repeats, || {
            // The same addresses again would be hotter than the rest.
            work.seed += 1;
            run(&mut drive, &work);
        });
        let after = ["host_units_written", "units_moved"].map(|name| counter(&drive, name));
        let amplification = match operation {
            "read" => String::new(),
            _ => {
                let moved = (after[1] - before[1]) / (after[0] - before[0]);
                format!(", write amplification {:.2}", 1.0 + moved)
            }
        };
        let millions = options.ios as f64 / seconds / 1e6;
        row(
            &format!("random 4 KiB {operation}s at queue depth 32"),
            format!("{millions:.2} million per second{amplification}"),
        );
    }

    if options.wants("consistency") {
        let fill = workload(
            r#""read_fraction": 0.0, "block_bytes": 131072, "pattern": "sequential""#,
            &format!(r#""bytes": {}"#, capacity / 131_072 * 131_072),
        );
        let stream = r#""read_fraction": 0.0, "block_bytes": 4096, "pattern": "random""#;
        let consistency = workload(stream, r#""time_ns": 2000000000000"#);
        let seconds = median(options.repeats, || {
            drive.purge();
            run(&mut drive, &fill);
            run(&mut drive, &consistency);
        });
        row("erase, fill, 2000 s of random writes", format!("{seconds:.1} s"));
    }
    rows
}

/// One small random I/O on each model, in nanoseconds.
fn models(options: &Options) -> Vec<String> {
    let mut rows = Vec::new();
    for (model, name) in MODELS {
        let mut drive = drive(&drive_file(name), 1, &[]);
        let ios = options.ios / 20;
        let mut nanoseconds = ["write", "read"].map(|operation| {
            let mut work = random(operation, ios);
            let seconds = median(options.repeats, || {
                work.seed += 1;
                run(&mut drive, &work);
            });
            seconds * 1e9 / ios as f64
        });
        nanoseconds.reverse();
        let [read, write] = nanoseconds;
        let row = format!("| {model} | {} | {read:.0} ns | {write:.0} ns |", drive.header().name);
        println!("{row}");
        rows.push(row);
    }
    rows
}

/// Workloads of the reviews' tests on a drive of today, in nanoseconds of processor time for each
/// 4 KiB that they read or write.
fn tests(options: &Options) -> Vec<String> {
    let mut drive = drive(&drive_file("class-tlc-nvme-consumer-1tb"), 1, &[]);
    let mut rows = Vec::new();
    for (what, stream, stop, fresh) in TESTS {
        if !what.contains(&options.named) {
            continue;
        }
        if fresh {
            drive.purge();
        }
        let work = format!(r#"{{"streams": [{{{stream}}}], "stop": {{{stop}}}, "seed": 1}}"#);
        let work = Workload::from_json(&work).expect("a valid workload");
        let start = processor_time();
        let recording = run(&mut drive, &work);
        let seconds = processor_time() - start;
        let moved_bytes: u64 = recording.operations.iter().map(|one| one.bytes).sum();
        let row = format!("| {what} | {:.1} ns |", seconds * 1e9 / (moved_bytes as f64 / 4096.0));
        println!("{row}");
        rows.push(row);
    }
    rows
}

/// The processor, as the kernel calls it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    name.unwrap_or("unknown").to_string()
}

const BEGIN: &str = "<!-- made by benches/speed.rs -->\n";
const END: &str = "<!-- end of what benches/speed.rs made -->\n";

fn main() {
    let options = Options::parse();
    let mut table = vec!["| whole run | |".into(), "| --- | --- |".into()];
    if options.only.iter().any(|only| only != "tests") || options.only.is_empty() {
        table.extend(whole_runs(&options));
    }
    table.push(format!("| processor | {} |", processor()));
    if options.wants("models") {
        let heading = "| model | drive | 4 KiB read | 4 KiB write |";
        table.extend([String::new(), heading.into(), "| --- | --- | ---: | ---: |".into()]);
        table.extend(models(&options));
    }
    if options.wants("tests") {
        let heading = "| TLC NVMe 1TB (class) | each 4 KiB |";
        table.extend([String::new(), heading.into(), "| --- | ---: |".into()]);
        table.extend(tests(&options));
    }
    if let Some(path) = &options.write {
        // Cargo runs benchmarks in the folder of their package.
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let page = std::fs::read_to_string(&path).expect("a page with the marks");
        let (before, rest) = page.split_once(BEGIN).expect("the mark of the beginning");
        let (_, after) = rest.split_once(END).expect("the mark of the end");
        let made = table.join("\n");
        std::fs::write(&path, format!("{before}{BEGIN}\n{made}\n\n{END}{after}")).expect("a file");
    }
}
