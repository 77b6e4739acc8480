//! The steady state of uniform random writes, entered at once.
//!
//! Under greedy collection a block's valid units decay at a rate proportional
//! to their number, so the fractions of blocks by valid count follow F/i above
//! the victim's level (Desnoyers, SYSTOR 2012). A drive laid out so is in
//! steady state from the first write on, without the drive writes that it
//! takes to get there.

use super::Translation;
use super::victim::NOT_CLOSED;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

impl Translation {
    /// Forgets everything and lays all units out as endless uniform random
    /// writes of incompressible data leave them under greedy collection.
    /// `seed` decides which unit is where.
    ///
    /// # Errors
    /// A drive that compresses: what it holds depends on the data.
    pub fn enter_steady_state(&mut self, seed: u64) -> Result<(), String> {
        if self.row_fill.is_some() {
            return Err("the steady state of a drive that compresses depends on its data".into());
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let units = self.map.len() as u32;
        let mut shuffled = Permutation::new(units, &mut random);
        self.valid.fill(0);
        self.counts.fill(NOT_CLOSED);
        let pools = self.geometry.pools;
        let mut placed = 0;
        for pool in 0..pools {
            let mut space = self.erased_pool(pool);
            let share = units / pools + u32::from(pool < units % pools);
            let filled = space.free.split_off(self.start_free_blocks);
            self.pools[pool as usize] = space;
            let levels = levels(filled.len() as u32, self.geometry.slots_per_block, share);
            // Which block is how old must not depend on its place.
            let mut blocks: Vec<u32> = filled.into();
            for index in (1..blocks.len()).rev() {
                blocks.swap(index, below(&mut random, index as u64 + 1) as usize);
            }
            for (age, (&block, &valid)) in blocks.iter().zip(&levels).enumerate() {
                let index = self.geometry.block_index(pool, block);
                // The fewer valid units, the longer ago it was filled.
                self.closed_at[index] = age as u64;
                self.counts[index] = valid;
                let first = self.geometry.first_slot(pool, block);
                let mut left = valid;
                for offset in 0..self.geometry.slots_per_block {
                    let slots_left = u64::from(self.geometry.slots_per_block - offset);
                    if below(&mut random, slots_left) >= u64::from(left) {
                        continue;
                    }
                    left -= 1;
                    let slot = first + offset;
                    let unit = shuffled.next();
                    self.map[unit as usize] = slot + 1;
                    self.owner[slot as usize] = unit;
                    self.valid[slot as usize / 64] |= 1 << (slot % 64);
                }
                placed += valid;
            }
        }
        assert_eq!(placed, units, "every unit has a place");
        self.blocks_closed = u64::from(self.geometry.blocks);
        Ok(())
    }
}

/// Valid units of each of `blocks` blocks of `slots` slots that hold `units`
/// units in all, ascending.
fn levels(blocks: u32, slots: u32, units: u32) -> Vec<u32> {
    let (n, b) = (f64::from(blocks), f64::from(slots));
    let harmonic: Vec<f64> = std::iter::once(0.0)
        .chain((1..=slots).scan(0.0, |sum, i| {
            *sum += 1.0 / f64::from(i);
            Some(*sum)
        }))
        .collect();
    // Exact mean field: levels above j + 1 weigh 1/i, level j + 1 the part p
    // of that, for a victim's level x between j and j + 1.
    let total = |x: f64| {
        let j = x.floor();
        harmonic[slots as usize] - harmonic[j as usize + 1] + (1.0 - (x - j)) / (j + 1.0)
    };
    let (mut low, mut high) = (0.0, b - 1.0);
    for _ in 0..100 {
        let x = 0.5 * (low + high);
        // Mean valid units of a block; it grows with the victim's level.
        if (b - x) / total(x) < f64::from(units) / n {
            low = x;
        } else {
            high = x;
        }
    }
    let (x, sum) = (low, total(low));
    let first = x.floor() as u32 + 1;
    let mut share = (1.0 - (x - x.floor())) / f64::from(first) / sum;
    let mut level = first;
    let mut levels: Vec<u32> = (0..blocks)
        .map(|block| {
            let quantile = (f64::from(block) + 0.5) / n;
            while quantile > share && level < slots {
                level += 1;
                share += 1.0 / f64::from(level) / sum;
            }
            level
        })
        .collect();
    // Rounding leaves a few units over or short: one more or less in as many
    // blocks, spread over all ages.
    let placed: i64 = levels.iter().map(|&level| i64::from(level)).sum();
    let mut excess = placed - i64::from(units);
    while excess != 0 {
        let step = (levels.len() / excess.unsigned_abs() as usize).max(1);
        for index in (0..levels.len()).step_by(step) {
            if excess > 0 && levels[index] > 0 {
                levels[index] -= 1;
                excess -= 1;
            } else if excess < 0 && levels[index] < slots {
                levels[index] += 1;
                excess += 1;
            }
        }
    }
    levels
}

/// A number below `limit`; the bias is below 2^-32 for the limits used here.
#[inline]
fn below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// All numbers below a limit in an order that looks random, one by one and
/// without memory: a bijection on the next power of two, whose values beyond
/// the limit are skipped.
struct Permutation {
    limit: u32,
    mask: u32,
    shift: u32,
    factors: [u32; 3],
    offset: u32,
    index: u32,
}

impl Permutation {
    fn new(limit: u32, random: &mut Xoshiro256PlusPlus) -> Self {
        let mask = limit.next_power_of_two().wrapping_sub(1);
        Self {
            limit,
            mask,
            shift: mask.count_ones() / 2 + 1,
            // Odd factors are invertible modulo a power of two.
            factors: [(); 3].map(|()| random.next_u32() | 1),
            offset: random.next_u32(),
            index: 0,
        }
    }

    #[inline]
    fn next(&mut self) -> u32 {
        loop {
            let mut value = self.index.wrapping_add(self.offset) & self.mask;
            self.index += 1;
            for factor in self.factors {
                value = value.wrapping_mul(factor) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.limit {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_gives_every_number_once() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for limit in [1, 2, 3, 100, 1000, 4096] {
            let mut permutation = Permutation::new(limit, &mut random);
            let mut seen: Vec<u32> = (0..limit).map(|_| permutation.next()).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..limit), "{limit}");
        }
    }

    #[test]
    fn levels_hold_all_units() {
        for (blocks, slots, units) in [(100, 64, 5_000), (2_000, 1024, 1_950_000), (50, 16, 799)] {
            let levels = levels(blocks, slots, units);
            assert_eq!(levels.iter().sum::<u32>(), units);
            assert!(levels.iter().all(|&level| level <= slots));
        }
    }
}
