//! What is seen of a run from outside.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// Seen from outside while a workload runs; shared by its threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set from outside to end the run early.
    pub stop: AtomicBool,
    /// A worker failed: the others end, too.
    pub failed: AtomicBool,
    /// Target time since the start, ramp included, in nanoseconds.
    pub elapsed_ns: AtomicU64,
    /// Measured I/Os completed so far.
    pub ios: AtomicU64,
    /// Measured bytes completed so far.
    pub bytes: AtomicU64,
    /// Sum of their latencies, in nanoseconds.
    pub latency_sum_ns: AtomicU64,
}
