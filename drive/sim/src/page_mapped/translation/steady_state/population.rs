//! The blocks of a pool in steady state, by theory.
//!
//! Mean field (Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013), for units of
//! several classes, each overwritten at a rate of its own. The slots of a block
//! that a frontier fills hold a class c with a probability p(c), each by itself,
//! so that one is still valid at an age t with S(t) = sum of p(c) exp(-r(c) t),
//! and a block's valid units are binomial in S(t). A collector that takes a
//! block once its valid units have sunk to a boundary that does not fall with
//! age leaves of the blocks of an age those above the boundary: valid units only
//! ever become fewer. Greedy collection has one level as its boundary,
//! cost-benefit a curve, and first in, first out an age. From the time that
//! blocks live follows what of each class is moved, which is what the
//! collector's frontier is filled with: a fixed point. The boundary is where
//! blocks live just as long as the drive has room. With a single class and
//! greedy collection the fractions of blocks by valid units come out as F/i, as
//! Desnoyers has it.
//!
//! What is moved is taken to be well mixed. Where the collector has a frontier
//! of its own a block holds the units of one or two victims, and those of a
//! host's block are hotter than others: see [`super::model`].
//!
//! Time counts in overwrites of all units. `libm` instead of the system's
//! functions: a state must be the same on every machine.

use super::numerics::{at_quantiles, bisect};
use crate::page_mapped::specification::Policy;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Units that are overwritten alike.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Share of the units.
    pub units: f64,
    /// Share of the writes, above 0.
    pub writes: f64,
}

impl Rates {
    /// Overwrites of a unit while all units are overwritten once on average.
    pub fn rate(self) -> f64 {
        self.writes / self.units
    }
}

/// A pool and its traffic.
pub struct Pool<'a> {
    /// Units that a block holds.
    pub slots: u32,
    /// Valid units of a block on average.
    pub mean: f64,
    pub classes: &'a [Rates],
    /// Not d-choices, which has no boundary.
    pub policy: Policy,
    /// Whether collected units fill the host's blocks.
    pub shared: bool,
}

/// A block of the population.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub valid: u32,
    pub age: f64,
    /// Weights of the classes among its valid units.
    pub classes: Vec<f64>,
}

/// Blocks as theory has them.
pub struct Population {
    /// From the one with the fewest valid units on, or, first in, first out,
    /// from the oldest one on.
    pub blocks: Vec<Block>,
    /// Blocks filled while all units are overwritten once, in units of the
    /// blocks that these units alone would fill.
    pub fills: f64,
}

/// Steps of age per decade, for the root of a block's slots: the time in which
/// blocks of one kind reach the boundary shrinks with it.
const STEPS_PER_ROOT: f64 = 4.0;
/// Ages beyond this many mean overwrites of the coldest class do not matter.
const AGE_MAX: f64 = 50.0;
/// Standard deviations beyond which a binomial distribution is over.
const DEVIATIONS: f64 = 8.0;
/// Rounds of the fixed point, and the change at which it is there.
const ROUNDS: u32 = 60;
const CHANGE: f64 = 1e-7;
/// Multiples of the golden ratio's fractional part spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Pool<'_> {
    /// So many blocks of the pool in steady state, at even quantiles.
    pub fn population(&self, blocks: u32, random: &mut Xoshiro256PlusPlus) -> Population {
        match self.policy {
            Policy::Fifo => self.first_in_first_out(blocks, random),
            _ => self.at_boundary(blocks),
        }
    }

    /// Blocks of a drive that its units would fill once: the time that blocks
    /// have to live in, summed over the fillers.
    fn room(&self) -> f64 {
        f64::from(self.slots) / self.mean
    }

    /// A block that was filled with a mix.
    fn block(&self, valid: u32, age: f64, mix: &[f64]) -> Block {
        let classes = self.classes.iter().zip(mix);
        let left = classes.map(|(class, share)| share * libm::exp(-class.rate() * age));
        Block { valid, age, classes: left.collect() }
    }

    /// Blocks that reach a boundary.
    fn at_boundary(&self, blocks: u32) -> Population {
        let ages = Ages::new(self);
        let binomial = Binomial::new(self.slots);
        let solver = Solver { pool: self, ages: &ages, binomial: &binomial };
        let (start, end) = match self.policy {
            Policy::CostBenefit => (libm::log(1e-12), libm::log(1e18)),
            _ => (f64::from(self.slots) - 1.0, 0.0),
        };
        let room = self.room();
        let mut collected: Vec<f64> = self.classes.iter().map(|class| class.writes).collect();
        // The later blocks are collected, the more room they take.
        let parameter = bisect(start, end, |parameter| {
            let flow = solver.flow(&self.boundary(parameter), &mut collected);
            flow.room < room
        });
        let boundary = self.boundary(parameter);
        let flow = solver.flow(&boundary, &mut collected);
        // With more room than that, some blocks hold nothing.
        let empty = (1.0 - flow.room / room).max(0.0);
        let empty = if empty < 1e-6 { 0.0 } else { empty };
        let population = solver.quantiles(&boundary, &flow, empty, blocks);
        Population { blocks: population, fills: flow.fills }
    }

    /// The boundary that belongs to a parameter: of greedy collection the
    /// victim's level, of cost-benefit the logarithm of the victim's score.
    fn boundary(&self, parameter: f64) -> Boundary {
        match self.policy {
            Policy::CostBenefit => {
                Boundary::Score { twice: 2.0 * libm::exp(parameter), slots: f64::from(self.slots) }
            }
            _ => Boundary::Level(parameter),
        }
    }

    /// Every block lives as long.
    fn first_in_first_out(&self, blocks: u32, random: &mut Xoshiro256PlusPlus) -> Population {
        let left = |class: &Rates, age: f64| libm::exp(-class.rate() * age);
        let alive = |class: &Rates, age: f64| -libm::expm1(-class.rate() * age) / class.rate();
        let flow = |life: f64| {
            let alive: Vec<f64> = self.classes.iter().map(|class| alive(class, life)).collect();
            let left: Vec<f64> = self.classes.iter().map(|class| left(class, life)).collect();
            self.balance(&left, &alive, &alive)
        };
        let log_life = bisect(libm::log(1e-9), libm::log(1e18), |log_life| {
            let life = libm::exp(log_life);
            life * flow(life).0 < self.room()
        });
        let life = libm::exp(log_life);
        let (fills, mixes) = flow(life);
        let mut collected = 0.0;
        let population = (0..blocks).map(|block| {
            let age = life * (1.0 - (f64::from(block) + 0.5) / f64::from(blocks));
            // One after the other as often as they are filled.
            collected += if mixes.len() > 1 { 1.0 - 1.0 / fills } else { 0.0 };
            let filler = usize::from(collected >= 1.0);
            collected -= filler as f64;
            let decayed = self.classes.iter().zip(&mixes[filler]);
            let valid: f64 = decayed.map(|(class, share)| share * left(class, age)).sum();
            let threshold = (valid * 4_294_967_296.0) as u64;
            let valid = (0..self.slots).filter(|_| u64::from(random.next_u32()) < threshold);
            self.block(valid.count() as u32, age, &mixes[filler])
        });
        Population { blocks: population.collect(), fills }
    }

    /// Blocks filled while all units are overwritten once, in units of the
    /// blocks that these units alone would fill, and what each filler's are
    /// filled with, where by class a share `left` of the units in the host's
    /// blocks is valid when they are collected and units stay valid in them for
    /// a time of `alive`, in collected blocks for `alive_collected`. What leaves
    /// a class is what is written to it.
    fn balance(
        &self,
        left: &[f64],
        alive: &[f64],
        alive_collected: &[f64],
    ) -> (f64, Vec<Vec<f64>>) {
        let normal = |weights: Vec<f64>| -> (f64, Vec<f64>) {
            let sum: f64 = weights.iter().sum();
            let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            (sum, weights.into_iter().map(|weight| weight * scale).collect())
        };
        let classes = self.classes.iter().enumerate();
        if self.shared {
            let weights = classes.map(|(c, class)| class.units / alive[c]).collect();
            let (fills, mix) = normal(weights);
            return (fills, vec![mix]);
        }
        let weights = classes.map(|(c, class)| class.units * left[c] / alive_collected[c]);
        let (collected, mut mix) = normal(weights.collect());
        let host: Vec<f64> = self.classes.iter().map(|class| class.writes).collect();
        if collected == 0.0 {
            mix.clone_from(&host);
        }
        (1.0 + collected, vec![host, mix])
    }
}

/// When blocks are collected.
enum Boundary {
    /// With so many valid units; between two levels in part with more.
    Level(f64),
    /// Where age (1 - u) / u, u being the share of valid units, reaches a score.
    Score { twice: f64, slots: f64 },
}

impl Boundary {
    /// Blocks of an age with this many valid units or fewer are collected; and
    /// the share that is left of those with one more.
    fn at(&self, age: f64) -> (u32, f64) {
        match *self {
            Self::Level(level) => (level as u32, 1.0 - (level - level.floor())),
            Self::Score { twice, slots } => ((slots * (age / (twice + age))) as u32, 1.0),
        }
    }
}

/// Ages in steps that grow with them.
struct Ages {
    /// Each with the time that it stands for.
    at: Vec<(f64, f64)>,
    /// By age and class: the share that is still valid.
    left: Vec<f64>,
}

impl Ages {
    fn new(pool: &Pool) -> Self {
        let rates = || pool.classes.iter().map(|class| class.rate());
        let first = 1e-3 / f64::from(pool.slots) / rates().fold(0.0, f64::max);
        let last = AGE_MAX / rates().fold(f64::INFINITY, f64::min);
        let per_decade = (STEPS_PER_ROOT * f64::from(pool.slots).sqrt()).max(80.0);
        let step = libm::exp(core::f64::consts::LN_10 / per_decade);
        let mut ages = vec![0.0, first];
        while ages[ages.len() - 1] < last {
            ages.push(ages[ages.len() - 1] * step);
        }
        let span = |index: usize| {
            let next = ages.get(index + 1).unwrap_or(&ages[index]);
            0.5 * (next - ages[index.saturating_sub(1)])
        };
        let at = (0..ages.len()).map(|index| (ages[index], span(index))).collect();
        let left = ages.iter().flat_map(|age| rates().map(move |rate| libm::exp(-rate * age)));
        Self { left: left.collect(), at }
    }

    /// Age, the time it stands for, and by class what is left at it.
    fn iter(&self, classes: usize) -> impl Iterator<Item = (f64, f64, &[f64])> {
        self.at.iter().zip(self.left.chunks_exact(classes)).map(|(at, left)| (at.0, at.1, left))
    }
}

/// Binomial probabilities of up to so many trials.
struct Binomial {
    /// Logarithms of factorials.
    factorials: Vec<f64>,
}

impl Binomial {
    fn new(trials: u32) -> Self {
        let logs = (1..=trials).scan(0.0, |sum, i| {
            *sum += libm::log(f64::from(i));
            Some(*sum)
        });
        Self { factorials: std::iter::once(0.0).chain(logs).collect() }
    }

    /// The probability of exactly `hits` hits.
    fn exactly(&self, trials: u32, hits: u32, chance: f64) -> f64 {
        if hits > trials {
            return 0.0;
        }
        if chance >= 1.0 || chance <= 0.0 {
            return f64::from(u8::from(hits == if chance >= 1.0 { trials } else { 0 }));
        }
        let misses = trials - hits;
        let ways = self.factorials[trials as usize]
            - self.factorials[hits as usize]
            - self.factorials[misses as usize];
        libm::exp(
            ways + f64::from(hits) * libm::log(chance) + f64::from(misses) * libm::log1p(-chance),
        )
    }

    /// The probability of at least `hits` hits, given that of `exactly` so many.
    fn at_least(trials: u32, hits: u32, chance: f64, exactly: f64) -> f64 {
        let odds = chance / (1.0 - chance);
        // The tail that is shorter.
        let mut sum = 0.0;
        let mut term = exactly;
        if f64::from(hits) > f64::from(trials) * chance {
            for i in hits..=trials {
                sum += term;
                term *= odds * f64::from(trials - i) / f64::from(i + 1);
                if term <= sum * 1e-12 {
                    break;
                }
            }
            return sum;
        }
        for i in (1..=hits).rev() {
            term *= f64::from(i) / f64::from(trials - i + 1) / odds;
            sum += term;
            if term <= sum * 1e-12 {
                break;
            }
        }
        1.0 - sum
    }
}

/// What goes through a pool.
struct Flow {
    /// The mean time that blocks live, times their number.
    room: f64,
    fills: f64,
    mixes: Vec<Vec<f64>>,
}

/// How blocks with one filler fare.
struct Lives {
    mean: f64,
    /// By class: how long a unit stays valid in them.
    alive: Vec<f64>,
}

struct Solver<'a> {
    pool: &'a Pool<'a>,
    ages: &'a Ages,
    binomial: &'a Binomial,
}

impl Solver<'_> {
    /// The fixed point under a boundary, from a mix of what is collected on,
    /// which is then the one found.
    fn flow(&self, boundary: &Boundary, collected: &mut [f64]) -> Flow {
        let classes = self.pool.classes;
        let host: Vec<f64> = classes.iter().map(|class| class.writes).collect();
        let of_host = (!self.pool.shared).then(|| self.lives(&host, boundary));
        let mut flow = Flow { room: 0.0, fills: 1.0, mixes: vec![host] };
        for _ in 0..ROUNDS {
            let lives = self.lives(collected, boundary);
            let first = of_host.as_ref().unwrap_or(&lives);
            let left: Vec<f64> = (classes.iter().zip(&first.alive))
                .map(|(class, alive)| (1.0 - class.rate() * alive).max(0.0))
                .collect();
            let (fills, mixes) = self.pool.balance(&left, &first.alive, &lives.alive);
            let room = match &of_host {
                Some(of_host) => of_host.mean + (fills - 1.0) * lives.mean,
                None => fills * lives.mean,
            };
            // Half of the way: all of it may swing to and fro.
            for (old, new) in collected.iter_mut().zip(&mixes[mixes.len() - 1]) {
                *old = 0.5 * (*old + new);
            }
            let change = (room - flow.room).abs();
            flow = Flow { room, fills, mixes };
            if change <= CHANGE * room {
                break;
            }
        }
        flow
    }

    /// How blocks fare that are filled with a mix.
    fn lives(&self, mix: &[f64], boundary: &Boundary) -> Lives {
        let slots = self.pool.slots;
        let mut lives = Lives { mean: 0.0, alive: vec![0.0; mix.len()] };
        for (age, span, left) in self.ages.iter(mix.len()) {
            let valid = valid_share(mix, left);
            let (most, part) = boundary.at(age);
            // Of the others, when one slot is known to be valid.
            let others = slots - 1;
            let (few, many) = limits(others, valid);
            let (blocks, with_one) = if few > most + 2 {
                (1.0, 1.0)
            } else if many < most {
                break;
            } else {
                let exactly = self.binomial.exactly(others, most, valid);
                let one_more = self.binomial.exactly(others, most + 1, valid);
                let more = Binomial::at_least(others, most, valid, exactly) - exactly;
                let all = valid * more
                    + (1.0 - valid) * (more - one_more)
                    + part * (valid * exactly + (1.0 - valid) * one_more);
                (all, more + part * exactly)
            };
            lives.mean += span * blocks;
            let time = span * with_one;
            lives.alive.iter_mut().zip(left).for_each(|(alive, left)| *alive += time * left);
        }
        lives
    }

    /// Blocks at even quantiles of their valid units, and of their ages among
    /// those with as many. A share of `empty` holds nothing.
    fn quantiles(&self, boundary: &Boundary, flow: &Flow, empty: f64, blocks: u32) -> Vec<Block> {
        let slots = self.pool.slots;
        let mut ages = Vec::new();
        for (filler, mix) in flow.mixes.iter().enumerate() {
            let fills = match (self.pool.shared, filler) {
                (false, 1) => flow.fills - 1.0,
                (false, _) => 1.0,
                (true, _) => flow.fills,
            };
            for (age, span, left) in self.ages.iter(mix.len()) {
                let (most, part) = boundary.at(age);
                let valid = valid_share(mix, left);
                let (few, many) = limits(slots, valid);
                let levels = few.max(most + 1)..many + 1;
                if !levels.is_empty() {
                    let weight = fills * span;
                    ages.push(Cohort { filler, age, valid, weight, most, part, levels });
                }
            }
        }
        let mut shares = vec![0.0; slots as usize + 1];
        for cohort in &ages {
            for level in cohort.levels.clone() {
                shares[level as usize] += cohort.at_level(level, slots, self.binomial);
            }
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share *= (1.0 - empty) / sum);
        shares[0] += empty;
        let levels = at_quantiles(&shares, blocks);
        let mut population = Vec::with_capacity(blocks as usize);
        let mut start = 0.5;
        for group in levels.chunk_by(|a, b| a == b) {
            let level = group[0];
            let mut sum = 0.0;
            let sums: Vec<(f64, f64, usize)> = (ages.iter())
                .filter(|cohort| cohort.levels.contains(&level))
                .map(|cohort| {
                    sum += cohort.at_level(level, slots, self.binomial);
                    (sum, cohort.age, cohort.filler)
                })
                .collect();
            // Each level begins elsewhere: what is rare within all of them must
            // be drawn as often as it is there.
            start = (start + GOLDEN).fract();
            for block in 0..group.len() {
                let quantile = (block as f64 + start) / group.len() as f64 * sum;
                let place = sums.partition_point(|at| at.0 < quantile);
                let (age, filler) = sums.get(place).map_or((AGE_MAX, 0), |at| (at.1, at.2));
                population.push(self.pool.block(level, age, &flow.mixes[filler]));
            }
        }
        population
    }
}

/// Blocks of one filler and one age.
struct Cohort {
    filler: usize,
    age: f64,
    /// Share of their slots that is valid, had none of them been collected.
    valid: f64,
    weight: f64,
    /// Those with so many valid units were, and a part of those with one more.
    most: u32,
    part: f64,
    /// Valid units that are not too rare.
    levels: Range<u32>,
}

impl Cohort {
    /// The weight of those with `level` valid units, one of the levels.
    fn at_level(&self, level: u32, slots: u32, binomial: &Binomial) -> f64 {
        let part = if level == self.most + 1 { self.part } else { 1.0 };
        part * self.weight * binomial.exactly(slots, level, self.valid)
    }
}

/// The share of a block's slots that is still valid.
fn valid_share(mix: &[f64], left: &[f64]) -> f64 {
    mix.iter().zip(left).map(|(share, left)| share * left).sum::<f64>().min(1.0)
}

/// Hits beyond which a binomial distribution is over.
fn limits(trials: u32, chance: f64) -> (u32, u32) {
    let mean = f64::from(trials) * chance;
    let reach = DEVIATIONS * (mean * (1.0 - chance)).sqrt() + DEVIATIONS;
    ((mean - reach).max(0.0) as u32, ((mean + reach) as u32).min(trials))
}
