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
mod pool;
mod settling;
mod steady_state;
mod streams;
mod unsettled;
mod victim;
mod wear;
mod writing;

use super::flash::{BackgroundWork, ProgramTimes};
use super::specification::Specification;
use crate::table::{Table, prefetch};
use frontier::Frontier;
use geometry::Geometry;
use pool::{Pool, Stream};
use serde::{Deserialize, Serialize};
pub use settling::Settling;
use std::ops::Range;
pub use steady_state::Traffic;
use streams::Separation;
use unsettled::Unsettled;
use victim::{NOT_CLOSED, VictimRule};
pub use wear::EraseCounts;
use wear::Wear;

/// Work for a die that a change of the map brought about.
pub type RowWork = (u32, BackgroundWork);

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
    /// One bit per slot: the collector has put its unit there. Only drives whose collector
    /// fills the host's rows.
    copied: Option<Table<u64>>,
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
        let shares = collection.shares_stream();
        let wear = Wear::new(specification, geometry.pools, geometry.blocks, seed);
        let mut translation = Self {
            map: Table::zeroed(units as usize),
            owner: Table::zeroed(slots),
            valid: Table::zeroed(slots.div_ceil(64)),
            row_fill: specification.stored_sizes().vary().then(|| Table::zeroed(rows)),
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
            unsettled: Unsettled::new(specification.lanes()),
            copied: shares.then(|| Table::zeroed(slots.div_ceil(64))),
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
        if let Some(copied) = &mut used.copied {
            copied.clear();
        }
        (self.map, self.owner) = (used.map, used.owner);
        (self.valid, self.row_fill) = (used.valid, used.row_fill);
        self.copied = used.copied;
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

    /// The plane of a slot, of so many that its die reads at a time.
    #[inline]
    pub fn plane(&self, slot: u32, planes: u32) -> u32 {
        self.geometry.plane_of_slot(slot, planes)
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
