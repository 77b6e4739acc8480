//! What writes replaced that are not durable yet, so that a loss of power can bring
//! it back.
//!
//! A flush makes durable what was acknowledged before it was submitted, and no
//! more. So copies are kept by epoch: submitting a flush begins a new one, and its
//! completion makes those before it durable. Power is lost: of the ranges that the
//! drive says are lost, copies are put back from the newest epoch to the oldest,
//! which leaves what was durable last.
//!
//! Much of it becomes durable without a flush, and copies of that are only in the way. They
//! are looked for a few at a time ([`Undo::search`]), because the drive's answers wait
//! meanwhile.

use crate::data::Data;
use crate::pages::{PAGE_BYTES, Page, Pages};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;

const SECTOR_BYTES: u64 = 512;
/// Bytes that a copy is made of at least; one bit for each of its sectors.
const BLOCK_BYTES: u64 = PAGE_BYTES as u64;
const ALL_SECTORS: u8 = u8::MAX;

/// A moment between writes: see [`Undo::begin_epoch`].
pub type Epoch = u64;

/// Copies of what was replaced.
#[derive(Debug, Default)]
pub struct Undo {
    /// By epoch, oldest first; the last one is the present one.
    epochs: VecDeque<BTreeMap<u64, Copy>>,
    first: Epoch,
    blocks: usize,
    search: Option<Search>,
    /// Of searches so far.
    searches: u32,
}

#[derive(Debug)]
struct Copy {
    /// Which sectors it is of.
    sectors: u8,
    /// How many searches had begun when the block was written last: the latest of them does not
    /// concern it.
    searches: u32,
    /// `None` stands for zeroes.
    old: Option<Page>,
}

/// A search for copies that are not needed.
#[derive(Debug)]
struct Search {
    /// What a loss of power would have taken when it began, ascending.
    at_risk: Vec<Range<u64>>,
    /// Where it goes on.
    epoch: Epoch,
    block: u64,
    /// The first epoch that began later.
    until: Epoch,
    /// What is not needed of those that are looked at.
    gone: Vec<u64>,
}

impl Copy {
    fn end(self, pages: &mut Pages) {
        if let Some(old) = self.old {
            pages.give_back(old);
        }
    }
}

impl Undo {
    /// Keeps what a range holds, which is about to be written. Ranges are whole sectors. What is
    /// all `replaced` need not stay, and reads as zeroes until it is.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn keep(&mut self, data: &mut Data, range: &Range<u64>, replaced: bool) -> io::Result<()> {
        if self.epochs.is_empty() {
            self.epochs.push_back(BTreeMap::new());
        }
        let present = self.epochs.back_mut().expect("there is one");
        for block in blocks(range) {
            let sectors = sectors_of(block, range);
            let copy = match present.entry(block) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    self.blocks += 1;
                    place.insert(Copy { sectors: 0, searches: 0, old: None })
                }
            };
            if let Some(search) = &self.search
                && copy.searches < self.searches
            {
                copy.sectors &= sectors_within(block, &search.at_risk);
            }
            copy.searches = self.searches;
            let missing = sectors & !copy.sectors;
            if missing == ALL_SECTORS
                && replaced
                && let Some(page) = data.take(block)
            {
                // What an earlier search has made superfluous.
                if let Some(unneeded) = std::mem::replace(&mut copy.old, page) {
                    data.pages().give_back(unneeded);
                }
            } else if missing != 0 {
                // In memory one may stand for zeroes of a page that never was.
                if copy.old.is_none() {
                    copy.old = Some(data.pages().zeroed()?);
                }
                let old = copy.old.as_ref().expect("it was just seen to");
                let mut read = [0; PAGE_BYTES];
                for part in runs(missing) {
                    let bytes = part.start as usize * 512..part.end as usize * 512;
                    let read = &mut read[bytes.clone()];
                    data.read(block * BLOCK_BYTES + bytes.start as u64, read)?;
                    data.pages().bytes_mut(old)[bytes].copy_from_slice(read);
                }
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
    pub fn durable_before(&mut self, epoch: Epoch, pages: &mut Pages) {
        while self.first < epoch && self.epochs.len() > 1 {
            let gone = self.epochs.pop_front().expect("there are two");
            self.blocks -= gone.len();
            gone.into_values().for_each(|copy| copy.end(pages));
            self.first += 1;
        }
    }

    /// What a range holds is durable, and so is nothing that it replaced.
    pub fn durable(&mut self, range: Range<u64>, pages: &mut Pages) {
        for epoch in &mut self.epochs {
            let of_epoch: Vec<u64> = epoch
                .range(range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES))
                .map(|(&block, _)| block)
                .collect();
            for block in of_epoch {
                let Entry::Occupied(mut copy) = epoch.entry(block) else { continue };
                copy.get_mut().sectors &= !sectors_of(block, &range);
                if copy.get().sectors == 0 {
                    copy.remove().end(pages);
                    self.blocks -= 1;
                }
            }
        }
    }

    /// Begins to look for copies of what is not `at_risk` (ranges that ascend).
    pub fn search_outside(&mut self, at_risk: Vec<Range<u64>>) {
        self.searches += 1;
        let until = self.first + self.epochs.len() as u64;
        let gone = Vec::new();
        self.search = Some(Search { at_risk, epoch: self.first, block: 0, until, gone });
    }

    /// Whether a search is under way.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Looks at so many more copies, and forgets those that were not needed when the search
    /// began.
    pub fn search(&mut self, mut copies: usize, pages: &mut Pages) {
        let Some(search) = &mut self.search else { return };
        while copies > 0 {
            if search.epoch < self.first {
                (search.epoch, search.block) = (self.first, 0);
            }
            if search.epoch >= search.until {
                self.search = None;
                return;
            }
            let epoch = &mut self.epochs[(search.epoch - self.first) as usize];
            let before = copies;
            for (&block, copy) in epoch.range_mut(search.block..).take(before) {
                copies -= 1;
                search.block = block + 1;
                if copy.searches < self.searches {
                    copy.sectors &= sectors_within(block, &search.at_risk);
                    if copy.sectors == 0 {
                        search.gone.push(block);
                    }
                }
            }
            self.blocks -= search.gone.len();
            for block in search.gone.drain(..) {
                epoch.remove(&block).expect("it was just looked at").end(pages);
            }
            if copies == before {
                (search.epoch, search.block) = (search.epoch + 1, 0);
            }
        }
    }

    /// Puts back what the lost ranges held when they were durable last, and forgets
    /// all copies. Returns how many bytes were put back.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn roll_back(&mut self, data: &mut Data, lost: &[Range<u64>]) -> io::Result<u64> {
        self.search(usize::MAX, data.pages());
        let mut sectors: u64 = 0;
        let capacity = data.capacity_bytes();
        while let Some(epoch) = self.epochs.pop_back() {
            self.blocks -= epoch.len();
            for (block, copy) in epoch {
                let mut old = [0; PAGE_BYTES];
                if let Some(page) = &copy.old {
                    old.copy_from_slice(data.pages().bytes(page));
                }
                for part in runs(copy.sectors & sectors_within(block, lost)) {
                    let bytes = part.start as usize * 512..part.end as usize * 512;
                    let start = block * BLOCK_BYTES + bytes.start as u64;
                    debug_assert!(start < capacity);
                    data.write(start, &old[bytes])?;
                    sectors += u64::from(part.end - part.start);
                }
                copy.end(data.pages());
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

/// The sectors of a block that ranges cover, which ascend.
fn sectors_within(block: u64, ranges: &[Range<u64>]) -> u8 {
    let start = block * BLOCK_BYTES;
    let first = ranges.partition_point(|range| range.end <= start);
    let near = ranges[first..].iter().take_while(|range| range.start < start + BLOCK_BYTES);
    near.fold(0, |all, range| all | sectors_of(block, range))
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
        /// What is at risk then.
        Search(Vec<bool>),
        Look(usize),
    }

    fn sectors_of_drive() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(any::<bool>(), 64)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..64u64, 1..20u64).prop_map(|(from, length)| Step::Write(from, length)),
            1 => (0..64u64, 1..20u64).prop_map(|(from, length)| Step::Forced(from, length)),
            1 => Just(Step::Flush),
            1 => Just(Step::Completed),
            1 => sectors_of_drive().prop_map(Step::Search),
            2 => (1..5usize).prop_map(Step::Look),
        ]
    }

    fn ranges(sectors: &[bool]) -> Vec<Range<u64>> {
        (0..64u64).filter(|&at| sectors[at as usize]).map(|at| at * 512..(at + 1) * 512).collect()
    }

    proptest! {
        /// Against a list of what was durable when. What a search found to be at no risk is durable,
        /// and is lost only if it was written again.
        #[test]
        fn what_was_durable_last_comes_back(
            steps in prop::collection::vec(step(), 1..80),
            mut lost in sectors_of_drive(),
            replaced: bool,
        ) {
            let (mut data, mut undo) = (Data::in_memory(CAPACITY), Undo::default());
            let mut present = [0u8; 64];
            let mut durable = [0u8; 64];
            let mut is_safe = [false; 64];
            // Content when each flush under way was submitted, which it makes durable.
            let mut flushes: VecDeque<(Epoch, [u8; 64], [u32; 64])> = VecDeque::new();
            // When each sector was forced last: an older flush does not undo that.
            let (mut forced, mut now) = ([0u32; 64], 0);
            for (number, step) in steps.iter().enumerate() {
                now += 1;
                match step {
                    Step::Write(from, length) | Step::Forced(from, length) => {
                        let sectors = *from..(from + length).min(64);
                        let range = sectors.start * 512..sectors.end * 512;
                        undo.keep(&mut data, &range, replaced).unwrap();
                        let value = number as u8 + 1;
                        data.write(range.start, &vec![value; (range.end - range.start) as usize])
                            .unwrap();
                        let places = sectors.start as usize..sectors.end as usize;
                        present[places.clone()].fill(value);
                        is_safe[places.clone()].fill(false);
                        if matches!(step, Step::Forced(..)) {
                            undo.durable(range, data.pages());
                            for sector in places {
                                durable[sector] = value;
                                forced[sector] = now;
                            }
                        }
                    }
                    Step::Flush => flushes.push_back((undo.begin_epoch(), present, [now; 64])),
                    Step::Completed => {
                        if let Some((epoch, content, at)) = flushes.pop_front() {
                            undo.durable_before(epoch, data.pages());
                            for sector in 0..64 {
                                if forced[sector] < at[sector] {
                                    durable[sector] = content[sector];
                                }
                            }
                        }
                    }
                    Step::Search(at_risk) => {
                        undo.search(usize::MAX, data.pages());
                        undo.search_outside(ranges(at_risk));
                        for sector in (0..64).filter(|&sector| !at_risk[sector]) {
                            durable[sector] = present[sector];
                            forced[sector] = now;
                            is_safe[sector] = true;
                        }
                    }
                    Step::Look(copies) => undo.search(*copies, data.pages()),
                }
            }
            for sector in 0..64 {
                lost[sector] &= !is_safe[sector];
            }
            undo.roll_back(&mut data, &ranges(&lost)).unwrap();
            prop_assert_eq!(undo.bytes(), 0);
            let extents = (0..CAPACITY).step_by(PAGE_BYTES).map(|at| data.extent(at, 1));
            let stored = extents.filter(|extent| extent.is_stored).count();
            prop_assert_eq!(data.pages().used(), stored, "a page that nobody has");
            for sector in 0..64 {
                let mut found = [0];
                data.read(sector as u64 * 512, &mut found).unwrap();
                let expected = if lost[sector] { durable[sector] } else { present[sector] };
                prop_assert_eq!(found[0], expected, "sector {}", sector);
            }
        }
    }

    #[test]
    fn a_search_forgets_what_is_at_no_risk_a_few_at_a_time() {
        let (mut data, mut undo) = (Data::in_memory(CAPACITY), Undo::default());
        undo.keep(&mut data, &(0..CAPACITY), true).unwrap();
        assert_eq!(undo.bytes(), CAPACITY);
        undo.search_outside(std::iter::once(4096..8192).collect());
        // Written since.
        undo.keep(&mut data, &(512..1024), false).unwrap();
        undo.search(4, data.pages());
        assert_eq!(undo.bytes(), CAPACITY - 2 * 4096);
        undo.search(5, data.pages());
        assert_eq!((undo.bytes(), undo.is_searching()), (2 * 4096, false));
    }
}
