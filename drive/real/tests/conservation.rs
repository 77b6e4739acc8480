//! Nothing is lost or counted twice: the seconds of a recording add up to its
//! totals, and these are what the kernel counted on the device.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::execute_parallel;
use fourcorners_real::RealFile;
use fourcorners_workload::Stop;
use std::path::Path;
use support::*;

/// Bytes read and written since boot, as the kernel counts them.
fn device_bytes(device: &Path) -> Option<(u64, u64)> {
    let name = device.file_name()?.to_str()?;
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).ok()?;
    let fields: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // Documentation/block/stat.rst: sectors of 512 bytes, whatever the device's.
    Some((fields.get(2)? * 512, fields.get(6)? * 512))
}

#[test]
fn the_kernel_counts_what_was_recorded() {
    let Some(disk) = Loop::attach(64 * MIB, &["--direct-io=on"]) else { return };
    for engine in ["io_uring", "sync"] {
        let file = RealFile::open(plan(&disk.device, &destroying(&disk.device)).unwrap())
            .and_then(|file| file.with_engine(engine.parse().unwrap()))
            .unwrap();
        let stop = Stop { time_ns: Some(1_300_000_000), ..Stop::default() };
        let mut mixed = workload(0.5, 8192, 8, stop);
        mixed.streams[0].workers = 2;
        let open = || Ok(file.target(1));
        let before = device_bytes(&disk.device).unwrap();
        let recording = execute_parallel(&mixed, 64 * MIB, open, &Default::default()).unwrap();
        let after = device_bytes(&disk.device).unwrap();
        assert_eq!(recording.errors(), 0);
        let [reads, writes, ..] = &recording.operations;
        assert_eq!(
            (reads.bytes, writes.bytes),
            (after.0 - before.0, after.1 - before.1),
            "{engine}"
        );
        for operation in [reads, writes] {
            let ios: u64 = operation.seconds.iter().map(|second| second.ios).sum();
            let bytes: u64 = operation.seconds.iter().map(|second| second.bytes).sum();
            let buckets: u64 = operation.latencies.buckets().map(|bucket| bucket.2).sum();
            let sum_ns: u64 = operation.seconds.iter().map(|second| second.latency_sum_ns).sum();
            assert_eq!((ios, bytes, buckets), (operation.ios, operation.bytes, operation.ios));
            assert_eq!(u128::from(sum_ns), operation.latencies.sum_ns());
            assert!(operation.seconds.len() >= 2 && operation.seconds.last().unwrap().ios > 0);
        }
    }
}
