//! Planes of a die that do something at the same time.
//!
//! A die has one array operation under way at a time; commands that wait for it
//! and are for different planes may share one (multi-plane commands of ONFI and of
//! Toggle; here the pages need not be at the same place in their blocks, as
//! datasheets of dies with independent planes allow). What is transferred goes
//! over the channel one page after the other.

use super::die::{Die, State};
use super::{BackgroundWork, DieEvent, Flash, PageRead};
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
    reads_beside: u32,
    read_planes: u32,
    /// When that operation began.
    read_start_ns: u64,
    /// How many of the background work that waits shares the operation under way.
    work_beside: u32,
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
    fn share_read(&mut self, reads: &mut VecDeque<PageRead>, index: usize) -> bool {
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

impl Flash {
    /// Queues a page read of a plane: of the lane's where planes are lanes, else of the
    /// one that is named.
    pub fn read_of_plane(&mut self, now_ns: u64, lane: u32, plane: u32, read: PageRead) {
        let (die, plane) = match self.lanes.per_die {
            1 => (lane, plane),
            _ => self.lanes.place(lane),
        };
        if let Some(planes) = &mut self.dies[die as usize].planes {
            planes.reads.push_back(plane);
        }
        self.take_read::<false>(now_ns, die, read);
    }

    /// The die that a lane's work is for; notes its plane.
    #[inline(never)]
    pub(super) fn die_of_work(&mut self, lane: u32) -> u32 {
        let (die, plane) = self.lanes.place(lane);
        if let Some(planes) = &mut self.dies[die as usize].planes {
            planes.work.push_back(plane);
        }
        die
    }

    /// Handles the earliest event of a die whose planes may do something together.
    /// Returns which lane, and what the event means.
    pub fn step_planes(&mut self) -> (u32, DieEvent) {
        let (now_ns, die) = (self.due_ns.next_ns(), self.due_ns.next());
        let planes = self.dies[die as usize].planes.as_ref();
        let lane = self.lanes.lane(die, planes.map_or(0, |planes| planes.working));
        let event = self.step_beside(now_ns, die);
        (lane, event.unwrap_or_else(|| self.step_die::<false>(now_ns, die)))
    }

    /// Has reads that wait for other planes share the operation that begins now; the
    /// plane of the first is still at the front.
    pub(super) fn gather_reads(&mut self, now_ns: u64, die: u32) {
        let Die { reads, planes: Some(planes), .. } = &mut self.dies[die as usize] else {
            return;
        };
        let first = planes.reads.pop_front().expect("a read has a plane");
        (planes.read_planes, planes.read_start_ns) = (1 << first, now_ns);
        for index in 0..reads.len() {
            if planes.read_planes.count_ones() >= self.together.reads {
                break;
            }
            planes.share_read(reads, index);
        }
    }

    /// Has a read that came last share the operation that the die begins at this very
    /// time: those of one command come one after the other. Returns whether it does.
    pub(super) fn join_reads(&mut self, now_ns: u64, die: u32) -> bool {
        let Die { state, reads, planes: Some(planes), .. } = &mut self.dies[die as usize] else {
            return false;
        };
        matches!(state, State::Reading(_))
            && planes.read_start_ns == now_ns
            && planes.read_planes.count_ones() < self.together.reads
            && planes.share_read(reads, reads.len() - 1)
    }

    /// Has work that waits for other planes share the operation that `first` begins,
    /// whose plane is still at the front. Returns what all of it takes together: the
    /// time on the channel added up, and the longest in the array. Of each plane only
    /// the oldest work comes in question.
    pub(super) fn gather_work(&mut self, die: u32, first: BackgroundWork) -> BackgroundWork {
        let Die { background, planes: Some(planes), .. } = &mut self.dies[die as usize] else {
            return first;
        };
        planes.working = planes.work.pop_front().expect("work has a plane");
        let mut all = first;
        let mut seen = 1u32 << planes.working;
        for index in 0..background.len() {
            if seen.count_ones() >= self.together.programs {
                break;
            }
            let (work, plane) = (background[index], planes.work[index]);
            if seen & 1 << plane != 0 {
                continue;
            }
            seen |= 1 << plane;
            // Erases with erases, programs with programs.
            if (work.bus_ns > 0) == (first.bus_ns > 0) {
                all.bus_ns = all.bus_ns.saturating_add(work.bus_ns);
                all.array_ns = all.array_ns.max(work.array_ns);
                move_forward(background, index, planes.work_beside);
                move_forward(&mut planes.work, index, planes.work_beside);
                planes.work_beside += 1;
            }
        }
        all
    }

    /// Ends the first of several things that a die did together, if it is at that: the
    /// next page is transferred, or the next program ends at the same time.
    fn step_beside(&mut self, now_ns: u64, die: u32) -> Option<DieEvent> {
        let Die { state, reads, background, planes, .. } = &mut self.dies[die as usize];
        let planes = planes.as_mut()?;
        match *state {
            State::Transferring(read) if planes.reads_beside > 0 => {
                planes.reads_beside -= 1;
                planes.reads.pop_front();
                let next = reads.pop_front()?;
                self.start_transfer(now_ns, die, next);
                Some(DieEvent::Delivered(read))
            }
            State::Background { release_bytes, .. } if planes.work_beside > 0 => {
                planes.work_beside -= 1;
                planes.working = planes.work.pop_front()?;
                let next = background.pop_front()?.release_bytes;
                let state = State::Background { release_bytes: next, array_start_ns: now_ns };
                self.enter(die, state, now_ns);
                Some(DieEvent::Released(release_bytes))
            }
            _ => None,
        }
    }
}

/// Moves what waits at `index` to the place `to`, before all that wait there.
fn move_forward<T>(queue: &mut VecDeque<T>, index: usize, to: u32) {
    if let Some(waiting) = queue.remove(index) {
        queue.insert(to as usize, waiting);
    }
}
