//! Events of the block layer become I/Os: an issue and its completion are one record.
//!
//! A record is what was issued to the driver; of devices without such events (those that other
//! devices are made of) it is what was queued, and of recordings of nothing else what has completed.
//! Records wait, in the order of their issue, until they have completed, but never more than
//! [`PENDING_MAX`] of them.

use crate::record::Record;
use fourcorners_workload::Operation;
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

/// What becomes of a record that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Done,
    /// It was queued, and the device turned out to have issues.
    Dropped,
}

/// Makes records of events.
#[derive(Default)]
pub(crate) struct Pairing {
    /// Until it is decided.
    held: Vec<Event>,
    /// Devices whose I/Os are issued to a driver; `None` while that is open.
    with_issues: Option<HashSet<u32>>,
    /// Devices of which nothing but completions was recorded.
    only_completed: HashSet<u32>,
    pending: VecDeque<(Record, Fate)>,
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
        let kept = self.pending.drain(..).filter(|(_, fate)| *fate != Fate::Dropped);
        out.extend(kept.map(|(record, _)| record));
        self.under_way.clear();
    }

    fn decide(&mut self, out: &mut Vec<Record>) {
        if self.with_issues.is_none() {
            let of = |steps: &[Step]| -> HashSet<u32> {
                let events = self.held.iter().filter(|event| steps.contains(&event.step));
                events.map(|event| event.record.volume).collect()
            };
            let begun = of(&[Step::Issue, Step::Queue]);
            self.only_completed = &of(&[Step::Complete, Step::QueuedComplete]) - &begun;
            self.with_issues = Some(of(&[Step::Issue]));
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
        if matches!(event.step, Step::Issue | Step::Queue) {
            self.only_completed.remove(&record.volume);
        }
        if event.step == Step::Issue && !has_issues {
            self.begin_issues(record.volume);
        }
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
                    self.pending.push_back((record.flush_before(), Fate::Done));
                }
                self.under_way
                    .entry(key)
                    .or_default()
                    .push_back(self.front + self.pending.len() as u64);
                self.pending.push_back((record, Fate::UnderWay));
            }
            Step::Requeue => {
                if self.under_way.contains_key(&key) {
                    *self.requeued.entry(key).or_default() += 1;
                }
            }
            Step::Complete | Step::QueuedComplete => {
                if self.only_completed.contains(&record.volume) {
                    self.pending.push_back((record, Fate::Done));
                } else {
                    self.complete(key, record.time_ns);
                }
            }
        }
        while self.pending.front().is_some_and(|(_, fate)| *fate != Fate::UnderWay)
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
            && let Some((record, fate)) = self.pending.get_mut(place as usize)
        {
            record.latency_ns = time_ns.checked_sub(record.time_ns);
            *fate = Fate::Done;
        }
    }

    /// A device of which nothing was known shows its first issue: what it was seen to queue will be
    /// issued.
    fn begin_issues(&mut self, volume: u32) {
        self.with_issues.get_or_insert_default().insert(volume);
        self.under_way.retain(|(of, ..), _| *of != volume);
        for (record, fate) in &mut self.pending {
            if record.volume == volume && record.latency_ns.is_none() {
                *fate = Fate::Dropped;
            }
        }
    }

    fn pop(&mut self, out: &mut Vec<Record>) {
        let Some((record, fate)) = self.pending.pop_front() else { return };
        if fate == Fate::UnderWay {
            let key = (record.volume, record.offset_bytes, record.operation == Operation::Flush);
            if let Some(numbers) = self.under_way.get_mut(&key) {
                numbers.retain(|number| *number != self.front);
                if numbers.is_empty() {
                    self.under_way.remove(&key);
                }
            }
        }
        self.front += 1;
        if fate != Fate::Dropped {
            out.push(record);
        }
    }
}
