//! The host's elevator: which of the commands that wait at the host goes next.

use crate::validity::{Checked, ensure, same};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Commands at the host, in the order in which they came.
///
/// The host knows addresses, not angles: it sweeps up over the addresses of the
/// oldest commands and begins again at the lowest (C-LOOK). The drive reorders
/// what it has been sent by position.
#[derive(Debug, Serialize, Deserialize)]
pub struct Elevator {
    /// Tag and first sector.
    waiting: VecDeque<(u32, u64)>,
    window: usize,
    /// First sector of the command that went last.
    last: u64,
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

    /// A command has to wait.
    pub fn push(&mut self, tag: u32, start: u64) {
        self.waiting.push_back((tag, start));
    }

    /// The command that goes next.
    pub fn pop(&mut self) -> Option<u32> {
        let last = self.last;
        let (index, _) = (self.waiting.iter().take(self.window).enumerate())
            .min_by_key(|&(index, &(_, start))| (start < last, start, index))?;
        let (tag, start) = self.waiting.remove(index)?;
        self.last = start;
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(window: u32, starts: &[u64]) -> Vec<u32> {
        let mut elevator = Elevator::new(window);
        for (tag, &start) in (0..).zip(starts) {
            elevator.push(tag, start);
        }
        std::iter::from_fn(|| elevator.pop()).collect()
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
