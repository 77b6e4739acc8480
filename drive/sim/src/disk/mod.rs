//! Hard disk drive: zones, seeks, rotation, a command queue and a cache.
//!
//! The platters turn with virtual time, so what an access takes follows from
//! when and where it starts. The mechanism serves whichever waiting access it
//! can begin first (shortest positioning time first), and where there is an age
//! limit, what has waited for so long before it; accesses that continue one another
//! it serves from the first one on. How many it can choose from, the command queue
//! and the write cache decide.
//!
//! A flush is not queued, as ATA has it: behind one, commands wait at the host
//! until everything in the write cache is on the platters.

mod access;
mod durability;
mod geometry;
mod mechanism;
mod read_ahead;
pub mod specification;
mod truths;
mod validity;
mod write_cache;

pub use specification::Specification;

use crate::Device;
use crate::event::{EventQueue, Kinds};
use crate::host_interface::{ByTag, HostInterface};
use crate::validity::{Checked, Clock};
use access::Access;
use fourcorners_target::{Completion, Condition};
use fourcorners_workload::{Operation, Request};
use geometry::SECTOR_BYTES;
use mechanism::Mechanism;
use read_ahead::{Find, ReadAhead};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use write_cache::{Piece, WriteCache};

/// The drive passes data on while it reads; when the last sector has passed the
/// head, this much is still to be sent.
const LINK_CHUNK_BYTES: u64 = 4096;

/// Most bytes of one write that move into the cache at a stretch, so that a
/// large write can be written while it arrives.
const STORE_CHUNK_BYTES: u64 = 256 * 1024;

/// The model.
#[derive(Debug, Serialize, Deserialize)]
pub struct Disk {
    interface: HostInterface,
    command_ns: u64,
    read_access_ns: u64,
    write_access_ns: u64,
    age_limit_ns: u64,
    write_back: bool,
    ignores_flush: bool,
    mechanism: Mechanism,
    read_ahead: ReadAhead,
    write_cache: WriteCache,
    events: EventQueue<Event>,
    #[serde(skip)]
    commands: ByTag<Command>,
    /// Commands in the drive that wait for the mechanism.
    accesses: Vec<Access>,
    /// Writes that wait for room in the cache, in order.
    no_room: VecDeque<u32>,
    /// Flushes in the drive, and those of them that wait for a clean cache.
    flushes: usize,
    flushing: Vec<u32>,
    work: Work,
    /// Whether the latest work was the destaging of cached writes.
    destaged: bool,
    counts: Counts,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Event {
    /// The mechanism ends its work.
    Passed,
    /// Data is in the write cache.
    Stored(u32),
    /// The firmware has taken in a command.
    Decoded(u32),
    /// A waiting access may start.
    Ready,
    /// A command is done.
    Completed(u32),
}

impl Kinds for Event {
    const KINDS: usize = 5;

    fn kind(self) -> usize {
        match self {
            Event::Passed => 0,
            Event::Stored(_) => 1,
            Event::Decoded(_) => 2,
            Event::Ready => 3,
            Event::Completed(_) => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Command {
    request: Request,
    /// Bytes of a write that have been given room in the cache, and those of
    /// them that are on the link now.
    sent_bytes: u32,
    moving_bytes: u32,
    /// When the link has passed an uncached write's data.
    link_end_ns: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Work {
    None,
    Command(u32),
    Destage(Piece),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    accesses: u64,
    destages: u64,
    read_hits: u64,
}

impl Disk {
    /// Makes the drive. It has no randomness of its own: platters stand at
    /// angle 0 at time 0.
    pub fn new(specification: &Specification) -> Self {
        let controller = &specification.controller;
        let cache = &specification.cache;
        let access_ns = controller.access_overhead.0;
        Self {
            // The drive takes up commands side by side, and each after the host's time.
            interface: HostInterface::new(
                &specification.link,
                0,
                specification.host.elevator_window.as_ref().map_or(1, |window| window.value),
            ),
            command_ns: specification.host.overhead.0 + controller.command_overhead.0,
            read_access_ns: access_ns,
            write_access_ns: access_ns + controller.write_through_overhead.0,
            age_limit_ns: controller.age_limit.as_ref().map_or(u64::MAX, |limit| limit.0),
            write_back: cache.write_back.value,
            ignores_flush: cache.ignores_flush.as_ref().is_some_and(|ignores| ignores.value),
            mechanism: Mechanism::new(specification),
            read_ahead: ReadAhead::new(
                cache.read_ahead.0 / SECTOR_BYTES,
                cache.segments.as_ref().map_or(1, |segments| segments.value),
            ),
            write_cache: WriteCache::new(cache.write_size.0, cache.write_entries.value),
            events: EventQueue::default(),
            commands: ByTag::default(),
            accesses: Vec::with_capacity(32),
            no_room: VecDeque::new(),
            flushes: 0,
            flushing: Vec::new(),
            work: Work::None,
            destaged: false,
            counts: Counts::default(),
        }
    }

    fn idle(&self) -> bool {
        matches!(self.work, Work::None)
    }

    /// Sends a command from the host to the drive, which has room for it.
    fn admit(&mut self, now_ns: u64, tag: u32) {
        let decoded_ns = now_ns + self.command_ns;
        let request = &self.commands[tag].request;
        self.flushes += usize::from(request.operation == Operation::Flush);
        if self.is_cached(request) && self.no_room.is_empty() {
            // Decoding and sending need no decision in between: one event less.
            self.send_to_cache(decoded_ns, tag);
        } else {
            self.events.push(decoded_ns, Event::Decoded(tag));
        }
    }

    /// Whether a request is a write that completes in the cache.
    fn is_cached(&self, request: &Request) -> bool {
        request.operation == Operation::Write
            && self.write_back
            && (!request.fua || self.ignores_flush)
    }

    fn decoded(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        let request = self.commands[tag].request;
        let (start, end) = sectors(&request);
        if request.operation == Operation::Flush {
            self.flushing.push(tag);
            self.end_flushes(now_ns, done);
            return;
        }
        let write = request.operation == Operation::Write;
        if self.is_cached(&request) {
            if self.no_room.is_empty() {
                self.send_to_cache(now_ns, tag);
            } else {
                self.no_room.push_back(tag);
            }
            return;
        }
        if !write && self.serve_from_cache(now_ns, tag, &request) {
            return;
        }
        let overhead_ns = if write { self.write_access_ns } else { self.read_access_ns };
        let ready_ns = now_ns + overhead_ns;
        let place = self.mechanism.geometry().start_of(start);
        self.accesses.push(Access { tag, ready_ns, start, place, write });
        self.events.push(ready_ns, Event::Ready);
        if write {
            self.read_ahead.overwritten(start, end);
            // Older data must not reach the platters after it.
            self.write_cache.supersede(self.mechanism.geometry(), start, end);
            // What it held may have been all that was to be written, and make room.
            self.fill_room(now_ns);
        }
    }

    /// Completes the flushes that wait, if the cache is clean.
    fn end_flushes(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        if self.flushing.is_empty() || !(self.ignores_flush || self.write_cache.is_durable()) {
            return;
        }
        for tag in std::mem::take(&mut self.flushing) {
            self.flushes -= 1;
            self.complete(now_ns, tag, done);
        }
    }

    /// Serves a read from what is in the cache, or joins it to the reading
    /// ahead that is under way.
    fn serve_from_cache(&mut self, now_ns: u64, tag: u32, request: &Request) -> bool {
        let (start, end) = sectors(request);
        let idle = self.idle();
        let mut find = self.read_ahead.find(&mut self.mechanism, now_ns, start, end, idle);
        if find == Find::Miss && self.write_cache.holds(start, end) {
            find = Find::Hit;
        }
        match find {
            Find::Hit => {
                self.counts.read_hits += 1;
                let bytes = u64::from(request.length_bytes);
                let sent_ns = self.interface.link.send_to_host(now_ns, bytes, true);
                self.events.push(sent_ns, Event::Completed(tag));
            }
            Find::Coming => {
                let passed_ns = self.mechanism.go_on(end);
                self.work = Work::Command(tag);
                self.events.push(passed_ns, Event::Passed);
            }
            Find::Miss => return false,
        }
        true
    }

    /// Gives a write room in the cache and takes its data, or as much as there
    /// is room for; without room it waits.
    fn send_to_cache(&mut self, ready_ns: u64, tag: u32) -> bool {
        let command = &mut self.commands[tag];
        let left = u64::from(command.request.length_bytes - command.sent_bytes);
        let taken = self.write_cache.take_room(left.min(STORE_CHUNK_BYTES));
        if taken == 0 {
            // At the front: it is the one that goes on first.
            self.no_room.push_front(tag);
            return false;
        }
        command.sent_bytes += taken as u32;
        command.moving_bytes = taken as u32;
        let stored_ns = self.interface.link.send_to_drive(ready_ns, taken, taken == left);
        self.events.push(stored_ns, Event::Stored(tag));
        true
    }

    /// Gives waiting writes the room that there is.
    fn fill_room(&mut self, now_ns: u64) {
        while let Some(tag) = self.no_room.pop_front() {
            if !self.send_to_cache(now_ns, tag) {
                break;
            }
        }
    }

    /// A write's data has arrived in the cache.
    fn stored(&mut self, now_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        let command = self.commands[tag];
        let end_byte = command.request.offset_bytes + u64::from(command.sent_bytes);
        let end = end_byte / SECTOR_BYTES;
        let start = end - u64::from(command.moving_bytes) / SECTOR_BYTES;
        self.write_cache.store(self.mechanism.geometry(), start, end);
        self.read_ahead.overwritten(start, end);
        if command.sent_bytes == command.request.length_bytes {
            self.complete(now_ns, tag, done);
        } else {
            self.no_room.push_front(tag);
        }
        // Joining with what is there may have made room.
        self.fill_room(now_ns);
        self.start_work(now_ns);
    }

    /// Gives the idle mechanism work: waiting commands before cached writes,
    /// unless a write waits for room; then they take turns.
    fn start_work(&mut self, now_ns: u64) {
        if !self.idle() {
            return;
        }
        let destage_is_due =
            !self.no_room.is_empty() && !self.destaged && !self.write_cache.is_clean();
        if destage_is_due || !self.start_access(now_ns) {
            self.start_destage(now_ns);
        }
    }

    fn start_destage(&mut self, now_ns: u64) {
        if self.write_cache.is_clean() {
            return;
        }
        self.read_ahead.stop(&mut self.mechanism, now_ns);
        if let Some(piece) = self.write_cache.take_nearest(&self.mechanism, now_ns) {
            let passed_ns =
                self.mechanism.transfer(now_ns, piece.start, &piece.place, piece.end, true);
            self.counts.destages += 1;
            self.destaged = true;
            self.work = Work::Destage(piece);
            self.events.push(passed_ns, Event::Passed);
        }
    }

    /// The mechanism has ended its work.
    fn passed(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        match std::mem::replace(&mut self.work, Work::None) {
            Work::None => {}
            Work::Command(tag) => {
                let command = self.commands[tag];
                let (start, end) = sectors(&command.request);
                let completed_ns = if command.request.operation == Operation::Read {
                    self.read_ahead.read(&self.mechanism, start, end);
                    let left = u64::from(command.request.length_bytes).min(LINK_CHUNK_BYTES);
                    self.interface.link.send_to_host(now_ns, left, true)
                } else {
                    now_ns.max(command.link_end_ns)
                };
                self.events.push(completed_ns, Event::Completed(tag));
            }
            Work::Destage(piece) => {
                self.write_cache.written(&piece);
                self.fill_room(now_ns);
                self.end_flushes(now_ns, done);
            }
        }
        self.start_work(now_ns);
    }

    fn complete(&mut self, completed_ns: u64, tag: u32, done: &mut Vec<Completion>) {
        done.push(Completion { slot: tag, completed_ns, errno: 0 });
        self.interface.leave();
        while self.flushes == 0
            && let Some((arrival_ns, next)) = self.interface.enter(completed_ns)
        {
            self.admit(arrival_ns, next);
        }
    }
}

impl Device for Disk {
    fn capacity_bytes(&self) -> u64 {
        self.mechanism.geometry().sectors() * SECTOR_BYTES
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        let command = Command { request: *request, sent_bytes: 0, moving_bytes: 0, link_end_ns: 0 };
        self.commands.put(tag, command);
        if self.flushes > 0 {
            self.interface.hold(at_ns, tag, request.offset_bytes);
        } else if let Some(arrival_ns) = self.interface.issue(at_ns, tag, request.offset_bytes) {
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
            Event::Passed => self.passed(now_ns, done),
            Event::Stored(tag) => self.stored(now_ns, tag, done),
            Event::Decoded(tag) => self.decoded(now_ns, tag, done),
            Event::Ready => self.start_work(now_ns),
            Event::Completed(tag) => self.complete(now_ns, tag, done),
        }
    }

    fn purge(&mut self, _at_ns: u64) {
        self.write_cache.clear();
        self.read_ahead.clear();
    }

    fn power_cut(&mut self, _at_ns: u64) -> Vec<Range<u64>> {
        self.lose_power()
    }

    fn at_risk(&self, _at_ns: u64) -> Vec<Range<u64>> {
        self.volatile()
    }

    fn honours_flush(&self) -> bool {
        !self.ignores_flush
    }

    fn is_write_through(&self) -> bool {
        !self.write_back
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        self.check(made, clock)
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("accesses", self.counts.accesses as f64),
            ("destages", self.counts.destages as f64),
            ("read_hits", self.counts.read_hits as f64),
        ]
    }

    fn condition(&self) -> Condition {
        vec![("write_cache_bytes".into(), self.write_cache.used_bytes() as f64)]
    }
}

/// First sector of a request and the one after its last.
fn sectors(request: &Request) -> (u64, u64) {
    let end_byte = request.offset_bytes + u64::from(request.length_bytes);
    (request.offset_bytes / SECTOR_BYTES, end_byte / SECTOR_BYTES)
}
