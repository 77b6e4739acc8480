//! What differs from one operation of the NAND to the next.
//!
//! Times of programs and erases spread lognormally about their means: incremental
//! steps of programming take as many as the cells need, a product of many small
//! factors. A page that cannot be corrected is read again with other thresholds.

use super::{BackgroundWork, Flash};
use crate::page_mapped::specification::Specification;
use crate::specification::{Parameter, Share};
use crate::validity::{Checked, ensure, same};
use fourcorners_workload::below;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Sets these random numbers apart from others that follow from the seed.
const SALT: u64 = 0x6e61_6e64;
/// Random numbers of a share, below which it comes true, are of so many bits.
const SHARE_BITS: u32 = 53;

/// Random times of dies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variation {
    program: LogNormal,
    erase: LogNormal,
    /// Of 2^53 reads, how many are repeated; and what that takes.
    retried: u64,
    retry_ns: u64,
    random: Xoshiro256PlusPlus,
}

/// A factor with mean 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LogNormal {
    /// Standard deviation of its logarithm; 0: it is 1.
    sigma: f64,
}

impl LogNormal {
    /// Of this standard deviation.
    fn new(spread: f64) -> Self {
        Self { sigma: libm::sqrt(libm::log1p(spread * spread)) }
    }

    fn apply(self, time_ns: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
        if self.sigma == 0.0 {
            return time_ns;
        }
        let exponent = self.sigma * normal(random) - self.sigma * self.sigma / 2.0;
        (time_ns as f64 * libm::exp(exponent)).round() as u64
    }
}

/// A standard normal number (Box and Muller, Annals of Mathematical Statistics
/// 29(2), 1958).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let mut uniform = || (below(random, 1 << SHARE_BITS) + 1) as f64 / (1u64 << SHARE_BITS) as f64;
    let radius = libm::sqrt(-2.0 * libm::log(uniform()));
    radius * libm::cos(core::f64::consts::TAU * uniform())
}

impl Variation {
    /// Where the specification has any of the flash.
    pub fn new(specification: &Specification, seed: u64) -> Option<Self> {
        let variation = specification.variation.as_ref()?;
        let value =
            |share: &Option<Parameter<Share>>| share.as_ref().map_or(0.0, |share| share.value.0);
        let retried = value(&variation.read_retry_share);
        let (program, erase) = (value(&variation.program_spread), value(&variation.erase_spread));
        (program > 0.0 || erase > 0.0 || retried > 0.0).then(|| Self {
            program: LogNormal::new(program),
            erase: LogNormal::new(erase),
            retried: (retried * (1u64 << SHARE_BITS) as f64) as u64,
            retry_ns: variation.read_retry_time.as_ref().map_or(0, |time| time.0),
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ SALT),
        })
    }

    /// Fails unless what was loaded can go on as what was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self { program, erase, retried, retry_ns, random } = self;
        same!(made; program, erase, retried, retry_ns);
        // From a state of zeroes this generator draws nothing else, for ever.
        let mut random = random.clone();
        ensure((0..4).any(|_| random.next_u64() != 0), "the randomness of the flash")
    }

    /// What repeated reads add to an array operation that reads so many pages: as
    /// much as the page that needs the most of them.
    fn retries_ns(&mut self, pages: u32) -> u64 {
        if self.retried == 0 {
            return 0;
        }
        let mut most = 0;
        for _ in 0..pages {
            let mut retries = 0;
            while below(&mut self.random, 1 << SHARE_BITS) < self.retried {
                retries += 1;
            }
            most = retries.max(most);
        }
        most * self.retry_ns
    }

    /// Time in the array of a program, with what is read for it, or of an erase.
    fn work_ns(&mut self, work: &BackgroundWork) -> u64 {
        let factor = if work.bus_ns > 0 { self.program } else { self.erase };
        factor.apply(u64::from(work.array_ns), &mut self.random)
    }
}

impl Flash {
    /// Time in the array of background work.
    pub(super) fn varied_ns(&mut self, work: &BackgroundWork) -> u64 {
        match &mut self.variation {
            Some(variation) => variation.work_ns(work),
            None => u64::from(work.array_ns),
        }
    }

    /// What repeated reads add to the operation that a die begins.
    pub(super) fn retries_ns(&mut self, die: u32) -> u64 {
        let planes = self.dies[die as usize].planes.as_ref();
        let pages = planes.map_or(1, |planes| planes.reading());
        self.variation.as_mut().map_or(0, |variation| variation.retries_ns(pages))
    }
}
