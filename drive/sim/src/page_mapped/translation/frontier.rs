//! The row that a write stream fills.

use super::geometry::Geometry;
use crate::validity::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Where the next unit of a write stream goes in a pool, and what the open row
/// holds so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Frontier {
    pub block: u32,
    pub row: u32,
    pub slots: u32,
    /// Bytes stored in the row, and those of them that came from the host and
    /// still occupy write buffer.
    pub bytes: u32,
    pub host_bytes: u32,
    /// Rows that the collector read for the row, the last of them, and the
    /// bytes that it read.
    pub rows_read: u32,
    pub last_row_read: u32,
    pub bytes_read: u32,
}

impl Frontier {
    /// The first row of a block.
    pub fn at_start_of(block: u32) -> Self {
        Self {
            block,
            row: 0,
            slots: 0,
            bytes: 0,
            host_bytes: 0,
            rows_read: 0,
            last_row_read: u32::MAX,
            bytes_read: 0,
        }
    }

    /// Fails unless more can be added to a loaded row; `varies` says that units take
    /// different room. Only a row that the host fills now may hold its bytes.
    pub fn check(&self, geometry: &Geometry, varies: bool, takes_host: bool) -> Checked {
        let Self { block, row, slots, bytes, host_bytes, rows_read, last_row_read: _, bytes_read } =
            *self;
        ensure(block < geometry.blocks && row < geometry.rows_per_block, "an open row")?;
        // A row has slots for so many of the smallest in the place of one unit, rounded down: the
        // smallest takes more than it would if there was room for one more of them.
        let density = geometry.slots_per_row / (geometry.row_bytes / geometry.unit_bytes);
        let least = geometry.unit_bytes / (density + 1);
        let unit_bytes = u64::from(if varies { least } else { geometry.unit_bytes });
        let least = u64::from(slots) * unit_bytes;
        let fits = if varies { least <= u64::from(bytes) } else { least == u64::from(bytes) };
        ensure(fits && bytes <= geometry.row_bytes && !self.is_full(geometry), "an open row")?;
        ensure(rows_read <= slots && bytes_read <= bytes, "an open row")?;
        let moved = u64::from(host_bytes) + u64::from(bytes_read);
        ensure(moved == u64::from(bytes) && (takes_host || host_bytes == 0), "an open row")
    }

    /// Goes on to the next row; returns what this one holds.
    #[inline]
    pub fn close_row(&mut self) -> Self {
        let closed = *self;
        *self = Self { row: self.row + 1, ..Self::at_start_of(self.block) };
        closed
    }

    /// Takes in units of the host.
    #[inline]
    pub fn add_written(&mut self, units: u32, stored_bytes: u32) {
        self.slots += units;
        self.bytes += units * stored_bytes;
        self.host_bytes += units * stored_bytes;
    }

    /// Takes in a unit of `stored_bytes` that the collector reads from each of
    /// `rows`.
    #[inline]
    pub fn add_moved(&mut self, rows: &[u32], stored_bytes: u32) {
        let (mut rows_read, mut last) = (self.rows_read, self.last_row_read);
        for &row in rows {
            rows_read += u32::from(row != last);
            last = row;
        }
        (self.rows_read, self.last_row_read) = (rows_read, last);
        let units = rows.len() as u32;
        self.slots += units;
        self.bytes += units * stored_bytes;
        self.bytes_read += units * stored_bytes;
    }

    /// Whether a unit that stores as `stored_bytes` has room in the row.
    #[inline]
    pub fn has_room(&self, stored_bytes: u32, geometry: &Geometry) -> bool {
        self.slots < geometry.slots_per_row && self.bytes + stored_bytes <= geometry.row_bytes
    }

    /// How many units that store as `stored_bytes` the row takes before it is full,
    /// or has no room for another.
    pub fn room(&self, stored_bytes: u32, geometry: &Geometry) -> u32 {
        if !self.has_room(stored_bytes, geometry) {
            return 0;
        }
        // After each one the row may be full, though one as small had room.
        let last_bytes = stored_bytes.max(geometry.stored_bytes_min);
        let before_last_bytes = (geometry.row_bytes - self.bytes).saturating_sub(last_bytes);
        (geometry.slots_per_row - self.slots).min(1 + before_last_bytes / stored_bytes)
    }

    /// Units that the row would hold, full of units as large as those in it.
    pub fn units_when_full(&self, geometry: &Geometry) -> u32 {
        let units = u64::from(self.slots) * u64::from(geometry.row_bytes);
        let units = units / u64::from(self.bytes.max(1));
        units.min(u64::from(geometry.slots_per_row)) as u32
    }

    /// Whether the row takes no further unit, however small.
    #[inline]
    pub fn is_full(&self, geometry: &Geometry) -> bool {
        !self.has_room(geometry.stored_bytes_min, geometry)
    }
}
