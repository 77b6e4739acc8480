//! What a disk that loses power has not written yet.

use super::geometry::SECTOR_BYTES;
use super::{Disk, Work};
use crate::event::EventQueue;
use std::ops::Range;

impl Disk {
    /// What the write cache holds, and what is on its way to the platters.
    pub(super) fn volatile(&self) -> Vec<Range<u64>> {
        let mut ranges = self.write_cache.dirty_bytes();
        if let Work::Destage(piece) = &self.work {
            let range = piece.start * SECTOR_BYTES..piece.end * SECTOR_BYTES;
            let place = ranges.partition_point(|other| other.start < range.start);
            ranges.insert(place, range);
        }
        ranges
    }

    /// Forgets all that is not on the platters, and says what of it had been accepted.
    pub(super) fn lose_power(&mut self) -> Vec<Range<u64>> {
        if let Work::Destage(piece) = std::mem::replace(&mut self.work, Work::None) {
            self.write_cache.interrupted(self.mechanism.geometry(), &piece);
        }
        let lost = self.write_cache.dirty_bytes();
        self.write_cache.lose_power();
        self.read_ahead.clear();
        self.interface.lose_power();
        self.events = EventQueue::default();
        self.accesses.clear();
        self.no_room.clear();
        self.flushing.clear();
        self.flushes = 0;
        lost
    }
}
