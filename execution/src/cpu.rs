//! CPU time of this process, kernel workers excluded.

use fourcorners_recording::CpuTime;

/// CPU time used so far by all threads of the process.
pub fn process_cpu_time() -> CpuTime {
    // SAFETY: getrusage fills the struct that it is given; zeroes are valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    CpuTime { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

/// How long this thread has waited for a processor so far, while it could have run;
/// `None` where the system does not tell (Linux: the second number of `schedstat`,
/// with `CONFIG_SCHED_INFO`).
pub fn thread_waited_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPU time between two readings.
pub fn difference(before: CpuTime, after: CpuTime) -> CpuTime {
    CpuTime {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
    }
}
