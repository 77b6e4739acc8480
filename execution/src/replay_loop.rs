//! The requests of a trace: which are due, and the slots that are free for them.

use crate::dependences::Dependences;
use crate::feed::Feed;
use crate::measurement::Measurement;
use crate::slot::Slot;
use fourcorners_recording::{MINUTE_NS, Replayed};
use fourcorners_target::{Condition, Meters};
use fourcorners_workload::{Pace, Replay, Request, TimedRequest};
use std::collections::VecDeque;

/// Time between two readings of the target's meters.
const METERS_INTERVAL_NS: u64 = 1_000_000_000;

/// The replaying side of the issuing loop. I/Os are issued in the order of the trace.
pub(crate) struct ReplayLoop {
    feed: Feed,
    replay: Replay,
    started_ns: u64,
    /// The one that comes next; `None` when all have been issued.
    next: Option<TimedRequest>,
    /// I/Os that may be outstanding before it, at [`Pace::Depth`].
    beside: u32,
    /// In the order in which they became free.
    free: VecDeque<u32>,
    /// The data of the next request has been made, for the slot that is free first.
    is_staged: bool,
    outstanding: u32,
    dependences: Option<Dependences>,
    busy_since_ns: u64,
    metered_ns: u64,
    /// End of the minute at which the drive is asked for its condition.
    minute_ns: u64,
    meters_before: Meters,
    replayed: Box<Replayed>,
    failure: Option<String>,
}

impl ReplayLoop {
    /// Waits for the first requests.
    pub(crate) fn new(feed: Feed, replay: &Replay, slots: u32) -> Self {
        let tracks = match replay.pace {
            Pace::Recorded => false,
            Pace::Depth => replay.depth.is_none(),
            Pace::ThinkTimes => true,
        };
        let mut new = Self {
            feed,
            replay: replay.clone(),
            started_ns: 0,
            next: None,
            beside: 0,
            free: (0..slots).collect(),
            is_staged: false,
            outstanding: 0,
            dependences: tracks.then(|| Dependences::new(slots as usize)),
            busy_since_ns: 0,
            metered_ns: 0,
            minute_ns: 0,
            meters_before: Meters::default(),
            replayed: Box::default(),
            failure: None,
        };
        new.load();
        new
    }

    /// Has memory at hand, see [`fourcorners_recording::Latencies::warm`].
    pub(crate) fn warm(&mut self) {
        self.replayed.off_time.warm();
    }

    /// Times count from here.
    pub(crate) fn start(&mut self, now_ns: u64, meters: Meters) {
        (self.started_ns, self.metered_ns, self.meters_before) = (now_ns, now_ns, meters);
        self.minute_ns = now_ns + MINUTE_NS;
    }

    /// Whether its I/Os are due at a time, and not as soon as others complete.
    pub(crate) fn has_times(&self) -> bool {
        self.replay.pace != Pace::Depth
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.next.is_some()
    }

    /// Why the trace could not be read on, once.
    #[inline]
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    #[inline]
    fn load(&mut self) {
        self.next = match self.feed.next() {
            Ok(next) => next,
            Err(error) => {
                self.failure = Some(error);
                None
            }
        };
        let Some(next) = &self.next else { return };
        let recorded = self.dependences.as_mut().map(|known| known.outstanding_at(next.time_ns));
        self.beside = self.replay.depth.map_or(recorded.unwrap_or(0), |depth| depth - 1);
    }

    #[inline]
    fn scaled(&self, time_ns: u64) -> u64 {
        if self.replay.speed == 1.0 { time_ns } else { (time_ns as f64 / self.replay.speed) as u64 }
    }

    /// When the next request is due; `None` while it waits for completions.
    #[inline]
    fn due_ns(&self, next: &TimedRequest) -> Option<u64> {
        match (self.replay.pace, &self.dependences) {
            (Pace::ThinkTimes, Some(known)) => {
                known.due_ns(next.time_ns, self.started_ns, |time_ns| self.scaled(time_ns))
            }
            (Pace::Depth, _) => (self.outstanding <= self.beside).then_some(0),
            _ => Some(self.started_ns + self.scaled(next.time_ns)),
        }
    }

    /// The next request and its slot, once, before it is due: making its data then is no delay.
    #[inline]
    pub(crate) fn ahead(&mut self) -> Option<(u32, Request)> {
        let (next, &index) = (self.next?, self.free.front()?);
        (!std::mem::replace(&mut self.is_staged, true)).then_some((index, next.request))
    }

    /// The next request if it is due at `now_ns` and has a free slot, which it takes.
    #[inline]
    pub(crate) fn next(
        &mut self,
        now_ns: u64,
        slots: &mut [Slot],
        measurement: &mut Measurement,
    ) -> Option<(u32, Request)> {
        let next = self.next?;
        let due_ns = self.due_ns(&next)?;
        if due_ns > now_ns {
            return None;
        }
        let index = self.free.pop_front()?;
        self.is_staged = false;
        let slot = &mut slots[index as usize];
        slot.request = next.request;
        slot.due_ns = due_ns;
        self.outstanding += 1;
        self.replayed.issued(next.request.operation, next.request.length_bytes, self.outstanding);
        if let Some(known) = &mut self.dependences {
            known.issued(index, next.latency_ns.map(|ns| next.time_ns.saturating_add(ns)));
        }
        let is_open_loop = self.replay.pace == Pace::Recorded;
        if is_open_loop {
            measurement.offered();
        }
        self.load();
        if is_open_loop && self.next.is_none() {
            // The next one would have been due as long after it as the others in the mean.
            measurement.closed(due_ns, 0);
        }
        Some((index, next.request))
    }

    /// A request was handed over.
    #[inline]
    pub(crate) fn submitted(&mut self, slot: &Slot) {
        if self.has_times() {
            self.replayed.late_by(slot.submitted_ns.saturating_sub(slot.due_ns));
        }
        if self.outstanding == 1 {
            self.busy_since_ns = slot.submitted_ns;
        }
    }

    /// A request has completed: its slot is free.
    #[inline]
    pub(crate) fn release(&mut self, index: u32, slot: &mut Slot, now_ns: u64) {
        slot.free_ns = self.has_times().then_some(now_ns);
        self.free.push_back(index);
        self.outstanding -= 1;
        if let Some(known) = &mut self.dependences {
            known.completed(index, now_ns);
        }
        if self.outstanding == 0 {
            let started_ns = self.started_ns;
            self.replayed.busy(self.busy_since_ns - started_ns, now_ns - started_ns);
        }
    }

    /// Whether the target's meters are to be read.
    #[inline]
    pub(crate) fn is_metering(&self, now_ns: u64) -> bool {
        now_ns >= self.metered_ns + METERS_INTERVAL_NS
    }

    pub(crate) fn metered(&mut self, now_ns: u64, meters: &Meters) {
        self.metered_ns = now_ns;
        let bytes = meters.since(&self.meters_before).flash_programmed_bytes;
        self.replayed.programmed(now_ns - self.started_ns, bytes);
    }

    /// Notes the drive's condition at the end of each minute, and with `ended` of the
    /// one that has begun.
    pub(crate) fn ask(&mut self, now_ns: u64, ended: bool, condition: impl FnOnce() -> Condition) {
        if !ended && now_ns < self.minute_ns {
            return;
        }
        let condition = condition();
        // One that has requests outstanding may not be able to tell: it is asked again
        // as long as what it tells is of the minute's end rather than of the next one's.
        if condition.is_empty() && !ended && now_ns < self.minute_ns + MINUTE_NS / 2 {
            return;
        }
        // It is asked at the first reading of the meters after the minute's end.
        let of_ns = if ended { now_ns } else { self.minute_ns - 1 };
        self.replayed.found(of_ns - self.started_ns, condition);
        self.minute_ns += (now_ns.saturating_sub(self.minute_ns) / MINUTE_NS + 1) * MINUTE_NS;
    }

    /// The thread that issues waited so long for a processor.
    pub(crate) fn waited(&mut self, waited_ns: Option<u64>) {
        self.replayed.waited_ns = waited_ns;
    }

    /// Issues nothing more: the run is stopped.
    pub(crate) fn stop(&mut self, now_ns: u64, measurement: &mut Measurement) {
        if self.next.take().is_some() && self.replay.pace == Pace::Recorded {
            measurement.closed(now_ns, 0);
        }
    }

    /// When the next request is due that has a free slot and waits for no completion.
    #[inline]
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        if self.free.is_empty() {
            return None;
        }
        self.due_ns(self.next.as_ref()?)
    }

    pub(crate) fn finish(self) -> Box<Replayed> {
        self.replayed
    }
}
