//! One die: what it does, and what waits for it.

use super::{BackgroundWork, PageRead};
use crate::event::NEVER_NS;
use crate::validity::{Checked, Clock, ensure, same};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum State {
    Idle,
    Reading(PageRead),
    Transferring(PageRead),
    Background {
        release_bytes: u32,
        array_start_ns: u64,
    },
    /// Background work is being stopped for reads.
    Suspending,
}

/// Background work that was stopped for reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Suspended {
    pub remaining_ns: u64,
    pub release_bytes: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Die {
    pub state: State,
    pub channel: u32,
    /// The plane of the background work under way, or that was stopped.
    pub plane: u32,
    /// How many of the reads that wait, from the front, share the array operation
    /// under way; and of the background work.
    pub reads_beside: u32,
    /// See `reads_beside`.
    pub work_beside: u32,
    pub reads: VecDeque<PageRead>,
    pub background: VecDeque<Waiting>,
    pub suspended: Option<Suspended>,
}

/// Background work, and the plane that it is for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waiting {
    pub work: BackgroundWork,
    pub plane: u32,
}

impl Die {
    /// Fails unless a loaded die can go on until it is idle.
    pub fn check(&self, made: &Self, due_ns: u64, planes: u32, clock: Clock) -> Checked {
        let Self { state, channel, plane, reads_beside, work_beside, reads, background, suspended } =
            self;
        same!(made; channel);
        let reading = matches!(state, State::Reading(_) | State::Transferring(_));
        let working = suspended.is_some() || matches!(state, State::Background { .. });
        let (reads_most, work_most) = (
            if reading { reads.len().min(planes as usize - 1) } else { 0 },
            if working { background.len().min(planes as usize - 1) } else { 0 },
        );
        ensure(
            *reads_beside as usize <= reads_most && *work_beside as usize <= work_most,
            "what shares an operation",
        )?;
        let known = background.iter().all(|waiting| waiting.plane < planes);
        let known = known && self.page_reads().all(|read| read.plane < planes);
        ensure(known && *plane < planes, "a plane")?;
        let alone = match state {
            State::Idle => {
                ensure(reads.is_empty() && background.is_empty(), "an idle die with work")?;
                return ensure(due_ns == NEVER_NS && suspended.is_none(), "an idle die");
            }
            State::Background { array_start_ns, .. } => {
                ensure(*array_start_ns <= due_ns, "when a die began")?;
                suspended.is_none()
            }
            State::Suspending => suspended.is_some(),
            State::Reading(_) | State::Transferring(_) => true,
        };
        ensure(alone, "what a die has stopped")?;
        clock.ensure_due([due_ns])?;
        clock.ensure_soon(suspended.iter().map(|stopped| stopped.remaining_ns))
    }

    /// The page reads that it has been given and not delivered.
    pub fn page_reads(&self) -> impl Iterator<Item = &PageRead> {
        let current = match &self.state {
            State::Reading(read) | State::Transferring(read) => Some(read),
            _ => None,
        };
        current.into_iter().chain(&self.reads)
    }

    /// What the work that it has been given releases in the write buffer, and the
    /// plane that it is for.
    pub fn releases(&self) -> impl Iterator<Item = (u32, u32)> {
        let current = match self.state {
            State::Background { release_bytes, .. } => release_bytes,
            _ => 0,
        };
        let stopped = self.suspended.map_or(0, |stopped| stopped.release_bytes);
        let waiting = self.background.iter();
        let waiting = waiting.map(|waiting| (waiting.plane, waiting.work.release_bytes));
        let begun = [(self.plane, current), (self.plane, stopped)];
        begun.into_iter().chain(waiting).filter(|&(_, bytes)| bytes > 0)
    }

    pub fn idle(channel: u32) -> Self {
        Self {
            state: State::Idle,
            channel,
            plane: 0,
            reads_beside: 0,
            work_beside: 0,
            reads: VecDeque::new(),
            background: VecDeque::new(),
            suspended: None,
        }
    }
}
