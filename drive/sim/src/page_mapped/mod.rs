//! Page-mapped SSD: the way of a command through link, firmware, write buffer,
//! translation and flash.
//!
//! Reads: firmware, page reads on the dies (host reads before all other work),
//! channel, link. Writes: firmware, room in the buffer, link; the command is
//! complete when its data is in the buffer. From there the data passes the
//! controller's data path into rows, and the buffer is free again when a row
//! has been programmed. Units that were never written are
//! read without touching the flash.
//!
//! Left out: read disturb and retention; read-ahead; work in idle time.

mod flash;
mod specification;
#[cfg(test)]
mod tests;
mod translation;

pub use specification::Specification;

use crate::device::Device;
use crate::event::EventQueue;
use crate::link::{Link, transfer_ns};
use flash::{BackgroundWork, DieEvent, Flash, PageRead};
use fourcorners_target::Completion;
use fourcorners_workload::{Content, Operation, Request};
use std::collections::VecDeque;
use translation::{RowWork, Translation};

/// Largest piece of a write that is taken into the buffer at once.
const PIECE_BYTES_MAX: u64 = 64 << 10;

/// Pending events; the number is a command's tag or a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The firmware has taken up a command.
    Admitted(u32),
    /// A die's operation or transfer ends.
    Die(u32),
    /// A piece of a write has arrived in the buffer.
    Arrived(u32),
    /// The oldest piece in the data path has passed it.
    Processed,
    /// The last byte of a read has passed the link.
    Returned(u32),
}

/// A command in the device.
#[derive(Clone, Copy, Debug)]
struct Command {
    request: Request,
    /// Reads: pages still to come. Writes: first unit not yet in the buffer.
    progress: u32,
}

/// A piece of a write: units that enter the buffer together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    request: Request,
    first_unit: u32,
    units: u32,
}

/// A page-mapped SSD.
#[derive(Debug)]
pub struct PageMapped {
    specification: Specification,
    capacity_bytes: u64,
    unit_bytes: u64,
    host_overhead_ns: u64,
    read_overhead_ns: u64,
    write_overhead_ns: u64,
    firmware_free_ns: u64,
    write_data_rate: Option<u64>,
    data_path_free_ns: u64,
    /// Pieces in the data path; only drives whose data path is a limit.
    data_path: VecDeque<Piece>,
    queue_depth: u32,
    in_device: u32,
    /// Commands that wait in the host for a place in the command queue.
    host_queue: VecDeque<(u64, u32)>,
    /// By tag.
    commands: Vec<Command>,
    buffer_free_bytes: u64,
    piece_units: u32,
    /// Writes that wait for room in the buffer.
    buffer_queue: VecDeque<u32>,
    stored_repeated_bytes: u32,
    stored_smallest_bytes: u32,
    compresses: bool,
    bus_rate: u64,
    read_ns: u64,
    link: Link,
    flash: Flash,
    translation: Translation,
    events: EventQueue<Event>,
    /// Scratch for the work of one write.
    work: Vec<RowWork>,
}

impl Piece {
    fn last_unit(&self) -> u32 {
        self.first_unit + self.units - 1
    }
}

impl PageMapped {
    /// A secure-erased drive.
    pub fn new(specification: &Specification) -> Self {
        let unit_bytes = specification.translation.unit.0;
        let buffer_bytes = specification.write_buffer.size.0;
        let share = |share: f64| (unit_bytes as f64 * share).ceil() as u32;
        let compression = specification.compression.as_ref();
        Self {
            specification: specification.clone(),
            capacity_bytes: specification.capacity.user.0,
            unit_bytes,
            host_overhead_ns: specification.host.overhead.0,
            read_overhead_ns: specification.controller.read_overhead.0,
            write_overhead_ns: specification.controller.write_overhead.0,
            firmware_free_ns: 0,
            write_data_rate: specification.controller.write_data_rate.as_ref().map(|rate| rate.0),
            data_path_free_ns: 0,
            data_path: VecDeque::new(),
            queue_depth: specification.link.queue_depth.value,
            in_device: 0,
            host_queue: VecDeque::new(),
            commands: Vec::new(),
            buffer_free_bytes: buffer_bytes,
            piece_units: (PIECE_BYTES_MAX.min(buffer_bytes / 2) / unit_bytes).max(1) as u32,
            buffer_queue: VecDeque::new(),
            stored_repeated_bytes: compression
                .map_or(unit_bytes as u32, |c| share(c.repeated.value)),
            stored_smallest_bytes: compression
                .map_or(unit_bytes as u32, |c| share(c.smallest.value)),
            compresses: compression.is_some(),
            bus_rate: specification.flash.bus_rate.0,
            read_ns: specification.flash.read_time.0,
            link: Link::new(&specification.link),
            flash: Flash::new(specification),
            translation: Translation::new(specification),
            events: EventQueue::default(),
            work: Vec::new(),
        }
    }

    /// Takes a command into the device's queue; the firmware takes up commands
    /// in order.
    #[inline]
    fn admit(&mut self, arrival_ns: u64, tag: u32) {
        self.in_device += 1;
        let overhead_ns = match self.commands[tag as usize].request.operation {
            Operation::Read => self.read_overhead_ns,
            Operation::Write => self.write_overhead_ns,
        };
        self.firmware_free_ns = self.firmware_free_ns.max(arrival_ns) + overhead_ns;
        self.events.push(self.firmware_free_ns, Event::Admitted(tag));
    }

    /// Issues a read's pages, or its data at once where no flash is involved.
    fn start_read(&mut self, now_ns: u64, tag: u32) {
        let request = self.commands[tag as usize].request;
        let (mut unit, last_unit) = self.units(&request);
        let mut pages = 0;
        let mut at_once_bytes = 0;
        while unit <= last_unit {
            let Some(slot) = self.on_flash(unit) else {
                at_once_bytes += self.overlap(unit, unit, &request);
                unit += 1;
                continue;
            };
            let first = unit;
            let page = self.translation.page(slot);
            unit += 1;
            while unit <= last_unit
                && self.on_flash(unit).is_some_and(|next| self.translation.page(next) == page)
            {
                unit += 1;
            }
            let read = PageRead {
                command: tag,
                bus_bytes: ((unit - first) as u64 * self.unit_bytes) as u32,
                host_bytes: self.overlap(first, unit - 1, &request) as u32,
            };
            pages += 1;
            let die = self.translation.die(slot);
            if let Some(at_ns) = self.flash.read(now_ns, die, read) {
                self.events.push(at_ns, Event::Die(die));
            }
        }
        self.commands[tag as usize].progress = pages;
        if at_once_bytes > 0 || pages == 0 {
            let end_ns = self.link.transfer(now_ns, at_once_bytes, pages == 0);
            if pages == 0 {
                self.events.push(end_ns, Event::Returned(tag));
            }
        }
    }

    /// Sends a page that has been read to the host.
    #[inline]
    fn deliver(&mut self, now_ns: u64, read: PageRead) {
        let command = &mut self.commands[read.command as usize];
        command.progress -= 1;
        let last = command.progress == 0;
        let end_ns = self.link.transfer(now_ns, u64::from(read.host_bytes), last);
        if last {
            self.events.push(end_ns, Event::Returned(read.command));
        }
    }

    /// The piece of a write that comes next.
    #[inline]
    fn next_piece(&self, tag: u32) -> Piece {
        let Command { request, progress } = self.commands[tag as usize];
        let (_, last_unit) = self.units(&request);
        let units = (last_unit - progress + 1).min(self.piece_units);
        Piece { request, first_unit: progress, units }
    }

    /// Asks the host for the next piece of a write if the buffer has room for
    /// it; otherwise the write waits its turn.
    fn take_piece(&mut self, now_ns: u64, tag: u32) {
        // In order: a small write must not overtake a large one that waits, or
        // the large one might wait for ever.
        if !self.buffer_queue.is_empty() || !self.try_take_piece(now_ns, tag) {
            self.buffer_queue.push_back(tag);
        }
    }

    fn try_take_piece(&mut self, now_ns: u64, tag: u32) -> bool {
        let piece = self.next_piece(tag);
        let stored_bytes =
            u64::from(piece.units) * u64::from(self.stored_bytes(piece.request.content));
        if stored_bytes > self.buffer_free_bytes {
            return false;
        }
        self.buffer_free_bytes -= stored_bytes;
        let last = piece.last_unit() == self.units(&piece.request).1;
        let bytes = self.overlap(piece.first_unit, piece.last_unit(), &piece.request);
        self.events.push(self.link.transfer(now_ns, bytes, last), Event::Arrived(tag));
        true
    }

    /// A piece is in the buffer: it goes on into the data path, and the
    /// command is complete or asks for its next piece.
    fn arrived(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        let piece = self.next_piece(tag);
        match self.write_data_rate {
            None => self.store(now_ns, piece),
            Some(rate) => {
                let stored_bytes =
                    u64::from(piece.units) * u64::from(self.stored_bytes(piece.request.content));
                self.data_path_free_ns =
                    now_ns.max(self.data_path_free_ns) + transfer_ns(stored_bytes, rate);
                self.data_path.push_back(piece);
                self.events.push(self.data_path_free_ns, Event::Processed);
            }
        }
        self.commands[tag as usize].progress += piece.units;
        if piece.last_unit() == self.units(&piece.request).1 {
            self.finish(now_ns, tag, done);
        } else {
            self.take_piece(now_ns, tag);
        }
    }

    /// Maps the units of a piece and gives the dies the work that follows.
    fn store(&mut self, now_ns: u64, piece: Piece) {
        let stored_bytes = self.stored_bytes(piece.request.content);
        let (first_unit, last_unit) = self.units(&piece.request);
        for unit in piece.first_unit..=piece.last_unit() {
            if unit == first_unit || unit == last_unit {
                self.read_to_modify(now_ns, unit, &piece.request);
            }
            self.translation.write(unit, stored_bytes, &mut self.work);
        }
        for (die, work) in self.work.drain(..) {
            if let Some(at_ns) = self.flash.work(now_ns, die, work) {
                self.events.push(at_ns, Event::Die(die));
            }
        }
    }

    /// A write of part of a mapping unit reads the rest of it first.
    fn read_to_modify(&mut self, now_ns: u64, unit: u32, request: &Request) {
        if self.overlap(unit, unit, request) == self.unit_bytes {
            return;
        }
        let Some(slot) = self.on_flash(unit) else {
            return;
        };
        let work = BackgroundWork {
            bus_ns: transfer_ns(self.unit_bytes, self.bus_rate),
            array_ns: self.read_ns,
            release_bytes: 0,
        };
        let die = self.translation.die(slot);
        if let Some(at_ns) = self.flash.work(now_ns, die, work) {
            self.events.push(at_ns, Event::Die(die));
        }
    }

    /// Ends a command and lets the next one in from the host's queue.
    #[inline]
    fn finish(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        done.push(Completion { slot: tag, completed_ns: now_ns, errno: 0 });
        self.in_device -= 1;
        if let Some((arrival_ns, next)) = self.host_queue.pop_front() {
            self.admit(arrival_ns.max(now_ns), next);
        }
    }

    /// First and last mapping unit that a request touches.
    #[inline]
    fn units(&self, request: &Request) -> (u32, u32) {
        let shift = self.unit_bytes.trailing_zeros();
        let last_byte = request.offset_bytes + u64::from(request.length_bytes) - 1;
        ((request.offset_bytes >> shift) as u32, (last_byte >> shift) as u32)
    }

    /// Bytes of the request that lie in the units `first..=last`.
    #[inline]
    fn overlap(&self, first: u32, last: u32, request: &Request) -> u64 {
        let end_bytes = request.offset_bytes + u64::from(request.length_bytes);
        let from = (u64::from(first) * self.unit_bytes).max(request.offset_bytes);
        let to = ((u64::from(last) + 1) * self.unit_bytes).min(end_bytes);
        to - from
    }

    /// The slot of a unit that has been programmed; `None` when it was never
    /// written or is still in the buffer.
    #[inline]
    fn on_flash(&self, unit: u32) -> Option<u32> {
        self.translation.slot(unit).filter(|&slot| !self.translation.is_buffered(slot))
    }

    #[inline]
    fn stored_bytes(&self, content: Content) -> u32 {
        let unit_bytes = self.unit_bytes as u32;
        if !self.compresses {
            return unit_bytes;
        }
        match content {
            Content::Incompressible => unit_bytes,
            Content::Repeated => self.stored_repeated_bytes.max(self.stored_smallest_bytes),
            Content::Compressible(percent) => {
                (unit_bytes * u32::from(percent)).div_ceil(100).max(self.stored_smallest_bytes)
            }
        }
    }
}

impl Device for PageMapped {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        let (first_unit, _) = self.units(request);
        // The map is looked up some microseconds of virtual time later.
        self.translation.prefetch_map(first_unit);
        let command = Command { request: *request, progress: first_unit };
        if tag as usize >= self.commands.len() {
            self.commands.resize(tag as usize + 1, command);
        }
        self.commands[tag as usize] = command;
        let arrival_ns = at_ns + self.host_overhead_ns;
        if self.in_device < self.queue_depth {
            self.admit(arrival_ns, tag);
        } else {
            self.host_queue.push_back((arrival_ns, tag));
        }
    }

    #[inline]
    fn next_event_ns(&self) -> Option<u64> {
        self.events.next_ns()
    }

    #[inline]
    fn step(&mut self, done: &mut Vec<Completion>) {
        let Some((now_ns, event)) = self.events.pop() else {
            return;
        };
        match event {
            Event::Admitted(tag) => match self.commands[tag as usize].request.operation {
                Operation::Read => self.start_read(now_ns, tag),
                Operation::Write => {
                    self.translation.prefetch_slot(self.commands[tag as usize].progress);
                    self.take_piece(now_ns, tag);
                }
            },
            Event::Die(die) => {
                let (meaning, next_ns) = self.flash.event(now_ns, die);
                if let Some(at_ns) = next_ns {
                    self.events.push(at_ns, Event::Die(die));
                }
                match meaning {
                    DieEvent::Underway => {}
                    DieEvent::Delivered(read) => self.deliver(now_ns, read),
                    DieEvent::Released(bytes) => {
                        self.buffer_free_bytes += u64::from(bytes);
                        while let Some(&tag) = self.buffer_queue.front() {
                            if !self.try_take_piece(now_ns, tag) {
                                break;
                            }
                            self.buffer_queue.pop_front();
                        }
                    }
                }
            }
            Event::Arrived(tag) => self.arrived(now_ns, tag, done),
            Event::Processed => {
                let piece = self.data_path.pop_front().expect("an event stands for a piece");
                self.store(now_ns, piece);
            }
            Event::Returned(tag) => self.finish(now_ns, tag, done),
        }
    }

    fn purge(&mut self, _at_ns: u64) {
        *self = Self::new(&self.specification.clone());
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let counters = self.translation.counters();
        let host = counters.host_units as f64;
        vec![
            ("host_units_written", host),
            ("units_moved", counters.moved_units as f64),
            ("blocks_erased", counters.erased_blocks as f64),
            ("write_amplification", (host + counters.moved_units as f64) / host.max(1.0)),
        ]
    }
}
