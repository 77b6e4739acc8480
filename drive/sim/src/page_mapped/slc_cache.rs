//! The SLC cache: cells that take writes with one bit each, which is fast, and
//! are folded into cells of several bits when there is time.
//!
//! What is modelled is time and how full the cache is, not which data it
//! holds: the page map places every unit where it goes in the end, a row that
//! the cache takes is programmed in the SLC time, and for each row in the cache
//! one fold (a read and a program on the same die) becomes due. So data that
//! is overwritten or trimmed while in the cache is folded all the same, and
//! reads take the time of the cells' usual mode.
//!
//! A cache that becomes smaller gives back cells of all dies alike, since the
//! rows in it lie on all of them: its folds go to the dies in turn. A row that
//! has to wait for room waits for a fold on its own die.

use super::flash::BackgroundWork;
use super::idle_timer::{IdleTimer, Rest};
use super::specification::{Specification, WhenFull};
use crate::host_interface::transfer_ns;
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};

/// How full the cache is, and what it has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlcCache {
    program_ns: u32,
    fold: BackgroundWork,
    row_bytes: u64,
    static_bytes: u64,
    /// Cache bytes for each free byte of the drive.
    dynamic_gain: f64,
    folds_when_full: bool,
    dies: u32,
    /// That folds next for a cache that becomes smaller.
    next_die: u32,
    timer: IdleTimer,
    free_units: u64,
    unit_bytes: u64,
    level_bytes: u64,
    folded_bytes: u64,
    draining: bool,
}

impl SlcCache {
    /// An empty cache, where the specification has one.
    pub fn new(specification: &Specification) -> Option<Self> {
        let cache = specification.slc_cache.as_ref()?;
        let flash = &specification.flash;
        let row_bytes = specification.flash.row_bytes();
        let unit_bytes = specification.translation.unit.0;
        let dynamic_gain = match (&cache.dynamic_share, &cache.bits_per_cell) {
            (Some(share), Some(bits)) => share.value.0 / f64::from(bits.value),
            _ => 0.0,
        };
        Some(Self {
            program_ns: cache.program_time.0 as u32,
            fold: BackgroundWork {
                // Through the controller, which corrects errors: once each way.
                bus_ns: 2 * transfer_ns(row_bytes, flash.bus_rate.0) as u32,
                array_ns: (flash.read_time.0 + flash.program_time.0) as u32,
                release_bytes: 0,
            },
            row_bytes,
            static_bytes: cache.static_size.as_ref().map_or(0, |size| size.0),
            dynamic_gain,
            folds_when_full: cache.when_full.value == WhenFull::Fold,
            dies: specification.lanes(),
            next_die: 0,
            timer: IdleTimer::new(cache.idle_delay.0),
            free_units: specification.capacity.user.0 / unit_bytes,
            unit_bytes,
            level_bytes: 0,
            folded_bytes: 0,
            draining: false,
        })
    }

    /// Fails unless a loaded cache can go on as one that was `made`, on a drive with
    /// so many units without data, and so many events for its timer.
    pub fn check(&self, made: &Self, clock: Clock, free: u64, timer_events: usize) -> Checked {
        let Self {
            program_ns,
            fold,
            row_bytes,
            static_bytes,
            dynamic_gain,
            folds_when_full,
            dies,
            next_die,
            timer,
            free_units,
            unit_bytes,
            level_bytes,
            folded_bytes,
            draining: _,
        } = self;
        same!(
            made; program_ns, fold, row_bytes, static_bytes, dynamic_gain, folds_when_full, dies,
            unit_bytes,
        );
        timer.check(&made.timer, clock, timer_events)?;
        ensure(next_die < dies && *free_units == free, "the room in the SLC cache")?;
        ensure_counts([*level_bytes, *folded_bytes])
    }

    /// The cache after the controller has started anew: its cells hold what they
    /// held.
    pub fn restarted(self) -> Self {
        Self { draining: false, timer: self.timer.restarted(), ..self }
    }

    /// Bytes folded so far.
    pub fn folded_bytes(&self) -> u64 {
        self.folded_bytes
    }

    /// Bytes in the cache, which wait to be folded.
    pub fn level_bytes(&self) -> u64 {
        self.level_bytes
    }

    /// So many units get data that had none: free space shrinks.
    #[inline]
    pub fn mapped(&mut self, units: u32) {
        self.free_units -= u64::from(units);
    }

    /// A unit is free again.
    pub fn trimmed(&mut self) {
        self.free_units += 1;
    }

    /// So many units of the empty drive hold data, and the cache all that it can.
    pub fn fill(&mut self, units: u32) {
        self.free_units -= u64::from(units);
        self.level_bytes = self.capacity_bytes();
    }

    fn capacity_bytes(&self) -> u64 {
        let free_bytes = self.free_units * self.unit_bytes;
        self.static_bytes + (free_bytes as f64 * self.dynamic_gain) as u64
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.level_bytes + bytes <= self.capacity_bytes()
    }

    /// Decides how a row of the host's is programmed. Returns a fold that comes
    /// first, and its die.
    pub fn take_row(
        &mut self,
        die: u32,
        row: &mut BackgroundWork,
    ) -> Option<(u32, BackgroundWork)> {
        let bytes = u64::from(row.release_bytes);
        let fold = if self.folds_when_full && !self.has_room(bytes) {
            self.next_fold().map(|fold| (die, fold))
        } else if self.level_bytes > self.capacity_bytes() {
            // A dynamic cache may hold more than free space now allows.
            let die = self.next_die;
            self.next_die = (die + 1) % self.dies;
            self.next_fold().map(|fold| (die, fold))
        } else {
            None
        };
        if self.has_room(bytes) {
            self.level_bytes += bytes;
            row.array_ns = self.program_ns;
        }
        fold
    }

    fn next_fold(&mut self) -> Option<BackgroundWork> {
        let bytes = self.row_bytes.min(self.level_bytes);
        self.level_bytes -= bytes;
        self.folded_bytes += bytes;
        (bytes > 0).then_some(self.fold)
    }

    /// The host wants something: draining ends.
    #[inline]
    pub fn wake(&mut self) {
        self.draining = false;
    }

    /// The last command is done. Returns when to ask [`SlcCache::rested`].
    #[inline]
    pub fn rest(&mut self, now_ns: u64) -> Option<u64> {
        self.timer.rest(now_ns)
    }

    /// A delay has passed; `idle` says that no command is in the drive. Starts
    /// draining, or returns when to ask again.
    pub fn rested(&mut self, now_ns: u64, idle: bool) -> Option<u64> {
        match self.timer.ended(now_ns, idle) {
            Rest::AskAgain(at_ns) => return Some(at_ns),
            rest => self.draining = rest == Rest::Rested,
        }
        None
    }

    /// The next fold for a die that has nothing else to do, while draining.
    #[inline]
    pub fn drain(&mut self) -> Option<BackgroundWork> {
        if self.draining { self.next_fold() } else { None }
    }
}
