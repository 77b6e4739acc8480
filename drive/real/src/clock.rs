//! The clock of real targets.

/// Goes on at the same rate, whatever is done to the time of day. On Linux it is
/// read through the vDSO: no system call on usual machines.
#[cfg(not(target_vendor = "apple"))]
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
/// Apple's `CLOCK_MONOTONIC` counts microseconds.
#[cfg(target_vendor = "apple")]
const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;

/// Nanoseconds of [`CLOCK`].
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every such system, and the struct is ours.
    unsafe { libc::clock_gettime(CLOCK, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The end of a wait for which the clock is watched instead of sleeping: timers wake a
/// thread tens of microseconds late, and an I/O that is due then is as late.
pub(crate) const WATCHED_NS: u64 = 80_000;
