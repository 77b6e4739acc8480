//! What came up while measuring that a reader of the results should know.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Share of a run's CPU time from which kernel workers are worth a word.
const WORKERS_SHARE_TOLD: f64 = 0.05;

/// Shared by a file and all its targets.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// A target had to do without registered buffers.
    unregistered: AtomicBool,
    /// io_uring could not be had: why.
    no_io_uring: OnceLock<String>,
    /// Most kernel workers of one target, and the CPU time of all.
    kernel_workers: AtomicU32,
    kernel_workers_cpu_ns: AtomicU64,
    /// CPU time of the threads that issued I/O.
    issuers_cpu_ns: AtomicU64,
    /// Kernel threads that poll for requests, now, and whether they ever were
    /// too many for this machine.
    polling: AtomicU32,
    polling_starves: AtomicBool,
}

impl Observed {
    pub(crate) fn unregistered(&self) {
        self.unregistered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn no_io_uring(&self, why: &str) {
        let _ = self.no_io_uring.set(why.into());
    }

    /// A target has begun, or ended, to have a kernel thread poll.
    pub(crate) fn polling(&self, begins: bool) {
        if !begins {
            self.polling.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let rings = self.polling.fetch_add(1, Ordering::Relaxed) as usize + 1;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Each worker and each kernel thread that polls keep a core, and the
        // device's interrupts want one as well.
        if 2 * rings >= cores {
            self.polling_starves.store(true, Ordering::Relaxed);
        }
    }

    /// A target's thread has used `issuer_cpu_ns`, and io_uring's workers for it
    /// what they have until now.
    pub(crate) fn used(&self, issuer_cpu_ns: u64, workers: KernelWorkers) {
        self.issuers_cpu_ns.fetch_add(issuer_cpu_ns, Ordering::Relaxed);
        self.kernel_workers.fetch_max(workers.count, Ordering::Relaxed);
        self.kernel_workers_cpu_ns.fetch_add(workers.cpu_ns, Ordering::Relaxed);
    }

    /// One sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(why) = self.no_io_uring.get() {
            notes.push(format!(
                "{why}: synchronous calls were used, above queue depth 1 with a thread for each outstanding request, so that latencies include waking it"
            ));
        }
        if self.unregistered.load(Ordering::Relaxed) {
            notes.push(
                "buffers could not be registered with io_uring (see `ulimit -l`): each I/O took more CPU time than it had to".into(),
            );
        }
        let workers_ns = self.kernel_workers_cpu_ns.load(Ordering::Relaxed) as f64;
        let issuers_ns = self.issuers_cpu_ns.load(Ordering::Relaxed) as f64;
        if workers_ns > WORKERS_SHARE_TOLD * (workers_ns + issuers_ns) {
            notes.push(format!(
                "io_uring handed requests to kernel workers (up to {} for one queue, {:.2} s of CPU time, which is counted): latencies include that, and the engine \"sync\" may be faster at queue depth 1",
                self.kernel_workers.load(Ordering::Relaxed),
                workers_ns / 1e9
            ));
        }
        if self.polling_starves.load(Ordering::Relaxed) {
            notes.push(
                "SQPOLL keeps a core busy for each worker, and this machine has too few: threads waited for each other, and latencies include that".into(),
            );
        }
        notes
    }
}

/// io_uring's threads that serve one issuing thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelWorkers {
    pub count: u32,
    pub cpu_ns: u64,
}

impl KernelWorkers {
    /// Those of the calling thread. They are threads of this process, named
    /// after the thread that they work for, and stay for seconds when idle.
    pub(crate) fn of_this_thread() -> Self {
        // SAFETY: the call takes nothing and cannot fail.
        let name = format!("iou-wrk-{}", unsafe { libc::gettid() });
        let mut workers = Self::default();
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let comm = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if comm.trim_end() == name {
                let time = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let time_ns = time.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok());
                workers.count += 1;
                workers.cpu_ns += time_ns.unwrap_or(0);
            }
        }
        workers
    }

    /// What came on top of `before`.
    pub(crate) fn since(self, before: KernelWorkers) -> Self {
        Self { cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns), ..self }
    }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
