//! Events of the block layer become I/Os: an issue and its completion are one record.
//!
//! A record is what was issued to the driver; of devices without such events (those that other
//! devices are made of) it is what was queued. Records wait, in the order of their issue, until
//! they have completed, but never more than [`PENDING_MAX`] of them.

use crate::record::{Operation, Record};
use std::collections::{HashMap, HashSet, VecDeque};

/// Of I/Os under way: more than any device has outstanding, and some MB of memory.
const PENDING_MAX: usize = 1 << 16;

/// Events by which it is decided which kind a device has; some MB.
const LOOKAHEAD: usize = 1 << 16;

/// What happened to an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Queue,
    Issue,
    Requeue,
    Complete,
    /// What was queued has completed: said of devices that have issues as well.
    QueuedComplete,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) step: Step,
    pub(crate) preflush: bool,
    /// What was issued, when the event was.
    pub(crate) record: Record,
}

type Key = (u32, u64, bool);

/// Makes records of events.
#[derive(Default)]
pub(crate) struct Pairing {
    /// Until it is decided.
    held: Vec<Event>,
    /// Devices whose I/Os are issued to a driver; `None` while that is open.
    with_issues: Option<HashSet<u32>>,
    pending: VecDeque<(Record, bool)>,
    /// Number of the record at the front.
    front: u64,
    under_way: HashMap<Key, VecDeque<u64>>,
    requeued: HashMap<Key, u32>,
}

impl Pairing {
    pub(crate) fn event(&mut self, event: Event, out: &mut Vec<Record>) {
        if self.with_issues.is_some() {
            self.take(event, out);
            return;
        }
        self.held.push(event);
        if self.held.len() >= LOOKAHEAD {
            self.decide(out);
        }
    }

    /// No more events will come.
    pub(crate) fn end(&mut self, out: &mut Vec<Record>) {
        self.decide(out);
        out.extend(self.pending.drain(..).map(|(record, _)| record));
        self.under_way.clear();
    }

    fn decide(&mut self, out: &mut Vec<Record>) {
        if self.with_issues.is_none() {
            let issued = self.held.iter().filter(|event| event.step == Step::Issue);
            self.with_issues = Some(issued.map(|event| event.record.volume).collect());
        }
        for event in std::mem::take(&mut self.held) {
            self.take(event, out);
        }
    }

    fn take(&mut self, event: Event, out: &mut Vec<Record>) {
        let record = event.record;
        let key = (record.volume, record.offset_bytes, record.operation == Operation::Flush);
        let has_issues =
            self.with_issues.as_ref().is_some_and(|known| known.contains(&record.volume));
        match event.step {
            Step::Queue | Step::QueuedComplete if has_issues => {}
            Step::Queue | Step::Issue => {
                if let Some(count) = self.requeued.get_mut(&key)
                    && *count > 0
                {
                    *count -= 1;
                    return;
                }
                if event.preflush {
                    let flush = Record { offset_bytes: 0, length_bytes: 0, fua: false, ..record };
                    self.pending.push_back((Record { operation: Operation::Flush, ..flush }, true));
                }
                self.under_way
                    .entry(key)
                    .or_default()
                    .push_back(self.front + self.pending.len() as u64);
                self.pending.push_back((record, false));
            }
            Step::Requeue => {
                if self.under_way.contains_key(&key) {
                    *self.requeued.entry(key).or_default() += 1;
                }
            }
            Step::Complete | Step::QueuedComplete => self.complete(key, record.time_ns),
        }
        while self.pending.front().is_some_and(|(_, is_done)| *is_done)
            || self.pending.len() > PENDING_MAX
        {
            self.pop(out);
        }
    }

    fn complete(&mut self, key: Key, time_ns: u64) {
        let Some(numbers) = self.under_way.get_mut(&key) else { return };
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.under_way.remove(&key);
            self.requeued.remove(&key);
        }
        if let Some(place) = number.and_then(|number| number.checked_sub(self.front))
            && let Some((record, is_done)) = self.pending.get_mut(place as usize)
        {
            record.latency_ns = time_ns.checked_sub(record.time_ns);
            *is_done = true;
        }
    }

    fn pop(&mut self, out: &mut Vec<Record>) {
        let Some((record, is_done)) = self.pending.pop_front() else { return };
        if !is_done {
            let key = (record.volume, record.offset_bytes, record.operation == Operation::Flush);
            if let Some(numbers) = self.under_way.get_mut(&key) {
                numbers.retain(|number| *number != self.front);
                if numbers.is_empty() {
                    self.under_way.remove(&key);
                }
            }
        }
        self.front += 1;
        out.push(record);
    }
}
