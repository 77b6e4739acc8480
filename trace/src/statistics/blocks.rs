//! Which blocks of 4 KiB are used, how often, and how far apart.
//!
//! Blocks are sampled by a hash of their address, as SHARDS does (Waldspurger et al., FAST '15):
//! every access of a sampled block is seen, and what is counted is divided by the share that is
//! sampled. The share falls as blocks turn up, so that never more than [`SAMPLED_MAX`] are kept.

use crate::record::Record;
use fourcorners_workload::Operation;
use serde::Serialize;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// The page of most file systems.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// Blocks that are kept. The paper finds the error of a curve of 8,192 sampled blocks below 0.01;
/// four times as many are some 5 MB.
const SAMPLED_MAX: usize = 1 << 15;

/// Blocks of one I/O that are looked at: those of a GiB.
const BLOCKS_MAX: u64 = 1 << 18;

/// Shares of blocks whose accesses are told, hottest first.
const HOTTEST: [f64; 4] = [0.01, 0.1, 0.2, 0.5];

/// Which blocks are used, and how.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockFigures {
    /// Size of a block.
    pub block_bytes: u64,
    /// Share of the blocks that was looked at: below 1 all figures here are estimates.
    pub sampled_share: f64,
    /// Blocks that were looked at.
    pub sampled_blocks: u64,
    /// All blocks that were read or written, in bytes.
    pub footprint_bytes: f64,
    /// Those that were read.
    pub read_footprint_bytes: f64,
    /// Those that were written.
    pub written_footprint_bytes: f64,
    /// Those that were accessed once only, of all.
    pub accessed_once_share: f64,
    /// Share of the accesses that the hottest blocks have, by share of the blocks.
    pub hottest: Vec<(f64, f64)>,
    /// Share of the written bytes that the most written blocks have, by share of the written
    /// blocks.
    pub hottest_written: Vec<(f64, f64)>,
    /// Accesses by how many bytes of other blocks were accessed since the block was, at powers of
    /// two: (at most so many bytes, share of all accesses). What is missing to 1 are first
    /// accesses.
    pub reuse: Vec<(u64, f64)>,
    /// Block writes by how many bytes were written to the volumes since the block was, likewise.
    pub rewrite: Vec<(u64, f64)>,
}

#[derive(Clone, Copy)]
struct Seen {
    /// Where it stands in the order of accesses.
    place: usize,
    accesses: u32,
    writes: u32,
    reads: u32,
    /// Bytes written by the whole trace when it was written last.
    written_at: u64,
    hash: u64,
}

pub(super) struct Blocks {
    /// Blocks with a smaller hash are sampled.
    threshold: u64,
    seen: HashMap<(u32, u64), Seen>,
    /// The largest hashes, which go first.
    largest: BinaryHeap<(u64, u32, u64)>,
    order: Order,
    written_bytes: u64,
    reuse: BTreeMap<u32, f64>,
    rewrite: BTreeMap<u32, f64>,
    accesses: f64,
    writes: f64,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            threshold: u64::MAX,
            seen: HashMap::new(),
            largest: BinaryHeap::new(),
            order: Order::default(),
            written_bytes: 0,
            reuse: BTreeMap::new(),
            rewrite: BTreeMap::new(),
            accesses: 0.0,
            writes: 0.0,
        }
    }
}

/// Mixes all bits of a block's address (the finalizer of SplitMix64).
fn hash_of(volume: u32, block: u64) -> u64 {
    let mut value = block.wrapping_add(u64::from(volume).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl Blocks {
    fn sampled_share(&self) -> f64 {
        (self.threshold as f64 / u64::MAX as f64).min(1.0)
    }

    /// Counts the blocks of an I/O; `sampled` is told the hash of each that is sampled,
    /// and the largest that may be.
    pub(super) fn count(&mut self, record: &Record, sampled: &mut dyn FnMut(u64, u64)) {
        if !record.operation.transfers() || record.length_bytes == 0 {
            return;
        }
        let first = record.offset_bytes / BLOCK_BYTES;
        let last = (record.end_bytes() - 1) / BLOCK_BYTES;
        let is_write = record.operation == Operation::Write;
        for block in first..=last.min(first + BLOCKS_MAX) {
            let hash = hash_of(record.volume, block);
            if hash <= self.threshold {
                self.access(record.volume, block, hash, is_write);
                sampled(hash, self.threshold);
            }
        }
        if is_write {
            self.written_bytes += record.length_bytes;
        }
    }

    fn access(&mut self, volume: u32, block: u64, hash: u64, is_write: bool) {
        let share = self.sampled_share();
        self.accesses += 1.0 / share;
        self.writes += f64::from(u8::from(is_write)) / share;
        if self.order.is_full() {
            self.order.close_gaps(self.seen.values_mut().map(|seen| &mut seen.place));
        }
        let place = self.order.append();
        if let Some(seen) = self.seen.get_mut(&(volume, block)) {
            let others = self.order.after(seen.place) - 1;
            let distance = others as f64 / share * BLOCK_BYTES as f64;
            *self.reuse.entry(power_above(distance)).or_default() += 1.0 / share;
            self.order.remove(seen.place);
            seen.place = place;
            seen.accesses = seen.accesses.saturating_add(1);
            if is_write {
                if seen.writes > 0 {
                    let distance = (self.written_bytes - seen.written_at) as f64;
                    *self.rewrite.entry(power_above(distance)).or_default() += 1.0 / share;
                }
                seen.writes = seen.writes.saturating_add(1);
                seen.written_at = self.written_bytes;
            } else {
                seen.reads = seen.reads.saturating_add(1);
            }
            return;
        }
        let seen = Seen {
            place,
            accesses: 1,
            writes: u32::from(is_write),
            reads: u32::from(!is_write),
            written_at: self.written_bytes,
            hash,
        };
        self.seen.insert((volume, block), seen);
        self.largest.push((hash, volume, block));
        if self.seen.len() > SAMPLED_MAX {
            self.lower();
        }
    }

    /// Samples fewer blocks: those with the largest hash are forgotten.
    fn lower(&mut self) {
        let Some((hash, volume, block)) = self.largest.pop() else { return };
        if let Some(seen) = self.seen.remove(&(volume, block)) {
            self.order.remove(seen.place);
            debug_assert_eq!(seen.hash, hash);
        }
        self.threshold = hash - 1;
    }

    pub(super) fn finish(self) -> BlockFigures {
        let share = self.sampled_share();
        let bytes = |blocks: usize| blocks as f64 / share * BLOCK_BYTES as f64;
        let count = |of: fn(&Seen) -> u32| self.seen.values().filter(|seen| of(seen) > 0).count();
        let once = self.seen.values().filter(|seen| seen.accesses == 1).count();
        BlockFigures {
            block_bytes: BLOCK_BYTES,
            sampled_share: share,
            sampled_blocks: self.seen.len() as u64,
            footprint_bytes: bytes(self.seen.len()),
            read_footprint_bytes: bytes(count(|seen| seen.reads)),
            written_footprint_bytes: bytes(count(|seen| seen.writes)),
            accessed_once_share: once as f64 / self.seen.len().max(1) as f64,
            hottest: hottest(self.seen.values().map(|seen| seen.accesses)),
            hottest_written: hottest(self.seen.values().map(|seen| seen.writes)),
            reuse: cumulative(&self.reuse, self.accesses),
            rewrite: cumulative(&self.rewrite, self.writes),
        }
    }
}

fn hottest(counts: impl Iterator<Item = u32>) -> Vec<(f64, f64)> {
    let mut counts: Vec<u64> = counts.filter(|count| *count > 0).map(u64::from).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return Vec::new();
    }
    let share = |share: &f64| {
        let many = (share * counts.len() as f64).ceil() as usize;
        (*share, counts[..many].iter().sum::<u64>() as f64 / all as f64)
    };
    HOTTEST.iter().map(share).collect()
}

/// The power of two that is not below a distance.
fn power_above(distance: f64) -> u32 {
    (distance.max(1.0) as u64).next_power_of_two().trailing_zeros()
}

fn cumulative(counts: &BTreeMap<u32, f64>, all: f64) -> Vec<(u64, f64)> {
    let mut sum = 0.0;
    let mut found = Vec::new();
    for (power, count) in counts {
        sum += count;
        found.push((1u64 << power.min(&63), sum / all.max(1.0)));
    }
    found
}

/// The order of last accesses: how many blocks were accessed after one, by a Fenwick tree.
struct Order {
    sums: Vec<u32>,
    marked: Vec<bool>,
    used: usize,
    live: usize,
}

/// Places before gaps are closed: twice as many as there are blocks, so that it is seldom.
const PLACES: usize = 4 * SAMPLED_MAX;

impl Default for Order {
    fn default() -> Self {
        Order { sums: vec![0; PLACES + 1], marked: vec![false; PLACES], used: 0, live: 0 }
    }
}

impl Order {
    fn is_full(&self) -> bool {
        self.used == PLACES
    }

    fn append(&mut self) -> usize {
        let place = self.used;
        self.used += 1;
        self.live += 1;
        self.marked[place] = true;
        self.add(place, 1);
        place
    }

    fn remove(&mut self, place: usize) {
        self.live -= 1;
        self.marked[place] = false;
        self.add(place, -1);
    }

    fn add(&mut self, place: usize, change: i32) {
        let mut at = place + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add_signed(change);
            at += at & at.wrapping_neg();
        }
    }

    /// Marks behind a place.
    fn after(&self, place: usize) -> usize {
        let mut at = place + 1;
        let mut before = 0;
        while at > 0 {
            before += self.sums[at] as usize;
            at -= at & at.wrapping_neg();
        }
        self.live - before
    }

    /// Gives all marks places without gaps, in their order.
    fn close_gaps<'a>(&mut self, places: impl Iterator<Item = &'a mut usize>) {
        let mut moved = vec![0; PLACES];
        let mut next = 0;
        for (place, marked) in self.marked.iter().enumerate() {
            if *marked {
                moved[place] = next;
                next += 1;
            }
        }
        for place in places {
            *place = moved[*place];
        }
        self.sums.fill(0);
        self.marked.fill(false);
        self.used = 0;
        self.live = 0;
        for _ in 0..next {
            self.append();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(blocks: impl Iterator<Item = (u64, Operation)>) -> BlockFigures {
        let mut counting = Blocks::default();
        for (block, operation) in blocks {
            let record = Record::new(0, operation, block * BLOCK_BYTES, BLOCK_BYTES);
            counting.count(&record, &mut |_, _| ());
        }
        counting.finish()
    }

    #[test]
    fn a_loop_over_blocks_has_one_distance() {
        let figures = figures((0..40_000).map(|number| (number % 1000, Operation::Write)));
        assert_eq!(figures.sampled_share, 1.0);
        assert_eq!(figures.footprint_bytes, 1000.0 * 4096.0);
        // 999 other blocks lie between, and a thousand written ones.
        assert_eq!(figures.reuse, [(1 << 22, 0.975)]);
        assert_eq!(figures.rewrite, [(1 << 22, 0.975)]);
        assert_eq!(figures.accessed_once_share, 0.0);
    }

    #[test]
    fn more_blocks_than_are_kept_are_estimated() {
        let count = 1_000_000;
        let figures = figures((0..2 * count).map(|number| (number % count, Operation::Read)));
        assert!(figures.sampled_share < 0.04, "{figures:?}");
        // Of 32768 sampled blocks the error is 0.6 % in two of three.
        let footprint = count as f64 * 4096.0;
        assert!((figures.footprint_bytes / footprint - 1.0).abs() < 0.02, "{figures:?}");
        let (distance, share) = *figures.reuse.last().expect("there are some");
        assert_eq!(distance, (footprint as u64).next_power_of_two());
        assert!((share - 0.5).abs() < 0.01, "{figures:?}");
    }

    #[test]
    fn the_hottest_blocks_have_their_share() {
        // One block of a hundred has half of the accesses.
        let accesses =
            (0..20_000).map(|n| (if n % 2 == 0 { 7 } else { n / 2 % 100 }, Operation::Read));
        let figures = figures(accesses);
        assert_eq!(figures.hottest[0].0, 0.01);
        assert!((figures.hottest[0].1 - 0.505).abs() < 1e-9, "{figures:?}");
    }
}
