//! Synchronous calls: by the worker itself at queue depth 1, by a thread for each
//! outstanding request at others. They work where io_uring does not, and are the
//! faster way where io_uring would hand requests to threads of its own.

use crate::claim::ClaimedFile;
use crate::clock::{WATCHED_NS, monotonic_ns};
use crate::transfer::Transfer;
use fourcorners_target::{Completion, TargetError};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Stack of a thread that makes one system call after another.
const STACK_BYTES: usize = 64 << 10;

/// The worker carries out one transfer at a time.
pub(crate) struct Inline {
    file: Arc<ClaimedFile>,
    ready: Option<Completion>,
}

impl Inline {
    pub(crate) fn new(file: Arc<ClaimedFile>) -> Self {
        Self { file, ready: None }
    }

    /// Carries out a transfer and returns when it began.
    pub(crate) fn submit(&mut self, transfer: &Transfer) -> u64 {
        let submitted_ns = monotonic_ns();
        let errno = transfer.carry_out(&self.file);
        let completed_ns = monotonic_ns();
        self.ready = Some(Completion { slot: transfer.slot, completed_ns, errno });
        submitted_ns
    }

    /// See [`fourcorners_target::Target::wait`].
    pub(crate) fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) {
        match self.ready.take() {
            Some(completion) => done.push(completion),
            None => {
                let left_ns = deadline_ns.saturating_sub(monotonic_ns());
                std::thread::sleep(Duration::from_nanos(left_ns.saturating_sub(WATCHED_NS)));
                while monotonic_ns() < deadline_ns {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// A thread for each slot.
pub(crate) struct Threads {
    /// By slot.
    jobs: Vec<Sender<Transfer>>,
    completions: Receiver<Completion>,
    threads: Vec<JoinHandle<()>>,
    pub(crate) outstanding: u32,
    /// Of what was handed out: threads report a little out of order.
    latest_ns: u64,
}

impl Threads {
    /// # Errors
    /// The system makes no more threads.
    pub(crate) fn new(slots: u32, file: &Arc<ClaimedFile>) -> Result<Self, TargetError> {
        let (report, completions) = mpsc::channel();
        let (mut jobs, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..slots {
            let (sender, orders) = mpsc::channel::<Transfer>();
            let (file, report) = (Arc::clone(file), report.clone());
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
                for transfer in orders {
                    let errno = transfer.carry_out(&file);
                    let completed_ns = monotonic_ns();
                    // The target waits for its requests before it goes away.
                    let _ = report.send(Completion { slot: transfer.slot, completed_ns, errno });
                }
            });
            threads.push(thread.map_err(|error| {
                TargetError(format!(
                    "no thread for each of {slots} outstanding requests ({error}): use a lower queue depth"
                ))
            })?);
            jobs.push(sender);
        }
        Ok(Self { jobs, completions, threads, outstanding: 0, latest_ns: 0 })
    }

    /// Gives a transfer to its slot's thread and returns when.
    pub(crate) fn submit(&mut self, transfer: Transfer) -> u64 {
        let submitted_ns = monotonic_ns();
        self.outstanding += 1;
        let sent = self.jobs[transfer.slot as usize].send(transfer);
        assert!(sent.is_ok(), "a thread lives as long as its target");
        submitted_ns
    }

    /// See [`fourcorners_target::Target::wait`].
    pub(crate) fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) {
        let left_ns = deadline_ns.saturating_sub(monotonic_ns()).saturating_sub(WATCHED_NS);
        let first = done.len();
        match self.completions.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(completion) => done.push(completion),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => loop {
                if let Ok(completion) = self.completions.try_recv() {
                    break done.push(completion);
                }
                if monotonic_ns() >= deadline_ns {
                    return;
                }
                std::hint::spin_loop();
            },
        }
        done.extend(self.completions.try_iter());
        done[first..].sort_by_key(|completion| completion.completed_ns);
        for completion in &mut done[first..] {
            self.latest_ns = self.latest_ns.max(completion.completed_ns);
            completion.completed_ns = self.latest_ns;
        }
        self.outstanding -= (done.len() - first) as u32;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs.clear();
        // A thread whose call hangs cannot be waited for.
        if self.outstanding == 0 {
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}
