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
mod counters;
mod die_events;
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
pub mod specification;
#[cfg(test)]
mod tests;
mod translation;
mod truths;
mod upkeep;
mod validity;
mod writes;

pub use specification::Specification;

use crate::blueprint::Blueprint;
use crate::device::{Device, Overwriting, UNSERVED};
use crate::event::{EventQueue, Kinds};
use crate::host_interface::{ByTag, HostInterface};
use crate::validity::{Checked, Clock};
use background::BackgroundCollection;
use command::{Command, Piece, UnitGrid};
use content::StoredSizes;
use durability::Barrier;
use flash::Flash;
use fourcorners_target::{Completion, Condition};
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
use upkeep::Upkeep;
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
    interface: HostInterface,
    read_overhead_ns: u64,
    unmapped_read_overhead_ns: u64,
    write_overhead_ns: u64,
    modify_overhead_ns: u64,
    /// Taken from the host since the last secure erase.
    host_bytes: u64,
    write_data_rate: Option<u64>,
    data_path_free_ns: u64,
    /// Pieces in the data path, and flushes behind them; only drives whose data
    /// path is a limit.
    data_path: VecDeque<Piece>,
    #[serde(skip)]
    commands: ByTag<Command>,
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
    /// Whether flushes and forced writes complete before data is durable.
    ignores_flush: bool,
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
    /// Only drives that have more to do than commands, or get them late.
    upkeep: Option<Box<Upkeep>>,
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
        let host_ns = specification.host.overhead.0;
        Self {
            specification: Blueprint::new(specification.clone()),
            seed,
            capacity_bytes: specification.capacity.user.0,
            units,
            interface: HostInterface::new(&specification.link, host_ns, 1),
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
            host_bytes: 0,
            write_data_rate: specification.controller.write_data_rate.as_ref().map(|rate| rate.0),
            data_path_free_ns: 0,
            data_path: VecDeque::new(),
            commands: ByTag::default(),
            buffer_free_bytes: buffer_bytes,
            piece_units: (PIECE_BYTES_MAX.min(buffer_bytes / 2) / unit_bytes).max(1) as u32,
            buffer_queue: VecDeque::new(),
            writes_to_admit: 0,
            write_through: specification
                .write_buffer
                .write_back
                .as_ref()
                .is_some_and(|write_back| !write_back.value),
            protected: specification.write_buffer.is_protected(),
            ignores_flush: specification.write_buffer.lies(),
            barriers: Vec::new(),
            stored_sizes: specification.stored_sizes(),
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
            upkeep: Upkeep::new(specification, seed).map(Box::new),
            flash: Flash::new(specification, seed),
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
            && self.interface.inside() == 1
        {
            power.busy(arrival_ns);
        }
        let operation = self.commands[tag].request.operation;
        let overhead_ns = match operation {
            Operation::Read if self.is_unmapped(tag) => self.unmapped_read_overhead_ns,
            Operation::Read => self.read_overhead_ns,
            Operation::Write if self.modify_overhead_ns > 0 => {
                self.write_overhead_ns + self.modify_overhead_ns * self.units_to_modify(tag)
            }
            _ => self.write_overhead_ns,
        };
        let taken_up_ns = match self.upkeep {
            None => self.interface.take_up(arrival_ns, overhead_ns),
            Some(_) => self.take_up_after_upkeep(arrival_ns, overhead_ns, tag),
        };
        if operation == Operation::Write {
            self.admit_write(taken_up_ns, tag);
        } else {
            self.events.push(taken_up_ns, Event::Admitted(tag));
        }
    }

    /// Whether nothing of what a command touches was ever written.
    #[inline]
    fn is_unmapped(&self, tag: u32) -> bool {
        self.unmapped_read_overhead_ns != self.read_overhead_ns && {
            let (first, last) = self.units.touched(&self.commands[tag].request);
            (first..=last).all(|unit| self.translation.slot(unit).is_none())
        }
    }

    /// Ends a command and lets the next one in from the host's queue.
    #[inline(always)]
    fn finish(&mut self, now_ns: u64, tag: u32, errno: i32, done: &mut Vec<Completion>) {
        done.push(Completion { slot: tag, completed_ns: now_ns, errno });
        self.interface.leave();
        if let Some(power) = &mut self.power
            && self.interface.inside() == 0
        {
            power.rest(now_ns);
        }
        if let Some((arrival_ns, next)) = self.interface.enter(now_ns) {
            self.admit(arrival_ns, next);
        } else if self.interface.inside() == 0 {
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
        let (link_ns, array) = (self.interface.link.busy_ns(), self.flash.array_time());
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
        self.commands.put(tag, command);
        if let Some(cache) = &mut self.slc_cache {
            cache.wake();
        }
        if let Some(background) = &mut self.background {
            background.wake();
        }
        if let Some(arrival_ns) = self.interface.issue(at_ns, tag, request.offset_bytes) {
            self.admit(arrival_ns, tag);
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
            if self.flash.is_plain() {
                let (die, event) = self.flash.step();
                self.after_die(die_ns, die, event, done);
            } else {
                self.step_planes(die_ns, done);
            }
            return;
        }
        let Some((now_ns, event)) = self.events.pop() else {
            return;
        };
        match event {
            Event::Admitted(tag) => match self.commands[tag].request.operation {
                Operation::Read if self.map_cache.is_some() => self.look_up(now_ns, tag),
                Operation::Read => self.start_read(now_ns, tag),
                Operation::Write => self.admitted_write(now_ns, tag, done),
                Operation::Flush => self.start_flush(now_ns, tag, done),
                Operation::Discard | Operation::WriteZeroes => unreachable!("{UNSERVED}"),
            },
            Event::Arrived(tag) => self.arrived(now_ns, tag, done),
            Event::Processed => self.processed(now_ns, done),
            Event::Returned(tag) => {
                if let Some(cache) = &mut self.read_cache {
                    cache.keep_read(self.units, &self.commands[tag].request);
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
        let mut used = std::mem::replace(self, fresh);
        self.inherit_variation(&mut used);
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

    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        self.lose_power(at_ns)
    }

    fn at_risk(&self, _at_ns: u64) -> Vec<Range<u64>> {
        self.unsettled_ranges()
    }

    fn honours_flush(&self) -> bool {
        !self.ignores_flush
    }

    fn is_write_through(&self) -> bool {
        self.write_through || self.protected
    }

    fn has_trim(&self) -> bool {
        self.specification.translation.trim_granularity.as_ref().is_none_or(|bytes| bytes.0 > 0)
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
        let (link_ns, array) = (self.interface.link.busy_ns(), self.flash.array_time());
        self.power.as_ref().map(|power| power.energy_j(now_ns, link_ns, array))
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        Some(self.programmed_bytes())
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        self.counts()
    }

    fn condition(&self) -> Condition {
        self.condition_now()
    }
}
