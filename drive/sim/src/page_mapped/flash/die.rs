//! One die: what it does, and what waits for it.

use super::planes::Planes;
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
    pub reads: VecDeque<PageRead>,
    pub background: VecDeque<BackgroundWork>,
    pub suspended: Option<Suspended>,
    /// Only where planes share operations, or are lanes.
    pub planes: Option<Box<Planes>>,
}

impl Die {
    /// Fails unless a loaded die can go on until it is idle.
    pub fn check(&self, made: &Self, due_ns: u64, plane_count: u32, clock: Clock) -> Checked {
        let Self { state, channel, reads, background, suspended, planes } = self;
        same!(made; channel);
        ensure(planes.is_some() == made.planes.is_some(), "the planes of a die")?;
        if let Some(planes) = planes {
            let reading = matches!(state, State::Reading(_) | State::Transferring(_));
            let working = suspended.is_some() || matches!(state, State::Background { .. });
            planes.check(plane_count, (reading, reads.len()), (working, background.len()))?;
        }
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
        let planes = self.planes.as_ref();
        let plane = planes.map_or(0, |planes| planes.working);
        let plane_of = move |index: usize| planes.map_or(0, |planes| planes.work[index]);
        let waiting = self.background.iter().enumerate();
        let waiting = waiting.map(move |(index, work)| (plane_of(index), work.release_bytes));
        [(plane, current), (plane, stopped)]
            .into_iter()
            .chain(waiting)
            .filter(|&(_, bytes)| bytes > 0)
    }

    pub fn idle(channel: u32, planes: Option<Planes>) -> Self {
        Self {
            state: State::Idle,
            channel,
            reads: VecDeque::new(),
            background: VecDeque::new(),
            suspended: None,
            planes: planes.map(Box::new),
        }
    }
}
