//! What a drive with log blocks that loses power has not programmed yet.

use super::{Event, LogBlock};
use crate::event::EventQueue;
use crate::ranges::ascending;
use std::ops::Range;

impl LogBlock {
    /// The rows that are in the buffer only.
    pub(super) fn volatile(&self) -> Vec<Range<u64>> {
        if self.protected {
            return Vec::new();
        }
        let row = |row: u32| {
            let start = u64::from(row) * self.row_bytes;
            start..(start + self.row_bytes).min(self.capacity_bytes)
        };
        let open = self.open_row.map(|open| open.from..open.until);
        ascending(self.flash.buffered_rows().map(row).chain(open).collect())
    }

    /// Places in logs whose rows were not programmed are used up. The firmware
    /// finds the older rows again, which takes a read as theirs would.
    pub(super) fn lose_power(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        let lost = self.volatile();
        if self.protected
            && let Some(open) = self.open_row
        {
            self.write_row(at_ns, open);
        }
        self.open_row = None;
        self.interface.lose_power();
        self.buffer_free_rows = self.specification.controller.buffer.0 / self.row_bytes;
        self.writes.clear();
        self.receiving = false;
        self.flushes.clear();
        self.events = EventQueue::default();
        for (die, due_ns) in self.flash.lose_power(at_ns) {
            self.events.push(due_ns, Event::Die(die));
        }
        lost
    }
}
