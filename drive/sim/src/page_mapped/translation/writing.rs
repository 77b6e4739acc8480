//! Writing: units into open rows, rows into blocks, pool by pool.

use super::bits;
use super::frontier::Frontier;
use super::pool::Stream;
use super::victim::NOT_CLOSED;
use super::{RowWork, Translation};
use crate::host_interface::transfer_ns;
use crate::page_mapped::flash::BackgroundWork;
use std::ops::Range;

impl Translation {
    /// Writes a unit that stores as `stored_bytes`. What the dies have to do
    /// for it, if a row became full, is appended to `work`.
    #[inline]
    pub fn write(&mut self, unit: u32, stored_bytes: u32, work: &mut Vec<RowWork>) {
        if self.separation.is_none() {
            self.write_to(Stream::Host, unit, stored_bytes, work);
        } else {
            let stream = self.stream_of_write(unit);
            self.write_to(stream, unit, stored_bytes, work);
        }
    }

    #[inline(always)]
    pub(super) fn write_to(
        &mut self,
        stream: Stream,
        unit: u32,
        stored_bytes: u32,
        work: &mut Vec<RowWork>,
    ) {
        let mut pool = *self.write_pool(stream);
        // The next pool's row, too, may be nearly full: of collected units.
        while !self.frontier(pool, stream).has_room(stored_bytes, &self.geometry) {
            self.close_host_row(stream, work);
            pool = *self.write_pool(stream);
        }
        let slot = self.frontier_slot(pool, self.frontier(pool, stream));
        let old = std::mem::replace(&mut self.map[unit as usize], slot + 1);
        if old != 0 {
            self.invalidate(old - 1);
            self.unsettled.replaced(unit);
        }
        self.occupy(slot, unit);
        self.counters.host_units += 1;
        let space = &mut self.pools[pool as usize];
        space.units_written += 1;
        let open = space.frontier_mut(stream);
        open.add_written(1, stored_bytes);
        if open.is_full(&self.geometry) {
            self.close_host_row(stream, work);
        }
    }

    /// Writes units that follow each other as [`Self::write`] does one by one: as
    /// many at a time as the open row takes. Returns how many of them held no
    /// data before.
    pub fn write_run(
        &mut self,
        units: Range<u32>,
        stored_bytes: u32,
        work: &mut Vec<RowWork>,
    ) -> u32 {
        if self.separation.is_some() {
            let unmapped = units.clone().filter(|&unit| self.slot(unit).is_none()).count() as u32;
            units.for_each(|unit| self.write(unit, stored_bytes, work));
            return unmapped;
        }
        let (mut first, mut unmapped) = (units.start, 0);
        while first < units.end {
            let pool = self.host_pool;
            let open = *self.frontier(pool, Stream::Host);
            let room = open.room(stored_bytes, &self.geometry);
            if room == 0 {
                self.close_host_row(Stream::Host, work);
                continue;
            }
            let end = units.end.min(first + room);
            unmapped += self.map_run(first..end, self.frontier_slot(pool, &open));
            self.counters.host_units += u64::from(end - first);
            let space = &mut self.pools[pool as usize];
            space.units_written += end - first;
            let open = space.frontier_mut(Stream::Host);
            open.add_written(end - first, stored_bytes);
            if open.is_full(&self.geometry) {
                self.close_host_row(Stream::Host, work);
            }
            first = end;
        }
        unmapped
    }

    /// Maps units to slots from `slot` on, all of one row; returns how many were
    /// not mapped.
    fn map_run(&mut self, units: Range<u32>, slot: u32) -> u32 {
        let slots = slot..slot + units.len() as u32;
        let mut unmapped = 0;
        for (unit, slot) in units.clone().zip(slots.clone()) {
            match std::mem::replace(&mut self.map[unit as usize], slot + 1) {
                0 => unmapped += 1,
                old => {
                    self.invalidate(old - 1);
                    self.unsettled.replaced(unit);
                }
            }
        }
        for (unit, slot) in units.zip(slots.clone()) {
            self.owner[self.geometry.owner_index(slot)] = unit;
        }
        self.counts[self.geometry.block_of_slot(slot) as usize] += slots.len() as u32;
        bits::set(&mut self.valid, slots);
        unmapped
    }

    #[inline]
    pub(super) fn next_pool(&self, pool: u32) -> u32 {
        if pool + 1 == self.geometry.pools { 0 } else { pool + 1 }
    }

    /// The pool that takes the units of a host's stream now.
    #[inline(always)]
    pub(super) fn write_pool(&mut self, stream: Stream) -> &mut u32 {
        match (stream, &mut self.separation) {
            (Stream::HotHost, Some(separation)) => &mut separation.hot_pool,
            _ => &mut self.host_pool,
        }
    }

    /// Forgets a unit: the host no longer needs it (TRIM).
    pub fn trim(&mut self, unit: u32) {
        let old = std::mem::replace(&mut self.map[unit as usize], 0);
        if old != 0 {
            self.invalidate(old - 1);
            self.unsettled.replaced(unit);
        }
    }

    /// Programs the row that the host's units have filled, lets the pool
    /// collect what it owes, and moves on to the next pool with room.
    // Once in a row: the way of all other writes is shorter without it.
    #[inline(never)]
    pub(super) fn close_host_row(&mut self, stream: Stream, work: &mut Vec<RowWork>) {
        let pool = *self.write_pool(stream);
        let row = self.frontier(pool, stream);
        let (row_bytes, taken_bytes) = (self.geometry.row_bytes, row.bytes - row.host_bytes);
        self.close_row(pool, stream, work);
        self.collect(pool, work);
        // All pools take as much of the host's: one whose rows are shared with the
        // collector has another turn once a row of them is missing. Else pools
        // that move more would be given less, and drift apart.
        let space = self.pool(pool);
        space.turn_taken_bytes += taken_bytes;
        if space.turn_taken_bytes >= row_bytes {
            space.turn_taken_bytes -= row_bytes;
            if self.has_room(pool) {
                return;
            }
        }
        let mut next = pool;
        for _ in 0..self.geometry.pools {
            next = self.next_pool(next);
            if self.has_room(next) {
                *self.write_pool(stream) = next;
                return;
            }
        }
        *self.write_pool(stream) = self.emptiest_pool();
    }

    /// The pool with the fewest valid units.
    pub(super) fn emptiest_pool(&self) -> u32 {
        let valid = |&pool: &u32| -> u64 {
            let first = self.geometry.block_index(pool, 0);
            let counts = &self.counts[first..first + self.geometry.blocks as usize];
            counts.iter().map(|&count| u64::from(count & !NOT_CLOSED)).sum()
        };
        (0..self.geometry.pools).min_by_key(valid).unwrap_or(0)
    }

    /// Programs a stream's open row and opens the next one.
    pub(super) fn close_row(&mut self, pool: u32, stream: Stream, work: &mut Vec<RowWork>) {
        let closed = self.pools[pool as usize].frontier_mut(stream).close_row();
        self.program(pool, &closed, work);
        if closed.row + 1 == self.geometry.rows_per_block {
            self.close_block(pool, stream, closed.block, work);
        }
    }

    /// Hands out the programming of a row. What the collector put into it was
    /// read row by row and passed the channel twice.
    // Always, so that the row stays in registers.
    #[inline(always)]
    pub(super) fn program(&mut self, pool: u32, row: &Frontier, work: &mut Vec<RowWork>) {
        debug_assert!(row.bytes <= self.geometry.row_bytes, "an overfilled row");
        if let Some(fill) = &mut self.row_fill {
            let rows =
                self.geometry.block_index(pool, row.block) as u32 * self.geometry.rows_per_block;
            fill[(rows + row.row) as usize] = row.units_when_full(&self.geometry) as u8;
        }
        self.counters.programmed_rows += 1;
        let page = self.geometry.page_of_row(row.row);
        let die = self.geometry.die_of_row(pool, row.row);
        if row.host_bytes > 0 {
            self.unsettled.given(die, self.frontier_row(pool, row));
        }
        let bytes = u64::from(row.bytes_read + row.bytes);
        work.push((
            die,
            BackgroundWork {
                bus_ns: transfer_ns(bytes, self.bus_rate) as u32,
                array_ns: row.rows_read * self.read_ns + self.program_times.ns(page),
                release_bytes: row.host_bytes,
            },
        ));
    }

    /// Ends the block that a stream has filled, and opens the next one.
    #[inline(never)]
    pub(super) fn close_block(
        &mut self,
        pool: u32,
        stream: Stream,
        block: u32,
        work: &mut Vec<RowWork>,
    ) {
        let index = self.geometry.block_index(pool, block);
        self.counts[index] &= !NOT_CLOSED;
        self.closed_at[index] = self.blocks_closed;
        self.blocks_closed += 1;
        let next = self.take_free_block(pool, stream);
        let first = self.geometry.first_slot(pool, next);
        if let Some(copied) = &mut self.copied {
            bits::unset(copied, first..first + self.geometry.slots_per_block);
        }
        let space = self.pool(pool);
        *space.frontier_mut(stream) = Frontier::at_start_of(next);
        // The collector must always find a block for what it moves. While it
        // is at work itself it gives a block back for each that it takes. A pool
        // over its share ends with fewer free ones, once nothing is left to free.
        if !stream.is_collected() && !space.collecting {
            space.collecting = true;
            while self.pools[pool as usize].free.len() < self.free_blocks_kept
                && (self.pools[pool as usize].victim.is_some() || self.can_free(pool, 0))
            {
                self.collect_block(pool, work);
            }
            self.pool(pool).collecting = false;
        }
    }
}
