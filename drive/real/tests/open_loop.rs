//! A given rate on a real target that stops: a file system frozen for a second,
//! mounted from a loop device.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_real::{Access, Plan, RealTarget};
use fourcorners_recording::Latencies;
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Arrival, Request, Stop, Workload};
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
        // The kernel lets go of the files of a ring a little after the ring was closed.
        let begun = Instant::now();
        while run("umount", &[&path]).is_none() && begun.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn at_rate(queue_depth: u32) -> Workload {
    let stop = Stop { time_ns: Some((SECONDS * 1e9) as u64), ..Stop::default() };
    let mut workload = workload(0.0, 4096, queue_depth, stop);
    workload.streams[0].arrival = Arrival::Fixed(RATE_PER_S);
    workload
}

/// Notes when each request went in and came out: the truth, whatever else the
/// machine had to do.
struct Noted {
    inner: RealTarget,
    started_ns: Option<u64>,
    /// By slot: the request's number.
    numbers: Vec<usize>,
    completed_ns: Vec<u64>,
}

impl Noted {
    /// Latencies from when requests were due, ascending.
    fn latencies_s(&self) -> Vec<f64> {
        let started_ns = self.started_ns.unwrap();
        let latency = |(number, completed_ns): (usize, &u64)| {
            (completed_ns - started_ns) as f64 / 1e9 - number as f64 / RATE_PER_S
        };
        let mut latencies: Vec<f64> = self.completed_ns.iter().enumerate().map(latency).collect();
        latencies.sort_by(f64::total_cmp);
        latencies
    }
}

impl Target for Noted {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        let now_ns = self.inner.now_ns();
        self.started_ns.get_or_insert(now_ns);
        now_ns
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.numbers = vec![0; slots as usize];
        self.inner.prepare(slots, block_bytes_max)
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        self.inner.stage(slot, request);
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.numbers[slot as usize] = self.completed_ns.len();
        self.completed_ns.push(0);
        self.inner.submit(slot, request)
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        self.inner.wait(deadline_ns, done)?;
        for completion in &done[before..] {
            let number = self.numbers[completion.slot as usize];
            self.completed_ns[number] = completion.completed_ns;
        }
        Ok(())
    }
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
    let (ended, frozen_s) = std::thread::scope(|scope| {
        let runs: Vec<_> = depths
            .iter()
            .zip(&files)
            .map(|(depth, file)| {
                let run = move || {
                    let mut target = Noted {
                        inner: file.target(1),
                        started_ns: None,
                        numbers: Vec::new(),
                        completed_ns: Vec::new(),
                    };
                    let recording = execute(&at_rate(*depth), &mut target, &Progress::default());
                    (recording.unwrap(), target.latencies_s())
                };
                scope.spawn(run)
            })
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        let frozen = mounted.freeze(FREEZE_REQUEST);
        let started = Instant::now();
        std::thread::sleep(FREEZE);
        let frozen_s = frozen.then(|| started.elapsed().as_secs_f64());
        mounted.freeze(THAW_REQUEST);
        let ended: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        (ended, frozen_s)
    });
    let Some(frozen_s) = frozen_s else { return skip("this file system cannot be frozen") };
    for (depth, (recording, truth_s)) in depths.iter().zip(ended) {
        let writes = &recording.operations[1];
        let offered_per_s = recording.offered.ios as f64 / recording.offered.span_ns as f64 * 1e9;
        assert!((offered_per_s / RATE_PER_S - 1.0).abs() < 1e-3, "{offered_per_s}");
        assert_eq!((writes.ios, recording.offered.unissued), (recording.offered.ios, 0));
        assert_eq!(truth_s.len() as u64, writes.ios);
        for percent in [95.0, 99.0, 99.9] {
            let measured_s = percentile_s(&writes.latencies, percent);
            let rank = (percent / 100.0 * truth_s.len() as f64).ceil() as usize;
            assert!(
                (measured_s / truth_s[rank - 1] - 1.0).abs() < 0.01,
                "depth {depth}, p{percent}: {measured_s} s, truly {} s",
                truth_s[rank - 1]
            );
            // What was due in the freeze waited for its rest, evenly from all of
            // it down to nothing. A busy machine adds to it and takes nothing away.
            let expected_s = frozen_s - (1.0 - percent / 100.0) * SECONDS;
            assert!(
                measured_s > 0.95 * expected_s,
                "depth {depth}, p{percent}: {measured_s} s, expected {expected_s} s"
            );
        }
    }
}

#[test]
fn a_file_system_that_does_not_answer_is_told_before_anything_is_measured() {
    let Some(mounted) = Mounted::new() else { return };
    let access = Access { limit: Some(Duration::from_millis(200)), ..sized(MIB) };
    assert!(mounted.freeze(FREEZE_REQUEST));
    let examined = Plan::examine(&mounted.folder.path("test"), &access);
    assert!(mounted.freeze(THAW_REQUEST));
    let said = examined.unwrap_err().0;
    assert!(said.contains("examining") && said.contains("longer than 0.2 s"), "{said}");
}
