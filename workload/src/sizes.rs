//! Requests of several sizes: what part of a stream's requests has which.

use crate::request::Operation;
use crate::skew::below;
use crate::stream::{BLOCK_BYTES_MAX, SECTOR_BYTES, WorkloadError, reject};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Most entries of a list of sizes: fio takes 64.
const ENTRIES_MAX: usize = 256;

/// A size of requests, and how many have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Bytes per request, a multiple of 512.
    pub bytes: u32,
    /// Share of the requests, 0 to 1.
    pub share: f64,
    /// The largest of several: every multiple of `bytes` up to this is as
    /// frequent. `None`: `bytes` alone.
    #[serde(default)]
    pub bytes_max: Option<u32>,
}

/// The sizes of a stream's reads and of its writes. The shares of each add up to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Of reads.
    pub read: Vec<SizeShare>,
    /// Of writes.
    pub write: Vec<SizeShare>,
}

impl SizeShare {
    fn largest(&self) -> u32 {
        let bytes_max = self.bytes_max.unwrap_or(self.bytes);
        bytes_max - bytes_max % self.bytes.max(1)
    }
}

impl Sizes {
    fn all(&self) -> impl Iterator<Item = &SizeShare> {
        self.read.iter().chain(&self.write)
    }

    /// The largest request.
    pub fn largest_bytes(&self) -> u32 {
        self.all().map(SizeShare::largest).max().unwrap_or(0)
    }

    /// What every size is a multiple of.
    pub fn grid_bytes(&self) -> u32 {
        self.all().map(|size| size.bytes).fold(0, greatest_common_divisor)
    }

    /// The same of reads, and of writes.
    pub(crate) fn own_grids_bytes(&self) -> [u64; 2] {
        [&self.read, &self.write].map(|sizes| {
            let grid = sizes.iter().map(|size| size.bytes).fold(0, greatest_common_divisor);
            u64::from(grid)
        })
    }

    pub(crate) fn check(&self, block_bytes: u32) -> Result<(), WorkloadError> {
        for sizes in [&self.read, &self.write] {
            if sizes.is_empty() || sizes.len() > ENTRIES_MAX {
                return reject(format!("{} sizes: use 1 to {ENTRIES_MAX}", sizes.len()));
            }
            let sum: f64 = sizes.iter().map(|one| one.share).sum();
            let shares = sizes.iter().all(|one| (0.0..=1.0).contains(&one.share));
            if !shares || (sum - 1.0).abs() > 1e-6 {
                return reject("sizes: use shares from 0 to 1 that add up to 1");
            }
        }
        for one in self.all() {
            let whole = u64::from(one.bytes).is_multiple_of(SECTOR_BYTES) && one.bytes > 0;
            let ordered =
                one.bytes_max.is_none_or(|most| (one.bytes..=BLOCK_BYTES_MAX).contains(&most));
            if !whole || !ordered || one.bytes > BLOCK_BYTES_MAX {
                return reject(format!(
                    "requests of {} to {} bytes: use multiples of 512 up to {BLOCK_BYTES_MAX}, the smaller one first",
                    one.bytes,
                    one.bytes_max.unwrap_or(one.bytes)
                ));
            }
        }
        if self.largest_bytes() != block_bytes {
            return reject(format!(
                "the block size of {block_bytes} bytes is not the largest of the sizes, {} bytes",
                self.largest_bytes()
            ));
        }
        Ok(())
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Draws sizes.
#[derive(Clone, Debug)]
pub(crate) struct SizeDraw {
    read: Vec<(u64, SizeShare)>,
    write: Vec<(u64, SizeShare)>,
}

impl SizeDraw {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        Self { read: thresholds(&sizes.read), write: thresholds(&sizes.write) }
    }

    pub(crate) fn draw(&self, operation: Operation, random: &mut Xoshiro256PlusPlus) -> u32 {
        let sizes = if operation == Operation::Read { &self.read } else { &self.write };
        let index = match sizes.len() {
            1 => 0,
            _ => {
                let drawn = u64::from(random.next_u32());
                sizes.partition_point(|&(threshold, _)| threshold <= drawn)
            }
        };
        let size = &sizes[index].1;
        match size.largest() / size.bytes {
            1 => size.bytes,
            multiples => size.bytes * (1 + below(random, u64::from(multiples)) as u32),
        }
    }
}

/// Each size with the random number, of 2^32, below which it or one before it is meant.
fn thresholds(sizes: &[SizeShare]) -> Vec<(u64, SizeShare)> {
    let mut sum = 0.0;
    let mut found: Vec<(u64, SizeShare)> = Vec::new();
    for size in sizes.iter().filter(|size| size.share > 0.0) {
        sum += size.share;
        found.push(((sum * (1u64 << 32) as f64).round() as u64, *size));
    }
    found.last_mut().expect("the shares add up to 1").0 = 1 << 32;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn size(bytes: u32, share: f64, bytes_max: Option<u32>) -> SizeShare {
        SizeShare { bytes, share, bytes_max }
    }

    #[test]
    fn sizes_are_drawn_by_their_shares_and_ranges_evenly() {
        let sizes = Sizes {
            read: vec![size(4096, 0.6, None), size(65_536, 0.4, None)],
            write: vec![size(4096, 1.0, Some(32_768))],
        };
        assert_eq!((sizes.largest_bytes(), sizes.grid_bytes()), (65_536, 4096));
        let draw = SizeDraw::new(&sizes);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let draws = 100_000;
        let small =
            (0..draws).filter(|_| draw.draw(Operation::Read, &mut random) == 4096).count() as f64;
        // 5 standard deviations of a binomial.
        assert!((small / f64::from(draws) - 0.6).abs() < 0.008, "{small}");
        let mut counts = [0u32; 8];
        for _ in 0..draws {
            counts[(draw.draw(Operation::Write, &mut random) / 4096 - 1) as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(12_500) < 525), "{counts:?}");
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let of = |read: SizeShare| Sizes { read: vec![read], write: vec![size(512, 1.0, None)] };
        for (sizes, complaint) in [
            (of(size(4096, 0.5, None)), "add up to 1"),
            (of(size(4000, 1.0, None)), "multiples of 512"),
            (of(size(8192, 1.0, Some(4096))), "the smaller one first"),
            (of(size(512, 1.0, None)), "not the largest"),
        ] {
            let error = sizes.check(4096).unwrap_err().0;
            assert!(error.contains(complaint), "{error}");
        }
    }
}
