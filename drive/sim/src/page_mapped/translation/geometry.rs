//! Where things are: units, slots, rows, blocks, pools and dies.
//!
//! A slot holds one mapping unit. A row is what one program operation writes:
//! a page on each plane of a die, or on one where planes work one at a time. A block is what is erased together, and a
//! pool the dies that it spans: one die, or all dies of a superblock, whose
//! rows go round the dies.

use crate::page_mapped::content::StoredSizes;
use crate::page_mapped::specification::Specification;
use serde::{Deserialize, Serialize};

/// Sizes derived from the specification.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Geometry {
    pub pools: u32,
    pub dies_per_pool: u32,
    /// Blocks of a pool.
    pub blocks: u32,
    pub rows_per_block: u32,
    pub slots_per_row: u32,
    pub slots_per_page: u32,
    pub slots_per_block: u32,
    pub slots_per_pool: u32,
    pub unit_bytes: u32,
    pub row_bytes: u32,
    /// Least room that another unit can use in a row.
    pub stored_bytes_min: u32,
    by_row: Divisor,
    by_block: Divisor,
    by_pool: Divisor,
}

/// A divisor that is often a power of two, when a shift is several times as
/// fast.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Divisor {
    value: u32,
    shift: Option<u32>,
}

impl Divisor {
    fn new(value: u32) -> Self {
        Self { value, shift: value.is_power_of_two().then(|| value.trailing_zeros()) }
    }

    #[inline]
    fn divide(self, number: u32) -> u32 {
        match self.shift {
            Some(shift) => number >> shift,
            None => number / self.value,
        }
    }
}

impl Geometry {
    /// # Panics
    /// When the drive has 2^32 slots or more (16 TiB of 4 KiB units).
    pub fn new(specification: &Specification) -> Self {
        let unit_bytes = specification.translation.unit.0 as u32;
        let row_bytes = specification.row_bytes() as u32;
        let density = unit_bytes / StoredSizes::new(specification).least();
        let slots_per_row = row_bytes / unit_bytes * density;
        let dies_per_pool = specification.dies_per_pool();
        let pools = specification.flash.dies.value / dies_per_pool;
        let blocks = specification.blocks_per_die();
        let rows_per_block = specification.flash.pages_per_block.value * dies_per_pool;
        let slots_per_block = slots_per_row * rows_per_block;
        let slots = u64::from(pools) * u64::from(blocks) * u64::from(slots_per_block);
        assert!(slots < u64::from(u32::MAX), "too many mapping slots for 32 bits");
        Self {
            pools,
            dies_per_pool,
            blocks,
            rows_per_block,
            slots_per_row,
            slots_per_page: (slots_per_row / specification.planes_together()).max(1),
            slots_per_block,
            slots_per_pool: slots_per_block * blocks,
            unit_bytes,
            row_bytes,
            stored_bytes_min: unit_bytes.div_ceil(density),
            by_row: Divisor::new(slots_per_row),
            by_block: Divisor::new(slots_per_block),
            by_pool: Divisor::new(slots_per_block * blocks),
        }
    }

    /// The row of a slot, counted over the whole drive.
    #[inline]
    pub fn row_of_slot(&self, slot: u32) -> u32 {
        self.by_row.divide(slot)
    }

    /// The block of a slot, counted over the whole drive.
    #[inline]
    pub fn block_of_slot(&self, slot: u32) -> u32 {
        self.by_block.divide(slot)
    }

    /// Bytes that each unit takes in a row that holds `units`.
    #[inline]
    pub fn stored_bytes(&self, units: u8) -> u32 {
        self.row_bytes / u32::from(units).max(1)
    }

    /// All slots of the drive.
    pub fn slots(&self) -> usize {
        self.pools as usize * self.slots_per_pool as usize
    }

    /// The die of a slot.
    #[inline]
    pub fn die_of_slot(&self, slot: u32) -> u32 {
        let pool = self.by_pool.divide(slot);
        if self.dies_per_pool == 1 {
            return pool;
        }
        self.die_of_row(pool, slot % self.slots_per_block / self.slots_per_row)
    }

    /// The die of a block's row.
    #[inline]
    pub fn die_of_row(&self, pool: u32, row: u32) -> u32 {
        pool * self.dies_per_pool + row % self.dies_per_pool
    }

    /// A block's place in tables over all blocks.
    #[inline]
    pub fn block_index(&self, pool: u32, block: u32) -> usize {
        (pool * self.blocks + block) as usize
    }

    /// A block's first slot.
    #[inline]
    pub fn first_slot(&self, pool: u32, block: u32) -> u32 {
        pool * self.slots_per_pool + block * self.slots_per_block
    }
}

/// Brings a place in memory closer to the processor.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
