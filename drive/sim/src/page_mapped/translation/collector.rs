//! Garbage collection: emptying blocks, and when.

use super::frontier::Frontier;
use super::geometry::{next_set, prefetch};
use super::victim::{NOT_CLOSED, Victim, fewest};
use super::{Pool, RowWork, Stream, Translation};
use crate::page_mapped::flash::BackgroundWork;

/// How far ahead of the collector map entries are prefetched, in slots: about
/// the latency of memory divided by the time to move a unit.
const PREFETCH_SLOTS: u32 = 64;

/// See [`Translation::slots_freed_min`].
const ROWS_FREED_MIN: u32 = 2;

/// What is left of a block that is being emptied.
struct Source {
    next_slot: u32,
    end_slot: u32,
}

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
            while self.pools[pool as usize].free.len() < enough {
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
        let first = self.geometry.block_index(pool, 0);
        let counts = &self.counts[first..first + self.geometry.blocks as usize];
        let fewest = counts.iter().copied().min().unwrap_or(NOT_CLOSED);
        let enough = self.slots_freed_min();
        let crowded = fewest.saturating_add(enough) > self.geometry.slots_per_block;
        self.pool(pool).crowded = crowded;
        !crowded
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
        let index = self.geometry.block_index(pool, block);
        let valid = self.counts[index];
        let freed = self.written_slots(pool, block) - valid;
        self.counts[index] |= NOT_CLOSED;
        let enough = self.slots_freed_min();
        let space = self.pool(pool);
        space.crowded |= freed < enough;
        space.victim = Some(Victim {
            block,
            next_slot: 0,
            moves_per_write: f64::from(valid) / f64::from(freed.max(1)),
        });
    }

    /// Begins to empty the block of a pool with the fewest valid units, if that
    /// gives enough.
    fn open_emptiest(&mut self, pool: u32) -> bool {
        let first = self.geometry.block_index(pool, 0);
        let counts = &self.counts[first..first + self.geometry.blocks as usize];
        let block = fewest(counts) as u32;
        let valid = counts[block as usize];
        if valid >= NOT_CLOSED || self.written_slots(pool, block) < valid + self.slots_freed_min() {
            return false;
        }
        self.open_victim(pool, block);
        true
    }

    /// Slots that a victim must free; a pool that cannot offer as much is
    /// crowded.
    fn slots_freed_min(&self) -> u32 {
        ROWS_FREED_MIN * self.geometry.slots_per_row
    }

    /// Moves up to `most` valid units out of the pool's victim; frees the
    /// block when none is left.
    fn move_units(&mut self, pool: u32, most: u32, work: &mut Vec<RowWork>) {
        let Some(mut victim) = self.pool(pool).victim.take() else {
            return;
        };
        let base = self.geometry.first_slot(pool, victim.block);
        let index = self.geometry.block_index(pool, victim.block);
        let stream = self.collector_stream;
        let mut source = Source {
            next_slot: base + victim.next_slot,
            end_slot: base + self.geometry.slots_per_block,
        };
        let mut moved = 0;
        if self.separation.is_some() {
            let slots = (source.next_slot, source.end_slot);
            (moved, source.next_slot) = self.move_apart(pool, slots, most, work);
        }
        while moved < most {
            let units = self.fill_row(pool, &mut source, most - moved);
            moved += units;
            if self.frontier(pool, stream).is_full(&self.geometry) {
                self.close_row(pool, stream, work);
            } else if source.next_slot == source.end_slot {
                break;
            } else if units == 0 {
                // The next unit does not fit into what is left of the row.
                self.close_row(pool, stream, work);
            }
        }
        self.counts[index] -= moved;
        self.counters.moved_units += u64::from(moved);
        victim.next_slot = source.next_slot - base;
        if self.counts[index] == NOT_CLOSED {
            self.counters.erased_blocks += 1;
            self.reclaim(pool, victim.block);
            let erase = BackgroundWork { bus_ns: 0, array_ns: self.erase_ns, release_bytes: 0 };
            for die in 0..self.geometry.dies_per_pool {
                work.push((self.geometry.die_of_row(pool, die), erase));
            }
        } else {
            self.pool(pool).victim = Some(victim);
        }
    }

    /// Moves valid units of `source` to the row that takes collected units,
    /// until the row is full, `most` are moved or the source is exhausted.
    /// Returns how many. The hot loop of a drive in steady state: what stays
    /// the same over a row is kept out of it.
    fn fill_row(&mut self, pool: u32, source: &mut Source, most: u32) -> u32 {
        let geometry = &self.geometry;
        let row = self.frontier(pool, self.collector_stream).clone();
        let first = self.frontier_slot(pool, &row);
        let frontier = self.pools[pool as usize].frontier_mut(self.collector_stream);
        let mut moved = 0;
        while moved < most {
            let Some(slot) = next_set(&self.valid, source.next_slot, source.end_slot) else {
                source.next_slot = source.end_slot;
                break;
            };
            let source_row = slot / geometry.slots_per_row;
            let stored_bytes = match &self.row_fill {
                None => geometry.unit_bytes,
                Some(fill) => geometry.row_bytes / u32::from(fill[source_row as usize]).max(1),
            };
            if !frontier.has_room(stored_bytes, geometry) {
                break;
            }
            source.next_slot = slot + 1;
            // Owners are read in order, so the map entries that will change
            // are known well ahead.
            let ahead = self.owner[(slot + PREFETCH_SLOTS).min(source.end_slot - 1) as usize];
            prefetch(&self.map[ahead as usize]);
            let unit = self.owner[slot as usize];
            let target = first + moved;
            self.map[unit as usize] = target + 1;
            self.owner[target as usize] = unit;
            self.valid[slot as usize / 64] &= !(1 << (slot % 64));
            self.valid[target as usize / 64] |= 1 << (target % 64);
            frontier.add_moved(stored_bytes, source_row);
            moved += 1;
        }
        self.counts[geometry.block_index(pool, row.block)] += moved;
        moved
    }

    /// What each unit of a row takes in another one.
    #[inline]
    pub(super) fn stored_bytes_of_row(&self, row: u32) -> u32 {
        match &self.row_fill {
            None => self.geometry.unit_bytes,
            Some(fill) => self.geometry.row_bytes / u32::from(fill[row as usize]).max(1),
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
        match (stream, &mut self.hot) {
            (Stream::Host, _) => &mut self.host,
            (Stream::Collector, _) => &mut self.collector,
            (Stream::HotHost, Some(hot)) => &mut hot.host,
            (Stream::HotCollector, Some(hot)) => &mut hot.collector,
            (_, None) => unreachable!("the drive does not separate hot data"),
        }
    }
}
