//! Collection while the host leaves dies free.
//!
//! Three levels of free blocks, in each pool: below `start_free_blocks` blocks
//! are collected in the foreground, between the host's writes. Up to
//! `background_free_blocks` a die that has nothing else to do collects, also
//! while commands are in the drive. Up to `idle_free_blocks` dies collect once
//! no command has come for some time, until one does. Row by row: a command
//! waits at most for the row that its die programs.
//!
//! Both kinds take the block with the fewest valid units, whatever the policy
//! of the foreground is, and stop where no block would give enough.

use super::idle_timer::{IdleTimer, Rest};
use super::specification::GarbageCollection;
use super::{Event, IdleWork, PageMapped};
use crate::validity::{Checked, Clock, ensure, same};
use serde::{Deserialize, Serialize};

/// When to collect in the background, and how far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackgroundCollection {
    /// Free blocks that pools collect up to while the drive is in use.
    busy_free_blocks: u32,
    /// The same while it has been idle.
    idle_free_blocks: u32,
    /// Only drives that collect more when idle.
    timer: Option<IdleTimer>,
    rested: bool,
}

impl BackgroundCollection {
    /// Where the specification has it.
    pub fn new(collection: &GarbageCollection) -> Option<Self> {
        let busy = collection.background_free_blocks.as_ref().map_or(0, |blocks| blocks.value);
        let idle = collection.idle_free_blocks.as_ref().map_or(0, |blocks| blocks.value);
        (busy > 0 || idle > 0).then(|| Self {
            busy_free_blocks: busy,
            idle_free_blocks: idle.max(busy),
            timer: collection.idle_delay.as_ref().map(|delay| IdleTimer::new(delay.0)),
            rested: false,
        })
    }

    /// Fails unless what was loaded can go on as what was `made`, with so many
    /// events for the timer.
    pub fn check(&self, made: &Self, clock: Clock, timer_events: usize) -> Checked {
        let Self { busy_free_blocks, idle_free_blocks, timer, rested: _ } = self;
        same!(made; busy_free_blocks, idle_free_blocks);
        match (timer, &made.timer) {
            (Some(timer), Some(made)) => timer.check(made, clock, timer_events),
            (None, None) => ensure(timer_events == 0, "a timer of idle time"),
            _ => ensure(false, "a timer of idle time"),
        }
    }

    /// The host wants something.
    #[inline]
    pub fn wake(&mut self) {
        self.rested = false;
    }

    /// The last command is done. Returns when to ask [`Self::rested`].
    #[inline]
    pub fn rest(&mut self, now_ns: u64) -> Option<u64> {
        self.timer.as_mut().and_then(|timer| timer.rest(now_ns))
    }

    /// A delay has passed. Returns when to ask again, if so.
    fn rested(&mut self, now_ns: u64, idle: bool) -> Option<u64> {
        match self.timer.as_mut()?.ended(now_ns, idle) {
            Rest::AskAgain(at_ns) => return Some(at_ns),
            rest => self.rested = rest == Rest::Rested,
        }
        None
    }

    fn free_blocks(&self) -> u32 {
        if self.rested { self.idle_free_blocks } else { self.busy_free_blocks }
    }
}

impl PageMapped {
    /// The drive has had no command for a while, or had one in between.
    pub(super) fn rested_to_collect(&mut self, now_ns: u64) {
        let idle = self.interface.inside() == 0;
        match self.background.as_mut().and_then(|background| background.rested(now_ns, idle)) {
            Some(at_ns) => self.events.push(at_ns, Event::Rested(IdleWork::Collection)),
            None => (0..self.flash.lanes()).for_each(|die| self.collect_in_background(now_ns, die)),
        }
    }

    /// Collects rows of a die's pool while the dies that program them have
    /// nothing else to do.
    pub(super) fn collect_in_background(&mut self, now_ns: u64, die: u32) {
        let Some(background) = &self.background else {
            return;
        };
        let free_blocks = background.free_blocks() as usize;
        let pool = self.translation.pool_of_die(die);
        while self.flash.is_idle(self.translation.next_collected_die(pool))
            && self.translation.collect_row(pool, free_blocks, &mut self.work)
        {
            self.give_work(now_ns);
        }
    }
}
