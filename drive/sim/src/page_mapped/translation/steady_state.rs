//! The steady state of uniform random writes, entered at once.
//!
//! A block's valid units decay at a rate proportional to their number, so under
//! greedy collection the fractions of blocks by valid count follow F/i above
//! the victim's level (Desnoyers, SYSTOR 2012); other policies have their own.
//! A drive laid out so is in steady state from the first write on, without the
//! drive writes that it takes to get there.

use super::bits;
use super::victim::{NOT_CLOSED, VictimRule};
use super::{Stream, Translation};
use crate::page_mapped::specification::Policy;
use crate::table::prefetch;
use fourcorners_workload::{Scatter, below};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Ordering;

/// Units that are laid out together.
const BATCH: usize = 64;

impl Translation {
    /// Whether there is one steady state.
    ///
    /// # Errors
    /// A drive that compresses: what it holds depends on the data.
    pub fn has_steady_state(&self) -> Result<(), String> {
        if self.row_fill.is_some() {
            return Err("the steady state of a drive that compresses depends on its data".into());
        }
        Ok(())
    }

    /// Forgets everything and lays the first `units` units out as endless uniform
    /// random writes of incompressible data to them leave them under the drive's
    /// policy of collection. The others are as if never written: spare area.
    /// `seed` decides which unit is where. Only for drives that have a steady
    /// state.
    pub fn enter_steady_state(&mut self, units: u32, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let scatter = Scatter::drawn(units.into(), &mut random);
        self.map[units as usize..].fill(0);
        self.valid.fill(0);
        self.counts.fill(NOT_CLOSED);
        let pools = self.geometry.pools;
        let mut placed = 0;
        for pool in 0..pools {
            let mut space = self.erased_pool(pool);
            let share = units / pools + u32::from(pool < units % pools);
            let filled = space.free.split_off(self.steady_free_blocks(pool));
            self.pools[pool as usize] = space;
            let slots = self.geometry.slots_per_block;
            let levels = levels(&self.rule, filled.len() as u32, slots, share, &mut random);
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
                self.make_valid(first, valid, &mut random);
                self.lay_out(first, placed, &scatter);
                placed += valid;
            }
        }
        assert_eq!(placed, units, "every unit has a place");
        self.blocks_closed = u64::from(self.geometry.blocks);
    }

    /// Makes `valid` slots of an empty block valid, drawn at random.
    fn make_valid(&mut self, first_slot: u32, valid: u32, random: &mut Xoshiro256PlusPlus) {
        let slots = self.geometry.slots_per_block;
        // Most are: the others are drawn.
        let invert = valid > slots / 2;
        if invert {
            bits::set(&mut self.valid, first_slot..first_slot + slots);
        }
        let mut left = if invert { slots - valid } else { valid };
        while left > 0 {
            let slot = first_slot + below(random, slots.into()) as u32;
            let (word, bit) = (&mut self.valid[slot as usize / 64], 1 << (slot % 64));
            if (*word & bit != 0) == invert {
                *word ^= bit;
                left -= 1;
            }
        }
    }

    /// Gives the valid slots of a block to units, after `placed` others.
    fn lay_out(&mut self, first_slot: u32, mut placed: u32, scatter: &Scatter) {
        let mut range = first_slot..first_slot + self.geometry.slots_per_block;
        let mut slots = [0; BATCH];
        loop {
            let count = bits::find(&self.valid, &mut range, &mut slots);
            if count == 0 {
                return;
            }
            let mut units = [0; BATCH];
            for unit in &mut units[..count] {
                *unit = scatter.place(placed.into()) as u32;
                placed += 1;
            }
            // Together, so that many places in memory are looked up at once.
            units.iter().for_each(|&unit| prefetch(&self.map[unit as usize]));
            for (&slot, unit) in slots[..count].iter().zip(units) {
                self.map[unit as usize] = slot + 1;
                self.owner[slot as usize] = unit;
            }
        }
    }

    /// Free blocks of a pool at the moment when it has just opened its blocks
    /// for writing. Paced collection lets free space sink until it always has
    /// work, which is at `start_free_blocks` blocks, the free part of open ones
    /// counted; with more, a pool would take its first writes without
    /// collecting. Between bursts the pools are spread over all phases.
    fn steady_free_blocks(&self, pool: u32) -> usize {
        let open = match (self.collector_stream, &self.separation) {
            (_, Some(_)) => 4,
            (Stream::Host, None) => 1,
            (_, None) => 2,
        };
        let phase = match self.burst_blocks {
            0 => 0,
            burst => 1 + pool as usize * (burst + 1) / self.geometry.pools as usize,
        };
        (self.start_free_blocks + phase).max(self.free_blocks_kept + open) - open
    }
}

/// Valid units of each of `blocks` blocks of `slots` slots that hold `units`
/// units in all, from the block filled first to the one filled last.
fn levels(
    rule: &VictimRule,
    blocks: u32,
    slots: u32,
    units: u32,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    let mean = f64::from(units) / f64::from(blocks);
    let mut levels = match rule.policy {
        Policy::Fifo => first_in_first_out(blocks, slots, mean, random),
        Policy::DChoices => at_quantiles(&shares_of_choices(slots, mean, rule.candidates), blocks),
        // Among blocks of one age cost-benefit takes the emptiest: under
        // uniform writes it ends within 1 % of greedy.
        Policy::Greedy | Policy::CostBenefit => {
            at_quantiles(&shares_of_greedy(slots, mean), blocks)
        }
    };
    // Rounding and chance leave some units over or short: one more or less in
    // as many blocks, spread over all ages.
    let placed: i64 = levels.iter().map(|&level| i64::from(level)).sum();
    let mut excess = placed - i64::from(units);
    let mut step = (levels.len() / excess.unsigned_abs().max(1) as usize).max(1);
    while excess != 0 {
        for level in levels.iter_mut().step_by(step) {
            if excess > 0 && *level > 0 {
                *level -= 1;
                excess -= 1;
            } else if excess < 0 && *level < slots {
                *level += 1;
                excess += 1;
            }
        }
        step = 1;
    }
    levels
}

/// The levels of `blocks` blocks, ascending, where `shares[i]` of them hold
/// `i` valid units.
fn at_quantiles(shares: &[f64], blocks: u32) -> Vec<u32> {
    let mut level = 0;
    let mut below = shares[0];
    (0..blocks)
        .map(|block| {
            let quantile = (f64::from(block) + 0.5) / f64::from(blocks);
            while quantile > below && level + 1 < shares.len() {
                level += 1;
                below += shares[level];
            }
            level as u32
        })
        .collect()
}

/// Greedy collection: shares of the blocks by level, for a mean of `mean`
/// valid units. Exact mean field: levels above j + 1 weigh 1/i, level j + 1
/// the part p of that, for a victim's level x between j and j + 1.
fn shares_of_greedy(slots: u32, mean: f64) -> Vec<f64> {
    let harmonic: Vec<f64> = std::iter::once(0.0)
        .chain((1..=slots).scan(0.0, |sum, i| {
            *sum += 1.0 / f64::from(i);
            Some(*sum)
        }))
        .collect();
    let total = |x: f64| {
        let j = x.floor();
        harmonic[slots as usize] - harmonic[j as usize + 1] + (1.0 - (x - j)) / (j + 1.0)
    };
    let most = f64::from(slots);
    if mean < most / harmonic[slots as usize] {
        // So much spare area that some blocks hold nothing: v/i above zero.
        let above: Vec<f64> = (1..=slots).map(|i| mean / most / f64::from(i)).collect();
        return std::iter::once(1.0 - above.iter().sum::<f64>()).chain(above).collect();
    }
    // The mean grows with the victim's level.
    let x = bisect(0.0, most - 1.0, |x| (most - x) / total(x) < mean);
    let first = x.floor() as u32 + 1;
    (0..=slots)
        .map(|level| match level.cmp(&first) {
            Ordering::Less => 0.0,
            Ordering::Equal => (1.0 - (x - x.floor())) / f64::from(level) / total(x),
            Ordering::Greater => 1.0 / f64::from(level) / total(x),
        })
        .collect()
}

/// The emptiest of `candidates` blocks drawn at random: shares of the blocks by
/// level. What sinks below a level, i f(i), equals the victims from below it
/// that come back full, v (1 - Q(i)^d), Q(i) being the share of blocks with at
/// least i valid units (Van Houdt, SIGMETRICS 2013).
fn shares_of_choices(slots: u32, mean: f64, candidates: u32) -> Vec<f64> {
    let shares = |victims: f64| {
        let mut shares = vec![0.0; slots as usize + 1];
        let mut above = 0.0;
        for level in (1..=slots as usize).rev() {
            let flow = victims / level as f64;
            // Newton's method on a convex function, from its right.
            let mut share = flow.min(1.0 - above);
            for _ in 0..50 {
                let lower = power(above + share, candidates - 1);
                let value = share - flow * (1.0 - lower * (above + share));
                let step = value / (1.0 + flow * f64::from(candidates) * lower);
                share -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            shares[level] = share;
            above += share;
        }
        shares[0] = (1.0 - above).max(0.0);
        shares
    };
    let mean_of = |shares: &[f64]| -> f64 {
        shares.iter().enumerate().map(|(level, share)| level as f64 * share).sum()
    };
    // The more victims, the fuller the blocks; all of them full is the limit.
    shares(bisect(0.0, f64::from(slots) * f64::from(slots), |victims| {
        mean_of(&shares(victims)) < mean
    }))
}

/// First in, first out: what was filled longer ago by one block keeps less by
/// a constant factor; each unit is still valid with the same probability.
fn first_in_first_out(
    blocks: u32,
    slots: u32,
    mean: f64,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    let share = mean / f64::from(slots);
    // A block kept k of itself: probabilities k, k^2, ... up to the oldest.
    let sum = |kept: f64| kept * (1.0 - power(kept, blocks)) / (1.0 - kept);
    let kept = bisect(0.0, 1.0, |kept| sum(kept) < share * f64::from(blocks));
    let mut probability = power(kept, blocks);
    let mut levels = Vec::with_capacity(blocks as usize);
    for _ in 0..blocks {
        let threshold = (probability * 4_294_967_296.0) as u64;
        let valid = (0..slots).filter(|_| u64::from(random.next_u32()) < threshold).count();
        levels.push(valid as u32);
        probability /= kept;
    }
    levels
}

/// Where a condition that holds from `low` on ceases to hold.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// `base` to the power of `exponent`, in the same steps on every machine.
fn power(base: f64, mut exponent: u32) -> f64 {
    let (mut square, mut result) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(policy: Policy) -> VictimRule {
        VictimRule { policy, candidates: 10, random: Xoshiro256PlusPlus::seed_from_u64(2) }
    }

    #[test]
    fn levels_hold_all_units() {
        for policy in [Policy::Greedy, Policy::Fifo, Policy::CostBenefit, Policy::DChoices] {
            for (blocks, slots, units) in [
                (100, 64, 5_000),
                (2_000, 1024, 1_950_000),
                (50, 16, 799),
                (100, 64, 500),
                (9, 8, 1),
            ] {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
                let levels = levels(&rule(policy), blocks, slots, units, &mut random);
                assert_eq!(levels.iter().sum::<u32>(), units);
                assert!(levels.iter().all(|&level| level <= slots));
            }
        }
    }

    #[test]
    fn victims_among_ten_choices_are_those_of_the_literature() {
        // Write amplification b / (b - mean victim) at 7, 12 and 28 % of spare
        // area with 256 pages per block (simulated after Van Houdt).
        for (spare, expected) in [(0.07, 7.830), (0.12, 4.896), (0.28, 2.521)] {
            let shares = shares_of_choices(256, 256.0 / (1.0 + spare), 10);
            let (mut victim, mut at_least) = (0.0, 0.0);
            for (level, share) in shares.iter().enumerate().rev() {
                let chance = power(at_least + share, 10) - power(at_least, 10);
                victim += level as f64 * chance;
                at_least += share;
            }
            let amplification = 256.0 / (256.0 - victim);
            assert!((amplification / expected - 1.0).abs() < 2e-3, "{spare}: {amplification}");
        }
    }
}
