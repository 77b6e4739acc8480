//! Planes of a die: where they are, which may share an operation, and what waits for each.

use super::PageRead;
use crate::page_mapped::specification::{Level, Specification};
use crate::validity::{Checked, ensure};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Where lanes are: what programs by itself is a die, or a plane of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// Lanes of a die.
    pub per_die: u32,
    /// Dies that get a row before the next plane does.
    pub dies_before: u32,
}

impl Lanes {
    /// As the specification has them.
    pub fn new(specification: &Specification) -> Self {
        let dies_before = specification.dies_before(Level::Plane);
        Self { per_die: specification.lanes_per_die(), dies_before }
    }

    /// The die of a lane, and its plane where it has several lanes.
    #[inline]
    pub fn place(self, lane: u32) -> (u32, u32) {
        if self.per_die == 1 {
            return (lane, 0);
        }
        let round = lane / self.dies_before;
        (lane % self.dies_before + round / self.per_die * self.dies_before, round % self.per_die)
    }

    /// The lane of a die's plane.
    #[inline]
    pub fn lane(self, die: u32, plane: u32) -> u32 {
        if self.per_die == 1 {
            return die;
        }
        let round = die / self.dies_before * self.per_die + plane;
        die % self.dies_before + round * self.dies_before
    }
}

/// What may share an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Planes that a die reads for the host at a time; 1: no two.
    pub reads: u32,
    /// Planes that it programs or erases at a time though each is a lane.
    pub programs: u32,
}

impl Together {
    /// As the specification has it.
    pub fn new(specification: &Specification) -> Self {
        let flash = &specification.flash;
        Self { reads: flash.planes_read_together(), programs: flash.rows_together() }
    }

    /// Planes that have numbers.
    pub fn planes(self) -> u32 {
        self.reads.max(self.programs)
    }
}

/// Planes of one die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Planes {
    /// Of the reads that wait, one by one; and of the background work.
    pub reads: VecDeque<u32>,
    /// See `reads`.
    pub work: VecDeque<u32>,
    /// The plane of the background work under way, or that was stopped.
    pub working: u32,
    /// How many of the reads that wait, from the front, share the array operation
    /// under way, and the planes of all that do: one bit each.
    pub reads_beside: u32,
    pub read_planes: u32,
    /// When that operation began.
    pub read_start_ns: u64,
    /// How many of the background work that waits shares the operation under way.
    pub work_beside: u32,
}

impl Planes {
    /// Where the specification has planes that share operations, or are lanes.
    pub fn new(specification: &Specification) -> Option<Self> {
        let together = Together::new(specification);
        let shared = together.reads > 1 || specification.lanes_per_die() > 1;
        shared.then(|| Self {
            reads: VecDeque::new(),
            work: VecDeque::new(),
            working: 0,
            reads_beside: 0,
            read_planes: 0,
            read_start_ns: 0,
            work_beside: 0,
        })
    }

    /// Fails unless loaded planes can go on, with so many of them; of reads and of
    /// background work, whether some is under way and how much waits.
    pub fn check(&self, count: u32, reads: (bool, usize), work: (bool, usize)) -> Checked {
        let fits = |beside: u32, (under_way, waiting): (bool, usize)| {
            beside as usize <= if under_way { waiting.min(count as usize - 1) } else { 0 }
        };
        ensure(
            fits(self.reads_beside, reads) && fits(self.work_beside, work),
            "what shares an operation of a die",
        )?;
        let known = self.reads.iter().chain(&self.work).all(|&plane| plane < count);
        ensure(
            known
                && self.working < count
                && (self.reads.len(), self.work.len()) == (reads.1, work.1),
            "the planes of what waits for a die",
        )
    }

    /// Pages that the operation under way reads.
    pub fn reading(&self) -> u32 {
        1 + self.reads_beside
    }

    /// Has one of the `reads` that wait share the operation under way, unless its
    /// plane does already. Returns whether it does.
    pub fn share_read(&mut self, reads: &mut VecDeque<PageRead>, index: usize) -> bool {
        let plane = 1 << self.reads[index];
        let shares = self.read_planes & plane == 0;
        if shares {
            self.read_planes |= plane;
            move_forward(reads, index, self.reads_beside);
            move_forward(&mut self.reads, index, self.reads_beside);
            self.reads_beside += 1;
        }
        shares
    }
}

/// Moves what waits at `index` to the place `to`, before all that wait there.
pub fn move_forward<T>(queue: &mut VecDeque<T>, index: usize, to: u32) {
    if let Some(waiting) = queue.remove(index) {
        queue.insert(to as usize, waiting);
    }
}
