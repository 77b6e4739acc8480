//! Planes of a die that do something at the same time.
//!
//! A die has one array operation under way at a time; commands that wait for it
//! and are for different planes may share one (multi-plane commands of ONFI and of
//! Toggle; here the pages need not be at the same place in their blocks, as
//! datasheets of dies with independent planes allow). What is transferred goes
//! over the channel one page after the other.

use super::die::{Die, State, Waiting};
use super::{BackgroundWork, DieEvent, Flash, PageRead};
use crate::page_mapped::specification::{Level, Specification};
use serde::{Deserialize, Serialize};

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

impl Flash {
    /// Has reads that wait for other planes share the operation that `read` begins.
    #[inline(never)]
    pub(super) fn gather_reads(&mut self, die: u32, read: PageRead) {
        let most = self.together.reads - 1;
        let Die { reads, reads_beside, .. } = &mut self.dies[die as usize];
        let mut planes = 1u32 << read.plane;
        for index in 0..reads.len() {
            if *reads_beside == most {
                break;
            }
            let plane = 1u32 << reads[index].plane;
            if planes & plane == 0 {
                planes |= plane;
                move_forward(reads, index, *reads_beside);
                *reads_beside += 1;
            }
        }
    }

    /// Has a read that came last share the operation that the die begins at this very
    /// time: those of one command come one after the other.
    pub(super) fn join_reads(&mut self, now_ns: u64, die: u32) {
        let due_ns = self.due_ns.get(die);
        let Die { state, reads, reads_beside, .. } = &mut self.dies[die as usize];
        let State::Reading(current) = *state else { return };
        if *reads_beside + 1 == self.together.reads || due_ns != now_ns + self.read_ns {
            return;
        }
        let Some(read) = reads.back() else { return };
        let beside = reads.iter().take(*reads_beside as usize);
        if beside.chain([&current]).all(|other| other.plane != read.plane) {
            move_forward(reads, reads.len() - 1, *reads_beside);
            *reads_beside += 1;
        }
    }

    /// Has work that waits for other planes share the operation that `work` begins.
    /// Returns what all of it takes together: the time on the channel added up, and
    /// the longest in the array. Of each plane only the oldest work comes in question.
    #[inline(never)]
    pub(super) fn gather_work(&mut self, die: u32, begun: Waiting) -> BackgroundWork {
        let Die { background, work_beside, .. } = &mut self.dies[die as usize];
        let mut all = begun.work;
        let mut planes = 1u32 << begun.plane;
        for index in 0..background.len() {
            let Waiting { work, plane } = background[index];
            if planes & 1 << plane != 0 {
                continue;
            }
            planes |= 1 << plane;
            // Erases with erases, programs with programs.
            if (work.bus_ns > 0) == (begun.work.bus_ns > 0) {
                all.bus_ns = all.bus_ns.saturating_add(work.bus_ns);
                all.array_ns = all.array_ns.max(work.array_ns);
                move_forward(background, index, *work_beside);
                *work_beside += 1;
            }
            if planes.count_ones() == self.together.programs {
                break;
            }
        }
        all
    }

    /// Goes on with the next page that was read together with others.
    #[inline(never)]
    pub(super) fn transfer_beside(&mut self, now_ns: u64, die: u32) {
        let state = &mut self.dies[die as usize];
        state.reads_beside -= 1;
        let read = state.reads.pop_front().expect("a read shares the operation");
        self.start_transfer(now_ns, die, read);
    }

    /// Ends one of several programs or erases that a die did together; the others
    /// end at the same time, by events of their own.
    #[inline(never)]
    pub(super) fn end_one(&mut self, now_ns: u64, die: u32, release_bytes: u32) -> (u32, DieEvent) {
        let state = &mut self.dies[die as usize];
        let lane = self.lanes.lane(die, state.plane);
        state.work_beside -= 1;
        let next = state.background.pop_front().expect("work shares the operation");
        state.plane = next.plane;
        let release = next.work.release_bytes;
        self.enter(
            die,
            State::Background { release_bytes: release, array_start_ns: now_ns },
            now_ns,
        );
        (lane, DieEvent::Released(release_bytes))
    }
}

/// Moves what waits at `index` to the place `to`, before all that wait there.
fn move_forward<T>(queue: &mut std::collections::VecDeque<T>, index: usize, to: u32) {
    if let Some(waiting) = queue.remove(index) {
        queue.insert(to as usize, waiting);
    }
}
