//! Page mapping with garbage collection.
//!
//! Logical units map to slots of rows (see [`geometry`]). The host's units fill
//! one row after another, pool by pool; collected units fill rows of their own
//! in the pool that they come from, or share the host's. The map changes at
//! once; the time that this takes is handed out as [`RowWork`] for the dies.
//!
//! In a superblock a collected row's reads are charged to the die that programs
//! it: over a block every die reads as much as it programs.

mod bits;
mod collector;
mod consistency;
mod frontier;
mod geometry;
mod settling;
mod steady_state;
mod streams;
mod unsettled;
mod victim;
mod wear;

use super::content::StoredSizes;
use super::flash::{BackgroundWork, ProgramTimes};
use super::specification::Specification;
use crate::link::transfer_ns;
use crate::table::{Table, prefetch};
use frontier::Frontier;
use geometry::Geometry;
use serde::{Deserialize, Serialize};
pub use settling::Settling;
use std::collections::VecDeque;
use std::ops::Range;
pub use steady_state::Traffic;
use streams::Separation;
use unsettled::Unsettled;
use victim::{NOT_CLOSED, Victim, VictimRule};
pub use wear::EraseCounts;
use wear::Wear;

/// Work for a die that a change of the map brought about.
pub type RowWork = (u32, BackgroundWork);

/// Who fills a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stream {
    Host,
    Collector,
    // These only on drives that write hot data apart from the rest.
    HotHost,
    HotCollector,
}

impl Stream {
    /// Whether only the collector fills its rows.
    fn is_collected(self) -> bool {
        matches!(self, Self::Collector | Self::HotCollector)
    }
}

/// One pool's blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pool {
    free: VecDeque<u32>,
    /// The open rows, by [`Stream`].
    frontiers: Box<[Frontier]>,
    victim: Option<Victim>,
    /// Units written since the pool last collected, and units that it may move
    /// before the next write.
    units_written: u32,
    credit: f64,
    /// Bytes that the collector put into rows that were the host's turn.
    turn_taken_bytes: u32,
    /// Collects: free blocks ran low, and are not yet plenty again.
    bursting: bool,
    /// It is collecting because it ran out of free blocks.
    collecting: bool,
    /// Its last victim was chosen to level wear.
    levelled: bool,
    /// Its blocks are so full of valid units that collecting frees next to
    /// nothing.
    crowded: bool,
}

/// What translation did since the drive was made or erased.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TranslationCounters {
    /// Units written for the host.
    pub host_units: u64,
    /// Units moved by the collector.
    pub moved_units: u64,
    /// Rows programmed, full or not.
    pub programmed_rows: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
    /// Bytes of rows that were programmed without data, to have the rest of
    /// them on flash.
    pub padded_bytes: u64,
}

/// The page map and its garbage collector.
#[derive(Debug, Serialize, Deserialize)]
pub struct Translation {
    geometry: Geometry,
    /// Logical unit to slot + 1; 0 is unmapped.
    map: Table<u32>,
    /// Slot to logical unit, by [`Geometry::owner_index`].
    #[serde(skip)]
    owner: Table<u32>,
    /// One bit per slot.
    valid: Table<u64>,
    /// Compressing drives: units of each row, as many as it would hold if none
    /// of its room were wasted.
    row_fill: Option<Table<u8>>,
    /// Valid units of each block, all pools in a row.
    counts: Vec<u32>,
    /// When each block was filled, in blocks filled before it.
    closed_at: Vec<u64>,
    blocks_closed: u64,
    pools: Vec<Pool>,
    /// Pool that takes the host's units now.
    host_pool: u32,
    /// Where collected units go: rows of their own, or the host's.
    collector_stream: Stream,
    rule: VictimRule,
    /// Only drives that write hot data apart from the rest.
    separation: Option<Separation>,
    wear: Wear,
    /// Free blocks below which a pool collects whatever else it has to do.
    free_blocks_kept: usize,
    start_free_blocks: usize,
    burst_blocks: usize,
    burst_pace: f64,
    read_ns: u32,
    program_times: ProgramTimes,
    erase_ns: u32,
    bus_rate: u64,
    unsettled: Unsettled,
    counters: TranslationCounters,
}

impl Translation {
    /// An empty, erased drive. `seed` is for random choices of victims.
    ///
    /// # Panics
    /// When the drive has 2^32 slots or more (16 TiB of 4 KiB units).
    pub fn new(specification: &Specification, seed: u64) -> Self {
        let geometry = Geometry::new(specification);
        let collection = &specification.garbage_collection;
        let units = specification.capacity.user.0 / specification.translation.unit.0;
        let slots = geometry.slots();
        let rows = slots / geometry.slots_per_row as usize;
        let blocks = (geometry.pools * geometry.blocks) as usize;
        let shares = collection.shared_stream.as_ref().is_some_and(|shared| shared.value);
        let wear = Wear::new(specification, geometry.pools, geometry.blocks, seed);
        let mut translation = Self {
            map: Table::zeroed(units as usize),
            owner: Table::zeroed(slots),
            valid: Table::zeroed(slots.div_ceil(64)),
            row_fill: StoredSizes::new(specification).vary().then(|| Table::zeroed(rows)),
            counts: vec![NOT_CLOSED; blocks],
            closed_at: vec![0; blocks],
            blocks_closed: 0,
            pools: Vec::new(),
            host_pool: 0,
            collector_stream: if shares { Stream::Host } else { Stream::Collector },
            rule: VictimRule::new(collection, seed),
            separation: Separation::new(specification, units as usize),
            wear,
            free_blocks_kept: specification.free_blocks_min() as usize,
            start_free_blocks: collection.start_free_blocks.value as usize,
            burst_blocks: collection.burst_blocks.value as usize,
            burst_pace: collection.burst_pace.as_ref().map_or(f64::INFINITY, |pace| pace.value),
            read_ns: specification.flash.read_time.0 as u32,
            program_times: ProgramTimes::new(&specification.flash),
            erase_ns: specification.flash.erase_time.0 as u32,
            bus_rate: specification.flash.bus_rate.0,
            unsettled: Unsettled::new(specification.flash.dies.value),
            counters: TranslationCounters::default(),
            geometry,
        };
        translation.pools =
            (0..translation.geometry.pools).map(|pool| translation.erased_pool(pool)).collect();
        translation
    }

    /// Takes over what outlives a secure erase of `used`: the wear of the blocks,
    /// and the memory of the tables. Only while nothing was written.
    pub fn inherit(&mut self, mut used: Self) {
        self.set_wear(used.wear_after_purge());
        used.map.clear();
        used.valid.clear();
        if let Some(fill) = &mut used.row_fill {
            fill.clear();
        }
        (self.map, self.owner) = (used.map, used.owner);
        (self.valid, self.row_fill) = (used.valid, used.row_fill);
    }

    /// A pool whose good blocks are all empty.
    fn erased_pool(&self, pool: u32) -> Pool {
        let good = |&block: &u32| !self.wear.is_bad(self.geometry.block_index(pool, block));
        let free = (0..self.geometry.blocks).filter(good).collect();
        Pool::erased(free, self.separation.is_some())
    }

    /// What was done so far.
    pub fn counters(&self) -> TranslationCounters {
        self.counters
    }

    /// Erases of the blocks.
    pub fn erase_counts(&self) -> EraseCounts {
        self.wear.erase_counts()
    }

    /// Free blocks of the pool that has the fewest.
    pub fn free_blocks_min(&self) -> u32 {
        self.pools.iter().map(|pool| pool.free.len() as u32).min().unwrap_or(0)
    }

    /// Blocks that are bad, from the factory or worn out.
    pub fn bad_blocks(&self) -> u32 {
        self.wear.bad_blocks()
    }

    /// Whether too few good blocks are left to take writes.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.wear.is_read_only()
    }

    /// Whether the drive may come to that.
    #[inline]
    pub fn wears_out(&self) -> bool {
        self.wear.ends()
    }

    /// The slot that holds a unit.
    #[inline]
    pub fn slot(&self, unit: u32) -> Option<u32> {
        self.map[unit as usize].checked_sub(1)
    }

    /// The die of a slot.
    #[inline]
    pub fn die(&self, slot: u32) -> u32 {
        self.geometry.die_of_slot(slot)
    }

    /// The pool that a die is in.
    #[inline]
    pub fn pool_of_die(&self, die: u32) -> u32 {
        die / self.geometry.dies_per_pool
    }

    /// The slots of the page that a slot is in, which are read together.
    #[inline]
    pub fn slots_of_page(&self, slot: u32) -> Range<u32> {
        let slots_per_page = self.geometry.slots_per_page;
        let first = slot - slot % slots_per_page;
        first..first + slots_per_page
    }

    /// Brings the map's entry for a unit closer to the processor.
    #[inline]
    pub fn prefetch_map(&self, unit: u32) {
        prefetch(&self.map[unit as usize]);
    }

    /// Brings closer what a write of the unit will invalidate. Its map entry
    /// has been prefetched before.
    #[inline]
    pub fn prefetch_slot(&self, unit: u32) {
        if let Some(slot) = self.slot(unit) {
            prefetch(&self.valid[slot as usize / 64]);
            prefetch(&self.counts[self.geometry.block_of_slot(slot) as usize]);
        }
    }

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
    fn write_to(&mut self, stream: Stream, unit: u32, stored_bytes: u32, work: &mut Vec<RowWork>) {
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
    fn next_pool(&self, pool: u32) -> u32 {
        if pool + 1 == self.geometry.pools { 0 } else { pool + 1 }
    }

    /// The pool that takes the units of a host's stream now.
    #[inline(always)]
    fn write_pool(&mut self, stream: Stream) -> &mut u32 {
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
    fn close_host_row(&mut self, stream: Stream, work: &mut Vec<RowWork>) {
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
    fn emptiest_pool(&self) -> u32 {
        let valid = |&pool: &u32| -> u64 {
            let first = self.geometry.block_index(pool, 0);
            let counts = &self.counts[first..first + self.geometry.blocks as usize];
            counts.iter().map(|&count| u64::from(count & !NOT_CLOSED)).sum()
        };
        (0..self.geometry.pools).min_by_key(valid).unwrap_or(0)
    }

    /// Programs a stream's open row and opens the next one.
    fn close_row(&mut self, pool: u32, stream: Stream, work: &mut Vec<RowWork>) {
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
    fn program(&mut self, pool: u32, row: &Frontier, work: &mut Vec<RowWork>) {
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
    fn close_block(&mut self, pool: u32, stream: Stream, block: u32, work: &mut Vec<RowWork>) {
        let index = self.geometry.block_index(pool, block);
        self.counts[index] &= !NOT_CLOSED;
        self.closed_at[index] = self.blocks_closed;
        self.blocks_closed += 1;
        let next = self.take_free_block(pool, stream);
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

    /// The unit that a slot holds or held last.
    #[inline]
    fn owner(&self, slot: u32) -> u32 {
        self.owner[self.geometry.owner_index(slot)]
    }

    #[inline]
    fn occupy(&mut self, slot: u32, unit: u32) {
        self.owner[self.geometry.owner_index(slot)] = unit;
        self.valid[slot as usize / 64] |= 1 << (slot % 64);
        self.counts[self.geometry.block_of_slot(slot) as usize] += 1;
    }

    #[inline]
    fn invalidate(&mut self, slot: u32) {
        self.valid[slot as usize / 64] &= !(1 << (slot % 64));
        self.counts[self.geometry.block_of_slot(slot) as usize] -= 1;
    }

    #[inline]
    fn pool(&mut self, pool: u32) -> &mut Pool {
        &mut self.pools[pool as usize]
    }

    #[inline]
    fn frontier(&self, pool: u32, stream: Stream) -> &Frontier {
        &self.pools[pool as usize].frontiers[stream as usize]
    }

    #[inline]
    fn frontier_row(&self, pool: u32, frontier: &Frontier) -> u32 {
        (pool * self.geometry.blocks + frontier.block) * self.geometry.rows_per_block + frontier.row
    }

    #[inline]
    fn frontier_slot(&self, pool: u32, frontier: &Frontier) -> u32 {
        self.frontier_row(pool, frontier) * self.geometry.slots_per_row + frontier.slots
    }
}

impl Pool {
    /// A pool of empty blocks.
    fn erased(mut free: VecDeque<u32>, separates: bool) -> Self {
        let streams = if separates { 4 } else { 2 };
        let mut open = |_| {
            let block = free.pop_front().expect("a pool has blocks to write to");
            Frontier::at_start_of(block)
        };
        let frontiers = (0..streams).map(&mut open).collect();
        Self {
            free,
            frontiers,
            victim: None,
            units_written: 0,
            turn_taken_bytes: 0,
            credit: 0.0,
            bursting: false,
            collecting: false,
            levelled: false,
            crowded: false,
        }
    }
}
