//! Which block the collector empties next.

use crate::page_mapped::specification::{GarbageCollection, Policy};
use crate::validity::{Checked, ensure, same};
use fourcorners_workload::below;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Set in a block's count of valid units while the collector must not choose
/// it: it is free, being filled, or being emptied.
pub const NOT_CLOSED: u32 = 1 << 31;

/// A block that is being emptied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Victim {
    pub block: u32,
    /// Slots below this one are done.
    pub next_slot: u32,
    /// Units to move for each unit written, so that a block is free again
    /// when a block has been filled.
    pub moves_per_write: f64,
    /// Slots that the collector passes meanwhile, rounded up.
    pub slots_per_write: u32,
    /// It was chosen before all of it had been programmed.
    pub unsettled: bool,
}

/// Chooses victims.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VictimRule {
    pub policy: Policy,
    /// Blocks that d-choices looks at.
    pub candidates: u32,
    pub random: Xoshiro256PlusPlus,
}

impl VictimRule {
    /// As the specification has it; greedy where it says nothing.
    pub fn new(collection: &GarbageCollection, seed: u64) -> Self {
        Self {
            policy: collection.policy.as_ref().map_or(Policy::Greedy, |p| p.value),
            candidates: collection.candidates.as_ref().map_or(1, |c| c.value),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Fails unless a loaded rule can go on as one that was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self { policy, candidates, random } = self;
        same!(made; policy, candidates);
        // From a state of zeroes this generator draws nothing else, for ever.
        let mut random = random.clone();
        ensure((0..4).any(|_| random.next_u64() != 0), "the collector's randomness")
    }

    /// The block of a pool to empty next. `counts` are the valid units of the
    /// pool's blocks, `closed_at` the order in which they were filled,
    /// `now` what the next one to be filled would get, and `capacity` the
    /// units that a block holds. `None` when no block is closed.
    pub fn choose(
        &mut self,
        counts: &[u32],
        closed_at: &[u64],
        now: u64,
        capacity: u32,
    ) -> Option<u32> {
        let best = match self.policy {
            Policy::Greedy => fewest(counts),
            Policy::Fifo => {
                let closed = (0..counts.len()).filter(|&block| counts[block] < NOT_CLOSED);
                closed.min_by_key(|&block| closed_at[block])?
            }
            Policy::CostBenefit => {
                let closed = (0..counts.len()).filter(|&block| counts[block] < NOT_CLOSED);
                // Age times what is gained over what it costs: (1 - u) / 2u
                // (Kawaguchi, Nishioka, Motoda: USENIX 1995).
                let score = |block: usize| {
                    let valid = f64::from(counts[block]) / f64::from(capacity);
                    (now - closed_at[block]) as f64 * (1.0 - valid) / (2.0 * valid)
                };
                closed.max_by(|&a, &b| score(a).total_cmp(&score(b)))?
            }
            Policy::DChoices => self.best_of_some(counts),
        };
        (counts[best] < NOT_CLOSED).then_some(best as u32)
    }

    /// The best of `candidates` closed blocks drawn at random (Van Houdt,
    /// SIGMETRICS 2013).
    fn best_of_some(&mut self, counts: &[u32]) -> usize {
        let mut best = fewest(counts);
        if counts[best] >= NOT_CLOSED {
            return best;
        }
        let mut fewest_seen = u32::MAX;
        let mut drawn = 0;
        while drawn < self.candidates {
            let block = below(&mut self.random, counts.len() as u64) as usize;
            if counts[block] >= NOT_CLOSED {
                continue;
            }
            drawn += 1;
            if counts[block] < fewest_seen {
                (best, fewest_seen) = (block, counts[block]);
            }
        }
        best
    }
}

/// The first block with the fewest valid units. The least of each part of the
/// counts is found with vector instructions, its place only in the part that
/// has the least of all.
pub fn fewest(counts: &[u32]) -> usize {
    const PART: usize = 64;
    let (mut first, mut least) = (0, u32::MAX);
    for (part, counts) in counts.chunks(PART).enumerate() {
        let fewest = counts.iter().copied().min().unwrap_or(u32::MAX);
        if fewest < least {
            (first, least) = (part * PART, fewest);
        }
    }
    first + counts[first..].iter().position(|&count| count == least).unwrap_or(0)
}
