//! Writes: from the host into the buffer, through the data path, onto the dies.

use super::command::{Command, Piece};
use super::flash::BackgroundWork;
use super::{Event, IdleWork, PageMapped};
use crate::host_interface::transfer_ns;
use fourcorners_target::Completion;
use fourcorners_workload::Request;

/// Largest piece of a write that is taken into the buffer at once.
pub const PIECE_BYTES_MAX: u64 = 64 << 10;

/// Writes next in line for the buffer whose places in the map are looked up
/// ahead of time: those that the next rows make room for.
pub const LOOK_AHEAD: usize = 8;

impl PageMapped {
    /// Mapping units that hold data and that a write covers only in part.
    pub(super) fn units_to_modify(&self, tag: u32) -> u64 {
        let request = &self.commands[tag].request;
        let (first, last) = self.units.touched(request);
        let ends = if first == last { &[first][..] } else { &[first, last][..] };
        let to_modify = ends.iter().filter(|&&unit| {
            self.translation.slot(unit).is_some()
                && self.units.overlap(unit, unit, request) < self.units.unit_bytes
        });
        to_modify.count() as u64
    }

    /// The piece of a write that comes next.
    #[inline]
    fn next_piece(&self, tag: u32) -> Piece {
        let Command { request, progress, last_unit, stored_bytes } = self.commands[tag];
        let units = (last_unit - progress + 1).min(self.piece_units);
        Piece { request, tag, stored_bytes, first_unit: progress, units }
    }

    /// The firmware will take up a write at `at_ns`. If others wait for room in
    /// the buffer, it stands in line with them, and nothing happens at that time.
    #[inline]
    pub(super) fn admit_write(&mut self, at_ns: u64, tag: u32) {
        // A drive that may take no more writes has to see to each of them. None
        // gets into the line before one that comes by an event.
        if self.buffer_queue.is_empty() || self.writes_to_admit > 0 || self.translation.wears_out()
        {
            self.writes_to_admit += 1;
            self.events.push(at_ns, Event::Admitted(tag));
        } else {
            self.buffer_queue.push_back((at_ns, tag));
        }
    }

    /// The firmware has taken up a write.
    pub(super) fn admitted_write(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        self.writes_to_admit -= 1;
        if self.translation.is_read_only() {
            return self.finish(now_ns, tag, libc::EIO, done);
        }
        self.translation.prefetch_slot(self.commands[tag].progress);
        self.take_piece(now_ns, tag);
    }

    /// Asks the host for the next piece of a write if the buffer has room for
    /// it; otherwise the write waits its turn.
    fn take_piece(&mut self, now_ns: u64, tag: u32) {
        // In order: a small write must not overtake a large one that waits, or
        // the large one might wait for ever.
        if !self.buffer_queue.is_empty() || !self.try_take_piece(now_ns, tag) {
            let taken_up = self.buffer_queue.partition_point(|&(at_ns, _)| at_ns <= now_ns);
            self.buffer_queue.insert(taken_up, (now_ns, tag));
        }
    }

    #[inline]
    fn try_take_piece(&mut self, now_ns: u64, tag: u32) -> bool {
        let piece = self.next_piece(tag);
        let stored_bytes = u64::from(piece.units) * u64::from(piece.stored_bytes);
        if stored_bytes > self.buffer_free_bytes {
            return false;
        }
        self.buffer_free_bytes -= stored_bytes;
        let last = piece.last_unit() == self.commands[tag].last_unit;
        let bytes = self.units.overlap(piece.first_unit, piece.last_unit(), &piece.request);
        self.host_bytes += bytes;
        self.events
            .push(self.interface.link.send_to_drive(now_ns, bytes, last), Event::Arrived(tag));
        true
    }

    /// Room has come free in the buffer: writes that wait for it go on.
    pub(super) fn released(&mut self, now_ns: u64, bytes: u32) {
        self.buffer_free_bytes += u64::from(bytes);
        while let Some(&(at_ns, tag)) = self.buffer_queue.front() {
            if at_ns > now_ns {
                // The line is at its end; whoever comes is served at once.
                for (at_ns, tag) in self.buffer_queue.drain(..) {
                    self.writes_to_admit += 1;
                    self.events.push(at_ns, Event::Admitted(tag));
                }
                break;
            }
            if !self.try_take_piece(now_ns, tag) {
                break;
            }
            self.buffer_queue.pop_front();
        }
        self.look_ahead();
    }

    /// Prefetches what the next writes in line will need: together, since one
    /// look-up among hundreds of other instructions takes as long as many that
    /// follow each other.
    fn look_ahead(&self) {
        let unit = |&(_, tag): &(u64, u32)| self.commands[tag].progress;
        let ahead = self.buffer_queue.len().min(LOOK_AHEAD);
        let next = ahead / 2;
        for write in self.buffer_queue.range(..next) {
            self.translation.prefetch_slot(unit(write));
        }
        for write in self.buffer_queue.range(next..ahead) {
            self.translation.prefetch_map(unit(write));
        }
    }

    /// A piece is in the buffer: it goes on into the data path, and the
    /// command is complete or asks for its next piece.
    pub(super) fn arrived(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        let piece = self.next_piece(tag);
        self.commands[tag].progress += piece.units;
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.overwritten(piece.first_unit, piece.last_unit());
        }
        match self.write_data_rate {
            None => self.store(now_ns, piece, done),
            Some(rate) => {
                let stored_bytes = u64::from(piece.units) * u64::from(piece.stored_bytes);
                self.data_path_free_ns =
                    now_ns.max(self.data_path_free_ns) + transfer_ns(stored_bytes, rate);
                self.data_path.push_back(piece);
                self.events.push(self.data_path_free_ns, Event::Processed);
            }
        }
        if piece.last_unit() == self.commands[tag].last_unit {
            if !self.is_forced(&piece.request) {
                self.finish(now_ns, tag, 0, done);
            }
        } else {
            self.take_piece(now_ns, tag);
        }
    }

    /// Maps the units of a piece and gives the dies the work that follows.
    // For a single unit each function on the way does little more than be called.
    #[inline(always)]
    pub(super) fn store(&mut self, now_ns: u64, piece: Piece, done: &mut Vec<Completion>) {
        let (_, last_unit) = self.units.touched(&piece.request);
        let whole = self.units.is_whole(&piece.request);
        if whole && piece.units == 1 {
            self.map_unit(piece.first_unit, piece.stored_bytes);
        } else {
            self.map_piece(now_ns, &piece, whole);
        }
        // Not before: the rest of a unit that is partly written may have to be read.
        if let Some(cache) = &mut self.read_cache {
            cache.keep(piece.first_unit, piece.last_unit());
        }
        if !self.work.is_empty() {
            // A row has been filled.
            self.give_work(now_ns);
            self.translation.approach_next_row();
        }
        if self.map_cache.is_some() {
            self.change_map(now_ns, piece.first_unit, piece.last_unit());
        }
        if piece.last_unit() == last_unit && self.is_forced(&piece.request) {
            self.force(now_ns, &piece, done);
        }
    }

    /// Maps the units of a piece; `whole` says that the request has no units that
    /// it covers in part.
    // Apart from the way of small writes, which is shorter without it.
    #[inline(never)]
    fn map_piece(&mut self, now_ns: u64, piece: &Piece, whole: bool) {
        let (first_unit, last_unit) = self.units.touched(&piece.request);
        let (mut first, mut end) = (piece.first_unit, piece.last_unit() + 1);
        if !whole && first == first_unit {
            self.modify_unit(now_ns, first, piece);
            first += 1;
        }
        let ends_in_part = !whole && first < end && end - 1 == last_unit;
        if ends_in_part {
            end -= 1;
        }
        let mapped = self.translation.write_run(first..end, piece.stored_bytes, &mut self.work);
        if let Some(cache) = &mut self.slc_cache {
            cache.mapped(mapped);
        }
        if ends_in_part {
            self.modify_unit(now_ns, last_unit, piece);
        }
    }

    /// Maps a unit that a write may cover in part only.
    fn modify_unit(&mut self, now_ns: u64, unit: u32, piece: &Piece) {
        self.read_to_modify(now_ns, unit, &piece.request);
        self.map_unit(unit, piece.stored_bytes);
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
    #[inline(always)]
    pub(super) fn map_unit(&mut self, unit: u32, stored_bytes: u32) {
        if let Some(cache) = &mut self.slc_cache
            && self.translation.slot(unit).is_none()
        {
            cache.mapped(1);
        }
        self.translation.write(unit, stored_bytes, &mut self.work);
    }

    /// Gives the dies the work that changes of the map brought about.
    // Once in a row: the way of all other writes is shorter without it.
    #[inline(never)]
    pub(super) fn give_work(&mut self, now_ns: u64) {
        for (die, work) in &mut self.work {
            // Only the host's rows release buffer; collected ones bypass the cache.
            if let Some(cache) = &mut self.slc_cache
                && work.release_bytes > 0
                && let Some((folding_die, fold)) = cache.take_row(*die, work)
            {
                self.flash.work(now_ns, folding_die, fold);
            }
            self.flash.work(now_ns, *die, *work);
        }
        self.work.clear();
    }

    /// The drive has had no command for a while: its dies empty the SLC cache,
    /// unless a command has come in between.
    pub(super) fn rested(&mut self, now_ns: u64) {
        let idle = self.interface.inside() == 0;
        match self.slc_cache.as_mut().and_then(|cache| cache.rested(now_ns, idle)) {
            Some(at_ns) => self.events.push(at_ns, Event::Rested(IdleWork::SlcCache)),
            None => (0..self.flash.lanes()).for_each(|die| self.drain(now_ns, die)),
        }
    }

    /// Lets a die that has nothing to do fold a row of the SLC cache.
    #[inline(always)]
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
