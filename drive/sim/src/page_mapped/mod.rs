//! Page-mapped SSD: the way of a command through link, firmware, write buffer,
//! translation and flash.
//!
//! Reads: firmware, page reads on the dies (host reads before all other work),
//! channel, link. Writes: firmware, room in the buffer, link; the command is
//! complete when its data is in the buffer. From there the data passes the
//! controller's data path into rows, and the buffer is free again when a row
//! has been programmed. Units that were never written, or that are still in the
//! buffer, are read without touching the flash.
//!
//! Left out: read disturb and retention; cache reads and programs (a die's
//! transfers do not overlap with its own array); two planes that do different
//! things; what a flush, the collector and TRIM write of the map.

mod background;
mod command;
mod content;
mod durability;
mod flash;
mod idle_timer;
mod map_cache;
mod power;
mod read_ahead;
mod read_cache;
mod reads;
mod recent;
mod slc_cache;
mod specification;
#[cfg(test)]
mod tests;
mod translation;
mod validity;
mod writes;

pub use specification::Specification;

use crate::device::{Device, Overwriting};
use crate::event::{EventQueue, Kinds};
use crate::link::Link;
use crate::state::Blueprint;
use crate::validity::{Checked, Clock};
use background::BackgroundCollection;
use command::{Command, Piece, UnitGrid};
use content::StoredSizes;
use durability::Barrier;
use flash::{DieEvent, Flash};
use fourcorners_target::Completion;
use fourcorners_workload::{Operation, Request};
use map_cache::MapCache;
use power::Power;
use read_ahead::ReadAhead;
use read_cache::ReadCache;
use serde::{Deserialize, Serialize};
use slc_cache::SlcCache;
use std::collections::VecDeque;
use std::ops::Range;
use translation::{RowWork, Traffic, Translation};
use writes::{LOOK_AHEAD, PIECE_BYTES_MAX};

/// Pending events other than those of the dies; the number is a command's tag.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Event {
    /// The firmware has taken up a command.
    Admitted(u32),
    /// A piece of a write has arrived in the buffer.
    Arrived(u32),
    /// The oldest piece in the data path has passed it.
    Processed,
    /// The last byte of a read has passed the link.
    Returned(u32),
    /// The drive has been idle for some time, or was.
    Rested(IdleWork),
}

/// What a drive does when it has been idle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum IdleWork {
    /// Empties the SLC cache.
    SlcCache,
    /// Collects.
    Collection,
}

impl Kinds for Event {
    const KINDS: usize = 5;

    #[inline]
    fn kind(self) -> usize {
        match self {
            Event::Admitted(_) => 0,
            Event::Arrived(_) => 1,
            Event::Processed => 2,
            Event::Returned(_) => 3,
            Event::Rested(_) => 4,
        }
    }
}

/// A page-mapped SSD.
#[derive(Debug, Serialize, Deserialize)]
pub struct PageMapped {
    #[serde(skip)]
    specification: Blueprint<Specification>,
    seed: u64,
    capacity_bytes: u64,
    units: UnitGrid,
    /// From the host's software to the firmware.
    command_delay_ns: u64,
    read_overhead_ns: u64,
    unmapped_read_overhead_ns: u64,
    write_overhead_ns: u64,
    modify_overhead_ns: u64,
    firmware_free_ns: u64,
    /// Taken from the host since the last secure erase.
    host_bytes: u64,
    write_data_rate: Option<u64>,
    data_path_free_ns: u64,
    /// Pieces in the data path, and flushes behind them; only drives whose data
    /// path is a limit.
    data_path: VecDeque<Piece>,
    queue_depth: u32,
    in_device: u32,
    /// Commands that wait in the host for a place in the command queue.
    host_queue: VecDeque<(u64, u32)>,
    /// By tag. Those of a drive that was saved are complete.
    #[serde(skip)]
    commands: Vec<Command>,
    buffer_free_bytes: u64,
    piece_units: u32,
    /// Writes that wait for room in the buffer, in order, and when the firmware
    /// takes them up.
    buffer_queue: VecDeque<(u64, u32)>,
    /// Writes that the firmware takes up by an event of their own.
    writes_to_admit: u32,
    /// Every write completes when its data is on flash.
    write_through: bool,
    /// Capacitors keep the buffer.
    protected: bool,
    /// Commands that wait for rows to be programmed, in order.
    barriers: Vec<Barrier>,
    stored_sizes: StoredSizes,
    bus_rate: u64,
    read_ns: u64,
    /// Only drives that read ahead.
    read_ahead: Option<ReadAhead>,
    /// Only drives that keep data in memory to read it there.
    read_cache: Option<ReadCache>,
    /// Only drives that have a part of the map in memory.
    map_cache: Option<MapCache>,
    /// Only drives that take writes with one bit per cell first.
    slc_cache: Option<SlcCache>,
    /// Only drives that collect while dies are free.
    background: Option<BackgroundCollection>,
    /// Only drives whose power is specified.
    power: Option<Power>,
    link: Link,
    flash: Flash,
    translation: Translation,
    events: EventQueue<Event>,
    /// Scratch for the work of one write.
    #[serde(skip)]
    work: Vec<RowWork>,
}

impl PageMapped {
    /// A secure-erased drive. `seed` is for the collector's random choices.
    pub fn new(specification: &Specification, seed: u64) -> Self {
        let unit_bytes = specification.translation.unit.0;
        let units = UnitGrid { unit_bytes };
        let buffer_bytes = specification.write_buffer.size.0;
        let link = Link::new(&specification.link);
        Self {
            specification: Blueprint::new(specification.clone()),
            seed,
            capacity_bytes: specification.capacity.user.0,
            units,
            command_delay_ns: specification.host.overhead.0 + link.command_latency_ns(),
            read_overhead_ns: specification.controller.read_overhead.0,
            unmapped_read_overhead_ns: specification
                .controller
                .unmapped_read_overhead
                .as_ref()
                .unwrap_or(&specification.controller.read_overhead)
                .0,
            write_overhead_ns: specification.controller.write_overhead.0,
            modify_overhead_ns: specification
                .controller
                .modify_overhead
                .as_ref()
                .map_or(0, |t| t.0),
            firmware_free_ns: 0,
            host_bytes: 0,
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
            writes_to_admit: 0,
            write_through: specification
                .write_buffer
                .write_back
                .as_ref()
                .is_some_and(|write_back| !write_back.value),
            protected: specification
                .write_buffer
                .power_loss_protection
                .as_ref()
                .is_some_and(|protection| protection.value),
            barriers: Vec::new(),
            stored_sizes: StoredSizes::new(specification),
            bus_rate: specification.flash.bus_rate.0,
            read_ns: specification.flash.read_time.0,
            read_ahead: specification
                .read_ahead
                .as_ref()
                .map(|read_ahead| ReadAhead::new(read_ahead, units)),
            read_cache: specification
                .read_cache
                .as_ref()
                .map(|read_cache| ReadCache::new(read_cache, units)),
            map_cache: MapCache::new(specification),
            slc_cache: SlcCache::new(specification),
            background: BackgroundCollection::new(&specification.garbage_collection),
            power: specification.power.as_ref().map(Power::new),
            link,
            flash: Flash::new(specification),
            translation: Translation::new(specification, seed),
            events: EventQueue::default(),
            work: Vec::new(),
        }
    }

    /// Takes a command into the device's queue; the firmware takes up commands
    /// in order.
    #[inline]
    fn admit(&mut self, arrival_ns: u64, tag: u32) {
        if let Some(power) = &mut self.power
            && self.in_device == 0
        {
            power.busy(arrival_ns);
        }
        self.in_device += 1;
        let operation = self.commands[tag as usize].request.operation;
        let overhead_ns = match operation {
            Operation::Read if self.is_unmapped(tag) => self.unmapped_read_overhead_ns,
            Operation::Read => self.read_overhead_ns,
            Operation::Write if self.modify_overhead_ns > 0 => {
                self.write_overhead_ns + self.modify_overhead_ns * self.units_to_modify(tag)
            }
            Operation::Write | Operation::Flush => self.write_overhead_ns,
        };
        self.firmware_free_ns = self.firmware_free_ns.max(arrival_ns) + overhead_ns;
        if operation == Operation::Write {
            self.admit_write(self.firmware_free_ns, tag);
        } else {
            self.events.push(self.firmware_free_ns, Event::Admitted(tag));
        }
    }

    /// Whether nothing of what a command touches was ever written.
    #[inline]
    fn is_unmapped(&self, tag: u32) -> bool {
        self.unmapped_read_overhead_ns != self.read_overhead_ns && {
            let (first, last) = self.units.touched(&self.commands[tag as usize].request);
            (first..=last).all(|unit| self.translation.slot(unit).is_none())
        }
    }

    /// Mapping units that hold data and that a write covers only in part.
    fn units_to_modify(&self, tag: u32) -> u64 {
        let request = &self.commands[tag as usize].request;
        let (first, last) = self.units.touched(request);
        let ends = if first == last { &[first][..] } else { &[first, last][..] };
        let to_modify = ends.iter().filter(|&&unit| {
            self.translation.slot(unit).is_some()
                && self.units.overlap(unit, unit, request) < self.units.unit_bytes
        });
        to_modify.count() as u64
    }

    /// Ends a command and lets the next one in from the host's queue.
    #[inline(always)]
    fn finish(&mut self, now_ns: u64, tag: u32, errno: i32, done: &mut Vec<Completion>) {
        done.push(Completion { slot: tag, completed_ns: now_ns, errno });
        self.in_device -= 1;
        if let Some(power) = &mut self.power
            && self.in_device == 0
        {
            power.rest(now_ns);
        }
        if let Some((arrival_ns, next)) = self.host_queue.pop_front() {
            self.admit(arrival_ns.max(now_ns), next);
        } else if self.in_device == 0 {
            self.rest(now_ns);
        }
    }

    /// No command is in the drive.
    #[inline]
    fn rest(&mut self, now_ns: u64) {
        if let Some(at_ns) = self.slc_cache.as_mut().and_then(|cache| cache.rest(now_ns)) {
            self.events.push(at_ns, Event::Rested(IdleWork::SlcCache));
        }
        if let Some(at_ns) = self.background.as_mut().and_then(|b| b.rest(now_ns)) {
            self.events.push(at_ns, Event::Rested(IdleWork::Collection));
        }
    }

    /// The account of energy, for a drive that starts anew.
    fn power_so_far(&self, now_ns: u64) -> Option<Power> {
        let (link_ns, array) = (self.link.busy_ns(), self.flash.array_time());
        self.power.as_ref().map(|power| power.carried_over(now_ns, link_ns, array))
    }

    /// The slot of a unit that has to be read from flash; `None` when it was
    /// never written or is in memory.
    #[inline]
    fn on_flash(&self, unit: u32) -> Option<u32> {
        let in_memory = |slot| self.is_cached(unit) || self.translation.is_buffered(slot);
        self.translation.slot(unit).filter(|&slot| !in_memory(slot))
    }

    #[inline]
    fn is_cached(&self, unit: u32) -> bool {
        self.read_cache.as_ref().is_some_and(|cache| cache.holds(unit))
    }
}

impl Device for PageMapped {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        let (first_unit, last_unit) = self.units.touched(request);
        if request.operation == Operation::Read || self.buffer_queue.len() < LOOK_AHEAD {
            // The map is looked up some microseconds of virtual time later.
            self.translation.prefetch_map(first_unit);
        }
        let stored_bytes = self.stored_sizes.of(request.content);
        let command = Command { request: *request, progress: first_unit, last_unit, stored_bytes };
        if tag as usize >= self.commands.len() {
            self.commands.resize(tag as usize + 1, command);
        }
        self.commands[tag as usize] = command;
        if let Some(cache) = &mut self.slc_cache {
            cache.wake();
        }
        if let Some(background) = &mut self.background {
            background.wake();
        }
        let arrival_ns = at_ns + self.command_delay_ns;
        if self.in_device < self.queue_depth {
            self.admit(arrival_ns, tag);
        } else {
            self.host_queue.push_back((arrival_ns, tag));
        }
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.flash.next_event_ns().min(self.events.next_ns())
    }

    #[inline(always)]
    fn step(&mut self, done: &mut Vec<Completion>) {
        let die_ns = self.flash.next_event_ns();
        if die_ns < self.events.next_ns() {
            let (die, event) = self.flash.step();
            match event {
                DieEvent::Underway => return,
                DieEvent::Delivered(read) => self.deliver(die_ns, read),
                DieEvent::Released(bytes) => {
                    if bytes > 0 {
                        self.settled(die_ns, die, done);
                        self.released(die_ns, bytes);
                    }
                    self.drain(die_ns, die);
                }
            }
            if self.background.is_some() {
                self.collect_in_background(die_ns, die);
            }
            return;
        }
        let Some((now_ns, event)) = self.events.pop() else {
            return;
        };
        match event {
            Event::Admitted(tag) => match self.commands[tag as usize].request.operation {
                Operation::Read if self.map_cache.is_some() => self.look_up(now_ns, tag),
                Operation::Read => self.start_read(now_ns, tag),
                Operation::Write => self.admitted_write(now_ns, tag, done),
                Operation::Flush => self.start_flush(now_ns, tag, done),
            },
            Event::Arrived(tag) => self.arrived(now_ns, tag, done),
            Event::Processed => self.processed(now_ns, done),
            Event::Returned(tag) => {
                if let Some(cache) = &mut self.read_cache {
                    cache.keep_read(self.units, &self.commands[tag as usize].request);
                }
                self.finish(now_ns, tag, 0, done);
            }
            Event::Rested(IdleWork::SlcCache) => self.rested(now_ns),
            Event::Rested(IdleWork::Collection) => self.rested_to_collect(now_ns),
        }
    }

    fn purge(&mut self, at_ns: u64) {
        let power = self.power_so_far(at_ns);
        let fresh = Self::new(&self.specification, self.seed);
        let used = std::mem::replace(self, fresh);
        self.translation.inherit(used.translation);
        self.power = power;
    }

    fn trim(&mut self, at_ns: u64, offset_bytes: u64, length_bytes: u64) {
        // Only parts that lie in the range as a whole hold nothing else.
        let unit_bytes = self.units.unit_bytes;
        let part_bytes = match &self.specification.translation.trim_granularity {
            Some(granularity) if granularity.0 == 0 => return,
            granularity => granularity.as_ref().map_or(unit_bytes, |granularity| granularity.0),
        };
        self.store_data_path(at_ns);
        let units = part_bytes / unit_bytes;
        let end_bytes = offset_bytes + length_bytes;
        let end = match end_bytes == self.capacity_bytes {
            // The last part may be shorter.
            true => end_bytes / unit_bytes,
            false => end_bytes / part_bytes * units,
        };
        for unit in offset_bytes.div_ceil(part_bytes) * units..end {
            if let Some(cache) = &mut self.slc_cache
                && self.translation.slot(unit as u32).is_some()
            {
                cache.trimmed();
            }
            if let Some(cache) = &mut self.read_cache {
                cache.forget(unit as u32);
            }
            self.translation.trim(unit as u32);
        }
        // There is more to collect now.
        self.rest(at_ns);
    }

    fn can_lose_power(&self) -> Result<(), String> {
        if self.protected { Ok(()) } else { self.translation.can_lose_unsettled() }
    }

    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        self.lose_power(at_ns)
    }

    fn has_steady_state(&self, of: &Overwriting) -> Result<(), String> {
        let traffic = Traffic::new(of, self.capacity_bytes, self.units.unit_bytes)?;
        self.translation.has_steady_state(&traffic)
    }

    fn enter_steady_state(&mut self, at_ns: u64, of: &Overwriting) {
        let traffic = Traffic::new(of, self.capacity_bytes, self.units.unit_bytes)
            .expect("there is such a steady state");
        self.purge(at_ns);
        let stored_bytes = self.stored_sizes.of(of.stream.content);
        self.translation.enter_steady_state(&self.specification, &traffic, stored_bytes, self.seed);
        if let Some(cache) = &mut self.slc_cache {
            cache.fill(traffic.units);
        }
        if let Some(cache) = &mut self.map_cache {
            cache.mapped(traffic.mapped());
        }
        self.rest(at_ns);
    }

    fn assert_consistent(&self) {
        self.translation.assert_consistent();
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        self.check(made, clock)?;
        self.specification = made.specification.clone();
        self.check_buffer()
    }

    fn energy_j(&self, now_ns: u64) -> Option<f64> {
        let (link_ns, array) = (self.link.busy_ns(), self.flash.array_time());
        self.power.as_ref().map(|power| power.energy_j(now_ns, link_ns, array))
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        let folded_bytes = self.slc_cache.as_ref().map_or(0, SlcCache::folded_bytes);
        let map_rows = self.map_cache.as_ref().map_or(0, MapCache::rows_programmed);
        // Programming a row takes all of it, whatever it holds.
        let rows = self.translation.counters().programmed_rows + map_rows;
        Some(rows * self.specification.row_bytes() + folded_bytes)
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        let counters = self.translation.counters();
        let host = counters.host_units as f64;
        let folded_bytes = self.slc_cache.as_ref().map_or(0, SlcCache::folded_bytes);
        let folded = (folded_bytes / self.units.unit_bytes) as f64;
        let moved = counters.moved_units as f64;
        let erases = self.translation.erase_counts();
        let padded = counters.padded_bytes as f64 / self.units.unit_bytes as f64;
        let map_rows = self.map_cache.as_ref().map_or(0, MapCache::rows_programmed);
        let row_bytes = self.specification.row_bytes();
        let map_units = (map_rows * (row_bytes / self.units.unit_bytes)) as f64;
        let programmed_bytes = self.flash_programmed_bytes().unwrap_or(0) as f64;
        let host_bytes = self.host_bytes as f64;
        vec![
            ("host_units_written", host),
            ("units_moved", moved),
            ("units_folded", folded),
            ("units_padded", padded),
            ("units_of_map", map_units),
            ("host_bytes_written", host_bytes),
            ("bytes_programmed", programmed_bytes),
            ("blocks_erased", counters.erased_blocks as f64),
            ("erase_count_min", f64::from(erases.min)),
            ("erase_count_mean", erases.mean),
            ("erase_count_max", f64::from(erases.max)),
            ("free_blocks_min", f64::from(self.translation.free_blocks_min())),
            ("bad_blocks", f64::from(self.translation.bad_blocks())),
            ("write_amplification", programmed_bytes / host_bytes.max(1.0)),
        ]
    }
}
