//! Where things are: units, slots, rows, blocks, pools and dies.
//!
//! A slot holds one mapping unit. A row is what one program operation writes:
//! a page on each plane of a die, or on one where planes work one at a time. A block is what is erased together, and a
//! pool the dies that it spans: one die, or all dies of a superblock, whose
//! rows go round the dies. What programs by itself is called a die here, though
//! it may be a plane that has blocks of its own (a lane of the specification).

use crate::page_mapped::specification::Specification;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Sizes derived from the specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Rows of the drive, where compression lets them hold different numbers of
    /// units; 0 elsewhere.
    rows_that_vary: u32,
    by_die: Divisor,
    by_row: Divisor,
    by_block: Divisor,
    by_pool: Divisor,
}

/// A divisor that is often a power of two: a shift is several times as fast,
/// and so is a product with the reciprocal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Divisor {
    PowerOfTwo(u32),
    /// 2^64 - 1 over the divisor d, rounded down: too small by less than d of
    /// 2^64 / d. So `(number + 1) / d` comes out too small, by at most 1 / d, and
    /// lies between `number / d` and the next multiple of 1 / d.
    Reciprocal(u64),
}

impl Divisor {
    fn new(value: u32) -> Self {
        if value.is_power_of_two() {
            Self::PowerOfTwo(value.trailing_zeros())
        } else {
            Self::Reciprocal(u64::MAX / u64::from(value))
        }
    }

    #[inline]
    fn divide(self, number: u32) -> u32 {
        match self {
            Self::PowerOfTwo(shift) => number >> shift,
            Self::Reciprocal(reciprocal) => {
                (((u128::from(number) + 1) * u128::from(reciprocal)) >> 64) as u32
            }
        }
    }

    /// Divides many numbers; powers of two with vector instructions.
    #[inline]
    fn divide_all(self, numbers: &[u32], quotients: &mut [u32]) {
        match self {
            Self::PowerOfTwo(shift) => {
                for (quotient, number) in quotients.iter_mut().zip(numbers) {
                    *quotient = number >> (shift % u32::BITS);
                }
            }
            Self::Reciprocal(_) => {
                for (quotient, &number) in quotients.iter_mut().zip(numbers) {
                    *quotient = self.divide(number);
                }
            }
        }
    }
}

impl Geometry {
    /// # Panics
    /// When the drive has 2^32 slots or more (16 TiB of 4 KiB units).
    pub fn new(specification: &Specification) -> Self {
        let unit_bytes = specification.translation.unit.0 as u32;
        let row_bytes = specification.flash.row_bytes() as u32;
        let density = unit_bytes / specification.stored_sizes().least();
        let slots_per_row = row_bytes / unit_bytes * density;
        let dies_per_pool = specification.lanes_per_pool();
        let pools = specification.lanes() / dies_per_pool;
        let blocks = specification.blocks_per_lane();
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
            slots_per_page: (slots_per_row / specification.flash.planes_together()).max(1),
            slots_per_block,
            slots_per_pool: slots_per_block * blocks,
            unit_bytes,
            row_bytes,
            stored_bytes_min: unit_bytes.div_ceil(density),
            rows_that_vary: if density > 1 { slots as u32 / slots_per_row } else { 0 },
            by_die: Divisor::new(dies_per_pool),
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

    /// The rows of slots, as many as there are `rows`.
    #[inline]
    pub fn rows_of_slots(&self, slots: &[u32], rows: &mut [u32]) {
        self.by_row.divide_all(slots, rows);
    }

    /// A slot's place in the table of what slots hold. On drives that compress
    /// all rows' first slots come first, then all second ones: those that only
    /// data which compresses well fills cost no memory before.
    #[inline]
    pub fn owner_index(&self, slot: u32) -> usize {
        if self.rows_that_vary == 0 {
            return slot as usize;
        }
        let row = self.row_of_slot(slot);
        let in_row = slot - row * self.slots_per_row;
        (in_row * self.rows_that_vary + row) as usize
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

    /// The plane of a slot, of those that its die reads at a time: where its page is
    /// in the row, or, of rows on one plane, where its block is.
    #[inline]
    pub fn plane_of_slot(&self, slot: u32, planes: u32) -> u32 {
        match self.slots_per_page < self.slots_per_row {
            true => slot % self.slots_per_row / self.slots_per_page,
            false => self.block_of_slot(slot) % self.blocks % planes,
        }
    }

    /// The die of a block's row.
    #[inline]
    pub fn die_of_row(&self, pool: u32, row: u32) -> u32 {
        pool * self.dies_per_pool + row - self.page_of_row(row) * self.dies_per_pool
    }

    /// The page of its die's block that a row is on.
    #[inline]
    pub fn page_of_row(&self, row: u32) -> u32 {
        self.by_die.divide(row)
    }

    /// A block's place in tables over all blocks.
    #[inline]
    pub fn block_index(&self, pool: u32, block: u32) -> usize {
        (pool * self.blocks + block) as usize
    }

    /// A block's rows, counted over the whole drive.
    pub fn rows_of_block(&self, pool: u32, block: u32) -> Range<u32> {
        let first = self.block_index(pool, block) as u32 * self.rows_per_block;
        first..first + self.rows_per_block
    }

    /// The dies of a pool.
    pub fn dies_of_pool(&self, pool: u32) -> Range<u32> {
        pool * self.dies_per_pool..(pool + 1) * self.dies_per_pool
    }

    /// A block's first slot.
    #[inline]
    pub fn first_slot(&self, pool: u32, block: u32) -> u32 {
        pool * self.slots_per_pool + block * self.slots_per_block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn divisors_divide(number: u32, value in 1u32.., multiple in 0u32..) {
            let check = |number: u32, value: u32| {
                prop_assert_eq!(Divisor::new(value).divide(number), number / value);
                Ok(())
            };
            check(number, value)?;
            check(number, value % 5_000 + 1)?;
            // Quotients change at multiples.
            let exact = multiple / value * value;
            check(exact, value)?;
            check(exact.wrapping_sub(1), value)?;
        }
    }
}
