//! The host's rows that the dies have been given and have not programmed yet.
//!
//! The collector may empty a block before it has been programmed: where
//! everything else is full of valid data, or the host has already written its
//! data again. A die does its work in order, so such a block is programmed, then
//! read and erased, as in a real drive. A unit that was moved is therefore
//! durable as soon as the row that the host filled with it has been programmed,
//! and not before.

use crate::validity::{Checked, ensure};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// Stands for a row whose block has been erased, as far as the map goes.
const EMPTIED: u32 = u32::MAX;

/// Rows by die, oldest first. A die programs them in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unsettled {
    by_die: Vec<VecDeque<u32>>,
    rows: u32,
    /// Units that the collector has moved out of such rows.
    moved: Vec<Moved>,
}

/// A unit whose row was not programmed when it was moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Moved {
    unit: u32,
    die: u32,
    /// Rows that the die programs until it has programmed that row.
    rows_left: u32,
}

impl Unsettled {
    /// None, on so many dies.
    pub fn new(dies: u32) -> Self {
        Self { by_die: vec![VecDeque::new(); dies as usize], rows: 0, moved: Vec::new() }
    }

    /// Fails unless the loaded rows are those that dies have been given, so many each,
    /// on a drive of so many rows and units.
    pub fn check(&self, given: &[usize], rows_end: u32, units: usize) -> Checked {
        let Self { by_die, rows, moved } = self;
        let fits = by_die.len() == given.len()
            && by_die.iter().zip(given).all(|(rows, &given)| rows.len() == given)
            && *rows as usize == given.iter().sum::<usize>()
            && by_die.iter().flatten().all(|&row| row < rows_end || row == EMPTIED);
        ensure(fits, "the rows on their way to flash")?;
        let durable = |moved: &Moved| {
            let rows = given.get(moved.die as usize).copied().unwrap_or(0);
            (moved.unit as usize) < units && (1..=rows).contains(&(moved.rows_left as usize))
        };
        ensure(moved.iter().all(durable), "a unit that was moved")
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
        if !self.moved.is_empty() {
            self.settle_moved(die);
        }
    }

    fn settle_moved(&mut self, die: u32) {
        for moved in self.moved.iter_mut().filter(|moved| moved.die == die) {
            moved.rows_left -= 1;
        }
        self.moved.retain(|moved| moved.rows_left > 0);
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

    /// Whether a die has rows among `rows` to program.
    pub fn holds_any(&self, die: u32, rows: &Range<u32>) -> bool {
        self.by_die[die as usize].iter().any(|row| rows.contains(row))
    }

    /// A block's rows are empty again: what a die still programs of them holds
    /// nothing that counts.
    pub fn emptied(&mut self, die: u32, rows: &Range<u32>) {
        for row in self.by_die[die as usize].iter_mut().filter(|row| rows.contains(row)) {
            *row = EMPTIED;
        }
    }

    /// The collector moves a unit out of a row of a die.
    pub fn moved(&mut self, unit: u32, die: u32, row: u32) {
        if let Some(rows_left) = self.position(die, row) {
            self.moved.push(Moved { unit, die, rows_left });
        }
    }

    /// Die, and rows that it programs until a unit is durable that was moved
    /// out of one of them.
    pub fn position_moved(&self, unit: u32) -> Option<(u32, u32)> {
        let moved = self.moved.iter().find(|moved| moved.unit == unit)?;
        Some((moved.die, moved.rows_left))
    }

    /// The host has written a unit again, or no longer needs it.
    #[inline]
    pub fn replaced(&mut self, unit: u32) {
        if !self.moved.is_empty() {
            self.forget_moved(unit);
        }
    }

    // Apart from the way of every write: moved units are rare.
    #[inline(never)]
    fn forget_moved(&mut self, unit: u32) {
        self.moved.retain(|moved| moved.unit != unit);
    }

    /// Dies with rows to program, and how many.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.by_die).map(|(die, rows)| (die, rows.len() as u32)).filter(|c| c.1 > 0)
    }

    /// Rows that dies have been given and whose blocks have not been erased since.
    pub fn rows(&self) -> impl Iterator<Item = u32> {
        self.by_die.iter().flatten().copied().filter(|&row| row != EMPTIED)
    }

    /// Units that were moved out of such rows.
    pub fn moved_units(&self) -> impl Iterator<Item = u32> {
        self.moved.iter().map(|moved| moved.unit)
    }

    /// Forgets all rows, and the units that were moved out of them: they were
    /// programmed, or never will be.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.by_die.iter_mut().for_each(VecDeque::clear);
        self.moved.clear();
    }
}
