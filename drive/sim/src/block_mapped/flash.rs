//! The flash behind the controller: channels that work in step.

use super::specification;
use crate::host_interface::transfer_ns;
use crate::validity::{Checked, Clock, ensure, same};
use serde::{Deserialize, Serialize};

/// Times at which the flash becomes free. All channels do the same at the same
/// time, so one channel's timeline stands for all.
#[derive(Debug, Serialize, Deserialize)]
pub struct Flash {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    /// A row's pages over a channel's bus, in one direction.
    transfer_ns: u64,
    bus_free_ns: u64,
    /// One per die of a channel.
    ways_free_ns: Vec<u64>,
    /// Die that takes the next row of a stream of writes.
    next_way: usize,
    /// When the rows that may wait in the buffer leave it, oldest first, as a
    /// ring: a new row enters where the oldest one left.
    buffer_free_ns: Vec<u64>,
    next_slot: usize,
    /// End of the latest erase, which gives back the spare superblock.
    erased_ns: u64,
    /// End of the latest merge.
    merged_ns: u64,
}

impl Flash {
    /// Everything is free.
    pub fn new(specification: &specification::Flash, buffer_bytes: u64) -> Self {
        let page_ns = transfer_ns(specification.page_size.0, specification.bus_rate.0);
        let buffer_rows = buffer_bytes / specification.row_bytes();
        Self {
            read_ns: specification.read_time.0,
            program_ns: specification.program_time.0,
            erase_ns: specification.erase_time.0,
            transfer_ns: u64::from(specification.planes.value) * page_ns,
            bus_free_ns: 0,
            ways_free_ns: vec![0; specification.ways.value as usize],
            next_way: 0,
            buffer_free_ns: vec![0; buffer_rows as usize],
            next_slot: 0,
            erased_ns: 0,
            merged_ns: 0,
        }
    }

    /// Fails unless loaded flash can go on as one that was `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self {
            read_ns,
            program_ns,
            erase_ns,
            transfer_ns,
            bus_free_ns,
            ways_free_ns,
            next_way,
            buffer_free_ns,
            next_slot,
            erased_ns,
            merged_ns,
        } = self;
        same!(made; read_ns, program_ns, erase_ns, transfer_ns);
        ensure(
            ways_free_ns.len() == made.ways_free_ns.len()
                && buffer_free_ns.len() == made.buffer_free_ns.len()
                && *next_way < ways_free_ns.len()
                && *next_slot < buffer_free_ns.len(),
            "the dies and the buffer",
        )?;
        clock.ensure_soon([*bus_free_ns, *erased_ns, *merged_ns])?;
        clock.ensure_soon(ways_free_ns.iter().chain(buffer_free_ns).copied())
    }

    /// When the buffer can take the next row.
    #[inline]
    pub fn room_ns(&self) -> u64 {
        self.buffer_free_ns[self.next_slot]
    }

    /// Programs the row whose last byte reached the buffer at `arrived_ns`; returns when
    /// that is done.
    /// Rows rotate over the dies, so that one die programs while the bus loads
    /// the others.
    #[inline]
    pub fn program_row(&mut self, arrived_ns: u64) -> u64 {
        let way = &mut self.ways_free_ns[self.next_way];
        let loaded_ns = arrived_ns.max(self.bus_free_ns).max(*way) + self.transfer_ns;
        let programmed_ns = loaded_ns + self.program_ns;
        *way = programmed_ns;
        self.bus_free_ns = loaded_ns;
        self.buffer_free_ns[self.next_slot] = loaded_ns;
        self.next_way = next(self.next_way, self.ways_free_ns.len());
        self.next_slot = next(self.next_slot, self.buffer_free_ns.len());
        programmed_ns
    }

    /// Reads row `row` for a command that began at `begin_ns`; returns when its
    /// last page has left the flash. Dies sense ahead, each into its own page
    /// register, while the bus unloads the others.
    #[inline]
    pub fn read_row(&mut self, begin_ns: u64, row: u64) -> u64 {
        let ways = self.ways_free_ns.len() as u64;
        let way = &mut self.ways_free_ns[(row % ways) as usize];
        let sensed_ns = begin_ns.max(*way) + self.read_ns;
        let unloaded_ns = sensed_ns.max(self.bus_free_ns) + self.transfer_ns;
        *way = unloaded_ns;
        self.bus_free_ns = unloaded_ns;
        unloaded_ns
    }

    /// Full merge: copies `rows` rows into the spare superblock, one after the
    /// other (a row's pages pass the controller, which has room for one row at
    /// a time), then starts erasing what the copy replaces. Returns when the
    /// last row is programmed.
    pub fn merge(&mut self, at_ns: u64, rows: u64) -> u64 {
        let row_ns = self.read_ns + 2 * self.transfer_ns + self.program_ns;
        let end_ns = self.spare_ns(at_ns) + rows * row_ns;
        self.bus_free_ns = end_ns;
        self.ways_free_ns.fill(end_ns);
        self.erased_ns = end_ns + self.erase_ns;
        self.merged_ns = end_ns;
        end_ns
    }

    /// Switch merge: the log superblock takes the place of the data superblock, whose
    /// erase starts while the dies of the next log superblock work.
    pub fn switch(&mut self, at_ns: u64) {
        self.erased_ns = at_ns.max(self.erased_ns) + self.erase_ns;
    }

    /// When pending rows are programmed and a spare superblock is erased.
    fn spare_ns(&self, at_ns: u64) -> u64 {
        at_ns.max(self.programmed_ns()).max(self.erased_ns)
    }

    /// When a row would be programmed that follows all that the flash was given.
    pub fn row_programmed_ns(&self, at_ns: u64) -> u64 {
        at_ns.max(self.programmed_ns()) + self.transfer_ns + self.program_ns
    }

    /// Power fails: everything under way ends, and an erase begins anew. Returns
    /// whether a merge was under way.
    pub fn lose_power(&mut self, at_ns: u64) -> bool {
        let was_merging = self.merged_ns > at_ns;
        if self.erased_ns > at_ns {
            self.erased_ns = at_ns + self.erase_ns;
        }
        self.merged_ns = self.merged_ns.min(at_ns);
        self.bus_free_ns = self.bus_free_ns.min(at_ns);
        for free_ns in self.ways_free_ns.iter_mut().chain(&mut self.buffer_free_ns) {
            *free_ns = (*free_ns).min(at_ns);
        }
        was_merging
    }

    /// When pending rows are programmed.
    pub fn programmed_ns(&self) -> u64 {
        self.ways_free_ns.iter().max().map_or(0, |&way| way)
    }
}

#[inline]
fn next(index: usize, length: usize) -> usize {
    if index + 1 == length { 0 } else { index + 1 }
}
