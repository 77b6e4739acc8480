//! Commands in the device, and the mapping units that they touch.

use super::content::StoredSizes;
use crate::validity::{Checked, ensure};
use fourcorners_workload::{Content, Operation, Request};
use serde::{Deserialize, Serialize};

/// A command in the device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Command {
    /// What the host asked for.
    pub request: Request,
    /// Reads: pages still to come. Writes: first unit not yet in the buffer.
    pub progress: u32,
    /// Writes: the last unit.
    pub last_unit: u32,
    /// Writes: what each unit takes in the buffer.
    pub stored_bytes: u32,
}

/// A piece of a write: units that enter the buffer together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// The write.
    pub request: Request,
    /// Its command.
    pub tag: u32,
    /// What each unit takes in the buffer.
    pub stored_bytes: u32,
    /// First unit of the piece.
    pub first_unit: u32,
    /// Units of the piece.
    pub units: u32,
}

impl Piece {
    /// Fails unless a loaded piece can be one of a write that is complete, to a
    /// drive of so many bytes.
    pub fn check(&self, grid: UnitGrid, sizes: StoredSizes, capacity_bytes: u64) -> Checked {
        let Request { operation, offset_bytes, length_bytes, content, fua: _ } = self.request;
        let end_bytes = offset_bytes.checked_add(u64::from(length_bytes));
        let sensible = match content {
            Content::Incompressible | Content::Repeated => true,
            Content::Compressible(percent) | Content::Duplicated(percent) => percent <= 100,
        };
        ensure(
            operation == Operation::Write
                && length_bytes > 0
                && end_bytes.is_some_and(|end_bytes| end_bytes <= capacity_bytes)
                && sensible,
            "a write on its way",
        )?;
        // A TRIM had it stored.
        if self.units == 0 {
            return Ok(());
        }
        let (first_unit, last_unit) = grid.touched(&self.request);
        let end_unit = self.first_unit.checked_add(self.units);
        ensure(
            first_unit <= self.first_unit
                && end_unit.is_some_and(|end_unit| end_unit <= last_unit + 1)
                && self.stored_bytes == sizes.of(content),
            "a piece of a write",
        )
    }

    /// Last unit of the piece.
    #[inline]
    pub fn last_unit(&self) -> u32 {
        self.first_unit + self.units - 1
    }
}

/// The grid of mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitGrid {
    /// Bytes of a unit, a power of two.
    pub unit_bytes: u64,
}

impl UnitGrid {
    /// The unit that a request begins in.
    #[inline]
    pub fn first(self, request: &Request) -> u32 {
        (request.offset_bytes >> self.unit_bytes.trailing_zeros()) as u32
    }

    /// First and last unit that a request touches. Not for flushes, which touch
    /// none.
    #[inline]
    pub fn touched(self, request: &Request) -> (u32, u32) {
        let last_byte = end_bytes(request).saturating_sub(1);
        (self.first(request), (last_byte >> self.unit_bytes.trailing_zeros()) as u32)
    }

    /// Whether a request consists of whole units.
    #[inline]
    pub fn is_whole(self, request: &Request) -> bool {
        (request.offset_bytes | u64::from(request.length_bytes)) & (self.unit_bytes - 1) == 0
    }

    /// Bytes of the request that lie in the units `first..=last`.
    #[inline]
    pub fn overlap(self, first: u32, last: u32, request: &Request) -> u64 {
        let from = (u64::from(first) * self.unit_bytes).max(request.offset_bytes);
        let to = ((u64::from(last) + 1) * self.unit_bytes).min(end_bytes(request));
        to - from
    }
}

/// The byte after a request's last one.
#[inline]
pub fn end_bytes(request: &Request) -> u64 {
    request.offset_bytes + u64::from(request.length_bytes)
}
