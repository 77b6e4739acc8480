//! Keeps the machine's processors awake while a drive is in use.
//!
//! A processor that has nothing to do sleeps, and takes 20 to 60 us to wake in a virtual
//! machine or in a deep idle state. Between a program and a drive of 50 us that happens at
//! each I/O, twice, and would be measured as the drive's. So the system is asked to keep all
//! of them awake, by the way of Linux for that (PM QoS, `/dev/cpu_dma_latency`), which is
//! root's; without it, or on other systems, they sleep.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// Where the system is told how late a wake-up may be, in us as an `i32`, for as long as the
/// file is open.
const PLACE: &str = "/dev/cpu_dma_latency";

/// Holds the request while there are answers.
#[derive(Debug, Default)]
pub struct Awake {
    request: Option<File>,
    answers: u64,
}

impl Awake {
    /// Looks, now and then, whether there were more `answers` since the last time.
    pub fn look(&mut self, answers: u64) {
        let is_used = answers > self.answers;
        self.answers = answers;
        if !is_used {
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
