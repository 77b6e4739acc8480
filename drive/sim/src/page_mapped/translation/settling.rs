//! Which units are on flash: padding of rows that must be, and what a loss of
//! power takes.

use super::pool::Stream;
use super::unsettled::Unsettled;
use super::{RowWork, Table, Translation};

/// Where a unit is on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// It is on flash, or was never written.
    Settled,
    /// It is in the row that is being filled.
    Open,
    /// A die has been given its row and programs it as its `position`th row of
    /// the host's, counted from 1.
    Given { die: u32, position: u32 },
}

impl Translation {
    /// Whether a slot is still in the write buffer: in the row being filled, or
    /// in one that has not been programmed.
    #[inline]
    pub fn is_buffered(&self, slot: u32) -> bool {
        let row = self.geometry.row_of_slot(slot);
        self.is_open(slot) || self.unsettled.holds(|| self.die(slot), row)
    }

    /// Whether a slot is in a row that the host's units fill now.
    #[inline]
    fn is_open(&self, slot: u32) -> bool {
        let hot_pool = self.separation.as_ref().map(|separation| separation.hot_pool);
        self.is_in_open_row(slot, self.host_pool, Stream::Host)
            || hot_pool.is_some_and(|pool| self.is_in_open_row(slot, pool, Stream::HotHost))
    }

    #[inline]
    fn is_in_open_row(&self, slot: u32, pool: u32, stream: Stream) -> bool {
        self.geometry.row_of_slot(slot) == self.frontier_row(pool, self.frontier(pool, stream))
    }

    /// Where a unit is on its way to flash.
    pub fn settling(&self, unit: u32) -> Settling {
        let Some(slot) = self.slot(unit) else {
            return Settling::Settled;
        };
        let is_copied = self.is_copied(slot);
        if !is_copied && self.is_open(slot) {
            return Settling::Open;
        }
        if let Some((die, position)) = self.unsettled.position_moved(unit) {
            return Settling::Given { die, position };
        }
        if is_copied {
            return Settling::Settled;
        }
        let die = self.die(slot);
        match self.unsettled.position(die, self.geometry.row_of_slot(slot)) {
            Some(position) => Settling::Given { die, position },
            None => Settling::Settled,
        }
    }

    /// Whether the collector has put a slot's unit there: what it was copied from stays on
    /// flash until the copy is.
    #[inline]
    pub(super) fn is_copied(&self, slot: u32) -> bool {
        let bit = |copied: &Table<u64>| copied[slot as usize / 64] >> (slot % 64) & 1 != 0;
        self.copied.as_ref().is_some_and(bit)
    }

    /// The host's rows on their way to flash.
    pub fn unsettled(&self) -> &Unsettled {
        &self.unsettled
    }

    /// A die has programmed the oldest row of the host's that it was given.
    #[inline]
    pub fn settled(&mut self, die: u32) {
        self.unsettled.settled(die);
    }

    /// All rows that dies were given have been programmed.
    pub fn settle_all(&mut self) {
        self.unsettled.clear();
    }

    /// Writes a unit to dies that take no time: what follows from it is on flash
    /// at once. `work` is scratch.
    pub fn write_at_once(&mut self, unit: u32, stored_bytes: u32, work: &mut Vec<RowWork>) {
        self.write(unit, stored_bytes, work);
        if !work.is_empty() {
            work.clear();
            self.settle_all();
        }
    }

    /// Has the rows that are being filled programmed as they are; the room that
    /// is left in them is wasted.
    pub fn pad(&mut self, work: &mut Vec<RowWork>) {
        self.pad_row(Stream::Host, work);
        if self.separation.is_some() {
            self.pad_row(Stream::HotHost, work);
        }
    }

    fn pad_row(&mut self, stream: Stream, work: &mut Vec<RowWork>) {
        let pool = *self.write_pool(stream);
        let open = self.frontier(pool, stream);
        if open.slots == 0 {
            return;
        }
        let wasted_units = open.units_when_full(&self.geometry) - open.slots;
        self.counters.padded_bytes += u64::from(self.geometry.row_bytes - open.bytes);
        // What is wasted has to be collected like what is written.
        self.pool(pool).units_written += wasted_units;
        self.close_host_row(stream, work);
    }

    /// Power is gone: what was not on flash yet is no more. Returns the units
    /// of the host that held it; the controller does not find them again.
    pub fn lose_unsettled(&mut self, work: &mut Vec<RowWork>) -> Vec<u32> {
        self.pad(work);
        let lost = self.unsettled_units();
        self.unsettled.clear();
        lost.iter().for_each(|&unit| self.trim(unit));
        lost
    }

    /// The units of the host that are not on flash yet, each once.
    pub fn unsettled_units(&self) -> Vec<u32> {
        let hot_pool = self.separation.as_ref().map(|separation| separation.hot_pool);
        let open = [(Some(self.host_pool), Stream::Host), (hot_pool, Stream::HotHost)];
        let open_rows = open.into_iter().filter_map(|(pool, stream)| {
            let pool = pool?;
            let frontier = self.frontier(pool, stream);
            (frontier.slots > 0).then(|| self.frontier_row(pool, frontier))
        });
        let mut units: Vec<u32> = self.unsettled.moved_units().collect();
        for row in self.unsettled.rows().chain(open_rows) {
            let first = row * self.geometry.slots_per_row;
            let slots = first..first + self.geometry.slots_per_row;
            let valid = |slot: &u32| self.valid[*slot as usize / 64] >> (slot % 64) & 1 != 0;
            let lost = slots.filter(valid).filter(|&slot| !self.is_copied(slot));
            units.extend(lost.map(|slot| self.owner(slot)));
        }
        units
    }
}
