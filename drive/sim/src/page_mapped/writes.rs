//! Writes: from the host into the buffer, through the data path, onto the dies.

use super::command::{Command, Piece};
use super::flash::BackgroundWork;
use super::{Event, IdleWork, PageMapped};
use crate::link::transfer_ns;
use fourcorners_target::Completion;
use fourcorners_workload::Request;

/// Largest piece of a write that is taken into the buffer at once.
pub const PIECE_BYTES_MAX: u64 = 64 << 10;

impl PageMapped {
    /// The piece of a write that comes next.
    #[inline]
    fn next_piece(&self, tag: u32) -> Piece {
        let Command { request, progress } = self.commands[tag as usize];
        let (_, last_unit) = self.units.touched(&request);
        let units = (last_unit - progress + 1).min(self.piece_units);
        Piece { request, tag, first_unit: progress, units }
    }

    /// Asks the host for the next piece of a write if the buffer has room for
    /// it; otherwise the write waits its turn.
    pub(super) fn take_piece(&mut self, now_ns: u64, tag: u32) {
        // In order: a small write must not overtake a large one that waits, or
        // the large one might wait for ever.
        if !self.buffer_queue.is_empty() || !self.try_take_piece(now_ns, tag) {
            self.buffer_queue.push_back(tag);
        }
    }

    fn try_take_piece(&mut self, now_ns: u64, tag: u32) -> bool {
        let piece = self.next_piece(tag);
        let stored_bytes =
            u64::from(piece.units) * u64::from(self.stored_sizes.of(piece.request.content));
        if stored_bytes > self.buffer_free_bytes {
            return false;
        }
        self.buffer_free_bytes -= stored_bytes;
        let last = piece.last_unit() == self.units.touched(&piece.request).1;
        let bytes = self.units.overlap(piece.first_unit, piece.last_unit(), &piece.request);
        self.host_bytes += bytes;
        self.events.push(self.link.send_to_drive(now_ns, bytes, last), Event::Arrived(tag));
        true
    }

    /// Room has come free in the buffer: writes that wait for it go on.
    #[inline]
    pub(super) fn released(&mut self, now_ns: u64, bytes: u32) {
        self.buffer_free_bytes += u64::from(bytes);
        while let Some(&tag) = self.buffer_queue.front() {
            if !self.try_take_piece(now_ns, tag) {
                break;
            }
            self.buffer_queue.pop_front();
        }
    }

    /// A piece is in the buffer: it goes on into the data path, and the
    /// command is complete or asks for its next piece.
    pub(super) fn arrived(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        let piece = self.next_piece(tag);
        self.commands[tag as usize].progress += piece.units;
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.overwritten(piece.first_unit, piece.last_unit());
        }
        if let Some(cache) = &mut self.read_cache {
            cache.keep(piece.first_unit, piece.last_unit());
        }
        match self.write_data_rate {
            None => self.store(now_ns, piece, done),
            Some(rate) => {
                let stored_bytes =
                    u64::from(piece.units) * u64::from(self.stored_sizes.of(piece.request.content));
                self.data_path_free_ns =
                    now_ns.max(self.data_path_free_ns) + transfer_ns(stored_bytes, rate);
                self.data_path.push_back(piece);
                self.events.push(self.data_path_free_ns, Event::Processed);
            }
        }
        if piece.last_unit() == self.units.touched(&piece.request).1 {
            if !self.is_forced(&piece.request) {
                self.finish(now_ns, tag, 0, done);
            }
        } else {
            self.take_piece(now_ns, tag);
        }
    }

    /// Maps the units of a piece and gives the dies the work that follows.
    pub(super) fn store(&mut self, now_ns: u64, piece: Piece, done: &mut Vec<Completion>) {
        let stored_bytes = self.stored_sizes.of(piece.request.content);
        let (first_unit, last_unit) = self.units.touched(&piece.request);
        for unit in piece.first_unit..=piece.last_unit() {
            if unit == first_unit || unit == last_unit {
                self.read_to_modify(now_ns, unit, &piece.request);
            }
            self.map_unit(unit, stored_bytes);
        }
        self.give_work(now_ns);
        if self.map_cache.is_some() {
            self.change_map(now_ns, piece.first_unit, piece.last_unit());
        }
        if piece.last_unit() == last_unit && self.is_forced(&piece.request) {
            self.force(now_ns, &piece, done);
        }
    }

    /// Stores what is in the data path at once; no command is in the drive. The
    /// pieces stay there without units, for the events that stand for them.
    pub(super) fn store_data_path(&mut self, now_ns: u64) {
        for index in 0..self.data_path.len() {
            let piece = self.data_path[index];
            if piece.units > 0 {
                self.data_path[index].units = 0;
                // Their commands are complete: nothing waits for them.
                self.store(now_ns, piece, &mut Vec::new());
            }
        }
    }

    /// Maps a unit anew.
    #[inline]
    pub(super) fn map_unit(&mut self, unit: u32, stored_bytes: u32) {
        if let Some(cache) = &mut self.slc_cache
            && self.translation.slot(unit).is_none()
        {
            cache.mapped();
        }
        self.translation.write(unit, stored_bytes, &mut self.work);
    }

    /// Gives the dies the work that changes of the map brought about.
    #[inline]
    pub(super) fn give_work(&mut self, now_ns: u64) {
        for (die, mut work) in self.work.drain(..) {
            // Only the host's rows release buffer; collected ones bypass the cache.
            if let Some(cache) = &mut self.slc_cache
                && work.release_bytes > 0
                && let Some(fold) = cache.take_row(&mut work)
            {
                self.flash.work(now_ns, die, fold);
            }
            self.flash.work(now_ns, die, work);
        }
    }

    /// The drive has had no command for a while: its dies empty the SLC cache,
    /// unless a command has come in between.
    pub(super) fn rested(&mut self, now_ns: u64) {
        let idle = self.in_device == 0;
        match self.slc_cache.as_mut().and_then(|cache| cache.rested(now_ns, idle)) {
            Some(at_ns) => self.events.push(at_ns, Event::Rested(IdleWork::SlcCache)),
            None => (0..self.flash.dies()).for_each(|die| self.drain(now_ns, die)),
        }
    }

    /// Lets a die that has nothing to do fold a row of the SLC cache.
    #[inline]
    pub(super) fn drain(&mut self, now_ns: u64, die: u32) {
        if let Some(cache) = &mut self.slc_cache
            && self.flash.is_idle(die)
            && let Some(fold) = cache.drain()
        {
            self.flash.work(now_ns, die, fold);
        }
    }

    /// A write of part of a mapping unit reads the rest of it first.
    fn read_to_modify(&mut self, now_ns: u64, unit: u32, request: &Request) {
        if self.units.overlap(unit, unit, request) == self.units.unit_bytes {
            return;
        }
        let Some(slot) = self.on_flash(unit) else {
            return;
        };
        let work = BackgroundWork {
            bus_ns: transfer_ns(self.units.unit_bytes, self.bus_rate) as u32,
            array_ns: self.read_ns as u32,
            release_bytes: 0,
        };
        let die = self.translation.die(slot);
        self.flash.work(now_ns, die, work);
    }
}
