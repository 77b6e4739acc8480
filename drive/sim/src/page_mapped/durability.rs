//! Durability: who waits until data is on flash, and what a loss of power takes.
//!
//! A flush, and a write that must be durable, first have the open row
//! programmed with what it holds, which wastes the rest of it (padding), and
//! complete when the dies have programmed the rows that they wait for. Behind
//! capacitors (`write_buffer.power_loss_protection`) the buffer itself is
//! durable, and nobody waits. Nobody waits either where the firmware lies
//! (`write_buffer.ignores_flush`), and what was flushed is lost with the rest.
//!
//! Left out: what a flush writes of the map. The flush of a SATA drive, which
//! is not queued, lets other commands go on here as that of NVMe does.

use super::command::Piece;
use super::map_cache::MapCache;
use super::slc_cache::SlcCache;
use super::translation::Settling;
use super::{Event, PageMapped};
use crate::ranges::ascending;
use fourcorners_target::Completion;
use fourcorners_workload::{Operation, Request};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A command that waits for rows to be programmed: by die, how many of those
/// that it has been given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Barrier {
    tag: u32,
    rows: Vec<(u32, u32)>,
}

impl PageMapped {
    /// Whether a write completes only when its data is on flash.
    #[inline]
    pub(super) fn is_forced(&self, request: &Request) -> bool {
        (request.fua && !self.ignores_flush || self.write_through) && !self.protected
    }

    /// The firmware has taken up a flush.
    pub(super) fn start_flush(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        if self.protected || self.ignores_flush {
            self.finish(now_ns, tag, 0, done);
        } else if self.data_path.is_empty() {
            self.flush(now_ns, tag, done);
        } else {
            // Behind the data that it is to wait for.
            self.data_path.push_back(Piece {
                request: Request::FLUSH,
                tag,
                stored_bytes: 0,
                first_unit: 0,
                units: 0,
            });
            self.events.push(self.data_path_free_ns, Event::Processed);
        }
    }

    /// What passed the data path: data, or a flush behind it.
    pub(super) fn processed(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        let piece = self.data_path.pop_front().expect("an event stands for a piece");
        match piece.request.operation {
            Operation::Flush => self.flush(now_ns, piece.tag, done),
            // A TRIM had it stored.
            _ if piece.units == 0 => {}
            _ => self.store(now_ns, piece, done),
        }
    }

    /// Completes `tag` when everything that is mapped is on flash.
    fn flush(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        self.translation.pad(&mut self.work);
        self.give_work(now_ns);
        let rows = self.translation.unsettled().counts().collect();
        self.wait_for(now_ns, Barrier { tag, rows }, done);
    }

    /// Completes a write when all of its units are on flash.
    pub(super) fn force(&mut self, now_ns: u64, piece: &Piece, done: &mut Vec<Completion>) {
        let (first_unit, last_unit) = self.units.touched(&piece.request);
        let settling = |unit| self.translation.settling(unit);
        if (first_unit..=last_unit).any(|unit| settling(unit) == Settling::Open) {
            self.translation.pad(&mut self.work);
            self.give_work(now_ns);
        }
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for unit in first_unit..=last_unit {
            let Settling::Given { die, position } = self.translation.settling(unit) else {
                continue;
            };
            match rows.iter_mut().find(|(known, _)| *known == die) {
                Some((_, most)) => *most = position.max(*most),
                None => rows.push((die, position)),
            }
        }
        self.wait_for(now_ns, Barrier { tag: piece.tag, rows }, done);
    }

    fn wait_for(&mut self, now_ns: u64, barrier: Barrier, done: &mut Vec<Completion>) {
        if barrier.rows.is_empty() {
            self.finish(now_ns, barrier.tag, 0, done);
        } else {
            self.barriers.push(barrier);
        }
    }

    /// A die has programmed a row of the host's.
    #[inline]
    pub(super) fn settled(&mut self, now_ns: u64, die: u32, done: &mut Vec<Completion>) {
        self.translation.settled(die);
        if !self.barriers.is_empty() {
            self.release_barriers(now_ns, die, done);
        }
    }

    fn release_barriers(&mut self, now_ns: u64, die: u32, done: &mut Vec<Completion>) {
        for barrier in &mut self.barriers {
            if let Some(index) = barrier.rows.iter().position(|&(waits_for, _)| waits_for == die) {
                barrier.rows[index].1 -= 1;
                if barrier.rows[index].1 == 0 {
                    barrier.rows.swap_remove(index);
                }
            }
        }
        while let Some(index) = self.barriers.iter().position(|barrier| barrier.rows.is_empty()) {
            let barrier = self.barriers.remove(index);
            self.finish(now_ns, barrier.tag, 0, done);
        }
    }

    /// See [`crate::Device::power_cut`].
    pub(super) fn lose_power(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        let mut lost = Vec::new();
        if self.protected {
            for piece in std::mem::take(&mut self.data_path) {
                for unit in piece.first_unit..piece.first_unit + piece.units {
                    self.map_unit(unit, piece.stored_bytes);
                }
            }
            self.translation.pad(&mut self.work);
            self.translation.settle_all();
        } else {
            for unit in self.translation.lose_unsettled(&mut self.work) {
                lost.push(unit);
                if let Some(cache) = &mut self.slc_cache {
                    cache.trimmed();
                }
            }
            for piece in &self.data_path {
                lost.extend(piece.first_unit..piece.first_unit + piece.units);
            }
        }
        self.restart(at_ns);
        byte_ranges(lost, self.units.unit_bytes)
    }

    /// See [`crate::Device::at_risk`].
    pub(super) fn unsettled_ranges(&self) -> Vec<Range<u64>> {
        if self.protected {
            return Vec::new();
        }
        let mut units = self.translation.unsettled_units();
        for piece in &self.data_path {
            units.extend(piece.first_unit..piece.first_unit + piece.units);
        }
        byte_ranges(units, self.units.unit_bytes)
    }

    /// Starts the controller anew over what is on flash.
    fn restart(&mut self, at_ns: u64) {
        let power = self.power_so_far(at_ns);
        let mut restarted = Self::new(&self.specification.clone(), self.seed);
        std::mem::swap(&mut restarted.translation, &mut self.translation);
        restarted.inherit_variation(self);
        restarted.slc_cache = self.slc_cache.take().map(SlcCache::restarted);
        restarted.map_cache = self.map_cache.take().map(MapCache::restarted);
        restarted.power = power;
        restarted.host_bytes = self.host_bytes;
        *self = restarted;
        self.rest(at_ns);
    }
}

/// Ranges of bytes that the units cover, ascending and apart.
fn byte_ranges(units: Vec<u32>, unit_bytes: u64) -> Vec<Range<u64>> {
    let bytes = |unit: u32| u64::from(unit) * unit_bytes..(u64::from(unit) + 1) * unit_bytes;
    ascending(units.into_iter().map(bytes).collect())
}
