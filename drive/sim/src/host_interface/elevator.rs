//! The host's elevator: which of the commands that wait at the host goes next.

use crate::validity::{Checked, ensure, same};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Commands at the host, in the order in which they came.
///
/// The host of a disk knows addresses, not angles: it sweeps up over the addresses of the
/// oldest commands and begins again at the lowest (C-LOOK). The drive reorders
/// what it has been sent by position.
#[derive(Debug, Serialize, Deserialize)]
pub struct Elevator {
    waiting: VecDeque<Waiting>,
    window: usize,
    /// Address of the command that went last.
    last: u64,
}

/// A command that waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiting {
    arrival_ns: u64,
    tag: u32,
    address: u64,
}

impl Elevator {
    /// `window`: how many of the oldest commands it chooses from.
    pub fn new(window: u32) -> Self {
        Self { waiting: VecDeque::new(), window: window as usize, last: 0 }
    }

    /// Fails unless a loaded elevator is one without commands, as wide as one that was
    /// `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self { waiting, window, last: _ } = self;
        same!(made; window);
        ensure(waiting.is_empty(), "a command at the host")
    }

    /// Forgets the commands that wait.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// A command has to wait, which would reach the drive at `arrival_ns`.
    #[inline]
    pub fn push(&mut self, arrival_ns: u64, tag: u32, address: u64) {
        self.waiting.push_back(Waiting { arrival_ns, tag, address });
    }

    /// The command that goes next: when it would have reached the drive, and its
    /// tag.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let next = if self.window == 1 { self.waiting.pop_front() } else { self.pop_nearest() };
        next.map(|Waiting { arrival_ns, tag, .. }| (arrival_ns, tag))
    }

    fn pop_nearest(&mut self) -> Option<Waiting> {
        let last = self.last;
        let (index, _) = (self.waiting.iter().take(self.window).enumerate())
            .min_by_key(|&(index, waiting)| (waiting.address < last, waiting.address, index))?;
        let next = self.waiting.remove(index)?;
        self.last = next.address;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(window: u32, starts: &[u64]) -> Vec<u32> {
        let mut elevator = Elevator::new(window);
        for (tag, &start) in (0..).zip(starts) {
            elevator.push(0, tag, start);
        }
        std::iter::from_fn(|| elevator.pop()).map(|(_, tag)| tag).collect()
    }

    #[test]
    fn a_window_of_one_keeps_the_order() {
        assert_eq!(order(1, &[5, 3, 9, 1]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_wide_window_sweeps_up() {
        assert_eq!(order(4, &[5, 3, 9, 1]), [3, 1, 0, 2]);
    }

    #[test]
    fn a_sweep_begins_again_at_the_lowest_of_the_window() {
        assert_eq!(order(2, &[5, 7, 3, 2, 9]), [0, 1, 3, 2, 4]);
    }
}
