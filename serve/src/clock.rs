//! The drive's virtual time, bound to this machine's clock.

use std::time::{Duration, Instant};

/// Virtual time that passes `speed` times as fast as real time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    start_ns: u64,
    speed: f64,
}

impl Clock {
    /// Virtual time is `start_ns` now.
    pub fn new(start_ns: u64, speed: f64) -> Self {
        Self { started: Instant::now(), start_ns, speed }
    }

    /// Virtual time.
    pub fn now_ns(&self) -> u64 {
        self.start_ns + self.virtual_ns(self.started.elapsed())
    }

    /// Virtual time since the clock was made.
    pub fn elapsed_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.start_ns)
    }

    /// How long a span of virtual time takes here.
    pub fn real(&self, span_ns: u64) -> Duration {
        Duration::from_nanos(self.real_ns(span_ns))
    }

    /// The same in nanoseconds.
    pub fn real_ns(&self, span_ns: u64) -> u64 {
        (span_ns as f64 / self.speed) as u64
    }

    /// How much virtual time passes in a span of real time, of less than 584 years.
    pub fn virtual_ns(&self, span: Duration) -> u64 {
        // A number of 128 bits takes many times as long to convert.
        (span.as_nanos() as u64 as f64 * self.speed) as u64
    }
}
