//! The read cache: memory that keeps the mapping units that were last written
//! by the host or sent to it.
//!
//! A unit that is in it is read without flash. A read finds what was there when
//! its command was taken up; what it brings is there once the command is done.

use super::command::UnitGrid;
use super::recent::{self, Recent, recent};
use super::specification;
use crate::validity::Checked;
use fourcorners_workload::Request;
use serde::{Deserialize, Serialize};

/// Units by their last use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadCache {
    #[serde(with = "super::recent::in_order")]
    units: Recent<()>,
}

impl ReadCache {
    /// An empty cache.
    pub fn new(specification: &specification::ReadCache, units: UnitGrid) -> Self {
        Self { units: recent(specification.size.0 / units.unit_bytes) }
    }

    /// Fails unless a loaded cache can be one that was `made` for so many units.
    pub fn check(&self, made: &Self, units: usize) -> Checked {
        let Self { units: entries } = self;
        recent::check(entries, &made.units, units)
    }

    /// Whether a unit is in the cache.
    #[inline]
    pub fn holds(&self, unit: u32) -> bool {
        self.units.contains(&unit)
    }

    /// Units have been read or written.
    pub fn keep(&mut self, first_unit: u32, last_unit: u32) {
        for unit in first_unit..=last_unit {
            self.units.put(unit, ());
        }
    }

    /// A read is done.
    pub fn keep_read(&mut self, units: UnitGrid, request: &Request) {
        let (first_unit, last_unit) = units.touched(request);
        self.keep(first_unit, last_unit);
    }

    /// The host no longer needs a unit.
    pub fn forget(&mut self, unit: u32) {
        self.units.pop(&unit);
    }
}
