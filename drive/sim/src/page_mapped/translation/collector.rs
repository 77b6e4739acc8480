//! Garbage collection: emptying blocks, and when.

use super::bits;
use super::frontier::Frontier;
use super::pool::{Pool, Stream};
use super::victim::{NOT_CLOSED, Victim, fewest};
use super::{RowWork, Translation};
use crate::page_mapped::flash::BackgroundWork;
use crate::table::prefetch;

/// Units that are moved together. Their map entries are all over memory; looked
/// up in one tight loop, many of them are on their way at once.
const BATCH: usize = 64;

/// Owners in a cache line of the processor.
const LINE: usize = 16;

/// Rows that a victim must free; a pool that cannot offer as much is crowded.
const ROWS_FREED_MIN: u32 = 2;

impl Translation {
    /// Collects what the units written to a pool make due.
    pub(super) fn collect(&mut self, pool: u32, work: &mut Vec<RowWork>) {
        let units = std::mem::take(&mut self.pool(pool).units_written);
        let free = self.pools[pool as usize].free.len();
        if free >= self.start_free_blocks + self.burst_blocks {
            self.pool(pool).bursting = false;
        } else if free < self.start_free_blocks {
            self.pool(pool).bursting = true;
        }
        if !self.pools[pool as usize].bursting {
            return;
        }
        if self.burst_blocks > 0 && self.burst_pace == f64::INFINITY {
            let enough = self.start_free_blocks + self.burst_blocks;
            // A pool over its share may never have as many.
            while self.pools[pool as usize].free.len() < enough && self.has_room(pool) {
                self.collect_block(pool, work);
            }
            return;
        }
        let moves_per_write = self.victim(pool).moves_per_write;
        let pace = if self.burst_blocks > 0 { self.burst_pace } else { 1.0 };
        let space = self.pool(pool);
        space.credit += f64::from(units) * moves_per_write * pace;
        let moves = space.credit as u32;
        space.credit -= f64::from(moves);
        // A victim without valid units costs nothing to free.
        if moves > 0 || moves_per_write == 0.0 {
            self.move_units(pool, moves.max(1), work);
        }
    }

    /// Empties the current victim of a pool, or the next one.
    pub(super) fn collect_block(&mut self, pool: u32, work: &mut Vec<RowWork>) {
        self.victim(pool);
        self.move_units(pool, u32::MAX, work);
    }

    /// The die that programs the row into which a pool collects.
    #[inline]
    pub fn next_collected_die(&self, pool: u32) -> u32 {
        self.geometry.die_of_row(pool, self.frontier(pool, self.collector_stream).row)
    }

    /// Collects a row of a pool that has fewer than `free_blocks` free blocks.
    /// Returns whether there was anything to collect.
    pub fn collect_row(&mut self, pool: u32, free_blocks: usize, work: &mut Vec<RowWork>) -> bool {
        let space = &self.pools[pool as usize];
        if space.free.len() >= free_blocks || space.victim.is_none() && !self.open_emptiest(pool) {
            return false;
        }
        let filled = self.frontier(pool, self.collector_stream).slots;
        self.move_units(pool, self.geometry.slots_per_row - filled, work);
        true
    }

    /// Whether a pool has room to spare: a crowded one takes no writes until
    /// others have overwritten some of its units.
    pub(super) fn has_room(&mut self, pool: u32) -> bool {
        if !self.pools[pool as usize].crowded {
            return true;
        }
        let crowded = !self.can_free(pool, ROWS_FREED_MIN);
        self.pool(pool).crowded = crowded;
        !crowded
    }

    /// Whether emptying one of a pool's closed blocks frees so many rows, and
    /// anything at all.
    pub(super) fn can_free(&self, pool: u32, rows: u32) -> bool {
        let first = self.geometry.block_index(pool, 0);
        let counts = &self.counts[first..first + self.geometry.blocks as usize];
        if self.row_fill.is_none() {
            let fewest = counts.iter().copied().min().unwrap_or(NOT_CLOSED);
            return fewest < NOT_CLOSED && self.frees(fewest, self.geometry.slots_per_block, rows);
        }
        (0..).zip(counts).any(|(block, &valid)| {
            valid < NOT_CLOSED && self.frees(valid, self.written_slots(pool, block), rows)
        })
    }

    /// Whether a block with room for `capacity` units, of which `valid` are
    /// valid, frees so many rows, and anything at all.
    fn frees(&self, valid: u32, capacity: u32, rows: u32) -> bool {
        let needed = u64::from(rows) * u64::from(capacity);
        let freed = u64::from(capacity - valid) * u64::from(self.geometry.rows_per_block);
        freed > 0 && freed >= needed
    }

    /// The block that a pool empties; chooses one if there is none.
    fn victim(&mut self, pool: u32) -> &Victim {
        if self.pools[pool as usize].victim.is_none() {
            let first = self.geometry.block_index(pool, 0);
            let blocks = first..first + self.geometry.blocks as usize;
            let lagging = self.lagging_block(pool);
            self.pool(pool).levelled = lagging.is_some();
            let block = lagging
                .or_else(|| {
                    self.rule.choose(
                        &self.counts[blocks.clone()],
                        &self.closed_at[blocks],
                        self.blocks_closed,
                        self.geometry.slots_per_block,
                    )
                })
                .expect("a pool has closed blocks when it runs out of free ones");
            self.open_victim(pool, block);
        }
        self.pools[pool as usize].victim.as_ref().expect("was just chosen")
    }

    /// Begins to empty a block of a pool.
    fn open_victim(&mut self, pool: u32, block: u32) {
        self.approach(&[], self.geometry.first_slot(pool, block));
        let index = self.geometry.block_index(pool, block);
        let valid = self.counts[index];
        let capacity = self.written_slots(pool, block);
        let freed = capacity - valid;
        self.counts[index] |= NOT_CLOSED;
        let crowded = !self.frees(valid, capacity, ROWS_FREED_MIN);
        let unsettled = self.is_unsettled(pool, block);
        let space = self.pool(pool);
        space.crowded |= crowded;
        space.victim = Some(Victim {
            block,
            next_slot: 0,
            moves_per_write: f64::from(valid) / f64::from(freed.max(1)),
            slots_per_write: capacity.div_ceil(freed.max(1)),
            unsettled,
        });
    }

    /// Whether a block has rows of the host's that were not programmed yet.
    fn is_unsettled(&self, pool: u32, block: u32) -> bool {
        let rows = self.geometry.rows_of_block(pool, block);
        self.geometry.dies_of_pool(pool).any(|die| self.unsettled.holds_any(die, &rows))
    }

    /// Takes note of units that are about to be moved before they are durable.
    fn note_unsettled(&mut self, slots: &[u32]) {
        for &slot in slots {
            if self.is_copied(slot) {
                continue;
            }
            let (die, row) = (self.die(slot), self.geometry.row_of_slot(slot));
            self.unsettled.moved(self.owner(slot), die, row);
        }
    }

    /// Begins to empty the block of a pool with the fewest valid units, if that
    /// gives enough.
    fn open_emptiest(&mut self, pool: u32) -> bool {
        let first = self.geometry.block_index(pool, 0);
        let counts = &self.counts[first..first + self.geometry.blocks as usize];
        let block = fewest(counts) as u32;
        let valid = counts[block as usize];
        if valid >= NOT_CLOSED
            || !self.frees(valid, self.written_slots(pool, block), ROWS_FREED_MIN)
        {
            return false;
        }
        self.open_victim(pool, block);
        true
    }

    /// Prefetches the map entries of units about to be moved, and the owners of
    /// the slots from `next` on.
    #[inline]
    fn approach(&self, slots: &[u32], next: u32) {
        for &slot in slots {
            prefetch(&self.map[self.owner(slot) as usize]);
        }
        self.approach_owners(next, BATCH as u32);
    }

    /// Prefetches what the collector will need when the host has filled its next
    /// row.
    // Once in a row: the way of all other writes is shorter without it.
    #[inline(never)]
    pub fn approach_next_row(&self) {
        let pool = self.host_pool;
        let Some(victim) = &self.pools[pool as usize].victim else { return };
        let block = self.geometry.first_slot(pool, victim.block);
        let (first, end) = (block + victim.next_slot, block + self.geometry.slots_per_block);
        let slots = victim.slots_per_write * self.geometry.slots_per_row;
        let middle = (first + slots).min(end);
        bits::for_each(&self.valid, first..middle, |slot| {
            prefetch(&self.map[self.owner(slot) as usize]);
        });
        self.approach_owners(middle, slots.min(end - middle));
        // Where they go, and where the host's units go: a store that waits for
        // memory holds up all stores behind it.
        let target = self.frontier_slot(pool, self.frontier(pool, self.collector_stream));
        self.approach_owners(target, slots.min(BATCH as u32));
        let host = self.frontier_slot(pool, self.frontier(pool, Stream::Host));
        self.approach_owners(host, self.geometry.slots_per_row);
    }

    /// Prefetches which units `count` slots hold, or will hold.
    #[inline]
    fn approach_owners(&self, first: u32, count: u32) {
        let end = self.owner.len().min(first as usize + count as usize);
        let line = first as usize / LINE * LINE;
        self.owner[line..end].iter().step_by(LINE).for_each(prefetch);
    }

    /// Moves up to `most` valid units out of the pool's victim; frees the
    /// block when none is left. The hot loops of a drive in steady state: units
    /// are handled by the batch, and each loop does one small thing.
    fn move_units(&mut self, pool: u32, most: u32, work: &mut Vec<RowWork>) {
        let Some(mut victim) = self.pool(pool).victim.take() else {
            return;
        };
        let base = self.geometry.first_slot(pool, victim.block);
        let index = self.geometry.block_index(pool, victim.block);
        let mut source = base + victim.next_slot..base + self.geometry.slots_per_block;
        let mut batch = [0; BATCH];
        let mut moved = 0;
        while moved < most && !source.is_empty() {
            let room = batch.len().min((most - moved) as usize);
            let first = source.start;
            let count = bits::find(&self.valid, &mut source, &mut batch[..room]);
            bits::unset(&mut self.valid, first..source.start);
            if most == u32::MAX {
                self.approach(&batch[..count], source.start);
            }
            let found = &batch[..count];
            if victim.unsettled {
                self.note_unsettled(found);
            }
            if self.separation.is_some() || self.row_fill.is_some() {
                self.place_one_by_one(pool, found, work);
            } else {
                self.place(pool, found, work);
            }
            moved += count as u32;
        }
        self.counts[index] -= moved;
        self.counters.moved_units += u64::from(moved);
        victim.next_slot = source.start - base;
        if self.counts[index] == NOT_CLOSED {
            self.counters.erased_blocks += 1;
            if victim.unsettled {
                let rows = self.geometry.rows_of_block(pool, victim.block);
                for die in self.geometry.dies_of_pool(pool) {
                    self.unsettled.emptied(die, &rows);
                }
            }
            self.reclaim(pool, victim.block);
            let erase = BackgroundWork { bus_ns: 0, array_ns: self.erase_ns, release_bytes: 0 };
            for die in 0..self.geometry.dies_per_pool {
                work.push((self.geometry.die_of_row(pool, die), erase));
            }
        } else {
            self.pool(pool).victim = Some(victim);
        }
    }

    /// Places units that were in `slots`, at most [`BATCH`], into the rows that
    /// take collected units; units of one size that are not told apart.
    fn place(&mut self, pool: u32, mut slots: &[u32], work: &mut Vec<RowWork>) {
        let stream = self.collector_stream;
        let mut source_rows = [0; BATCH];
        self.geometry.rows_of_slots(slots, &mut source_rows[..slots.len()]);
        let mut source_rows = &source_rows[..slots.len()];
        while !slots.is_empty() {
            // The slots of a block's rows follow each other.
            let mut row = *self.frontier(pool, stream);
            let first = self.frontier_slot(pool, &row);
            let room = (self.geometry.first_slot(pool, row.block + 1) - first) as usize;
            let (in_block, later) = slots.split_at(slots.len().min(room));
            slots = later;
            let mut left = in_block.len();
            while left > 0 {
                let room = (self.geometry.slots_per_row - row.slots) as usize;
                let (in_row, rest) = source_rows.split_at(left.min(room));
                source_rows = rest;
                left -= in_row.len();
                row.add_moved(in_row, self.geometry.unit_bytes);
                if row.is_full(&self.geometry) {
                    let closed = row.close_row();
                    self.program(pool, &closed, work);
                }
            }
            *self.pool(pool).frontier_mut(stream) = row;
            // Last: the stores to the map are slow, and what is read soon after it
            // was written may wait for all stores before it.
            self.relocate(in_block, first);
            if row.row == self.geometry.rows_per_block {
                self.close_block(pool, stream, row.block, work);
            }
        }
    }

    /// Makes units that were in `slots` those of as many slots of one block,
    /// from `first` on.
    #[inline]
    fn relocate(&mut self, slots: &[u32], first: u32) {
        let count = slots.len() as u32;
        // One by one: units that are gathered first are then copied as whole
        // vectors, which cannot be read before all stores are done.
        for (&slot, target) in slots.iter().zip(first..) {
            let unit = self.owner[slot as usize];
            self.owner[target as usize] = unit;
            self.map[unit as usize] = target + 1;
        }
        bits::set(&mut self.valid, first..first + count);
        if let Some(copied) = &mut self.copied {
            bits::set(copied, first..first + count);
        }
        self.counts[self.geometry.block_of_slot(first) as usize] += count;
    }

    /// What each unit of a row takes in another one.
    #[inline]
    pub(super) fn stored_bytes_of_row(&self, row: u32) -> u32 {
        match &self.row_fill {
            None => self.geometry.unit_bytes,
            Some(fill) => self.geometry.stored_bytes(fill[row as usize]),
        }
    }

    /// Slots of a closed block that were written: all, unless compression let
    /// fewer fit.
    fn written_slots(&self, pool: u32, block: u32) -> u32 {
        match &self.row_fill {
            None => self.geometry.slots_per_block,
            Some(fill) => {
                let rows = self.geometry.rows_per_block as usize;
                let first = self.geometry.block_index(pool, block) * rows;
                fill[first..first + rows].iter().map(|&slots| u32::from(slots)).sum()
            }
        }
    }
}

impl Pool {
    /// The frontier of a stream.
    #[inline]
    pub(super) fn frontier_mut(&mut self, stream: Stream) -> &mut Frontier {
        &mut self.frontiers[stream as usize]
    }
}
