//! Memory does not grow with the number of I/Os, and little with time.

use fourcorners_execution::execute_parallel;
use fourcorners_target::NoopTarget;
use fourcorners_workload::Workload;

const DAY_S: u64 = 86_400;
const LIMIT_KIB: u64 = 64 << 10;

/// Most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_day_of_four_workers_fits_in_64_mib() {
    // A histogram and a second hold counters: a million I/Os a second take the
    // room of these 40, over latencies spread across all of the histogram.
    let streams: Vec<String> = (0..4)
        .map(|index| {
            format!(
                r#"{{"read_fraction": 0.5, "block_bytes": 4096, "pattern": "random",
                    "queue_depth": {}, "arrival": {{"poisson": 10}}}}"#,
                1 << index
            )
        })
        .collect();
    let text = format!(
        r#"{{"streams": [{}], "stop": {{"time_ns": {}}}}}"#,
        streams.join(","),
        DAY_S * 1_000_000_000
    );
    let workload = Workload::from_json(&text).unwrap();
    let before_kib = peak_kib();
    let open = || Ok(NoopTarget::new(1 << 30, 90_000_000));
    let recording = execute_parallel(&workload, 1 << 30, open, &Default::default()).unwrap();
    let grown_kib = peak_kib() - before_kib;
    let ios: u64 = recording.operations.iter().map(|operation| operation.ios).sum();
    assert!(ios.abs_diff(4 * 10 * DAY_S) < 100, "{ios}");
    for operation in &recording.operations[..2] {
        assert!(operation.seconds.len() as u64 >= DAY_S);
        assert_eq!(operation.seconds.iter().map(|s| s.ios).sum::<u64>(), operation.ios);
    }
    assert!(grown_kib < LIMIT_KIB, "{grown_kib} KiB");
}
