//! What writes carry: random bytes made as fast as memory takes them.
//!
//! The generator is xoshiro256+ (Blackman and Vigna, "Scrambled linear
//! pseudorandom number generators", 2021) in eight lanes side by side, so that
//! the compiler can use vector registers. Its known weakness, linear lowest
//! bits, is nothing that a drive's compressor could find.

use crate::copies::Copies;
use fourcorners_workload::Content;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

const LANES: usize = 8;
/// Bytes made by one step of all lanes.
const STEP_BYTES: usize = LANES * 8;
/// Unit of [`Content::Compressible`]: each one holds its share of random bytes
/// followed by zeros, so that a drive that compresses per 4 KiB page and one
/// that compresses per request see the same ratio.
const COMPRESSION_UNIT_BYTES: usize = 4096;
/// How many of a unit's random bytes are left out, because compressors add about
/// as many: between 0.1 and 2.1 % of 4 KiB by zlib, lz4 and zstd at 4 to 128 KiB
/// (measured; `tests/test_content.py` holds the sum against what was asked).
const COMPRESSORS_ADD_BYTES: usize = 41;
/// Seed of the block that [`Content::Repeated`] writes: one for all workers
/// and runs, or it would not be repeated.
const REPEATED_SEED: u64 = 0x5245_5045_4154_4544;

/// Eight xoshiro256+ generators, stored word by word.
#[derive(Clone, Debug)]
pub(crate) struct RandomBytes {
    state: [[u64; LANES]; 4],
    wide: bool,
}

impl RandomBytes {
    pub(crate) fn new(seed: u64) -> Self {
        let mut split = SplitMix64::seed_from_u64(seed);
        let mut state = [[0; LANES]; 4];
        for word in state.iter_mut().flatten() {
            *word = split.next_u64();
        }
        #[cfg(target_arch = "x86_64")]
        let wide = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let wide = false;
        Self { state, wide }
    }

    /// Fills `bytes`. The same seed and the same lengths give the same bytes on
    /// every machine.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `wide` says that this processor has AVX2.
            unsafe { fill_avx2(&mut self.state, bytes) };
            return;
        }
        debug_assert!(!self.wide);
        fill_lanes(&mut self.state, bytes);
    }
}

/// Fills `bytes`, lane by lane.
fn fill_lanes(state: &mut [[u64; LANES]; 4], bytes: &mut [u8]) {
    let [s0, s1, s2, s3] = state;
    for out in bytes.chunks_mut(STEP_BYTES) {
        let mut step = [0; STEP_BYTES];
        for (lane, value) in step.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *value = s0[lane].wrapping_add(s3[lane]).to_le_bytes();
            let shifted = s1[lane] << 17;
            s2[lane] ^= s0[lane];
            s3[lane] ^= s1[lane];
            s1[lane] ^= s2[lane];
            s0[lane] ^= s3[lane];
            s2[lane] ^= shifted;
            s3[lane] = s3[lane].rotate_left(45);
        }
        out.copy_from_slice(&step[..out.len()]);
    }
}

/// [`fill_lanes`] with four lanes per register. The compiler does not find this
/// by itself: 9 GB/s per core became 29 (AMD EPYC, 2026-11).
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(state: &mut [[u64; LANES]; 4], bytes: &mut [u8]) {
    use std::arch::x86_64::*;
    const HALVES: usize = LANES / 4;
    // SAFETY: both types are 256 plain bytes, and every bit pattern is valid.
    let mut words: [[__m256i; HALVES]; 4] = unsafe { std::mem::transmute(*state) };
    let (steps, rest) = bytes.as_chunks_mut::<STEP_BYTES>();
    for out in steps {
        let [s0, s1, s2, s3] = &mut words;
        for half in 0..HALVES {
            let value = _mm256_add_epi64(s0[half], s3[half]);
            // SAFETY: a step has 32 bytes for each half; the store needs no
            // alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(half * 32).cast(), value) };
            let shifted = _mm256_slli_epi64::<17>(s1[half]);
            s2[half] = _mm256_xor_si256(s2[half], s0[half]);
            s3[half] = _mm256_xor_si256(s3[half], s1[half]);
            s1[half] = _mm256_xor_si256(s1[half], s2[half]);
            s0[half] = _mm256_xor_si256(s0[half], s3[half]);
            s2[half] = _mm256_xor_si256(s2[half], shifted);
            let high = _mm256_slli_epi64::<45>(s3[half]);
            s3[half] = _mm256_or_si256(high, _mm256_srli_epi64::<19>(s3[half]));
        }
    }
    // SAFETY: as above.
    *state = unsafe { std::mem::transmute::<[[__m256i; HALVES]; 4], [[u64; LANES]; 4]>(words) };
    fill_lanes(state, rest);
}

/// What a slot's buffer holds at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Held {
    /// Anything: it was read into, or written with bytes that must not repeat.
    #[default]
    Used,
    /// Random bytes that no write has carried yet.
    Fresh,
    /// At least so many bytes of the repeated block.
    Repeated(u32),
}

/// Makes the content of writes.
#[derive(Clone, Debug)]
pub(crate) struct ContentSource {
    fresh: RandomBytes,
    copies: Copies,
}

impl ContentSource {
    /// Sources with different seeds make different bytes, but for the repeated
    /// block, which is the same for all.
    pub(crate) fn new(seed: u64) -> Self {
        Self { fresh: RandomBytes::new(seed), copies: Copies::new(seed) }
    }

    /// Makes `bytes` what a write of `content` carries, and says what the
    /// buffer holds once the write has carried it.
    pub(crate) fn make(&mut self, content: Content, held: Held, bytes: &mut [u8]) -> Held {
        match content {
            Content::Incompressible => {
                if held != Held::Fresh {
                    self.fresh.fill(bytes);
                }
                Held::Used
            }
            Content::Repeated => {
                let length = bytes.len() as u32;
                match held {
                    Held::Repeated(there) if there >= length => held,
                    _ => {
                        RandomBytes::new(REPEATED_SEED).fill(bytes);
                        Held::Repeated(length)
                    }
                }
            }
            Content::Compressible(percent) => {
                for unit in bytes.chunks_mut(COMPRESSION_UNIT_BYTES) {
                    let mut random = unit.len() * usize::from(percent.min(100)) / 100;
                    if percent < 100 {
                        random = random.saturating_sub(COMPRESSORS_ADD_BYTES);
                    }
                    let (random, zeros) = unit.split_at_mut(random);
                    self.fresh.fill(random);
                    zeros.fill(0);
                }
                Held::Used
            }
            Content::Duplicated(percent) => {
                self.copies.fill(percent, bytes);
                Held::Used
            }
        }
    }

    /// Fills a buffer with bytes that count as [`Held::Fresh`].
    pub(crate) fn fill_fresh(&mut self, bytes: &mut [u8]) {
        self.fresh.fill(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(source: &mut ContentSource, content: Content, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xEE; length];
        source.make(content, Held::Used, &mut bytes);
        bytes
    }

    #[test]
    fn narrow_and_wide_registers_make_the_same_bytes() {
        let mut wide = RandomBytes::new(5);
        let mut narrow = wide.clone();
        narrow.wide = false;
        let (mut a, mut b) = (vec![0; 10_007], vec![1; 10_007]);
        wide.fill(&mut a);
        narrow.fill(&mut b);
        assert_eq!(a, b);
    }

    #[test]
    fn incompressible_bytes_never_repeat_and_have_full_entropy() {
        let mut source = ContentSource::new(1);
        let bytes = make(&mut source, Content::Incompressible, 1 << 20);
        assert_ne!(bytes, make(&mut source, Content::Incompressible, 1 << 20));
        let blocks: std::collections::HashSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(blocks.len(), (1 << 20) / 512);
        let mut counts = [0u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        let expected = f64::from(1 << 20) / 256.0;
        let chi_squared: f64 =
            counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((150.0..360.0).contains(&chi_squared), "{chi_squared}");
    }

    #[test]
    fn seeds_make_different_bytes_but_one_repeated_block() {
        let (mut one, mut two) = (ContentSource::new(1), ContentSource::new(2));
        let of = |source: &mut ContentSource, content| make(source, content, 4096);
        assert_ne!(of(&mut one, Content::Incompressible), of(&mut two, Content::Incompressible));
        assert_eq!(of(&mut one, Content::Repeated), of(&mut two, Content::Repeated));
    }

    #[test]
    fn a_shorter_repeated_block_begins_like_a_longer_one() {
        let mut source = ContentSource::new(1);
        let long = make(&mut source, Content::Repeated, 8192);
        assert_eq!(long[..512], make(&mut source, Content::Repeated, 512));
    }

    #[test]
    fn compressible_content_holds_its_share_of_random_bytes_in_every_page() {
        let mut source = ContentSource::new(1);
        let bytes = make(&mut source, Content::Compressible(40), 3 * 4096);
        for page in bytes.chunks(4096) {
            let zeros = page.iter().rev().take_while(|byte| **byte == 0).count();
            // The last random byte is itself zero now and then.
            let random = 1638 - COMPRESSORS_ADD_BYTES;
            assert!((4096 - random..4096 - random + 8).contains(&zeros), "{zeros}");
        }
    }
}
