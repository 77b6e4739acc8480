//! Writes that wait for the mechanism.

use super::geometry::{Geometry, Place, SECTOR_BYTES};
use super::mechanism::Mechanism;
use crate::validity::{Checked, ensure, same};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A run of sectors to be written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Extent {
    start: u64,
    end: u64,
    place: Place,
}

/// Part of an extent that the mechanism is given.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// First sector.
    pub start: u64,
    /// Sector after the last.
    pub end: u64,
    /// Where the first sector lies.
    pub place: Place,
    /// Whether the extent ends with this piece and its entry gets free.
    ends_extent: bool,
}

/// Dirty data, as extents that neither overlap nor touch. Room is taken when
/// the host may send data and given back when the data is on the platters.
#[derive(Debug, Serialize, Deserialize)]
pub struct WriteCache {
    extents: Vec<Extent>,
    size_bytes: u64,
    used_bytes: u64,
    entries_max: usize,
    /// Entries that are not extents: data on the link or under the head.
    entries_moving: usize,
}

impl WriteCache {
    /// Empty.
    pub fn new(size_bytes: u64, entries_max: u32) -> Self {
        Self {
            extents: Vec::with_capacity(64),
            size_bytes,
            used_bytes: 0,
            entries_max: entries_max as usize,
            entries_moving: 0,
        }
    }

    /// Fails unless a loaded cache, with `piece` of it under the head, can go on as one
    /// that was `made`. What waits is under way: the mechanism has work.
    pub fn check(&self, made: &Self, geometry: &Geometry, piece: Option<&Piece>) -> Checked {
        let Self { extents, size_bytes, used_bytes, entries_max, entries_moving } = self;
        same!(made; size_bytes, entries_max);
        ensure(extents.is_empty() || piece.is_some(), "what waits in the write cache")?;
        let mut runs: Vec<(u64, u64)> = extents.iter().map(|e| (e.start, e.end)).collect();
        runs.sort_unstable();
        let placed = |start: u64, end: u64, place: &Place| {
            start < end && end <= geometry.sectors() && *place == geometry.start_of(start)
        };
        ensure(
            runs.windows(2).all(|pair| pair[0].1 < pair[1].0)
                && extents.iter().all(|e| placed(e.start, e.end, &e.place))
                && piece.is_none_or(|p| placed(p.start, p.end, &p.place)),
            "an entry of the write cache",
        )?;
        runs.extend(piece.map(|piece| (piece.start, piece.end)));
        let sectors: u64 = runs.iter().map(|(start, end)| end - start).sum();
        ensure(*used_bytes == sectors * SECTOR_BYTES, "the room in the write cache")?;
        ensure(used_bytes <= size_bytes, "the room in the write cache")?;
        let moving = piece.is_some_and(|piece| piece.ends_extent);
        ensure(*entries_moving == usize::from(moving), "the entries of the write cache")
    }

    /// Nothing waits for the mechanism.
    pub fn is_clean(&self) -> bool {
        self.extents.is_empty()
    }

    /// Room that is taken.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Everything that arrived here is on the platters.
    pub fn is_durable(&self) -> bool {
        self.extents.is_empty() && self.used_bytes == 0
    }

    /// What waits here, in bytes of the drive, ascending.
    pub fn dirty_bytes(&self) -> Vec<Range<u64>> {
        let bytes = |extent: &Extent| extent.start * SECTOR_BYTES..extent.end * SECTOR_BYTES;
        let mut ranges: Vec<Range<u64>> = self.extents.iter().map(bytes).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// Newer data passes the cache by: what waits of the same sectors is void.
    pub fn supersede(&mut self, geometry: &Geometry, start: u64, end: u64) {
        for index in (0..self.extents.len()).rev() {
            let old = self.extents[index];
            if old.start >= end || old.end <= start {
                continue;
            }
            self.extents.swap_remove(index);
            self.used_bytes -= (old.end.min(end) - old.start.max(start)) * SECTOR_BYTES;
            if old.start < start {
                self.extents.push(Extent { end: start, ..old });
            }
            if old.end > end {
                let place = geometry.start_of(end);
                self.extents.push(Extent { start: end, end: old.end, place });
            }
        }
    }

    /// A piece did not get to the platters: it waits here again.
    pub fn interrupted(&mut self, geometry: &Geometry, piece: &Piece) {
        if !piece.ends_extent {
            // The rest of its extent waits; joining it takes an entry away again.
            self.entries_moving += 1;
        }
        self.store(geometry, piece.start, piece.end);
    }

    /// Forgets what the mechanism has not been given.
    pub fn clear(&mut self) {
        for extent in self.extents.drain(..) {
            self.used_bytes -= (extent.end - extent.start) * SECTOR_BYTES;
        }
    }

    /// Forgets everything, what moves included.
    pub fn lose_power(&mut self) {
        self.extents.clear();
        self.used_bytes = 0;
        self.entries_moving = 0;
    }

    /// Whether every sector of the range waits here.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.extents.iter().any(|extent| extent.start <= start && end <= extent.end)
    }

    /// Takes room for at most `bytes`; returns how much there was.
    #[inline]
    pub fn take_room(&mut self, bytes: u64) -> u64 {
        if self.extents.len() + self.entries_moving >= self.entries_max {
            return 0;
        }
        let taken = bytes.min(self.size_bytes - self.used_bytes);
        if taken > 0 {
            self.used_bytes += taken;
            self.entries_moving += 1;
        }
        taken
    }

    /// Data that room was taken for has arrived. It replaces and joins what it
    /// overlaps or touches.
    #[inline]
    pub fn store(&mut self, geometry: &Geometry, start: u64, end: u64) {
        self.entries_moving -= 1;
        let mut joined = Extent { start, end, place: Place::default() };
        let mut place_known = false;
        // Extents do not touch each other, so joining one cannot make another
        // one touch: a single pass finds all.
        let mut index = 0;
        while index < self.extents.len() {
            let old = self.extents[index];
            if old.start > joined.end || old.end < joined.start {
                index += 1;
                continue;
            }
            let overlap = old.end.min(joined.end) - old.start.max(joined.start);
            self.used_bytes -= overlap * SECTOR_BYTES;
            if old.start <= joined.start {
                joined.start = old.start;
                joined.place = old.place;
                place_known = true;
            }
            joined.end = joined.end.max(old.end);
            self.extents.swap_remove(index);
        }
        if !place_known {
            joined.place = geometry.start_of(joined.start);
        }
        self.extents.push(joined);
    }

    /// Hands out what the mechanism can begin first if sent at `now_ns`, at
    /// most a track of it.
    pub fn take_nearest(&mut self, mechanism: &Mechanism, now_ns: u64) -> Option<Piece> {
        let begin_ns =
            |extent: &Extent| mechanism.begin_ns(now_ns, extent.start, &extent.place, true);
        let (index, _) = (self.extents.iter().map(begin_ns).enumerate())
            .min_by_key(|&(index, begin_ns)| (begin_ns, index))?;
        let extent = &mut self.extents[index];
        let track_sectors = mechanism.geometry().sectors_per_track(extent.start);
        let piece = Piece {
            start: extent.start,
            end: extent.end.min(extent.start + track_sectors),
            place: extent.place,
            ends_extent: extent.end - extent.start <= track_sectors,
        };
        if piece.ends_extent {
            self.entries_moving += 1;
            self.extents.swap_remove(index);
        } else {
            extent.start = piece.end;
            extent.place = mechanism.geometry().start_of(piece.end);
        }
        Some(piece)
    }

    /// A piece is on the platters.
    pub fn written(&mut self, piece: &Piece) {
        self.used_bytes -= (piece.end - piece.start) * SECTOR_BYTES;
        self.entries_moving -= usize::from(piece.ends_extent);
    }
}
