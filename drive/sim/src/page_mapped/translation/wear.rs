//! Wear: how often each block was erased, which blocks are bad, and what evens
//! wear out.
//!
//! Blocks that are bad from the factory, and blocks that have been erased as
//! often as they endure, are never used again: the spare area shrinks by them.
//! A pool that could not do without one more block ends the drive's life for
//! writes. Of a superblock all dies' blocks go together.
//!
//! Left out: read disturb, retention, and blocks that wear unequally.

use super::Translation;
use super::pool::Stream;
use super::victim::NOT_CLOSED;
use crate::page_mapped::specification::{Levelling, Specification};
use crate::validity::{Checked, ensure, same};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Erases of a block that a state may have.
const ERASES_MAX: u32 = 1 << 31;

/// The wear of all blocks. It outlives a secure erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wear {
    /// Erases of each block, all pools in a row.
    erases: Vec<u32>,
    /// Whether each block is bad.
    bad: Vec<bool>,
    /// Blocks of each pool that are not bad.
    good_blocks: Vec<u32>,
    /// Good blocks without which a pool does not work.
    needed_blocks: u32,
    /// Erases after which a block is bad.
    endurance: u32,
    levelling: Option<Levelling>,
    /// Static levelling: erases that a block may lag behind.
    spread_max: u32,
    read_only: bool,
}

/// Erases of the blocks that are not bad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EraseCounts {
    /// Of the block with the fewest.
    pub min: u32,
    /// Mean over blocks.
    pub mean: f64,
    /// Of the block with the most.
    pub max: u32,
}

impl Wear {
    /// Blocks that were never erased. `seed` decides which ones are bad from
    /// the factory.
    pub fn new(specification: &Specification, pools: u32, blocks: u32, seed: u64) -> Self {
        let wear = specification.wear.as_ref();
        let bad_blocks = blocks - specification.good_blocks_per_pool();
        let mut bad = vec![false; (pools * blocks) as usize];
        // Not the sequence that draws victims.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
        for pool in 0..pools {
            for _ in 0..bad_blocks {
                loop {
                    let draw = u64::from(random.next_u32()) * u64::from(blocks);
                    let index = (pool * blocks) as usize + (draw >> 32) as usize;
                    if !std::mem::replace(&mut bad[index], true) {
                        break;
                    }
                }
            }
        }
        Self {
            erases: vec![0; bad.len()],
            bad,
            good_blocks: vec![blocks - bad_blocks; pools as usize],
            needed_blocks: specification.needed_blocks_per_pool(),
            endurance: wear.and_then(|w| w.endurance.as_ref()).map_or(u32::MAX, |e| e.value),
            levelling: wear.and_then(|w| w.levelling.as_ref()).map(|levelling| levelling.value),
            spread_max: wear.and_then(|w| w.spread_max.as_ref()).map_or(u32::MAX, |s| s.value),
            read_only: false,
        }
    }

    /// Fails unless loaded wear can go on as that of a drive that was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self {
            erases,
            bad,
            good_blocks,
            needed_blocks,
            endurance,
            levelling,
            spread_max,
            read_only: _,
        } = self;
        same!(made; needed_blocks, endurance, levelling, spread_max);
        ensure(
            erases.len() == made.erases.len()
                && bad.len() == made.bad.len()
                && good_blocks.len() == made.good_blocks.len(),
            "the wear of the blocks",
        )?;
        ensure(erases.iter().all(|&erases| erases < ERASES_MAX), "the erases of a block")?;
        let blocks = bad.len() / good_blocks.len();
        for (&good, bad) in good_blocks.iter().zip(bad.chunks(blocks)) {
            let counted = bad.iter().filter(|&&bad| !bad).count();
            ensure(good as usize == counted && good >= *needed_blocks, "the good blocks")?;
        }
        Ok(())
    }

    /// Whether the drive takes no more writes.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether its blocks can wear out.
    #[inline]
    pub fn ends(&self) -> bool {
        self.endurance < u32::MAX
    }

    /// Whether a block is bad.
    pub fn is_bad(&self, index: usize) -> bool {
        self.bad[index]
    }

    /// Bad blocks of the drive.
    pub fn bad_blocks(&self) -> u32 {
        self.bad.len() as u32 - self.good_blocks.iter().sum::<u32>()
    }

    /// Erases so far.
    pub fn erase_counts(&self) -> EraseCounts {
        let good = || self.erases.iter().zip(&self.bad).filter(|(_, bad)| !**bad).map(|(n, _)| *n);
        let blocks: u32 = self.good_blocks.iter().sum();
        EraseCounts {
            min: good().min().unwrap_or(0),
            mean: good().map(f64::from).sum::<f64>() / f64::from(blocks.max(1)),
            max: good().max().unwrap_or(0),
        }
    }

    /// Counts an erase of a block. Returns whether that was its last one. A
    /// drive that takes no more writes keeps its blocks, to finish what it has
    /// begun.
    fn wears_out(&mut self, pool: u32, index: usize) -> bool {
        self.erases[index] += 1;
        let worn = self.erases[index] >= self.endurance && !self.read_only;
        self.read_only |= worn && self.good_blocks[pool as usize] == self.needed_blocks;
        worn && !self.read_only
    }

    fn retire(&mut self, pool: u32, index: usize) {
        self.good_blocks[pool as usize] -= 1;
        self.bad[index] = true;
    }

    /// Which of a pool's free blocks to write next: the host gets the least
    /// worn, what is collected, which is likely to stay, the most worn.
    fn choose_free(&self, free: &VecDeque<u32>, first_index: usize, collected: bool) -> usize {
        let erases = |place: &usize| self.erases[first_index + free[*place] as usize];
        let places = 0..free.len();
        let place = if collected { places.max_by_key(erases) } else { places.min_by_key(erases) };
        place.unwrap_or(0)
    }
}

impl Translation {
    /// Erases a block of a pool. It is free again, or bad if it is worn out;
    /// but a pool that cannot do without it just now uses it once more.
    pub(super) fn reclaim(&mut self, pool: u32, block: u32) {
        let index = self.geometry.block_index(pool, block);
        if self.wear.wears_out(pool, index) && self.can_spare_a_block(pool) {
            self.wear.retire(pool, index);
        } else {
            self.pool(pool).free.push_back(block);
        }
    }

    /// Whether the collector can go on with one block less: it has free ones
    /// for what it moves, and what is valid leaves it others to empty.
    fn can_spare_a_block(&self, pool: u32) -> bool {
        let first = self.geometry.block_index(pool, 0);
        let counts = &self.counts[first..first + self.geometry.blocks as usize];
        let valid: u64 = counts.iter().map(|&count| u64::from(count & !NOT_CLOSED)).sum();
        let data_blocks = valid.div_ceil(u64::from(self.geometry.slots_per_block)) as u32;
        let left = self.wear.good_blocks[pool as usize] - 1;
        let open = self.pools[pool as usize].frontiers.len();
        let kept = self.start_free_blocks + self.burst_blocks + open;
        self.pools[pool as usize].free.len() + 1 >= self.free_blocks_kept
            && data_blocks + kept as u32 <= left
    }

    /// Takes a free block of a pool for a stream.
    pub(super) fn take_free_block(&mut self, pool: u32, stream: Stream) -> u32 {
        let collected = stream.is_collected();
        let free = &mut self.pools[pool as usize].free;
        let block = if self.wear.levelling.is_some() {
            let first_index = self.geometry.block_index(pool, 0);
            let place = self.wear.choose_free(free, first_index, collected);
            free.remove(place)
        } else {
            free.pop_front()
        };
        block.expect("one block is always left to write to")
    }

    /// Static levelling: of the blocks of a pool that lag too far behind the
    /// most worn one, the one that has kept its data for longest, if all blocks
    /// of the drive could have been filled since. At most every second victim, as
    /// it frees next to nothing.
    pub(super) fn lagging_block(&self, pool: u32) -> Option<u32> {
        if self.wear.spread_max == u32::MAX || self.pools[pool as usize].levelled {
            return None;
        }
        let first = self.geometry.block_index(pool, 0);
        let blocks = first..first + self.geometry.blocks as usize;
        let most = self.wear.erases[blocks.clone()].iter().max()?;
        let lags = |index: &usize| {
            self.counts[*index] < NOT_CLOSED
                && most - self.wear.erases[*index] > self.wear.spread_max
        };
        let oldest = blocks.filter(lags).min_by_key(|&index| self.closed_at[index])?;
        let age = self.blocks_closed - self.closed_at[oldest];
        (age > self.counts.len() as u64).then_some((oldest - first) as u32)
    }

    /// The wear after a secure erase: every block that held data was erased
    /// once more.
    pub(in crate::page_mapped) fn wear_after_purge(&self) -> Wear {
        let mut wear = self.wear.clone();
        for (pool, space) in (0..).zip(&self.pools) {
            let mut clean = vec![false; self.geometry.blocks as usize];
            for &block in &space.free {
                clean[block as usize] = true;
            }
            for frontier in &space.frontiers {
                clean[frontier.block as usize] = frontier.row == 0 && frontier.slots == 0;
            }
            for (block, clean) in (0..).zip(clean) {
                let index = self.geometry.block_index(pool, block);
                if !clean && !wear.bad[index] && wear.wears_out(pool, index) {
                    wear.retire(pool, index);
                }
            }
        }
        wear
    }

    /// Makes the wear of the drive's blocks another one. Only while they are
    /// empty.
    pub(in crate::page_mapped) fn set_wear(&mut self, wear: Wear) {
        self.wear = wear;
        for pool in 0..self.geometry.pools {
            self.pools[pool as usize] = self.erased_pool(pool);
        }
    }
}
