//! Page mapping with greedy garbage collection.
//!
//! Logical units map to slots of rows (one page on each plane of a die). The
//! host's units fill one row after another, die by die; collected units fill
//! rows of their own on the die that they come from. The map changes at once;
//! the time that this takes is handed out as [`RowWork`] for the dies.

use super::flash::{BackgroundWork, ProgramTimes};
use super::specification::Specification;
use crate::link::transfer_ns;
use crate::table::Table;
use std::collections::VecDeque;

/// Set in a block's count while the collector must not choose it: it is free,
/// being filled, or being emptied.
const NOT_CLOSED: u32 = 1 << 31;

/// Work for a die that a change of the map brought about.
pub type RowWork = (u32, BackgroundWork);

/// Sizes derived from the specification; all counts are per die unless named.
#[derive(Clone, Debug)]
struct Geometry {
    dies: u32,
    blocks: u32,
    rows_per_block: u32,
    slots_per_row: u32,
    slots_per_page: u32,
    slots_per_block: u32,
    slots_per_die: u32,
    unit_bytes: u32,
    row_bytes: u32,
    /// Least room that another unit can use.
    stored_bytes_min: u32,
}

/// Where the next unit of a write stream goes on a die.
#[derive(Clone, Debug)]
struct Frontier {
    block: u32,
    row: u32,
    slots: u32,
    bytes: u32,
}

impl Frontier {
    fn at_start_of(block: u32) -> Self {
        Self { block, row: 0, slots: 0, bytes: 0 }
    }

    #[inline]
    fn add(&mut self, stored_bytes: u32) {
        self.slots += 1;
        self.bytes += stored_bytes;
    }

    /// Whether the row takes no further unit, however small.
    #[inline]
    fn is_full(&self, geometry: &Geometry) -> bool {
        self.slots == geometry.slots_per_row
            || self.bytes + geometry.stored_bytes_min > geometry.row_bytes
    }

    fn next_row(&self) -> Self {
        Self { block: self.block, row: self.row + 1, slots: 0, bytes: 0 }
    }
}

/// A block that is being emptied.
#[derive(Clone, Debug)]
struct Victim {
    block: u32,
    /// Slots below this one are done.
    next_slot: u32,
    /// Units to move for each unit written, so that a block is free again
    /// when a block has been filled.
    moves_per_write: f64,
}

/// One die's blocks.
#[derive(Clone, Debug)]
struct Die {
    free: VecDeque<u32>,
    host: Frontier,
    collector: Frontier,
    victim: Option<Victim>,
    /// Units that may be moved before the next write.
    credit: f64,
    /// Rows read by the collector for the row that it fills now, the last of
    /// them, and the bytes that went over the bus.
    collector_reads: u32,
    collector_last_row: u32,
    collector_read_bytes: u32,
}

/// What translation did since the drive was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct TranslationCounters {
    /// Units written for the host.
    pub host_units: u64,
    /// Units moved by the collector.
    pub moved_units: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

/// The page map and its garbage collector.
#[derive(Debug)]
pub struct Translation {
    geometry: Geometry,
    /// Logical unit to slot + 1; 0 is unmapped.
    map: Table<u32>,
    /// Slot to logical unit.
    owner: Table<u32>,
    /// One bit per slot.
    valid: Table<u64>,
    /// Compressing drives: filled slots of each row.
    row_fill: Option<Table<u8>>,
    /// Valid units of each block, all dies in a row.
    counts: Vec<u32>,
    dies: Vec<Die>,
    /// Die that takes the host's units now.
    host_die: u32,
    start_free_blocks: usize,
    burst_blocks: usize,
    read_ns: u64,
    programs: ProgramTimes,
    erase_ns: u64,
    bus_rate: u64,
    counters: TranslationCounters,
}

impl Translation {
    /// An empty, erased drive.
    ///
    /// # Panics
    /// When the drive has 2^32 slots or more (16 TiB of 4 KiB units).
    pub fn new(specification: &Specification) -> Self {
        let unit_bytes = specification.translation.unit.0 as u32;
        let row_bytes = specification.row_bytes() as u32;
        let density =
            specification.compression.as_ref().map_or(1, |c| (1.0 / c.smallest.value) as u32);
        let slots_per_row = row_bytes / unit_bytes * density;
        let rows_per_block = specification.flash.pages_per_block.value;
        let blocks = specification.blocks_per_die();
        let dies = specification.flash.dies.value;
        let slots_per_block = slots_per_row * rows_per_block;
        let slots = u64::from(dies) * u64::from(blocks) * u64::from(slots_per_block);
        assert!(slots < u64::from(u32::MAX), "too many mapping slots for 32 bits");
        let geometry = Geometry {
            dies,
            blocks,
            rows_per_block,
            slots_per_row,
            slots_per_page: (slots_per_row / specification.flash.planes.value).max(1),
            slots_per_block,
            slots_per_die: slots_per_block * blocks,
            unit_bytes,
            row_bytes,
            stored_bytes_min: unit_bytes.div_ceil(density),
        };
        let units = (specification.capacity.user.0 / u64::from(unit_bytes)) as usize;
        Self {
            map: Table::zeroed(units),
            owner: Table::zeroed(slots as usize),
            valid: Table::zeroed((slots as usize).div_ceil(64)),
            row_fill: specification
                .compression
                .as_ref()
                .map(|_| Table::zeroed((slots / u64::from(slots_per_row)) as usize)),
            counts: vec![NOT_CLOSED; (dies * blocks) as usize],
            dies: (0..dies).map(|_| Die::erased(blocks)).collect(),
            host_die: 0,
            start_free_blocks: specification.garbage_collection.start_free_blocks.value as usize,
            burst_blocks: specification.garbage_collection.burst_blocks.value as usize,
            read_ns: specification.flash.read_time.0,
            programs: ProgramTimes::new(&specification.flash),
            erase_ns: specification.flash.erase_time.0,
            bus_rate: specification.flash.bus_rate.0,
            counters: TranslationCounters::default(),
            geometry,
        }
    }

    /// What was done so far.
    pub fn counters(&self) -> TranslationCounters {
        self.counters
    }

    /// The slot that holds a unit.
    #[inline]
    pub fn slot(&self, unit: u32) -> Option<u32> {
        self.map[unit as usize].checked_sub(1)
    }

    /// The die of a slot.
    #[inline]
    pub fn die(&self, slot: u32) -> u32 {
        slot / self.geometry.slots_per_die
    }

    /// The page of a slot: slots of one page are read together.
    #[inline]
    pub fn page(&self, slot: u32) -> u32 {
        slot / self.geometry.slots_per_page
    }

    /// Whether a slot is still in the write buffer, in the row being filled.
    #[inline]
    pub fn is_buffered(&self, slot: u32) -> bool {
        let die = self.die(slot);
        die == self.host_die && {
            let host = &self.dies[die as usize].host;
            self.row_of(slot) == self.frontier_row(die, host)
        }
    }

    /// Brings the map's entry for a unit closer to the processor.
    #[inline]
    pub fn prefetch_map(&self, unit: u32) {
        prefetch(&self.map[unit as usize]);
    }

    /// Brings closer what a write of the unit will invalidate. Its map entry
    /// has been prefetched before.
    #[inline]
    pub fn prefetch_slot(&self, unit: u32) {
        if let Some(slot) = self.slot(unit) {
            prefetch(&self.valid[slot as usize / 64]);
            prefetch(&self.counts[(slot / self.geometry.slots_per_block) as usize]);
        }
    }

    /// Writes a unit that stores as `stored_bytes`. What the dies have to do
    /// for it, if a row became full, is appended to `work`.
    #[inline]
    pub fn write(&mut self, unit: u32, stored_bytes: u32, work: &mut Vec<RowWork>) {
        if self.dies[self.host_die as usize].host.bytes + stored_bytes > self.geometry.row_bytes {
            self.close_host_row(work);
        }
        let host = &self.dies[self.host_die as usize].host;
        let slot = self.frontier_slot(self.host_die, host);
        let old = std::mem::replace(&mut self.map[unit as usize], slot + 1);
        if old != 0 {
            self.invalidate(old - 1);
        }
        self.occupy(slot, unit);
        self.counters.host_units += 1;
        let host = &mut self.dies[self.host_die as usize].host;
        host.add(stored_bytes);
        if host.is_full(&self.geometry) {
            self.close_host_row(work);
        }
    }

    /// Programs the row that the host's units have filled, moves on to the
    /// next die, and lets this one collect what it owes.
    fn close_host_row(&mut self, work: &mut Vec<RowWork>) {
        let die = self.host_die;
        let host = self.dies[die as usize].host.clone();
        self.count_row(die, &host);
        let units = host.slots;
        work.push((
            die,
            BackgroundWork {
                bus_ns: transfer_ns(u64::from(host.bytes), self.bus_rate),
                array_ns: self.programs.ns(host.row),
                release_bytes: host.bytes,
            },
        ));
        self.host_die = if die + 1 == self.geometry.dies { 0 } else { die + 1 };
        let block_full = host.row + 1 == self.geometry.rows_per_block;
        let space = &mut self.dies[die as usize];
        space.host = host.next_row();
        if block_full {
            self.counts[block_index(&self.geometry, die, host.block)] &= !NOT_CLOSED;
            // The collector must always find a block for what it moves.
            while self.dies[die as usize].free.len() < 2 {
                self.collect_block(die, work);
            }
            self.dies[die as usize].open_host_block();
        }
        self.collect(die, units, work);
    }

    /// Collects what `units` written units make due on a die.
    fn collect(&mut self, die: u32, units: u32, work: &mut Vec<RowWork>) {
        if self.dies[die as usize].free.len() >= self.start_free_blocks {
            return;
        }
        if self.burst_blocks > 0 {
            let enough = self.start_free_blocks + self.burst_blocks;
            while self.dies[die as usize].free.len() < enough {
                self.collect_block(die, work);
            }
            return;
        }
        let moves_per_write = self.victim(die).moves_per_write;
        let space = &mut self.dies[die as usize];
        space.credit += f64::from(units) * moves_per_write;
        let moves = space.credit as u32;
        space.credit -= f64::from(moves);
        // A victim without valid units costs nothing to free.
        if moves > 0 || moves_per_write == 0.0 {
            self.move_units(die, moves.max(1), work);
        }
    }

    /// Empties the current victim of a die, or the next one.
    fn collect_block(&mut self, die: u32, work: &mut Vec<RowWork>) {
        self.victim(die);
        self.move_units(die, u32::MAX, work);
    }

    /// The block that a die empties; chooses one if there is none.
    fn victim(&mut self, die: u32) -> &Victim {
        if self.dies[die as usize].victim.is_none() {
            let first = block_index(&self.geometry, die, 0);
            let counts = &self.counts[first..first + self.geometry.blocks as usize];
            let fewest = counts.iter().copied().min().unwrap_or(NOT_CLOSED);
            let block = counts.iter().position(|&count| count == fewest).unwrap_or(0) as u32;
            let capacity = self.written_slots(die, block);
            assert!(
                fewest < capacity,
                "every block of die {die} is full of valid units: its specification was not checked"
            );
            self.counts[first + block as usize] |= NOT_CLOSED;
            self.dies[die as usize].victim = Some(Victim {
                block,
                next_slot: 0,
                moves_per_write: f64::from(fewest) / f64::from(capacity - fewest),
            });
        }
        self.dies[die as usize].victim.as_ref().expect("was just chosen")
    }

    /// Moves up to `most` valid units out of the die's victim; frees the block
    /// when none is left.
    fn move_units(&mut self, die: u32, most: u32, work: &mut Vec<RowWork>) {
        let Some(mut victim) = self.dies[die as usize].victim.take() else {
            return;
        };
        let base = die * self.geometry.slots_per_die + victim.block * self.geometry.slots_per_block;
        let end = base + self.geometry.slots_per_block;
        let index = block_index(&self.geometry, die, victim.block);
        let mut moved = 0;
        let mut from = base + victim.next_slot;
        while moved < most {
            let Some(slot) = next_set(&self.valid, from, end) else {
                from = end;
                break;
            };
            from = slot + 1;
            // Owners are read in order, so the map entries that will change
            // are known well ahead.
            prefetch(
                &self.map[self.owner[((slot + PREFETCH_SLOTS).min(end - 1)) as usize] as usize],
            );
            self.valid[slot as usize / 64] &= !(1 << (slot % 64));
            self.counts[index] -= 1;
            self.move_unit(die, slot, work);
            moved += 1;
        }
        self.counters.moved_units += u64::from(moved);
        victim.next_slot = from - base;
        if self.counts[index] == NOT_CLOSED {
            self.counters.erased_blocks += 1;
            self.dies[die as usize].free.push_back(victim.block);
            let erase = BackgroundWork { bus_ns: 0, array_ns: self.erase_ns, release_bytes: 0 };
            work.push((die, erase));
        } else {
            self.dies[die as usize].victim = Some(victim);
        }
    }

    /// Moves the unit in `slot` to the collector's row of its die.
    #[inline]
    fn move_unit(&mut self, die: u32, slot: u32, work: &mut Vec<RowWork>) {
        let unit = self.owner[slot as usize];
        let row = self.row_of(slot);
        let stored_bytes = match &self.row_fill {
            None => self.geometry.unit_bytes,
            Some(fill) => self.geometry.row_bytes / u32::from(fill[row as usize]).max(1),
        };
        if self.dies[die as usize].collector.bytes + stored_bytes > self.geometry.row_bytes {
            self.close_collector_row(die, work);
        }
        let target = self.frontier_slot(die, &self.dies[die as usize].collector);
        self.map[unit as usize] = target + 1;
        self.occupy(target, unit);
        let space = &mut self.dies[die as usize];
        if space.collector_last_row != row {
            space.collector_last_row = row;
            space.collector_reads += 1;
        }
        space.collector_read_bytes += stored_bytes;
        space.collector.add(stored_bytes);
        if space.collector.is_full(&self.geometry) {
            self.close_collector_row(die, work);
        }
    }

    /// Programs the collector's row: its source rows are read one after the
    /// other, pass the controller (and so the channel, twice), and are
    /// programmed.
    fn close_collector_row(&mut self, die: u32, work: &mut Vec<RowWork>) {
        let space = &self.dies[die as usize];
        let row = space.collector.clone();
        let bus_bytes = u64::from(space.collector_read_bytes) + u64::from(row.bytes);
        work.push((
            die,
            BackgroundWork {
                bus_ns: transfer_ns(bus_bytes, self.bus_rate),
                array_ns: u64::from(space.collector_reads) * self.read_ns
                    + self.programs.ns(row.row),
                release_bytes: 0,
            },
        ));
        self.count_row(die, &row);
        let block_full = row.row + 1 == self.geometry.rows_per_block;
        let space = &mut self.dies[die as usize];
        space.collector_reads = 0;
        space.collector_read_bytes = 0;
        space.collector = row.next_row();
        if block_full {
            self.counts[block_index(&self.geometry, die, row.block)] &= !NOT_CLOSED;
            self.dies[die as usize].open_collector_block();
        }
    }

    #[inline]
    fn occupy(&mut self, slot: u32, unit: u32) {
        self.owner[slot as usize] = unit;
        self.valid[slot as usize / 64] |= 1 << (slot % 64);
        self.counts[(slot / self.geometry.slots_per_block) as usize] += 1;
    }

    #[inline]
    fn invalidate(&mut self, slot: u32) {
        self.valid[slot as usize / 64] &= !(1 << (slot % 64));
        self.counts[(slot / self.geometry.slots_per_block) as usize] -= 1;
    }

    fn count_row(&mut self, die: u32, frontier: &Frontier) {
        let row = self.frontier_row(die, frontier);
        if let Some(fill) = &mut self.row_fill {
            fill[row as usize] = frontier.slots as u8;
        }
    }

    /// Slots of a closed block that were written: all, unless compression let
    /// fewer fit.
    fn written_slots(&self, die: u32, block: u32) -> u32 {
        match &self.row_fill {
            None => self.geometry.slots_per_block,
            Some(fill) => {
                let first = (block_index(&self.geometry, die, block) as u32
                    * self.geometry.rows_per_block) as usize;
                fill[first..first + self.geometry.rows_per_block as usize]
                    .iter()
                    .map(|&slots| u32::from(slots))
                    .sum()
            }
        }
    }

    #[inline]
    fn row_of(&self, slot: u32) -> u32 {
        slot / self.geometry.slots_per_row
    }

    #[inline]
    fn frontier_row(&self, die: u32, frontier: &Frontier) -> u32 {
        (die * self.geometry.blocks + frontier.block) * self.geometry.rows_per_block + frontier.row
    }

    #[inline]
    fn frontier_slot(&self, die: u32, frontier: &Frontier) -> u32 {
        self.frontier_row(die, frontier) * self.geometry.slots_per_row + frontier.slots
    }

    /// Checks every invariant of the map; slow, for tests.
    ///
    /// # Panics
    /// When one is broken.
    #[cfg(test)]
    pub fn assert_consistent(&self) {
        let mut counts = vec![0u32; self.counts.len()];
        let mut mapped = 0;
        for (unit, &entry) in self.map.iter().enumerate() {
            if entry != 0 {
                let slot = entry - 1;
                mapped += 1;
                assert_eq!(self.owner[slot as usize] as usize, unit, "owner of slot {slot}");
                assert_ne!(self.valid[slot as usize / 64] >> (slot % 64) & 1, 0, "slot {slot}");
                counts[(slot / self.geometry.slots_per_block) as usize] += 1;
            }
        }
        let valid: u32 = self.valid.iter().map(|word| word.count_ones()).sum();
        assert_eq!(valid, mapped, "valid slots against mapped units");
        for (index, (&count, expected)) in self.counts.iter().zip(counts).enumerate() {
            assert_eq!(count & !NOT_CLOSED, expected, "count of block {index}");
        }
        for die in &self.dies {
            let mut held: Vec<u32> = die.free.iter().copied().collect();
            held.extend([die.host.block, die.collector.block]);
            held.extend(die.victim.as_ref().map(|victim| victim.block));
            held.sort_unstable();
            held.dedup();
            let expected = die.free.len() + 2 + usize::from(die.victim.is_some());
            assert_eq!(held.len(), expected, "a block is held twice");
        }
    }
}

/// How far ahead of the collector map entries are prefetched, in slots: about
/// the latency of memory divided by the time to move a unit.
const PREFETCH_SLOTS: u32 = 64;

#[inline]
fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[inline]
fn block_index(geometry: &Geometry, die: u32, block: u32) -> usize {
    (die * geometry.blocks + block) as usize
}

/// The first set bit at or after `from` and before `end`.
#[inline]
fn next_set(words: &[u64], from: u32, end: u32) -> Option<u32> {
    let mut index = from as usize / 64;
    let mut word = words.get(index)? & (u64::MAX << (from % 64));
    loop {
        if word != 0 {
            let bit = index as u32 * 64 + word.trailing_zeros();
            return (bit < end).then_some(bit);
        }
        index += 1;
        if index as u64 * 64 >= u64::from(end) {
            return None;
        }
        word = words[index];
    }
}

impl Die {
    fn erased(blocks: u32) -> Self {
        Self {
            free: (2..blocks).collect(),
            host: Frontier::at_start_of(0),
            collector: Frontier::at_start_of(1),
            victim: None,
            credit: 0.0,
            collector_reads: 0,
            collector_last_row: u32::MAX,
            collector_read_bytes: 0,
        }
    }

    fn open_host_block(&mut self) {
        let block = self.free.pop_front().expect("a free block was made sure of");
        self.host = Frontier::at_start_of(block);
    }

    fn open_collector_block(&mut self) {
        let block = self.free.pop_front().expect("one block is always left for the collector");
        self.collector = Frontier::at_start_of(block);
    }
}
