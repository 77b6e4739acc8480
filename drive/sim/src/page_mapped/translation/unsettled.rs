//! The host's rows that the dies have been given and have not programmed yet.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Rows by die, oldest first. A die programs them in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unsettled {
    by_die: Vec<VecDeque<u32>>,
    rows: u32,
}

impl Unsettled {
    /// None, on so many dies.
    pub fn new(dies: u32) -> Self {
        Self { by_die: vec![VecDeque::new(); dies as usize], rows: 0 }
    }

    /// A die is given a row of the host's.
    #[inline]
    pub fn given(&mut self, die: u32, row: u32) {
        self.by_die[die as usize].push_back(row);
        self.rows += 1;
    }

    /// A die has programmed its oldest row.
    #[inline]
    pub fn settled(&mut self, die: u32) {
        let row = self.by_die[die as usize].pop_front();
        debug_assert!(row.is_some(), "die {die} was given no row");
        self.rows -= 1;
    }

    /// Whether a row of a die is still in the write buffer.
    #[inline]
    pub fn holds(&self, die: impl FnOnce() -> u32, row: u32) -> bool {
        self.rows > 0 && self.by_die[die() as usize].contains(&row)
    }

    /// How many rows a die programs until it has programmed `row`; `None` when
    /// it has done so.
    pub fn position(&self, die: u32, row: u32) -> Option<u32> {
        let index = self.by_die[die as usize].iter().position(|&given| given == row)?;
        Some(index as u32 + 1)
    }

    /// Dies with rows to program, and how many.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.by_die).map(|(die, rows)| (die, rows.len() as u32)).filter(|c| c.1 > 0)
    }

    /// Takes all rows: they were programmed, or never will be.
    pub fn take(&mut self) -> Vec<u32> {
        self.rows = 0;
        self.by_die.iter_mut().flat_map(|rows| rows.drain(..)).collect()
    }
}
