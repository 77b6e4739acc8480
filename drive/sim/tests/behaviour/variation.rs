//! What differs from one operation to the next, housekeeping and heat: against what
//! their distributions and differential equations say.

use crate::support;
use crate::support::{KIB, MIB, SECOND_NS, assert_within, drive_file, drive_of, run, workload};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern, Workload};

/// A drive of one plane and one die whose parts take what the settings say, with
/// these sections after the file's own.
fn varied(sections: &str, settings: &[(&str, &str)]) -> SimulatedDrive {
    let text = format!("{}\n{sections}", drive_file("ocz-vector-256gb"));
    let mut all = vec![
        ("capacity.user", "64 MiB"),
        ("host.overhead", "0 us"),
        ("link.command_overhead", "0 B"),
        ("controller.read_overhead", "0 us"),
        ("controller.write_overhead", "0 us"),
        ("flash.bus_rate", "1000 GB/s"),
        ("flash.dies", "1"),
        ("flash.channels", "1"),
        ("flash.planes", "1"),
        ("flash.page_size", "4 KiB"),
        ("flash.blocks_per_plane", "256"),
        ("flash.pages_per_block", "128"),
        ("flash.read_time", "100 us"),
        ("flash.program_time", "1 ms"),
        ("flash.erase_time", "2 ms"),
    ];
    all.extend(settings);
    drive_of(&text, &all)
}

fn section(name: &str, parameters: &[(&str, &str)]) -> String {
    let line = |(name, value): &(&str, &str)| {
        format!("{name} = {{ value = \"{value}\", source = \"test\" }}\n")
    };
    format!("[{name}]\n{}", parameters.iter().map(line).collect::<String>())
}

/// Page by page, one after the other.
fn pages(operation: Operation, ios: u64) -> Workload {
    let mut work = workload(operation, Pattern::Random, 4 * KIB, 1);
    work.streams[0].alignment_bytes = Some(4096);
    work.stop.ios = Some(ios);
    work.log_ios = ios;
    work
}

/// Latencies in milliseconds.
fn latencies_ms(recording: &Recording) -> Vec<f64> {
    let ios = recording.log.as_ref().unwrap().ios();
    ios.iter().map(|io| (io.completed_ns - io.due_ns) as f64 / 1e6).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / values.len() as f64).sqrt())
}

/// Written through, a page takes what the die programs, and the link's 7 us.
const WRITE_THROUGH: (&str, &str) = ("write_buffer.write_back", "false");

#[test]
fn program_times_are_lognormal_about_their_mean() {
    let mut drive = varied(&section("variation", &[("program_spread", "30 %")]), &[WRITE_THROUGH]);
    // Before blocks are collected.
    let recording = run(&mut drive, &pages(Operation::Write, 8_000));
    let programs: Vec<f64> =
        latencies_ms(&recording).iter().map(|latency| latency - 7.9e-3).collect();
    let (mean, deviation) = mean_and_deviation(&programs);
    assert_within("mean, ms", mean, 1.0, 1.0);
    assert_within("deviation over mean", deviation / mean, 0.3, 4.0);
    // Of a lognormal time, the logarithm is normal about ln(mean) - sigma^2 / 2.
    let sigma = (1.0f64 + 0.09).ln().sqrt();
    let logs: Vec<f64> = programs.iter().map(|program| program.ln()).collect();
    let (log_mean, log_deviation) = mean_and_deviation(&logs);
    assert!((log_mean + sigma * sigma / 2.0).abs() < 0.01, "{log_mean}");
    assert_within("sigma", log_deviation, sigma, 3.0);
    let beyond = logs.iter().filter(|&&log| log > log_mean + 2.0 * sigma).count() as f64;
    assert_within("beyond two sigma", beyond / 8_000.0, 0.02275, 20.0);
}

#[test]
fn erase_times_spread_by_themselves() {
    let elapsed = |sections: &str| {
        let mut drive = varied(sections, &[]);
        let mut writes = workload(Operation::Write, Pattern::Sequential, 64 * KIB, 1);
        writes.stop.bytes = Some(1 << 30);
        run(&mut drive, &writes).elapsed_ns as f64
    };
    let varied = elapsed(&section("variation", &[("erase_spread", "50 %")]));
    assert_ne!(varied, elapsed(""));
    assert_within("the mean of 2,000 erases stays", varied, elapsed(""), 0.5);
}

#[test]
fn reads_are_repeated_as_often_as_said() {
    let retries = section("variation", &[("read_retry_share", "5 %"), ("read_retry_time", "1 ms")]);
    let mut drive = varied(&retries, &[]);
    support::fill(&mut drive);
    drive.idle(100 * SECOND_NS);
    let latencies = latencies_ms(&run(&mut drive, &pages(Operation::Read, 40_000)));
    let at_least = |retries: f64| {
        latencies.iter().filter(|&&latency| latency > retries - 0.5).count() as f64 / 40_000.0
    };
    assert_within("once", at_least(1.0), 0.05, 5.0);
    assert_within("twice", at_least(2.0), 0.05 * 0.05, 25.0);
    let (mean, _) = mean_and_deviation(&latencies);
    // A geometric number of repetitions: p / (1 - p) in the mean.
    assert_within("mean, ms", mean, 0.1 + 7.9e-3 + 0.05 / 0.95, 2.0);
}

#[test]
fn housekeeping_comes_by_volume_and_by_time() {
    let by_volume =
        section("variation", &[("housekeeping_time", "50 ms"), ("housekeeping_volume", "1 MiB")]);
    let stalls = |drive: &mut SimulatedDrive, work: &Workload| {
        let recording = run(drive, work);
        let latencies = latencies_ms(&recording);
        let long = latencies.iter().filter(|&&latency| latency > 40.0).count();
        (long, recording.elapsed_ns, latencies)
    };
    let mut drive = varied(&by_volume, &[]);
    let (long, _, latencies) = stalls(&mut drive, &pages(Operation::Write, 2_560));
    assert_eq!(long, 10, "10 MiB were written");
    assert!(latencies[255] > 50.0, "the write that fills the volume waits");
    let (long, ..) = stalls(&mut drive, &pages(Operation::Read, 2_560));
    assert_eq!(long, 0, "reads write nothing");

    let by_time =
        section("variation", &[("housekeeping_time", "50 ms"), ("housekeeping_interval", "1 s")]);
    let mut drive = varied(&by_time, &[]);
    let (long, elapsed_ns, _) = stalls(&mut drive, &pages(Operation::Read, 400_000));
    assert_eq!(long as u64, elapsed_ns / SECOND_NS);
    // What is due while nobody asks for anything is over when somebody does.
    let due_ns = SECOND_NS - elapsed_ns % SECOND_NS;
    drive.idle(10 * SECOND_NS + due_ns + 60_000_000);
    let (long, ..) = stalls(&mut drive, &pages(Operation::Read, 1_000));
    assert_eq!(long, 0);
}

#[test]
fn heat_throttles_when_its_equation_says_and_until_then() {
    let (limit, resume, throttled) = (200e6, 150e6, 50e6);
    let thermal = section(
        "thermal",
        &[
            ("time_constant", "20 s"),
            ("limit_rate", "200 MB/s"),
            ("throttled_rate", "50 MB/s"),
            ("resume_rate", "150 MB/s"),
        ],
    );
    let mut drive = varied(&thermal, &[]);
    let mut reads = workload(Operation::Read, Pattern::Sequential, 128 * KIB, 4);
    reads.stop.time_ns = Some(40 * SECOND_NS);
    let recording = run(&mut drive, &reads);
    let rates: Vec<f64> =
        recording.operations[0].seconds.iter().map(|second| second.bytes as f64).collect();
    // Nothing was written: the link's rate.
    let full = rates[0];
    let begins_s = -20.0 * (1.0f64 - limit / full).ln();
    let ends_s = begins_s + 20.0 * ((limit - throttled) / (resume - throttled)).ln();
    let slow: Vec<usize> = (0..40).filter(|&s| rates[s] < 1.1 * throttled).collect();
    let mean = |from: usize, to: usize| rates[from..to].iter().sum::<f64>() / (to - from) as f64;
    assert!((slow[0] as f64 - begins_s.ceil()).abs() <= 1.0, "{slow:?}, {begins_s}");
    let first = slow[0];
    let length = slow.iter().enumerate().take_while(|&(i, &s)| s == first + i).count();
    assert!((length as f64 - (ends_s - begins_s)).abs() <= 1.5, "{slow:?}, {ends_s}");
    assert_within("throttled", mean(first + 1, first + length - 1), throttled, 1.0);
}

#[test]
fn a_link_with_jitter_is_late_by_an_exponential_time() {
    let mut drive = varied(&section("variation", &[("link_jitter", "200 us")]), &[]);
    let (mut early, mut late) = (0, 0);
    let latencies = latencies_ms(&run(&mut drive, &pages(Operation::Read, 40_000)));
    let still = latencies_ms(&run(&mut varied("", &[]), &pages(Operation::Read, 10)))[0];
    for latency in &latencies {
        late += usize::from(latency - still > 0.4);
        early += usize::from(latency - still < 0.2);
    }
    let (mean, _) = mean_and_deviation(&latencies);
    assert_within("mean, ms", mean - still, 0.2, 2.0);
    assert_within("beyond two means", late as f64 / 40_000.0, (-2.0f64).exp(), 5.0);
    assert_within("within one", early as f64 / 40_000.0, 1.0 - (-1.0f64).exp(), 2.0);
}

/// Everything that varies.
fn all() -> String {
    let variation = [
        ("program_spread", "20 %"),
        ("erase_spread", "40 %"),
        ("read_retry_share", "2 %"),
        ("read_retry_time", "300 us"),
        ("housekeeping_time", "5 ms"),
        ("housekeeping_volume", "1 MiB"),
        ("housekeeping_interval", "300 ms"),
        ("link_jitter", "5 us"),
    ];
    let thermal = [
        ("time_constant", "1 s"),
        ("limit_rate", "3 MB/s"),
        ("throttled_rate", "1 MB/s"),
        ("resume_rate", "2 MB/s"),
    ];
    section("variation", &variation) + &section("thermal", &thermal)
}

fn mixed() -> Workload {
    let mut mixed = workload(Operation::Read, Pattern::Random, 4 * KIB, 8);
    mixed.streams[0].read_fraction = 0.4;
    mixed.streams[0].span_bytes = Some(60 * MIB);
    mixed.stop.ios = Some(30_000);
    mixed
}

fn outcome(drive: &mut SimulatedDrive) -> (u64, u128) {
    let recording = run(drive, &mixed());
    drive.assert_consistent();
    (recording.elapsed_ns, recording.operations[1].latencies.sum_ns())
}

#[test]
fn what_varies_follows_from_the_seed_and_from_a_state() {
    let mut drive = varied(&all(), &[]);
    let first = outcome(&mut drive);
    assert_eq!(first, outcome(&mut varied(&all(), &[])));
    let mut state = Vec::new();
    drive.save(&mut state).unwrap();
    let mut again = varied(&all(), &[]);
    again.load(&state[..]).unwrap();
    let next = outcome(&mut drive);
    assert_eq!(next, outcome(&mut again));
    assert_ne!(first, next);
    // An erased drive goes on with its random numbers, or each of its runs would
    // meet the same ones.
    let mut purged = varied(&all(), &[]);
    purged.purge();
    purged.purge();
    assert_eq!(first, outcome(&mut purged));
    purged.purge();
    assert_ne!(first, outcome(&mut purged));
}

#[test]
fn what_cannot_vary_is_refused() {
    for (sections, why) in [
        (section("variation", &[("program_spread", "200 %")]), "program_spread"),
        (section("variation", &[("read_retry_share", "5 %")]), "together with"),
        (section("variation", &[("housekeeping_volume", "1 MiB")]), "together with"),
        (
            section(
                "variation",
                &[("housekeeping_time", "800 ms"), ("housekeeping_interval", "1 s")],
            ),
            "at least twice",
        ),
        (
            section(
                "thermal",
                &[
                    ("time_constant", "1 s"),
                    ("limit_rate", "3 MB/s"),
                    ("throttled_rate", "3 MB/s"),
                    ("resume_rate", "2 MB/s"),
                ],
            ),
            "thermal.resume_rate",
        ),
    ] {
        let text = format!("{}\n{sections}", drive_file("ocz-vector-256gb"));
        let refusal = SimulatedDrive::new(&text, &[], 1).unwrap_err().to_string();
        assert!(refusal.contains(why), "{refusal}");
    }
}
