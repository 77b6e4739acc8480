//! Planes of a die that do something at the same time.
//!
//! A die has one array operation under way at a time; commands that wait for it
//! and are for different planes may share one (multi-plane commands of ONFI and of
//! Toggle; here the pages need not be at the same place in their blocks, as
//! datasheets of dies with independent planes allow). What is transferred goes
//! over the channel one page after the other.

use super::die::{Die, State};
use super::planes::move_forward;
use super::{BackgroundWork, DieEvent, Flash, PageRead};

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
