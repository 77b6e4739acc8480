//! RAID 0: a host that stripes commands over drives.
//!
//! A command is split at chunk boundaries, its parts go to the members at the
//! same time, and it completes with its last part. Members share nothing but
//! the host: each has its own link, command queue and state.
//!
//! Left out: processor time that commands of the host compete for, and limits
//! on the size of a member's command.

mod member;
pub mod specification;
mod stripe;

pub use member::Member;
pub use specification::Specification;

use crate::device::{Device, Overwriting};
use crate::event::NEVER_NS;
use crate::host_interface::{ByTag, transfer_ns};
use crate::ranges::ascending;
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use fourcorners_target::{Completion, Condition};
use fourcorners_workload::{Operation, Request, Stream};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use stripe::Stripe;

/// A RAID 0 array.
#[derive(Debug, Serialize, Deserialize)]
pub struct Raid0 {
    members: Vec<Member>,
    /// When each member's earliest event is due.
    #[serde(skip)]
    next_ns: Vec<u64>,
    capacity_bytes: u64,
    stripe: Stripe,
    overhead_ns: u64,
    data_rate: Option<u64>,
    data_path_free_ns: u64,
    /// A command has at most one part on a member, which therefore knows it by
    /// the same tag.
    #[serde(skip)]
    commands: ByTag<Command>,
    /// Commands whose parts are all done, and when they complete, in order of
    /// time.
    completing: VecDeque<(u64, u32)>,
    /// Scratch: what a member's step completed.
    #[serde(skip)]
    done: Vec<Completion>,
    counts: Counts,
}

/// A command in the array.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Command {
    submitted_ns: u64,
    request_bytes: u32,
    parts: u32,
    /// The first failure among its parts.
    errno: i32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    commands: u64,
    parts: u64,
}

/// Where the earliest event is.
enum Earliest {
    Host,
    Member(usize),
}

impl Raid0 {
    /// What uniform random writes over the array are on each member: such
    /// writes, if any, of at most a chunk.
    fn on_members(
        &self,
        of: &Overwriting,
    ) -> impl Iterator<Item = (usize, Option<Overwriting>)> + use<> {
        let mut filled_of = vec![0; self.members.len()];
        for extent in self.stripe.extents(0, of.filled_bytes) {
            filled_of[extent.member as usize] = extent.length_bytes;
        }
        let block_bytes = u64::from(of.stream.block_bytes).min(self.stripe.chunk_bytes());
        let mut stream = Stream { block_bytes: block_bytes as u32, ..of.stream.clone() };
        (stream.span_bytes, stream.alignment_bytes) = (None, None);
        filled_of.into_iter().enumerate().map(move |(member, filled_bytes)| {
            let of = Overwriting { filled_bytes, stream: stream.clone() };
            (member, (filled_bytes > 0).then_some(of))
        })
    }

    /// An array of the given members.
    pub fn new(specification: &Specification, members: Vec<Member>) -> Self {
        let stripe = Stripe::new(specification.array.chunk.0, members.len());
        let smallest_bytes = members.iter().map(Device::capacity_bytes).min().unwrap_or(0);
        Self {
            next_ns: vec![NEVER_NS; members.len()],
            members,
            capacity_bytes: stripe.capacity_bytes(smallest_bytes),
            stripe,
            overhead_ns: specification.host.overhead.0,
            data_rate: specification.host.data_rate.as_ref().map(|rate| rate.0),
            data_path_free_ns: 0,
            commands: ByTag::default(),
            completing: VecDeque::new(),
            done: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The earliest event. Equal times: the host first, then members in order.
    #[inline]
    fn earliest(&self) -> (u64, Earliest) {
        let mut earliest = match self.completing.front() {
            Some(&(at_ns, _)) => (at_ns, Earliest::Host),
            None => (NEVER_NS, Earliest::Host),
        };
        for (member, &at_ns) in self.next_ns.iter().enumerate() {
            if at_ns < earliest.0 {
                earliest = (at_ns, Earliest::Member(member));
            }
        }
        earliest
    }

    #[inline]
    fn look_again(&mut self, member: usize) {
        self.next_ns[member] = self.members[member].next_event_ns();
    }

    /// Ranges of each member as ranges of the array, ascending and apart.
    fn joined(&self, of_members: Vec<Vec<Range<u64>>>) -> Vec<Range<u64>> {
        let mut joined = Vec::new();
        for (member, ranges) in of_members.into_iter().enumerate() {
            for range in ranges {
                joined.extend(self.stripe.on_array(member, range));
            }
        }
        ascending(joined)
    }

    /// A member has served its part of a command.
    #[inline]
    fn part_done(&mut self, part: Completion) {
        let command = &mut self.commands[part.slot];
        if command.errno == 0 {
            command.errno = part.errno;
        }
        command.parts -= 1;
        if command.parts > 0 {
            return;
        }
        // The host passes data on while members send: it adds nothing to a
        // command that takes longer than its bytes do on the way.
        let passed_ns = match self.data_rate {
            None => part.completed_ns,
            Some(rate) => {
                let bytes_ns = transfer_ns(u64::from(command.request_bytes), rate);
                let begin_ns = command.submitted_ns.max(self.data_path_free_ns);
                self.data_path_free_ns = part.completed_ns.max(begin_ns + bytes_ns);
                self.data_path_free_ns
            }
        };
        self.completing.push_back((passed_ns + self.overhead_ns, part.slot));
    }
}

impl Device for Raid0 {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        let mut parts = 0;
        if request.operation == Operation::Flush {
            for member in 0..self.members.len() {
                self.members[member].submit(at_ns, tag, request);
                self.look_again(member);
                parts += 1;
            }
        }
        let length_bytes = u64::from(request.length_bytes);
        for extent in self.stripe.extents(request.offset_bytes, length_bytes) {
            let member = extent.member as usize;
            let part = Request {
                offset_bytes: extent.offset_bytes,
                length_bytes: extent.length_bytes as u32,
                ..*request
            };
            self.members[member].submit(at_ns, tag, &part);
            self.look_again(member);
            parts += 1;
        }
        let request_bytes = request.length_bytes;
        self.commands.put(tag, Command { submitted_ns: at_ns, request_bytes, parts, errno: 0 });
        self.counts.commands += 1;
        self.counts.parts += u64::from(parts);
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        self.earliest().0
    }

    #[inline]
    fn step(&mut self, done: &mut Vec<Completion>) {
        match self.earliest().1 {
            Earliest::Host => {
                if let Some((completed_ns, slot)) = self.completing.pop_front() {
                    let errno = self.commands[slot].errno;
                    done.push(Completion { slot, completed_ns, errno });
                }
            }
            Earliest::Member(member) => {
                let mut parts = std::mem::take(&mut self.done);
                self.members[member].step(&mut parts);
                self.look_again(member);
                for part in parts.drain(..) {
                    self.part_done(part);
                }
                self.done = parts;
            }
        }
    }

    fn purge(&mut self, at_ns: u64) {
        for member in 0..self.members.len() {
            self.members[member].purge(at_ns);
            self.look_again(member);
        }
    }

    fn trim(&mut self, at_ns: u64, offset_bytes: u64, length_bytes: u64) {
        for extent in self.stripe.extents(offset_bytes, length_bytes) {
            let member = extent.member as usize;
            self.members[member].trim(at_ns, extent.offset_bytes, extent.length_bytes);
            self.look_again(member);
        }
    }

    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        self.completing.clear();
        let mut lost = Vec::new();
        for member in 0..self.members.len() {
            lost.push(self.members[member].power_cut(at_ns));
            self.look_again(member);
        }
        self.joined(lost)
    }

    fn at_risk(&self, at_ns: u64) -> Vec<Range<u64>> {
        self.joined(self.members.iter().map(|member| member.at_risk(at_ns)).collect())
    }

    fn honours_flush(&self) -> bool {
        self.members.iter().all(Device::honours_flush)
    }

    fn is_write_through(&self) -> bool {
        self.members.iter().all(Device::is_write_through)
    }

    fn has_trim(&self) -> bool {
        self.members.iter().any(Device::has_trim)
    }

    fn has_steady_state(&self, of: &Overwriting) -> Result<(), String> {
        if !of.is_uniform() {
            return Err("an array has a known steady state under uniform random writes to all that it holds only".into());
        }
        of.stream.check(of.filled_bytes).map_err(|error| error.to_string())?;
        self.on_members(of).try_for_each(|(member, of)| match of {
            Some(of) => self.members[member].has_steady_state(&of),
            None => Ok(()),
        })
    }

    fn enter_steady_state(&mut self, at_ns: u64, of: &Overwriting) {
        let on_members: Vec<_> = self.on_members(of).collect();
        for (member, of) in on_members {
            match of {
                None => self.members[member].purge(at_ns),
                Some(of) => self.members[member].enter_steady_state(at_ns, &of),
            }
            self.look_again(member);
        }
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        let Self {
            members,
            next_ns,
            capacity_bytes,
            stripe,
            overhead_ns,
            data_rate,
            data_path_free_ns,
            commands: _,
            completing,
            done: _,
            counts,
        } = self;
        same!(made; capacity_bytes, stripe, overhead_ns, data_rate);
        ensure(members.len() == made.members.len(), "the members")?;
        ensure(completing.is_empty(), "a command in the array")?;
        clock.ensure_soon([*data_path_free_ns])?;
        ensure_counts([counts.commands, counts.parts])?;
        for (member, made) in members.iter_mut().zip(&made.members) {
            member.complete(made, clock)?;
        }
        *next_ns = members.iter().map(Device::next_event_ns).collect();
        Ok(())
    }

    fn energy_j(&self, now_ns: u64) -> Option<f64> {
        self.members.iter().map(|member| member.energy_j(now_ns)).sum()
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        self.members.iter().map(Device::flash_programmed_bytes).sum()
    }

    /// Of all members: what is least or most of any, means of those that tell it, and
    /// sums.
    fn condition(&self) -> Condition {
        let mut joined: Vec<(_, f64, u32)> = Vec::new();
        for (name, value) in self.members.iter().flat_map(Device::condition) {
            match joined.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, least, _)) if name.ends_with("_min") => *least = least.min(value),
                Some((_, most, _)) if name.ends_with("_max") => *most = most.max(value),
                Some((_, sum, members)) => (*sum, *members) = (*sum + value, *members + 1),
                None => joined.push((name, value, 1)),
            }
        }
        let mean = |(name, sum, members): (std::borrow::Cow<'static, str>, f64, u32)| {
            let of = if name.ends_with("_mean") { f64::from(members) } else { 1.0 };
            (name, sum / of)
        };
        joined.into_iter().map(mean).collect()
    }

    fn assert_consistent(&self) {
        self.members.iter().for_each(Device::assert_consistent);
    }

    /// What the members counted, added up, and what the array did itself.
    fn counters(&self) -> Vec<(&'static str, f64)> {
        let mut sums = vec![
            ("array_commands", self.counts.commands as f64),
            ("array_parts", self.counts.parts as f64),
        ];
        for (name, value) in self.members.iter().flat_map(Device::counters) {
            // A ratio of counts does not add up; the counts are there.
            if ["write_amplification", "erase_count_mean"].contains(&name) {
                continue;
            }
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, least)) if name.ends_with("_min") => *least = least.min(value),
                Some((_, most)) if name.ends_with("_max") => *most = most.max(value),
                Some((_, sum)) => *sum += value,
                None => sums.push((name, value)),
            }
        }
        sums
    }
}
