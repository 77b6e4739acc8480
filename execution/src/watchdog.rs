//! Looks after workers from outside: one that hangs in a system call cannot
//! notice how long.

use crate::custody::Watch;
use crate::progress::Progress;
use crate::trouble::{DRAIN_NS, GRACE_NS};
use crate::worker::Worker;
use fourcorners_recording::Recording;
use fourcorners_target::TargetError;
use fourcorners_workload::Stop;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between two looks.
const TICK: Duration = Duration::from_millis(100);

/// What a thread gave: what it recorded, nothing where that was taken from it,
/// an error of its target, or a panic.
type Given<R> = std::thread::Result<Result<R, TargetError>>;

/// What workers tell.
pub(crate) enum Message {
    Begun { index: usize, watch: Watch<Worker>, clock: fn() -> u64 },
    Ended { index: usize, part: Given<Option<Box<Recording>>> },
}

pub(crate) struct Watchdog {
    stop: Stop,
    /// By worker.
    watched: Vec<Option<Watched>>,
    left_behind: Vec<bool>,
    /// How long the run has been asked to end.
    ending_ns: u64,
}

struct Watched {
    watch: Watch<Worker>,
    clock: fn() -> u64,
    call: Option<u64>,
    /// How long the worker has been seen in this call.
    stuck_ns: u64,
}

impl Watchdog {
    pub(crate) fn new(stop: Stop, workers: usize) -> Self {
        let watched = (0..workers).map(|_| None).collect();
        Self { stop, watched, left_behind: vec![false; workers], ending_ns: 0 }
    }

    /// Whether this worker hung and its thread may never end.
    pub(crate) fn has_left_behind(&self, index: usize) -> bool {
        self.left_behind[index]
    }

    /// Waits until every worker has ended or is left behind.
    pub(crate) fn parts(
        &mut self,
        messages: &Receiver<Message>,
        progress: &Progress,
    ) -> Vec<Given<Recording>> {
        let mut parts = Vec::new();
        let mut ticked = Instant::now();
        while parts.len() < self.watched.len() {
            match messages.recv_timeout(TICK) {
                Ok(Message::Begun { index, watch, clock }) => {
                    self.watched[index] = Some(Watched { watch, clock, call: None, stuck_ns: 0 });
                }
                Ok(Message::Ended { index, part }) => {
                    self.watched[index] = None;
                    match part {
                        Ok(Ok(recording)) => parts.extend(recording.map(|part| Ok(Ok(*part)))),
                        Ok(Err(error)) => parts.push(Ok(Err(error))),
                        Err(panic) => parts.push(Err(panic)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let passed = ticked.elapsed();
            if passed >= TICK {
                ticked = Instant::now();
                // Where the whole process stood still (SIGSTOP, a paused
                // machine), workers get their chance to go on first.
                parts.extend(self.tick(passed.min(2 * TICK), progress).map(|part| Ok(Ok(part))));
            }
        }
        parts
    }

    fn tick(&mut self, passed: Duration, progress: &Progress) -> impl Iterator<Item = Recording> {
        let passed_ns = passed.as_nanos() as u64;
        let limit_ns = self.stop.io_ns.unwrap_or(u64::MAX);
        if progress.stop.load(Ordering::Relaxed) || progress.failed.load(Ordering::Relaxed) {
            self.ending_ns += passed_ns;
        }
        let mut taken = Vec::new();
        for (entry, left_behind) in self.watched.iter_mut().zip(&mut self.left_behind) {
            let Some(watched) = entry else { continue };
            let call = watched.watch.call();
            if call.is_none() || call != watched.call {
                (watched.call, watched.stuck_ns) = (call, 0);
                continue;
            }
            watched.stuck_ns += passed_ns;
            if watched.stuck_ns > limit_ns {
                progress.failed.store(true, Ordering::Relaxed);
            }
            let give_up = watched.stuck_ns > limit_ns.saturating_add(GRACE_NS)
                || watched.stuck_ns.min(self.ending_ns) > limit_ns.min(DRAIN_NS) + GRACE_NS;
            if let (true, Some(call)) = (give_up, call)
                && let Some(worker) = watched.watch.take(call)
            {
                taken.push(worker.conclude_hanging((watched.clock)(), progress));
                *entry = None;
                *left_behind = true;
            }
        }
        taken.into_iter()
    }
}
