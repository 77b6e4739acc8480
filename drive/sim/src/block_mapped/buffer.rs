//! What the buffer holds that is not on flash yet, and when it will be.

use crate::ranges::ascending;
use crate::validity::{Checked, Clock, ensure};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of the drive on their way to flash.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Part {
    start: u64,
    end: u64,
    programmed_ns: u64,
}

/// Parts in the order in which the flash was given them. Which of them are still on
/// their way is a question of the time at which one looks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Buffer {
    parts: VecDeque<Part>,
}

impl Buffer {
    /// The flash is given bytes at `at_ns`, and has programmed them at `programmed_ns`.
    #[inline]
    pub fn give(&mut self, at_ns: u64, start: u64, end: u64, programmed_ns: u64) {
        while self.parts.front().is_some_and(|part| part.programmed_ns <= at_ns) {
            self.parts.pop_front();
        }
        self.parts.push_back(Part { start, end, programmed_ns });
    }

    /// When all that was given is on flash.
    pub fn programmed_ns(&self) -> u64 {
        self.parts.iter().map(|part| part.programmed_ns).max().unwrap_or(0)
    }

    /// What is not on flash at `at_ns`, and `open` bytes that wait for the rest of their
    /// row; ascending and apart.
    pub fn at_risk(&self, at_ns: u64, open: Option<Range<u64>>) -> Vec<Range<u64>> {
        let unsettled = self.parts.iter().filter(|part| part.programmed_ns > at_ns);
        ascending(unsettled.map(|part| part.start..part.end).chain(open).collect())
    }

    /// Nothing is on its way any more.
    pub fn clear(&mut self) {
        self.parts.clear();
    }

    /// Fails unless a loaded buffer can go on in a drive of this size.
    pub fn check(&self, capacity_bytes: u64, clock: Clock) -> Checked {
        let fits = |part: &Part| part.start < part.end && part.end <= capacity_bytes;
        ensure(self.parts.iter().all(fits), "what is in the buffer")?;
        clock.ensure_soon(self.parts.iter().map(|part| part.programmed_ns))
    }
}
