//! Data that is written often apart from data that is not.
//!
//! Hot and cold units fill blocks of their own, both when the host writes them
//! and when they are collected, so that blocks of hot units lose nearly all of
//! them before they are collected. Who is hot is known, as when a host tells
//! the drive about its streams, or is found out.
//!
//! The detector takes a unit for hot that was rewritten within a window at
//! least [`HOT`] times more often than not. It keeps a byte for each unit: when
//! it was last written, in eighths of the window, and how often soon again.
//! Times repeat after eight windows, so that of the units not written for that
//! long a part seems to have been written lately; it takes two such mistakes in
//! a row to take one for hot.

use super::bits;
use super::pool::Stream;
use super::{RowWork, Translation};
use crate::page_mapped::specification::{Specification, StreamRule};
use crate::table::Table;
use crate::validity::{Checked, ensure, same};
use serde::{Deserialize, Serialize};

/// Rewrites within the window, less writes after a longer time, that make a
/// unit hot; at most [`HEAT_MAX`] are counted.
const HOT: u8 = 2;
const HEAT_MAX: u8 = 3;
const HEAT_BITS: u32 = 2;

/// Steps of a window, and steps after which times repeat.
const WINDOW_STEPS: u8 = 8;
const STEPS: u8 = 1 << (8 - HEAT_BITS);

/// Tells hot units from cold ones.
#[derive(Debug, Serialize, Deserialize)]
pub struct Separation {
    rule: Rule,
    /// Pool that takes the host's hot units now.
    pub hot_pool: u32,
}

#[derive(Debug, Serialize, Deserialize)]
enum Rule {
    /// Units below this one are hot.
    Known(u32),
    Detected(Detector),
}

/// Finds out which units are hot.
#[derive(Debug, Serialize, Deserialize)]
struct Detector {
    /// By unit: the step of its last write, and its heat in the low bits.
    history: Table<u8>,
    units_per_step: u64,
}

impl Separation {
    /// Where the specification has it, for a drive of so many units.
    pub fn new(specification: &Specification, units: usize) -> Option<Self> {
        let streams = specification.write_streams.as_ref()?;
        let unit_bytes = specification.translation.unit.0;
        let rule = match streams.rule.value {
            StreamRule::KnownRange => {
                let bytes = streams.hot_size.as_ref().map_or(0, |size| size.0);
                Rule::Known((bytes / unit_bytes) as u32)
            }
            StreamRule::Detected => {
                let window = streams.window.as_ref().map_or(0, |window| window.0);
                let units_per_step = (window / unit_bytes / u64::from(WINDOW_STEPS)).max(1);
                Rule::Detected(Detector { history: Table::zeroed(units), units_per_step })
            }
        };
        Some(Self { rule, hot_pool: 0 })
    }

    /// Fails unless what was loaded can go on as what was `made`, on a drive with so
    /// many pools.
    pub fn check(&self, made: &Self, pools: u32) -> Checked {
        let Self { rule, hot_pool } = self;
        ensure(*hot_pool < pools, "the pool of hot data")?;
        match (rule, &made.rule) {
            (Rule::Known(end), Rule::Known(made)) => ensure(end == made, "the hot range"),
            (Rule::Detected(detector), Rule::Detected(made)) => {
                let Detector { history, units_per_step } = detector;
                same!(made; units_per_step);
                ensure(history.len() == made.history.len(), "the history of writes")
            }
            _ => ensure(false, "the rule for hot data"),
        }
    }

    /// Notes a write of a unit, after `written` others, and says whether the
    /// unit is hot. `known` says that it holds data.
    fn is_hot_write(&mut self, unit: u32, known: bool, written: u64) -> bool {
        match &mut self.rule {
            Rule::Known(end) => unit < *end,
            Rule::Detected(detector) => detector.write(unit, known, written),
        }
    }

    /// Whether a unit is still hot when it is collected.
    fn is_hot(&mut self, unit: u32, written: u64) -> bool {
        match &mut self.rule {
            Rule::Known(end) => unit < *end,
            Rule::Detected(detector) => detector.collect(unit, written),
        }
    }
}

impl Detector {
    /// A unit's heat, and the time since its last write in steps.
    fn heat_and_age(&self, unit: u32, written: u64) -> (u8, u8) {
        let entry = self.history[unit as usize];
        let now = (written / self.units_per_step) as u8;
        (entry & HEAT_MAX, now.wrapping_sub(entry >> HEAT_BITS) % STEPS)
    }

    fn write(&mut self, unit: u32, known: bool, written: u64) -> bool {
        let (heat, age) = self.heat_and_age(unit, written);
        let heat = match (known, age <= WINDOW_STEPS) {
            (false, _) => 0,
            (true, true) => (heat + 1).min(HEAT_MAX),
            (true, false) => heat.saturating_sub(age / WINDOW_STEPS),
        };
        let now = (written / self.units_per_step) as u8 % STEPS;
        self.history[unit as usize] = now << HEAT_BITS | heat;
        heat >= HOT
    }

    /// A unit that has not been written for long has cooled down.
    fn collect(&mut self, unit: u32, written: u64) -> bool {
        let (heat, age) = self.heat_and_age(unit, written);
        let hot = heat.saturating_sub(age / WINDOW_STEPS) >= HOT;
        if !hot {
            self.history[unit as usize] &= !HEAT_MAX;
        }
        hot
    }
}

impl Translation {
    /// The stream of a unit that the host writes.
    #[inline]
    pub(super) fn stream_of_write(&mut self, unit: u32) -> Stream {
        let known = self.map[unit as usize] != 0;
        let written = self.counters.host_units;
        let separation = self.separation.as_mut();
        match separation.is_some_and(|s| s.is_hot_write(unit, known, written)) {
            true => Stream::HotHost,
            false => Stream::Host,
        }
    }

    /// Places units that were in `slots`, each into the row that takes collected
    /// units of its kind.
    pub(super) fn place_one_by_one(&mut self, pool: u32, slots: &[u32], work: &mut Vec<RowWork>) {
        let written = self.counters.host_units;
        for &slot in slots {
            let unit = self.owner(slot);
            let hot = self.separation.as_mut().is_some_and(|s| s.is_hot(unit, written));
            let stream = if hot { Stream::HotCollector } else { self.collector_stream };
            let source_row = self.geometry.row_of_slot(slot);
            let stored_bytes = self.stored_bytes_of_row(source_row);
            if !self.frontier(pool, stream).has_room(stored_bytes, &self.geometry) {
                self.close_row(pool, stream, work);
            }
            let target = self.frontier_slot(pool, self.frontier(pool, stream));
            self.map[unit as usize] = target + 1;
            self.occupy(target, unit);
            if let Some(copied) = &mut self.copied {
                bits::set(copied, target..target + 1);
            }
            let frontier = self.pools[pool as usize].frontier_mut(stream);
            frontier.add_moved(&[source_row], stored_bytes);
            if frontier.is_full(&self.geometry) {
                self.close_row(pool, stream, work);
            }
        }
    }
}
