//! SSD that maps whole superblocks of erase blocks, as the JMicron JMF602 of the
//! first consumer SSDs does.
//!
//! A write goes to a *log superblock*, which takes rows in ascending order only.
//! A write that goes on where the log superblock ends is appended at the rate of
//! programming. Any other write closes it first. If all of it was written, it
//! takes the place of the old data (a switch, which costs an erase beside other
//! work); if it was written in part, the firmware builds a full superblock from
//! the old data and the log (a full merge, which copies every row).
//!
//! What a write pays follows from this: an aligned multiple of the superblock size
//! nothing, a tiny one one merge (its predecessor's), a large unaligned one two
//! (its own first superblock and its predecessor's last), on average 1 + S/C for a
//! size S below the superblock size C. There is no case for any of these.

mod buffer;
mod flash;
pub mod specification;
mod truths;

pub use specification::Specification;

use crate::Device;
use crate::device::UNSERVED;
use crate::event::NEVER_NS;
use crate::host_interface::{ByTag, HostInterface};
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use buffer::Buffer;
use flash::Flash;
use fourcorners_target::{Completion, Condition};
use fourcorners_workload::{Operation, Request};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The model.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockMapped {
    capacity_bytes: u64,
    row_bytes: u64,
    superblock_bytes: u64,
    read_overhead_ns: u64,
    write_overhead_ns: u64,
    /// Whether capacitors keep the buffer.
    protected: bool,
    ignores_flush: bool,
    interface: HostInterface,
    #[serde(skip)]
    commands: ByTag<Request>,
    flash: Flash,
    buffer: Buffer,
    /// Whether a superblock holds data, beside what the log has for it. Closing a
    /// log superblock over one that does not has nothing to copy.
    holds_data: Vec<bool>,
    log: Option<LogSuperblock>,
    /// The command in service, and when it completes.
    serving: Option<(u64, u32)>,
    counts: Counts,
}

/// The superblock that takes writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LogSuperblock {
    superblock: u64,
    /// Where writing began.
    first_byte: u64,
    /// From here on, the buffer keeps what was written until its row is complete.
    open_byte: u64,
    /// The byte after the last one written: what continues the log.
    next_byte: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    host_written_bytes: u64,
    rows_appended: u64,
    rows_merged: u64,
    merges: u64,
    switches: u64,
    superblocks_erased: u64,
}

impl BlockMapped {
    /// Makes the drive, erased.
    pub fn new(specification: &Specification) -> Self {
        let flash = &specification.flash;
        let capacity_bytes = specification.capacity.user.0;
        let superblocks = capacity_bytes.div_ceil(flash.superblock_bytes());
        // The host's time is part of a command's own: the next one begins after it.
        let host_ns = specification.host.overhead.0;
        Self {
            capacity_bytes,
            row_bytes: flash.row_bytes(),
            superblock_bytes: flash.superblock_bytes(),
            read_overhead_ns: host_ns + specification.controller.read_overhead.0,
            write_overhead_ns: host_ns + specification.controller.write_overhead.0,
            protected: specification.controller.is_protected(),
            ignores_flush: specification.controller.lies(),
            interface: HostInterface::new(&specification.link, 0, 1),
            commands: ByTag::default(),
            flash: Flash::new(flash, specification.controller.buffer.0),
            buffer: Buffer::default(),
            holds_data: vec![false; superblocks as usize],
            log: None,
            serving: None,
            counts: Counts::default(),
        }
    }

    fn serve(&mut self, at_ns: u64, tag: u32) {
        let request = self.commands[tag];
        let overhead_ns = match request.operation {
            Operation::Read => self.read_overhead_ns,
            _ => self.write_overhead_ns,
        };
        let begin_ns = self.interface.take_up(at_ns, overhead_ns);
        let end_ns = match request.operation {
            Operation::Read => self.read(begin_ns, &request),
            Operation::Write => {
                let arrived_ns = self.write(begin_ns, &request);
                if request.fua { self.flush(arrived_ns) } else { arrived_ns }
            }
            Operation::Flush => self.flush(begin_ns),
            Operation::Discard | Operation::WriteZeroes => unreachable!("{UNSERVED}"),
        };
        self.serving = Some((end_ns, tag));
    }

    /// Returns when the last byte has reached the host. Superblocks that were
    /// never written need no flash.
    fn read(&mut self, begin_ns: u64, request: &Request) -> u64 {
        let end_byte = request.offset_bytes + u64::from(request.length_bytes);
        let mut byte = request.offset_bytes;
        let mut passed_ns = begin_ns;
        while byte < end_byte {
            let row = byte / self.row_bytes;
            let until = end_byte.min((row + 1) * self.row_bytes);
            let ready_ns = if self.is_written(self.superblock_of(byte)) {
                self.flash.read_row(begin_ns, row)
            } else {
                begin_ns
            };
            passed_ns = self.interface.link.send_to_host(ready_ns, until - byte, until == end_byte);
            byte = until;
        }
        passed_ns
    }

    /// Returns when the last byte is in the buffer.
    fn write(&mut self, begin_ns: u64, request: &Request) -> u64 {
        let end_byte = request.offset_bytes + u64::from(request.length_bytes);
        self.counts.host_written_bytes += u64::from(request.length_bytes);
        let mut byte = request.offset_bytes;
        let mut arrived_ns = begin_ns;
        while byte < end_byte {
            let superblock = self.superblock_of(byte);
            if self.log.is_none_or(|log| log.next_byte != byte) {
                arrived_ns = self.close_log(arrived_ns);
            }
            let superblock_end =
                ((superblock as u64 + 1) * self.superblock_bytes).min(self.capacity_bytes);
            let until = end_byte.min(superblock_end);
            let mut log = self.log.unwrap_or(LogSuperblock {
                superblock: superblock as u64,
                first_byte: byte,
                open_byte: byte,
                next_byte: byte,
            });
            arrived_ns = self.append(arrived_ns, &mut log, until, until == end_byte);
            self.log = Some(log);
            if until == superblock_end {
                // Nothing can continue it any more.
                arrived_ns = self.close_log(arrived_ns);
            }
            byte = until;
        }
        arrived_ns
    }

    /// Returns when everything is on flash. A row that is not full is programmed
    /// as it is; it cannot be programmed again, so that its superblock is closed.
    fn flush(&mut self, begin_ns: u64) -> u64 {
        if self.protected || self.ignores_flush {
            return begin_ns;
        }
        if let Some(log) = &mut self.log
            && log.open_byte < log.next_byte
        {
            let programmed_ns = self.flash.program_row(begin_ns);
            self.buffer.give(begin_ns, log.open_byte, log.next_byte, programmed_ns);
            log.open_byte = log.next_byte;
            self.counts.rows_appended += 1;
            self.close_log(begin_ns);
        }
        begin_ns.max(self.flash.programmed_ns()).max(self.buffer.programmed_ns())
    }

    /// Takes bytes into the buffer and programs each row that they complete.
    fn append(&mut self, begin_ns: u64, log: &mut LogSuperblock, end_byte: u64, last: bool) -> u64 {
        let mut arrived_ns = begin_ns;
        while log.next_byte < end_byte {
            let byte = log.next_byte;
            let row_end = (byte / self.row_bytes + 1) * self.row_bytes;
            let until = end_byte.min(row_end);
            let ready_ns = arrived_ns.max(self.flash.room_ns());
            arrived_ns = self.interface.link.send_to_drive(
                ready_ns,
                until - byte,
                last && until == end_byte,
            );
            log.next_byte = until;
            if until == row_end {
                let programmed_ns = self.flash.program_row(arrived_ns);
                self.buffer.give(arrived_ns, log.open_byte, until, programmed_ns);
                log.open_byte = until;
                self.counts.rows_appended += 1;
            }
        }
        arrived_ns
    }

    /// Gives the log superblock the place of the data superblock; returns when the
    /// firmware can go on.
    fn close_log(&mut self, at_ns: u64) -> u64 {
        let Some(log) = self.log.take() else {
            return at_ns;
        };
        let index = log.superblock as usize;
        let start = log.superblock * self.superblock_bytes;
        let end = (start + self.superblock_bytes).min(self.capacity_bytes);
        let complete = log.first_byte == start && log.next_byte == end;
        let held_data = std::mem::replace(&mut self.holds_data[index], true);
        let (end_ns, programmed_ns) = if complete || !held_data {
            self.counts.switches += 1;
            if held_data {
                self.flash.switch(at_ns);
                self.counts.superblocks_erased += 1;
            }
            // The last row, which is not full, is programmed beside other work.
            (at_ns, self.flash.row_programmed_ns(at_ns))
        } else {
            self.counts.merges += 1;
            let merged_ns = self.merge(at_ns);
            (merged_ns, merged_ns)
        };
        if log.open_byte < log.next_byte {
            self.buffer.give(at_ns, log.open_byte, log.next_byte, programmed_ns);
        }
        end_ns
    }

    fn merge(&mut self, at_ns: u64) -> u64 {
        let rows = self.superblock_bytes / self.row_bytes;
        self.counts.rows_merged += rows;
        self.counts.superblocks_erased += 1;
        self.flash.merge(at_ns, rows)
    }

    fn is_written(&self, superblock: usize) -> bool {
        self.holds_data[superblock]
            || self.log.is_some_and(|log| log.superblock == superblock as u64)
    }

    fn superblock_of(&self, byte: u64) -> usize {
        (byte / self.superblock_bytes) as usize
    }
}

impl Device for BlockMapped {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        self.commands.put(tag, *request);
        if let Some(arrival_ns) = self.interface.issue(at_ns, tag, request.offset_bytes) {
            self.serve(arrival_ns, tag);
        }
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.serving.map_or(NEVER_NS, |(end_ns, _)| end_ns)
    }

    fn step(&mut self, done: &mut Vec<Completion>) {
        let Some((completed_ns, slot)) = self.serving.take() else {
            return;
        };
        done.push(Completion { slot, completed_ns, errno: 0 });
        self.interface.leave();
        if let Some((arrival_ns, tag)) = self.interface.enter(completed_ns) {
            self.serve(arrival_ns, tag);
        }
    }

    fn purge(&mut self, _at_ns: u64) {
        self.holds_data.fill(false);
        self.log = None;
        self.buffer.clear();
    }

    fn at_risk(&self, at_ns: u64) -> Vec<Range<u64>> {
        if self.protected {
            return Vec::new();
        }
        let open = self.log.map(|log| log.open_byte..log.next_byte);
        self.buffer.at_risk(at_ns, open.filter(|open| !open.is_empty()))
    }

    /// With power the firmware finds what of the log is on flash, and closes it. A
    /// merge that was under way begins anew: what it copies is still there.
    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        let lost = self.at_risk(at_ns);
        self.serving = None;
        self.interface.lose_power();
        self.buffer.clear();
        let was_merging = self.flash.lose_power(at_ns);
        if was_merging {
            self.merge(at_ns);
        }
        if let Some(log) = &mut self.log {
            if self.protected {
                log.open_byte = log.next_byte;
            } else {
                log.next_byte = log.open_byte;
            }
            if log.first_byte < log.next_byte {
                self.close_log(at_ns);
            }
        }
        self.log = None;
        lost
    }

    fn honours_flush(&self) -> bool {
        !self.ignores_flush
    }

    fn is_write_through(&self) -> bool {
        self.protected
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        Some((self.counts.rows_appended + self.counts.rows_merged) * self.row_bytes)
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        let Self {
            capacity_bytes,
            row_bytes,
            superblock_bytes,
            read_overhead_ns,
            write_overhead_ns,
            protected,
            ignores_flush,
            interface,
            commands: _,
            flash,
            buffer,
            holds_data,
            log,
            serving,
            counts,
        } = &*self;
        same!(
            made; capacity_bytes, row_bytes, superblock_bytes, read_overhead_ns, write_overhead_ns,
            protected, ignores_flush,
        );
        buffer.check(*capacity_bytes, clock)?;
        interface.check(&made.interface, clock)?;
        flash.check(&made.flash, clock)?;
        ensure(holds_data.len() == made.holds_data.len(), "the superblocks")?;
        ensure(serving.is_none(), "a command in the drive")?;
        if let Some(log) = log {
            ensure(log.superblock < holds_data.len() as u64, "the log superblock")?;
            let start = log.superblock * superblock_bytes;
            let end = (start + superblock_bytes).min(*capacity_bytes);
            let LogSuperblock { superblock: _, first_byte, open_byte, next_byte } = *log;
            ensure(
                start <= first_byte
                    && first_byte <= open_byte
                    && open_byte <= next_byte
                    && start < next_byte
                    && next_byte < end,
                "the log superblock",
            )?;
        }
        let Counts {
            host_written_bytes,
            rows_appended,
            rows_merged,
            merges,
            switches,
            superblocks_erased,
        } = *counts;
        ensure_counts([host_written_bytes, rows_appended, rows_merged, merges, switches])?;
        ensure_counts([superblocks_erased])
    }

    fn condition(&self) -> Condition {
        let counts = &self.counts;
        // One more is spare.
        let superblocks = self.holds_data.len() + 1;
        let unwritten = self.holds_data.iter().filter(|&&holds| !holds).count();
        vec![
            ("unwritten_superblocks".into(), unwritten as f64),
            ("erase_count_mean".into(), counts.superblocks_erased as f64 / superblocks as f64),
            ("merges".into(), counts.merges as f64),
            ("switches".into(), counts.switches as f64),
        ]
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let counts = &self.counts;
        let programmed = self.flash_programmed_bytes().unwrap_or(0);
        vec![
            ("host_written_bytes", counts.host_written_bytes as f64),
            ("flash_programmed_bytes", programmed as f64),
            ("merges", counts.merges as f64),
            ("switches", counts.switches as f64),
        ]
    }
}
