//! What writes replaced that are not durable yet, so that a loss of power can bring
//! it back.
//!
//! A flush makes durable what was acknowledged before it was submitted, and no
//! more. So copies are kept by epoch: submitting a flush begins a new one, and its
//! completion makes those before it durable. Power is lost: of the ranges that the
//! drive says are lost, copies are put back from the newest epoch to the oldest,
//! which leaves what was durable last.

use crate::data::Data;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;

const SECTOR_BYTES: u64 = 512;
/// Bytes that a copy is made of at least; one bit for each of its sectors.
const BLOCK_BYTES: u64 = 8 * SECTOR_BYTES;

/// A moment between writes: see [`Undo::begin_epoch`].
pub type Epoch = u64;

/// Copies of what was replaced.
#[derive(Debug, Default)]
pub struct Undo {
    /// By epoch, oldest first; the last one is the present one.
    epochs: VecDeque<BTreeMap<u64, Copy>>,
    first: Epoch,
    blocks: usize,
}

#[derive(Debug)]
struct Copy {
    /// Which sectors it is of.
    sectors: u8,
    old: Box<[u8; BLOCK_BYTES as usize]>,
}

impl Undo {
    /// Keeps what a range holds, which is about to be replaced. Ranges are whole sectors.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn keep(&mut self, data: &Data, range: Range<u64>) -> io::Result<()> {
        if self.epochs.is_empty() {
            self.epochs.push_back(BTreeMap::new());
        }
        let present = self.epochs.back_mut().expect("there is one");
        for block in blocks(&range) {
            let sectors = sectors_of(block, &range);
            let copy = present.entry(block).or_insert_with(|| {
                self.blocks += 1;
                Copy { sectors: 0, old: Box::new([0; BLOCK_BYTES as usize]) }
            });
            let missing = sectors & !copy.sectors;
            for part in runs(missing) {
                let bytes = part.start as usize * 512..part.end as usize * 512;
                data.read(block * BLOCK_BYTES + bytes.start as u64, &mut copy.old[bytes])?;
            }
            copy.sectors |= missing;
        }
        Ok(())
    }

    /// A flush is submitted: returns what [`Undo::durable_before`] is told when it
    /// completes.
    pub fn begin_epoch(&mut self) -> Epoch {
        if self.epochs.back().is_some_and(|present| !present.is_empty()) {
            self.epochs.push_back(BTreeMap::new());
        }
        self.first + self.epochs.len().saturating_sub(1) as u64
    }

    /// What was written before `epoch` is durable.
    pub fn durable_before(&mut self, epoch: Epoch) {
        while self.first < epoch && self.epochs.len() > 1 {
            let gone = self.epochs.pop_front().expect("there are two");
            self.blocks -= gone.len();
            self.first += 1;
        }
    }

    /// What a range holds is durable, and so is nothing that it replaced.
    pub fn durable(&mut self, range: Range<u64>) {
        for epoch in &mut self.epochs {
            let of_epoch: Vec<u64> = epoch
                .range(range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES))
                .map(|(&block, _)| block)
                .collect();
            for block in of_epoch {
                let copy = epoch.get_mut(&block).expect("it was just found");
                copy.sectors &= !sectors_of(block, &range);
                if copy.sectors == 0 {
                    epoch.remove(&block);
                    self.blocks -= 1;
                }
            }
        }
    }

    /// Forgets everything outside of these ranges, which ascend.
    pub fn keep_only(&mut self, ranges: &[Range<u64>]) {
        for epoch in &mut self.epochs {
            let before = epoch.len();
            epoch.retain(|&block, copy| {
                let start = block * BLOCK_BYTES;
                let first = ranges.partition_point(|range| range.end <= start);
                let near = ranges[first..].iter().take_while(|r| r.start < start + BLOCK_BYTES);
                copy.sectors &= near.fold(0, |all, range| all | sectors_of(block, range));
                copy.sectors != 0
            });
            self.blocks -= before - epoch.len();
        }
    }

    /// Puts back what the lost ranges held when they were durable last, and forgets
    /// all copies. Returns how many bytes were put back.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn roll_back(&mut self, data: &mut Data, lost: &[Range<u64>]) -> io::Result<u64> {
        self.keep_only(lost);
        let mut sectors: u64 = 0;
        let capacity = data.capacity_bytes();
        while let Some(epoch) = self.epochs.pop_back() {
            self.blocks -= epoch.len();
            for (block, copy) in epoch {
                for part in runs(copy.sectors) {
                    let bytes = part.start as usize * 512..part.end as usize * 512;
                    let start = block * BLOCK_BYTES + bytes.start as u64;
                    debug_assert!(start < capacity);
                    data.write(start, &copy.old[bytes])?;
                    sectors += u64::from(part.end - part.start);
                }
            }
        }
        Ok(sectors * SECTOR_BYTES)
    }

    /// Memory that the copies take.
    pub fn bytes(&self) -> u64 {
        self.blocks as u64 * BLOCK_BYTES
    }
}

fn blocks(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)
}

/// The sectors of a block that a range covers.
fn sectors_of(block: u64, range: &Range<u64>) -> u8 {
    let start = block * BLOCK_BYTES;
    let from = range.start.saturating_sub(start).min(BLOCK_BYTES) / SECTOR_BYTES;
    let until = range.end.saturating_sub(start).min(BLOCK_BYTES).div_ceil(SECTOR_BYTES);
    (from..until).fold(0, |sectors, sector| sectors | 1 << sector)
}

/// Runs of bits that are set.
fn runs(bits: u8) -> impl Iterator<Item = Range<u32>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < 8 && bits >> at & 1 == 0 {
            at += 1;
        }
        let start = at;
        while at < 8 && bits >> at & 1 == 1 {
            at += 1;
        }
        (start < at).then_some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPACITY: u64 = 64 * 512;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, u64),
        Forced(u64, u64),
        Flush,
        Completed,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..64u64, 1..20u64).prop_map(|(from, length)| Step::Write(from, length)),
            1 => (0..64u64, 1..20u64).prop_map(|(from, length)| Step::Forced(from, length)),
            1 => Just(Step::Flush),
            1 => Just(Step::Completed),
        ]
    }

    proptest! {
        /// Against a list of what was durable when.
        #[test]
        fn what_was_durable_last_comes_back(
            steps in prop::collection::vec(step(), 1..60), lost in prop::collection::vec(any::<bool>(), 64)
        ) {
            let (mut data, mut undo) = (Data::in_memory(CAPACITY), Undo::default());
            let mut present = [0u8; 64];
            let mut durable = [0u8; 64];
            // Content when each flush under way was submitted, which it makes durable.
            let mut flushes: VecDeque<(Epoch, [u8; 64], [u32; 64])> = VecDeque::new();
            // When each sector was forced last: an older flush does not undo that.
            let (mut forced, mut now) = ([0u32; 64], 0);
            for (number, step) in steps.iter().enumerate() {
                now += 1;
                match *step {
                    Step::Write(from, length) | Step::Forced(from, length) => {
                        let sectors = from..(from + length).min(64);
                        let range = sectors.start * 512..sectors.end * 512;
                        undo.keep(&data, range.clone()).unwrap();
                        let value = number as u8 + 1;
                        data.write(range.start, &vec![value; (range.end - range.start) as usize])
                            .unwrap();
                        present[sectors.start as usize..sectors.end as usize].fill(value);
                        if matches!(step, Step::Forced(..)) {
                            undo.durable(range);
                            for sector in sectors {
                                durable[sector as usize] = value;
                                forced[sector as usize] = now;
                            }
                        }
                    }
                    Step::Flush => flushes.push_back((undo.begin_epoch(), present, [now; 64])),
                    Step::Completed => {
                        if let Some((epoch, content, at)) = flushes.pop_front() {
                            undo.durable_before(epoch);
                            for sector in 0..64 {
                                if forced[sector] < at[sector] {
                                    durable[sector] = content[sector];
                                }
                            }
                        }
                    }
                }
            }
            let ranges: Vec<Range<u64>> = (0..64u64)
                .filter(|&sector| lost[sector as usize])
                .map(|sector| sector * 512..(sector + 1) * 512)
                .collect();
            undo.roll_back(&mut data, &ranges).unwrap();
            prop_assert_eq!(undo.bytes(), 0);
            for sector in 0..64 {
                let mut found = [0];
                data.read(sector as u64 * 512, &mut found).unwrap();
                let expected = if lost[sector] { durable[sector] } else { present[sector] };
                prop_assert_eq!(found[0], expected, "sector {}", sector);
            }
        }
    }
}
