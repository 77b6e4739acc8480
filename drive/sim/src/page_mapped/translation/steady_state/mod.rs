//! The steady state of a workload, entered at once.
//!
//! Theory says how many valid units the blocks of a drive hold in steady state,
//! of which kind and how old they are ([`population`], [`choices`]). A drive
//! laid out so is in steady state from the first write on, without the drive
//! writes that it takes to get there. Data that the workload never writes lies
//! as a sequential fill left it, in full blocks, where the collector's policy
//! never touches those.

mod alias;
mod choices;
mod model;
mod numerics;
mod population;
mod traffic;

use super::Translation;
use super::bits;
use super::pool::Stream;
use super::victim::NOT_CLOSED;
use crate::page_mapped::specification::{Policy, Specification};
use crate::table::prefetch;
use alias::Alias;
use choices::shares_of_choices;
use fourcorners_workload::below;
use numerics::at_quantiles;
use population::{Block, Pool, Population, Rates};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
pub use traffic::Traffic;
use traffic::shuffle;

/// Blocks that stand for all of a pool's, at most.
const BLOCKS_MAX: u32 = 4096;

/// Units that are laid out together.
const BATCH: usize = 64;

/// Times that a class is drawn again when none of its units is left.
const REDRAWS: u32 = 8;

/// What goes into the blocks that are overwritten, the same in all pools.
struct Layout<'a> {
    groups: traffic::Groups<'a>,
    /// Slots that are taken together, and such of a block.
    group: u32,
    groups_per_block: u32,
    units_per_row: u32,
    /// By class: groups laid out so far, and where the pools' shares of them
    /// are rounded.
    laid_out: Vec<u32>,
    rounding: Vec<u32>,
    population: Population,
    /// By block of the population, where there are several classes: which of
    /// them its units are of.
    kinds: Vec<Alias>,
    /// Blocks closed on the whole drive in a unit of the population's time.
    closings: f64,
    /// Blocks that it has closed when it is as laid out.
    now: u64,
    /// Scratch: units that are laid out together, and their slots in the block.
    units: Vec<u32>,
    places: Vec<u32>,
}

impl Translation {
    /// Whether a steady state of such traffic is known.
    ///
    /// # Errors
    /// Why it is not.
    pub fn has_steady_state(&self, traffic: &Traffic) -> Result<(), String> {
        let alike = traffic.is_uniform() && !traffic.in_order;
        let still = traffic.lying_still() > 0;
        let refuse = |why: &str| Err(why.into());
        match self.rule.policy {
            Policy::DChoices if traffic.in_order || still => refuse(
                "a drive that collects by d-choices has a known steady state under random writes to all that it holds only",
            ),
            Policy::Fifo if traffic.in_order && still => refuse(
                "a drive that collects first in, first out has no known steady state under sequential writes to a part of what it holds",
            ),
            _ if self.separation.is_some() && (!alike || still) => refuse(
                "a drive that writes hot data apart has a known steady state under uniform random writes to all that it holds only",
            ),
            _ => Ok(()),
        }
    }

    /// Forgets everything and lays units out as endless writes of such traffic
    /// leave them under the drive's policy of collection, each stored as
    /// `stored_bytes`. `specification` is the drive's. The units that are not part of it are as if never
    /// written: spare area. `seed` decides which unit is where. Only for traffic
    /// of which a steady state is known.
    pub fn enter_steady_state(
        &mut self,
        specification: &Specification,
        traffic: &Traffic,
        stored_bytes: u32,
        seed: u64,
    ) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let units_per_row = self.units_per_row(stored_bytes);
        let mut filled = self.blank(traffic);
        if let Some(fill) = &mut self.row_fill {
            fill.fill(units_per_row as u8);
        }
        if traffic.in_order {
            let still = traffic.lying_still();
            let unit = |index| match index < still {
                true => traffic.still(index),
                false => traffic.in_order(index - still),
            };
            self.lay_in_order(&filled, traffic.units, units_per_row, unit);
            return;
        }
        // Of what lies still only whole blocks, the same number in each pool.
        let per_block = units_per_row * self.geometry.rows_per_block;
        let still_blocks = match self.rule.policy {
            Policy::Fifo => 0,
            _ => traffic.lying_still() / (per_block * self.geometry.pools),
        };
        let still = still_blocks * per_block * self.geometry.pools;
        let full: Vec<Vec<u32>> = filled
            .iter_mut()
            .map(|blocks| blocks.drain(..still_blocks as usize).collect())
            .collect();
        self.lay_in_order(&full, still, units_per_row, |index| traffic.still(index));
        let mut layout =
            self.layout(specification, traffic, still, units_per_row, &filled, &mut random);
        for (pool, mut blocks) in (0..).zip(filled) {
            // Which block is how old must not depend on its place.
            shuffle(&mut blocks, &mut random);
            self.lay_out(&mut layout, pool, &blocks, &mut random);
        }
        self.blocks_closed = layout.now;
    }

    /// Forgets everything but where the units of `traffic` are, which are all laid
    /// out anew. Returns the blocks of each pool that are full in steady state; the
    /// others are free or being filled.
    fn blank(&mut self, traffic: &Traffic) -> Vec<Vec<u32>> {
        let mut end = 0;
        for mapped in traffic.mapped() {
            self.map[end..mapped.start as usize].fill(0);
            end = mapped.end as usize;
        }
        self.map[end..].fill(0);
        self.valid.fill(0);
        self.counts.fill(NOT_CLOSED);
        self.blocks_closed = 0;
        let pools = self.geometry.pools;
        let blank = |pool: u32| {
            let mut space = self.erased_pool(pool);
            let full = space.free.split_off(self.steady_free_blocks(pool));
            self.pools[pool as usize] = space;
            full.into()
        };
        (0..pools).map(blank).collect()
    }

    /// Units that a row takes of such that each store as `stored_bytes`.
    fn units_per_row(&self, stored_bytes: u32) -> u32 {
        match self.row_fill {
            None => self.geometry.slots_per_row,
            Some(_) => (self.geometry.row_bytes / stored_bytes).min(self.geometry.slots_per_row),
        }
    }

    /// Lays so many units out as a sequential fill does: in the order of `unit`,
    /// row by row, pool by pool. The other blocks are closed and hold nothing.
    fn lay_in_order(
        &mut self,
        blocks: &[Vec<u32>],
        units: u32,
        units_per_row: u32,
        unit: impl Fn(u32) -> u32,
    ) {
        let rows = self.geometry.rows_per_block;
        let per_stripe = units_per_row * rows * self.geometry.pools;
        let stripes = units.div_ceil(per_stripe) as usize;
        for (pool, blocks) in (0u32..).zip(blocks) {
            // What was overwritten last is oldest.
            let empty = blocks.len().saturating_sub(stripes);
            for (number, &block) in blocks.iter().enumerate() {
                let index = self.geometry.block_index(pool, block);
                self.counts[index] = 0;
                self.closed_at[index] = self.blocks_closed;
                self.blocks_closed += 1;
                let Some(number) = number.checked_sub(empty) else { continue };
                for row in 0..rows {
                    let host_row = u64::from(number as u32 * rows + row)
                        * u64::from(self.geometry.pools)
                        + u64::from(pool);
                    let first = host_row * u64::from(units_per_row);
                    let end = (first + u64::from(units_per_row)).min(units.into());
                    let slot =
                        self.geometry.first_slot(pool, block) + row * self.geometry.slots_per_row;
                    for (slot, index) in (slot..).zip(first..end) {
                        let unit = unit(index as u32);
                        self.map[unit as usize] = slot + 1;
                        self.occupy(slot, unit);
                    }
                }
            }
        }
    }

    /// What the blocks `filled` of each pool hold in steady state.
    fn layout<'a>(
        &self,
        specification: &Specification,
        traffic: &'a Traffic,
        still_in_order: u32,
        units_per_row: u32,
        filled: &[Vec<u32>],
        random: &mut Xoshiro256PlusPlus,
    ) -> Layout<'a> {
        let geometry = &self.geometry;
        let per_block = units_per_row * geometry.rows_per_block;
        // A place's rows go to as many pools, and what a pool gets of it lies
        // together there.
        let place = traffic.units_per_place;
        let rows = (place / units_per_row / geometry.pools).max(1);
        let group = common_divisor(common_divisor(place, units_per_row * rows), per_block);
        let groups = traffic.groups(group, traffic.lying_still() - still_in_order, random);
        let counts = groups.counts();
        let all: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        let blocks: usize = filled.iter().map(Vec::len).sum();
        let groups_per_block = per_block / group;
        let mean = all / blocks as f64;
        let sample = filled.iter().map(|blocks| blocks.len() as u32).max().unwrap_or(1);
        let sample = sample.min(BLOCKS_MAX);
        let rates = groups.rates();
        let population =
            self.population(specification, groups_per_block, mean, &rates, sample, random);
        let start = (self.blocks_closed, geometry.pools);
        Layout::new(groups, group, groups_per_block, units_per_row, population, start, random)
    }

    /// So many blocks of `slots` slots in steady state that hold `mean` units of
    /// some classes on average.
    fn population(
        &self,
        specification: &Specification,
        slots: u32,
        mean: f64,
        classes: &[Rates],
        blocks: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Population {
        let shared = self.collector_stream == Stream::Host;
        let policy = self.rule.policy;
        if policy == Policy::DChoices && classes.len() == 1 {
            let shares = shares_of_choices(slots, mean, self.rule.candidates);
            let levels = at_quantiles(&shares, blocks).into_iter().zip((0..blocks).rev());
            let block = |(valid, age)| Block { valid, age: f64::from(age), classes: Vec::new() };
            return Population { blocks: levels.map(block).collect(), fills: 1.0 };
        }
        // Greedy collection is where d-choices begins on its way.
        let settles =
            policy == Policy::DChoices || classes.len() > 1 && !shared && policy != Policy::Fifo;
        let policy = if policy == Policy::DChoices { Policy::Greedy } else { policy };
        let pool = Pool { slots, mean, classes, policy, shared };
        if settles {
            return model::settled(&pool, blocks, specification, random);
        }
        pool.population(blocks, random)
    }

    /// Lays out a pool's share in its blocks.
    fn lay_out(
        &mut self,
        layout: &mut Layout,
        pool: u32,
        blocks: &[u32],
        random: &mut Xoshiro256PlusPlus,
    ) {
        let pools = u64::from(self.geometry.pools);
        let mut left: Vec<u32> = (layout.groups.counts().iter().zip(&layout.rounding))
            .map(|(&count, &rounding)| {
                let up_to = |pool: u32| u64::from(count) * u64::from(pool) + u64::from(rounding);
                (up_to(pool + 1) / pools - up_to(pool) / pools) as u32
            })
            .collect();
        let sample = layout.population.blocks.len();
        let of_sample = |block: usize| (2 * block + 1) * sample / (2 * blocks.len());
        let levels =
            (0..blocks.len()).map(|block| layout.population.blocks[of_sample(block)].valid);
        let mut levels: Vec<u32> = levels.collect();
        correct(&mut levels, left.iter().sum(), layout.groups_per_block);
        let mut places = vec![0; layout.groups_per_block.div_ceil(64) as usize];
        for (number, (&block, &level)) in blocks.iter().zip(&levels).enumerate() {
            let index = self.geometry.block_index(pool, block);
            let number = of_sample(number);
            let age = (layout.population.blocks[number].age * layout.closings) as u64;
            self.closed_at[index] = layout.now - age.min(layout.now);
            choose(&mut places, layout.groups_per_block, level, random);
            self.counts[index] = 0;
            let first_slot = self.geometry.first_slot(pool, block);
            let units_per_row = layout.units_per_row;
            let mut range = 0..layout.groups_per_block;
            let mut found = [0; BATCH];
            loop {
                let count = bits::find(&places, &mut range, &mut found);
                if count == 0 {
                    break;
                }
                let (units, places) = layout.next_units(number, &found[..count], &mut left, random);
                self.counts[index] += units.len() as u32;
                // Together, so that many places in memory are looked up at once.
                units.iter().for_each(|&unit| prefetch(&self.map[unit as usize]));
                // Bits are gathered by word: one after the other would wait for each.
                let (mut word, mut gathered) = (first_slot as usize / 64, 0);
                for (&unit, &place) in units.iter().zip(places) {
                    let slot = match units_per_row == self.geometry.slots_per_row {
                        true => first_slot + place,
                        false => {
                            first_slot
                                + place / units_per_row * self.geometry.slots_per_row
                                + place % units_per_row
                        }
                    };
                    self.map[unit as usize] = slot + 1;
                    self.owner[self.geometry.owner_index(slot)] = unit;
                    if slot as usize / 64 != word {
                        self.valid[word] |= gathered;
                        (word, gathered) = (slot as usize / 64, 0);
                    }
                    gathered |= 1 << (slot % 64);
                }
                self.valid[word] |= gathered;
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

impl<'a> Layout<'a> {
    /// Of groups of `group` units in blocks that take `groups_per_block`, as a
    /// population has it, on a drive of some pools that has closed some blocks.
    fn new(
        groups: traffic::Groups<'a>,
        group: u32,
        groups_per_block: u32,
        units_per_row: u32,
        population: Population,
        (closed, pools): (u64, u32),
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let counts = groups.counts();
        let all: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        let closings = population.fills * all / f64::from(groups_per_block);
        let oldest = population.blocks.iter().map(|block| block.age).fold(0.0, f64::max);
        let several = counts.len() > 1;
        let kinds = population.blocks.iter().filter(|_| several);
        Self {
            group,
            groups_per_block,
            units_per_row,
            laid_out: vec![0; counts.len()],
            rounding: counts.iter().map(|_| below(random, pools.into()) as u32).collect(),
            kinds: kinds.map(|block| Alias::new(&block.classes)).collect(),
            closings,
            now: closed.saturating_add((oldest * closings) as u64) + 1,
            units: Vec::new(),
            places: Vec::new(),
            groups,
            population,
        }
    }

    /// Units for the groups of slots `found` of a block that is as one of the
    /// population, and the slot of each. `left` has the groups of each class that
    /// the pool still has to lay out.
    fn next_units(
        &mut self,
        block: usize,
        found: &[u32],
        left: &mut [u32],
        random: &mut Xoshiro256PlusPlus,
    ) -> (&[u32], &[u32]) {
        self.units.clear();
        self.places.clear();
        if self.kinds.is_empty() {
            // All of one class, which is every unit of a drive under uniform writes.
            let count = found.len() as u32;
            left[0] -= count;
            let first = self.laid_out[0];
            self.groups.append(0, first..first + count, &mut self.units);
            self.laid_out[0] += count;
            match self.group {
                1 => self.places.extend_from_slice(found),
                group => self
                    .places
                    .extend(found.iter().flat_map(|&place| place * group..(place + 1) * group)),
            }
            return (&self.units, &self.places);
        }
        for &place in found {
            let class = self.draw(block, left, random);
            left[class] -= 1;
            let (before, next) = (self.units.len(), self.laid_out[class]);
            self.groups.append(class, next..next + 1, &mut self.units);
            self.laid_out[class] += 1;
            let added = (self.units.len() - before) as u32;
            self.places.extend(place * self.group..place * self.group + added);
        }
        (&self.units, &self.places)
    }

    /// A class of which there is a group left.
    fn draw(&self, block: usize, left: &[u32], random: &mut Xoshiro256PlusPlus) -> usize {
        let kinds = &self.kinds[block];
        let drawn = (0..REDRAWS).map(|_| kinds.draw(random)).find(|&class| left[class] > 0);
        drawn.unwrap_or_else(|| {
            (0..left.len()).max_by_key(|&class| left[class]).expect("there are classes")
        })
    }
}

/// Adjusts levels that hold some units over or short for rounding and chance:
/// one more or less in as many blocks, spread over all of them.
fn correct(levels: &mut [u32], units: u32, slots: u32) {
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
}

/// Sets `count` of the first `places` bits, drawn at random, and no others.
fn choose(bits: &mut [u64], places: u32, count: u32, random: &mut Xoshiro256PlusPlus) {
    // Most are set: the others are drawn.
    let invert = count > places / 2;
    bits.fill(0);
    if invert {
        bits::set(bits, 0..places);
    }
    let mut left = if invert { places - count } else { count };
    while left > 0 {
        let place = below(random, places.into()) as usize;
        let (word, bit) = (&mut bits[place / 64], 1 << (place % 64));
        if (*word & bit != 0) == invert {
            *word ^= bit;
            left -= 1;
        }
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_levels_hold_all_units() {
        for (levels, units, slots) in [
            (vec![3, 4, 5, 6], 21, 8),
            (vec![3, 4, 5, 6], 5, 8),
            (vec![0; 7], 56, 8),
            (vec![2, 0, 1], 0, 8),
        ] {
            let mut levels = levels;
            correct(&mut levels, units, slots);
            assert_eq!(levels.iter().sum::<u32>(), units);
            assert!(levels.iter().all(|&level| level <= slots));
        }
    }
}
