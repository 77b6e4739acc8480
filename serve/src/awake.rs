//! Keeps the machine's processors awake while a drive is in use.
//!
//! A processor that has nothing to do sleeps, and takes 20 to 60 us to wake in a virtual
//! machine or in a deep idle state. Between a program and a drive of 50 us that happens at
//! each I/O, twice, and would be measured as the drive's. So the system is asked to keep all
//! of them awake, by the way of Linux for that (PM QoS, `/dev/cpu_dma_latency`), which is
//! root's; without it, or on other systems, they sleep.
//!
//! Where answers follow one another in less time than that, nobody sleeps anyway, and a
//! processor that waits awake only takes from those that work: they may share a core.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Duration;

/// Where the system is told how late a wake-up may be, in us as an `i32`, for as long as the
/// file is open.
const PLACE: &str = "/dev/cpu_dma_latency";

/// What a processor takes to wake, at least.
const WAKING: Duration = Duration::from_micros(20);

/// Holds the request while there are answers, with time between them to sleep.
#[derive(Debug, Default)]
pub struct Awake {
    request: Option<File>,
    answers: u64,
}

impl Awake {
    /// Looks, now and then, whether there were more `answers` since the last time, which has
    /// `passed`.
    pub fn look(&mut self, answers: u64, passed: Duration) {
        let more = answers - self.answers;
        self.answers = answers;
        if !have_rest(more, passed) {
            self.request = None;
        } else if self.request.is_none() {
            self.request = OpenOptions::new().write(true).open(PLACE).ok();
            if let Some(request) = &mut self.request {
                // One that is refused leaves things as they are.
                let _ = request.write_all(&0_i32.to_ne_bytes());
            }
        }
    }
}

/// Whether there were answers, and time to sleep between them.
fn have_rest(answers: u64, passed: Duration) -> bool {
    answers > 0 && passed.as_nanos() >= WAKING.as_nanos() * u128::from(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_may_sleep_without_answers_and_need_not_where_nobody_has_time_to() {
        let passed = Duration::from_millis(100);
        assert!(!have_rest(0, passed));
        assert!(have_rest(1, passed));
        assert!(have_rest(5_000, passed));
        assert!(!have_rest(5_001, passed));
    }
}
