//! A given rate on a real target that stops: a file system frozen for a second,
//! mounted from a loop device.

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::{Latencies, Recording};
use fourcorners_workload::{Arrival, Stop, Workload};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use support::*;

const RATE_PER_S: f64 = 500.0;
const SECONDS: f64 = 5.0;
const FREEZE: Duration = Duration::from_secs(1);
/// `FIFREEZE` and `FITHAW` of `linux/fs.h`.
const FREEZE_REQUEST: libc::Ioctl = 0xC004_5877_u32 as libc::Ioctl;
const THAW_REQUEST: libc::Ioctl = 0xC004_5878_u32 as libc::Ioctl;

/// A file system on a loop device, thawed and unmounted when it goes away.
struct Mounted {
    folder: Folder,
    _device: Loop,
}

impl Mounted {
    fn new() -> Option<Mounted> {
        let device = Loop::attach(256 * MIB, &[])?;
        let folder = Folder::new();
        run("mkfs.ext4", &["-q", "-F", device.name()])?;
        run("mount", &[device.name(), folder.0.to_str()?])?;
        Some(Mounted { folder, _device: device })
    }

    fn freeze(&self, request: libc::Ioctl) -> bool {
        let folder = File::open(&self.folder.0).unwrap();
        // SAFETY: the call acts on a descriptor of ours and takes no memory.
        unsafe { libc::ioctl(folder.as_raw_fd(), request, 0) == 0 }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.freeze(THAW_REQUEST);
        let path = self.folder.0.to_str().unwrap_or_default().to_owned();
        let _ = run("umount", &[&path]);
    }
}

fn at_rate(queue_depth: u32) -> Workload {
    let stop = Stop { time_ns: Some((SECONDS * 1e9) as u64), ..Stop::default() };
    let mut workload = workload(0.0, 4096, queue_depth, stop);
    workload.streams[0].arrival = Arrival::Fixed(RATE_PER_S);
    workload
}

fn percentile_s(latencies: &Latencies, percent: f64) -> f64 {
    let total: u64 = latencies.buckets().map(|bucket| bucket.2).sum();
    let mut seen = 0;
    let bucket = latencies.buckets().find(|bucket| {
        seen += bucket.2;
        seen as f64 >= percent / 100.0 * total as f64
    });
    bucket.unwrap().1 as f64 / 1e9
}

#[test]
fn a_frozen_file_system_shows_in_the_percentiles_at_every_queue_depth() {
    let Some(mounted) = Mounted::new() else {
        return skip("a file system on a loop device needs root, losetup, mkfs.ext4 and mount");
    };
    let depths = [1, 32, 1024];
    let files = depths.map(|depth| mounted.folder.own_file(&format!("depth-{depth}"), 4 * MIB));
    for file in &files {
        // Every block is there before the measurement: no allocation under way.
        let fill = workload(0.0, 1 << 20, 1, ios(16));
        execute(&fill, &mut file.target(1), &Progress::default()).unwrap();
    }
    let (recordings, frozen_s) = std::thread::scope(|scope| {
        let runs: Vec<_> = depths
            .iter()
            .zip(&files)
            .map(|(depth, file)| {
                let run = move || {
                    execute(&at_rate(*depth), &mut file.target(1), &Progress::default()).unwrap()
                };
                scope.spawn(run)
            })
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        let started = Instant::now();
        let frozen = mounted.freeze(FREEZE_REQUEST);
        std::thread::sleep(FREEZE);
        mounted.freeze(THAW_REQUEST);
        let frozen_s = frozen.then(|| started.elapsed().as_secs_f64());
        let ended: Vec<Recording> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        (ended, frozen_s)
    });
    let Some(frozen_s) = frozen_s else { return skip("this file system cannot be frozen") };
    for (depth, recording) in depths.iter().zip(recordings) {
        let writes = &recording.operations[1];
        let offered_per_s = recording.offered.ios as f64 / recording.offered.span_ns as f64 * 1e9;
        assert!((offered_per_s / RATE_PER_S - 1.0).abs() < 1e-3, "{offered_per_s}");
        assert_eq!((writes.ios, recording.offered.unissued), (recording.offered.ios, 0));
        let stages = writes.stages.as_ref().unwrap();
        // What became due in the freeze is caught up with, one after the other at
        // depth 1.
        let catching_up_s = RATE_PER_S * frozen_s * percentile_s(&stages.service, 50.0);
        for percent in [95.0, 99.0, 99.9] {
            // What was due in the freeze waited for its rest, evenly from all of
            // it down to nothing; all other I/Os were faster.
            let expected_s = frozen_s - (1.0 - percent / 100.0) * SECONDS;
            let measured_s = percentile_s(&writes.latencies, percent);
            assert!(
                measured_s > 0.95 * expected_s && measured_s < 1.05 * expected_s + catching_up_s,
                "depth {depth}, p{percent}: {measured_s} s, expected {expected_s} s"
            );
        }
    }
}
