//! SSD with log blocks: data is mapped by block, the latest writes by row in a
//! few log blocks, as controllers with little memory do.
//!
//! Writes that run through a block from its start cost one erase per block;
//! random writes within few blocks cost little; random writes over many blocks
//! collapse to one full merge for nearly every row that is written, because
//! nearly every row in a log block belongs to another data block.
//!
//! Each bank (the dies that a mapped block spans) merges by itself while the
//! others go on. A die does its work in order, so a read behind a merge waits
//! for it.
//!
//! Left out: reading ahead, rows served from the buffer but the last one, wear,
//! TRIM.

mod counters;
mod durability;
mod flash;
pub mod specification;
#[cfg(test)]
mod tests;
mod translation;
mod truths;

pub use specification::Specification;

use crate::Device;
use crate::blueprint::Blueprint;
use crate::device::UNSERVED;
use crate::event::{EventQueue, Kinds};
use crate::host_interface::{ByTag, HostInterface};
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use flash::Flash;
use fourcorners_target::{Completion, Condition};
use fourcorners_workload::{Operation, Request};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use translation::{Translation, Work};

/// Pending events; the number is a command's tag or a die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Event {
    /// The firmware has taken up a command.
    Admitted(u32),
    /// A die's operation or transfer ends.
    Die(u32),
    /// The next row of the oldest write has arrived in the buffer.
    Arrived,
    /// The last byte of a read has passed the link.
    Returned(u32),
}

impl Kinds for Event {
    const KINDS: usize = 4;

    #[inline]
    fn kind(self) -> usize {
        match self {
            Event::Admitted(_) => 0,
            Event::Die(_) => 1,
            Event::Arrived => 2,
            Event::Returned(_) => 3,
        }
    }
}

/// A command in the device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Command {
    request: Request,
    /// Reads: rows still to come. Writes: bytes that are in the buffer.
    progress: u32,
}

/// A row in the buffer that waits for the writes that may go on in it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenRow {
    row: u32,
    /// Bytes of it that are known.
    from: u64,
    until: u64,
}

/// The model.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogBlock {
    #[serde(skip)]
    specification: Blueprint<Specification>,
    capacity_bytes: u64,
    row_bytes: u64,
    /// Taken from the host since the last secure erase.
    host_bytes: u64,
    interface: HostInterface,
    read_overhead_ns: u64,
    write_overhead_ns: u64,
    /// Whether capacitors keep the buffer.
    protected: bool,
    ignores_flush: bool,
    #[serde(skip)]
    commands: ByTag<Command>,
    buffer_free_rows: u64,
    /// Writes whose data is not all in the buffer, oldest first.
    writes: VecDeque<u32>,
    /// Whether a row of the oldest one is on its way.
    receiving: bool,
    /// Flushes and forced writes that wait until the buffer is empty; no write
    /// brings more data meanwhile.
    flushes: Vec<u32>,
    open_row: Option<OpenRow>,
    flash: Flash,
    translation: Translation,
    events: EventQueue<Event>,
    /// Scratch for the work of one write.
    #[serde(skip)]
    work: Vec<Work>,
}

impl LogBlock {
    /// A secure-erased drive.
    pub fn new(specification: &Specification) -> Self {
        let row_bytes = specification.flash.row_bytes();
        let host_ns = specification.host.overhead.0;
        Self {
            specification: Blueprint::new(specification.clone()),
            capacity_bytes: specification.capacity.user.0,
            row_bytes,
            host_bytes: 0,
            interface: HostInterface::new(&specification.link, host_ns, 1),
            read_overhead_ns: specification.controller.read_overhead.0,
            write_overhead_ns: specification.controller.write_overhead.0,
            protected: specification.controller.is_protected(),
            ignores_flush: specification.controller.lies(),
            commands: ByTag::default(),
            buffer_free_rows: specification.controller.buffer.0 / row_bytes,
            writes: VecDeque::new(),
            receiving: false,
            flushes: Vec::new(),
            open_row: None,
            flash: Flash::new(&specification.flash),
            translation: Translation::new(specification),
            events: EventQueue::default(),
            work: Vec::new(),
        }
    }

    /// Takes a command into the device's queue; the firmware takes up commands
    /// in order.
    fn admit(&mut self, arrival_ns: u64, tag: u32) {
        let overhead_ns = match self.commands[tag].request.operation {
            Operation::Read => self.read_overhead_ns,
            _ => self.write_overhead_ns,
        };
        let taken_up_ns = self.interface.take_up(arrival_ns, overhead_ns);
        self.events.push(taken_up_ns, Event::Admitted(tag));
    }

    /// Asks the dies for a read's rows; what they do not hold passes at once.
    fn start_read(&mut self, now_ns: u64, tag: u32) {
        let request = self.commands[tag].request;
        let end_byte = request.offset_bytes + u64::from(request.length_bytes);
        let mut byte = request.offset_bytes;
        let (mut rows, mut at_once_bytes) = (0, 0);
        while byte < end_byte {
            let row = (byte / self.row_bytes) as u32;
            let bytes = end_byte.min((u64::from(row) + 1) * self.row_bytes) - byte;
            byte += bytes;
            let in_buffer = self.open_row.is_some_and(|open| open.row == row);
            match self.translation.die(row).filter(|_| !in_buffer) {
                Some(die) => {
                    rows += 1;
                    self.give(now_ns, die, flash::Operation::Read { tag, bytes: bytes as u32 });
                }
                None => at_once_bytes += bytes,
            }
        }
        self.commands[tag].progress = rows;
        if at_once_bytes > 0 {
            let end_ns = self.interface.link.send_to_host(now_ns, at_once_bytes, rows == 0);
            if rows == 0 {
                self.events.push(end_ns, Event::Returned(tag));
            }
        }
    }

    /// Sends a row that has been read to the host.
    fn deliver(&mut self, now_ns: u64, tag: u32, bytes: u32) {
        let command = &mut self.commands[tag];
        command.progress -= 1;
        let last = command.progress == 0;
        let end_ns = self.interface.link.send_to_host(now_ns, u64::from(bytes), last);
        if last {
            self.events.push(end_ns, Event::Returned(tag));
        }
    }

    /// Asks the host for the next row of the oldest write when the buffer has
    /// room for it. One write's data comes after the other's, so that commands
    /// in order are written in order.
    fn receive(&mut self, now_ns: u64) {
        if self.receiving || self.buffer_free_rows == 0 || !self.flushes.is_empty() {
            return;
        }
        let Some(&tag) = self.writes.front() else {
            return;
        };
        self.receiving = true;
        self.buffer_free_rows -= 1;
        let (_, from, until, last) = self.next_row(tag);
        let end_ns = self.interface.link.send_to_drive(now_ns, until - from, last);
        self.events.push(end_ns, Event::Arrived);
    }

    fn release_row(&mut self, now_ns: u64) {
        self.buffer_free_rows += 1;
        self.receive(now_ns);
    }

    /// The row that a write goes on with: which, from and until which byte of
    /// the drive, and whether it is the write's last.
    fn next_row(&self, tag: u32) -> (u32, u64, u64, bool) {
        let Command { request, progress } = self.commands[tag];
        let end_byte = request.offset_bytes + u64::from(request.length_bytes);
        let from = request.offset_bytes + u64::from(progress);
        let row = from / self.row_bytes;
        let until = end_byte.min((row + 1) * self.row_bytes);
        (row as u32, from, until, until == end_byte)
    }

    /// A row of the oldest write is in the buffer.
    fn arrived(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        self.receiving = false;
        let Some(&tag) = self.writes.front() else {
            return;
        };
        let (row, from, until, last) = self.next_row(tag);
        self.commands[tag].progress += (until - from) as u32;
        self.host_bytes += until - from;
        if last {
            self.writes.pop_front();
            if self.commands[tag].request.fua && self.waits_for_flash() {
                self.flushes.push(tag);
            } else {
                self.finish(now_ns, tag, done);
            }
        }
        self.store(now_ns, row, from, until);
        self.flush(now_ns, done);
        self.receive(now_ns);
    }

    /// Joins what arrived to the row that is open, or opens its row. Rows are
    /// written when they are complete or another one is opened.
    fn store(&mut self, now_ns: u64, row: u32, from: u64, until: u64) {
        let mut arrived = OpenRow { row, from, until };
        match self.open_row {
            Some(open) if open.row == row && from <= open.until && until >= open.from => {
                arrived.from = from.min(open.from);
                arrived.until = until.max(open.until);
                self.release_row(now_ns);
            }
            Some(open) => self.write_row(now_ns, open),
            None => {}
        }
        if self.is_whole(&arrived) {
            self.open_row = None;
            self.write_row(now_ns, arrived);
        } else {
            self.open_row = Some(arrived);
        }
    }

    /// Empties the buffer for those who wait for that, and completes them when
    /// it is empty.
    fn flush(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        if self.flushes.is_empty() {
            return;
        }
        if let Some(open) = self.open_row.take() {
            self.write_row(now_ns, open);
        }
        if self.buffer_free_rows == self.specification.controller.buffer.0 / self.row_bytes {
            for tag in std::mem::take(&mut self.flushes) {
                self.finish(now_ns, tag, done);
            }
            self.receive(now_ns);
        }
    }

    /// Whether flushes and forced writes complete only when data is on flash.
    fn waits_for_flash(&self) -> bool {
        !self.protected && !self.ignores_flush
    }

    fn is_whole(&self, open: &OpenRow) -> bool {
        let first = u64::from(open.row) * self.row_bytes;
        open.from == first && open.until == (first + self.row_bytes).min(self.capacity_bytes)
    }

    /// Writes a row to flash; of a partial one the rest is read first.
    fn write_row(&mut self, now_ns: u64, open: OpenRow) {
        if !self.is_whole(&open)
            && let Some(die) = self.translation.die(open.row)
        {
            self.give(now_ns, die, flash::Operation::Fetch);
        }
        let mut work = std::mem::take(&mut self.work);
        self.translation.write(open.row, &mut work);
        for (die, operation) in work.drain(..) {
            self.give(now_ns, die, operation);
        }
        self.work = work;
    }

    fn give(&mut self, now_ns: u64, die: u32, operation: flash::Operation) {
        if let Some(at_ns) = self.flash.give(now_ns, die, operation) {
            self.events.push(at_ns, Event::Die(die));
        }
    }

    /// Ends a command and lets the next one in from the host's queue.
    fn finish(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        done.push(Completion { slot: tag, completed_ns: now_ns, errno: 0 });
        self.interface.leave();
        if let Some((arrival_ns, next)) = self.interface.enter(now_ns) {
            self.admit(arrival_ns, next);
        }
    }
}

impl Device for LogBlock {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        self.commands.put(tag, Command { request: *request, progress: 0 });
        if let Some(arrival_ns) = self.interface.issue(at_ns, tag, request.offset_bytes) {
            self.admit(arrival_ns, tag);
        }
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.events.next_ns()
    }

    fn step(&mut self, done: &mut Vec<Completion>) {
        let Some((now_ns, event)) = self.events.pop() else {
            return;
        };
        match event {
            Event::Admitted(tag) => match self.commands[tag].request.operation {
                Operation::Read => self.start_read(now_ns, tag),
                Operation::Write => {
                    self.writes.push_back(tag);
                    self.receive(now_ns);
                }
                Operation::Flush if !self.waits_for_flash() => self.finish(now_ns, tag, done),
                Operation::Flush => {
                    self.flushes.push(tag);
                    self.flush(now_ns, done);
                }
                Operation::Discard | Operation::WriteZeroes => unreachable!("{UNSERVED}"),
            },
            Event::Die(die) => {
                let (ended, next_ns) = self.flash.event(now_ns, die);
                if let Some(at_ns) = next_ns {
                    self.events.push(at_ns, Event::Die(die));
                }
                match ended {
                    Some(flash::Operation::Read { tag, bytes }) => self.deliver(now_ns, tag, bytes),
                    Some(flash::Operation::Program { row: Some(_) }) => {
                        self.release_row(now_ns);
                        self.flush(now_ns, done);
                    }
                    _ => {}
                }
            }
            Event::Arrived => self.arrived(now_ns, done),
            Event::Returned(tag) => self.finish(now_ns, tag, done),
        }
    }

    fn purge(&mut self, _at_ns: u64) {
        *self = Self::new(&self.specification.clone());
    }

    fn at_risk(&self, _at_ns: u64) -> Vec<Range<u64>> {
        self.volatile()
    }

    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        self.lose_power(at_ns)
    }

    fn honours_flush(&self) -> bool {
        !self.ignores_flush
    }

    fn is_write_through(&self) -> bool {
        self.protected
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        let Self {
            specification: _,
            capacity_bytes,
            row_bytes,
            host_bytes,
            interface,
            read_overhead_ns,
            write_overhead_ns,
            protected,
            ignores_flush,
            commands: _,
            buffer_free_rows,
            writes,
            receiving,
            flushes,
            open_row,
            flash,
            translation,
            events,
            work: _,
        } = &*self;
        same!(
            made; capacity_bytes, row_bytes, read_overhead_ns, write_overhead_ns, protected,
            ignores_flush,
        );
        ensure(writes.is_empty() && !receiving && flushes.is_empty(), "a command in the drive")?;
        ensure_counts([*host_bytes])?;
        interface.check(&made.interface, clock)?;
        translation.check(&made.translation)?;
        if let Some(OpenRow { row, from, until }) = *open_row {
            let start = u64::from(row) * row_bytes;
            let end = (start + row_bytes).min(*capacity_bytes);
            ensure(start <= from && from < until && until <= end, "the open row")?;
        }
        // Every row in the buffer is open or on its way to flash.
        let rows = capacity_bytes.div_ceil(*row_bytes) as u32;
        let dies = flash.check(&made.flash, rows, clock)?;
        let held = dies.programs + u64::from(open_row.is_some());
        let size = made.specification.controller.buffer.0 / made.row_bytes;
        ensure(buffer_free_rows.checked_add(held) == Some(size), "the room in the buffer")?;
        // Every die at work has one event, and there are no others.
        clock.ensure_due(events.iter().map(|&(at_ns, _)| at_ns))?;
        let mut due = Vec::new();
        for (_, event) in events.iter() {
            let Event::Die(die) = event else {
                return ensure(false, "an event of a command");
            };
            due.push(*die);
        }
        due.sort_unstable();
        ensure(due == dies.busy, "the event of a die")?;
        self.specification = made.specification.clone();
        Ok(())
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        let counts = self.translation.counts();
        // Programming a row takes all of it, whatever the host wrote of it.
        Some((counts.host_rows + counts.copied_rows) * self.row_bytes)
    }

    fn condition(&self) -> Condition {
        self.condition_now()
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        self.counts()
    }
}
