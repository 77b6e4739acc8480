//! Random blocks of which a share are copies of earlier ones.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Unit of repetition: what deduplicating drives and file systems look at.
pub(crate) const BLOCK_BYTES: usize = 4096;
const WORDS: usize = BLOCK_BYTES / 8;
/// A copy is at least so many fresh blocks (256 KiB) away from what it copies and
/// from the copy before: no compressor finds it within one write or its window.
const DISTANCE_BLOCKS: u64 = 64;

/// A sequence of blocks. Any of them can be made again from its number: it is
/// one random block with a key of eight words laid over it.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    seed: u64,
    base: Box<[u64; WORDS]>,
    fresh: u64,
    copies: u64,
}

impl Copies {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let base = Box::new(std::array::from_fn(|_| random.next_u64()));
        Self { seed, base, fresh: 0, copies: 0 }
    }

    /// Fills `bytes`, block by block, so that `percent` of all blocks that this
    /// source ever made are copies.
    pub(crate) fn fill(&mut self, percent: u8, bytes: &mut [u8]) {
        for block in bytes.chunks_mut(BLOCK_BYTES) {
            let due = (self.fresh + self.copies + 1) * u64::from(percent) / 100;
            let number = if due > self.copies && self.fresh >= 2 * DISTANCE_BLOCKS {
                let number = self.fresh - 2 * DISTANCE_BLOCKS + self.copies % DISTANCE_BLOCKS;
                self.copies += 1;
                number
            } else {
                self.fresh += 1;
                self.fresh - 1
            };
            self.write(number, block);
        }
    }

    fn write(&self, number: u64, block: &mut [u8]) {
        // An odd multiplier spreads the number over all bits.
        let mut random =
            SplitMix64::seed_from_u64(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let key: [u64; 8] = std::array::from_fn(|_| random.next_u64());
        let (lines, rest) = block.as_chunks_mut::<64>();
        for (line, base) in lines.iter_mut().zip(self.base.as_chunks::<8>().0) {
            for (index, out) in line.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *out = (base[index] ^ key[index]).to_le_bytes();
            }
        }
        assert!(rest.is_empty(), "requests are whole sectors");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_share_of_copies_is_what_was_asked_and_copies_are_far_apart() {
        for percent in [1, 10, 33, 50, 75, 90, 99] {
            let mut source = Copies::new(7);
            let mut bytes = vec![0; 64 << 20];
            for write in bytes.chunks_mut(128 << 10) {
                source.fill(percent, write);
            }
            let mut last = HashMap::new();
            let mut copies = 0;
            for (index, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
                if let Some(before) = last.insert(block, index) {
                    copies += 1;
                    assert!(index - before > 32, "{percent} %: {} apart", index - before);
                }
            }
            let share = 100.0 * f64::from(copies) / (bytes.len() / BLOCK_BYTES) as f64;
            assert!((share - f64::from(percent)).abs() < 0.5, "{percent}: {share}");
        }
    }
}
