//! The issuing loop of one worker.

use crate::cpu;
use crate::custody::{Custody, Taken};
use crate::feed::Feed;
use crate::first::First;
use crate::measurement::Measurement;
use crate::open_loop::OpenLoop;
use crate::paced_loop::{PacedLoop, is_paced};
use crate::progress::Progress;
use crate::replay_loop::ReplayLoop;
use crate::slot::{FREE, NO_REQUEST, Slot};
use crate::trouble::{Outstanding, Trouble};
use fourcorners_recording::Recording;
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError};
use fourcorners_workload::{Lane, Operation, Request, Workload};
use std::time::Duration;

/// Completions between two looks at [`Progress::stop`], at simulated speed some
/// milliseconds ...
const COMPLETIONS_PER_LOOK: u32 = 1 << 14;

/// ... and the most target time between two looks, also on a target that is slow
/// or hangs.
const LOOK_INTERVAL_NS: u64 = 100_000_000;

/// Simulated drives may take no time at all, as some do for reads of what was never
/// written. A measurement that only time would end then ends after this many I/Os ...
const TIMELESS_IOS: u64 = 1 << 22;

/// ... or this many where nothing writes: writes may fill what takes them in no time, 16 GiB
/// of it in blocks of 4 KiB, but no number of reads does. They are eight looks, and 85 rounds
/// of the deepest queue that a probe uses, 1536 ...
const TIMELESS_READS: u64 = 1 << 17;

/// ... if the clock moved less than this for each: a hundred million I/Os a second are
/// more than any link carries.
const TIMELESS_NS: u64 = 10;

/// What the threads beside a replay take to come to rest: with it 290 in place of 369 of
/// 30,000 I/Os are late in the first 4 ms, at 50,000 a second.
const SETTLE: Duration = Duration::from_millis(2);

/// Making the data of a write of so many bytes takes some microseconds, as much as
/// handing over what is held back by itself.
const LONG_TO_MAKE: u32 = 16 << 10;

/// Everything that the loop knows, apart from the target: what is left of a run
/// whose target hangs.
pub(crate) struct Worker {
    lanes: Vec<Lane>,
    slots: Vec<Slot>,
    open_loop: OpenLoop,
    paced_loop: PacedLoop,
    replay_loop: Option<ReplayLoop>,
    measurement: Measurement,
    trouble: Trouble,
    started_ns: u64,
    /// When the latest wait ended.
    now_ns: u64,
    look_ns: u64,
    completions_to_look: u32,
    /// Of all requests since the start.
    completions: u64,
    /// After how many of them a clock that stands still ends the run.
    timeless_ios: u64,
    outstanding: usize,
    issuing: bool,
    /// The slot whose request is being handed over.
    submitting: Option<u32>,
    /// As of the latest look.
    generating_ns: u64,
}

impl Worker {
    /// Makes the target ready, and the first requests; with a feed, those of a trace.
    ///
    /// # Errors
    /// The target cannot begin.
    pub(crate) fn new<T: Target>(
        workload: &Workload,
        mut lanes: Vec<Lane>,
        target: &mut T,
        feed: Option<Feed>,
    ) -> Result<Self, TargetError> {
        let slots_total: u32 = lanes.iter().map(|lane| lane.queue_depth).sum();
        let block_bytes_max = workload.streams.iter().map(|s| s.block_bytes).max().unwrap_or(0);
        target.prepare(slots_total, block_bytes_max)?;
        let trace = workload.streams.iter().find_map(|stream| stream.trace.as_ref());
        let replay_loop =
            feed.zip(trace).map(|(feed, trace)| ReplayLoop::new(feed, trace, slots_total));
        let mut slots = match &replay_loop {
            None => first_requests(&mut lanes, target),
            Some(_) => vec![Slot::default(); slots_total as usize],
        };
        let started_ns = target.now_ns();
        let has_times = replay_loop.as_ref().is_some_and(ReplayLoop::has_times);
        for slot in &mut slots {
            let is_open = has_times || lanes[slot.lane as usize].arrivals.is_some();
            slot.free_ns = is_open.then_some(started_ns);
        }
        let workers: u32 = workload.streams.iter().map(|stream| stream.workers).sum();
        let log_ios = workload.log_ios.div_ceil(u64::from(workers)) * lanes.len() as u64;
        let mut measurement = Measurement::new(workload, &lanes, started_ns, log_ios as usize);
        measurement.count_from(target.meters());
        Ok(Self {
            open_loop: OpenLoop::new(started_ns, &lanes, &slots),
            paced_loop: PacedLoop::new(started_ns, &lanes, &slots),
            replay_loop,
            lanes,
            slots,
            measurement,
            trouble: Trouble::new(workload.stop),
            started_ns,
            now_ns: started_ns,
            look_ns: started_ns + LOOK_INTERVAL_NS,
            completions_to_look: COMPLETIONS_PER_LOOK,
            completions: 0,
            timeless_ios: timeless_ios(workload),
            outstanding: 0,
            issuing: true,
            submitting: None,
            generating_ns: 0,
        })
    }

    /// Whether its requests are due at times of a clock that goes on by itself.
    fn is_punctual<T: Target>(&self, target: &T) -> bool {
        target.clock().is_some() && self.replay_loop.as_ref().is_some_and(ReplayLoop::has_times)
    }

    /// A trace begins now: what was made before took time, and its first requests are due
    /// at once.
    fn begin_replay<T: Target>(&mut self, target: &mut T) {
        let Some(replay_loop) = &mut self.replay_loop else { return };
        if target.clock().is_some() {
            replay_loop.warm();
            self.measurement.warm();
            // Who started this thread, and who reads the trace, have something to do yet.
            std::thread::sleep(SETTLE);
        }
        let started_ns = target.now_ns();
        for slot in self.slots.iter_mut().filter(|slot| slot.free_ns.is_some()) {
            slot.free_ns = Some(started_ns);
        }
        replay_loop.start(started_ns, target.meters());
        self.measurement.begin(started_ns);
        (self.started_ns, self.now_ns) = (started_ns, started_ns);
        self.look_ns = started_ns + LOOK_INTERVAL_NS;
    }

    /// The next request of a trace, once, as soon as it has a slot.
    #[inline]
    fn next_to_stage(&mut self) -> Option<(u32, Request)> {
        self.replay_loop.as_mut()?.ahead()
    }

    /// The next request that is due and has a free slot: of a trace, of a lane at a
    /// given rate or a paced one.
    #[inline]
    fn next_due(&mut self) -> Option<(u32, Request)> {
        if let Some(replay_loop) = &mut self.replay_loop {
            return replay_loop.next(self.now_ns, &mut self.slots, &mut self.measurement);
        }
        let mut next = None;
        if self.paced_loop.is_open() && self.issuing {
            next = self.paced_loop.next(
                self.now_ns,
                &mut self.lanes,
                &mut self.slots,
                &self.measurement,
            );
        }
        if next.is_none() && self.open_loop.is_open() {
            next = self.open_loop.next(
                self.now_ns,
                &mut self.lanes,
                &mut self.slots,
                &mut self.measurement,
            );
        }
        next
    }

    fn is_paced(&self, slot: &Slot) -> bool {
        is_paced(&self.lanes[slot.lane as usize])
    }

    /// A request was handed over.
    #[inline]
    fn submitted(&mut self, index: u32, now_ns: u64) {
        let slot = &mut self.slots[index as usize];
        if slot.free_ns.is_none() {
            // In a closed loop a request is due when it is submitted.
            slot.due_ns = now_ns;
        }
        slot.submitted_ns = now_ns;
        if let Some(replay_loop) = &mut self.replay_loop {
            replay_loop.submitted(slot);
        }
        self.measurement.submitted(now_ns);
    }

    /// Until when to wait for completions; `None` when there is nothing more to
    /// be done.
    #[inline]
    fn wait_until_ns(&self) -> Option<u64> {
        let deadline_ns = self.look_ns.max(self.now_ns);
        if let Some(replay_loop) = &self.replay_loop {
            if !replay_loop.is_open() {
                return (self.outstanding > 0).then_some(deadline_ns);
            }
            let due_ns = replay_loop.next_due_ns();
            return Some(due_ns.map_or(deadline_ns, |due_ns| due_ns.min(deadline_ns)));
        }
        if !self.open_loop.is_open() && !self.paced_loop.is_open() {
            return (self.outstanding > 0).then_some(deadline_ns);
        }
        let due_ns = [
            self.open_loop.next_due_ns(&self.lanes),
            self.paced_loop.next_due_ns(&self.lanes, &self.measurement),
        ]
        .into_iter()
        .flatten()
        .min();
        Some(due_ns.map_or(deadline_ns, |due_ns| due_ns.min(deadline_ns)))
    }

    /// Looks around from time to time; true when what is outstanding is to be
    /// given up.
    #[inline]
    fn look<T: Target>(&mut self, done: &[Completion], target: &mut T, look: &Progress) -> bool {
        self.now_ns = done.last().map_or_else(|| target.now_ns(), |last| last.completed_ns);
        if let Some(replay_loop) = &mut self.replay_loop {
            if replay_loop.is_metering(self.now_ns) {
                replay_loop.metered(self.now_ns, &target.meters());
                replay_loop.ask(self.now_ns, false, || target.condition());
            }
            if let Some(failure) = replay_loop.take_failure() {
                self.trouble.fail(failure, look);
            }
        }
        self.completions_to_look = self.completions_to_look.saturating_sub(done.len() as u32);
        self.completions += done.len() as u64;
        if self.completions_to_look > 0 && self.now_ns < self.look_ns {
            return false;
        }
        self.completions_to_look = COMPLETIONS_PER_LOOK;
        self.look_ns = self.now_ns + LOOK_INTERVAL_NS;
        self.generating_ns = target.generating_ns();
        let elapsed_ns = self.now_ns - self.started_ns;
        self.measurement.publish(look, elapsed_ns);
        self.issuing &=
            self.completions < self.timeless_ios || elapsed_ns / self.completions >= TIMELESS_NS;
        self.trouble.look(self.now_ns, look, || outstanding_now(&self.slots))
    }

    /// Counts what completed. What stays in `done` is answered by a request whose
    /// data is ready.
    #[inline]
    fn completed<T: Target>(
        &mut self,
        done: &mut Vec<Completion>,
        target: &mut T,
        progress: &Progress,
    ) {
        self.issuing =
            self.issuing && !self.trouble.ends_the_run() && self.now_ns < self.measurement.end_ns();
        let in_ramp = self.measurement.is_in_ramp();
        let mut answers = 0;
        for index in 0..done.len() {
            let completion = done[index];
            let slot = &mut self.slots[completion.slot as usize];
            self.measurement.completed(slot, &completion);
            slot.submitted_ns = FREE;
            if completion.errno != 0 {
                self.trouble.failed(&slot.request, completion.errno, progress);
                self.issuing &= !self.trouble.ends_the_run();
            }
            if let Some(replay_loop) = &mut self.replay_loop {
                replay_loop.release(completion.slot, slot, completion.completed_ns);
                continue;
            }
            if slot.free_ns.is_some() {
                self.open_loop.release(completion.slot, slot, completion.completed_ns);
                continue;
            }
            let lane = &self.lanes[slot.lane as usize];
            if !self.issuing
                || self.paced_loop.release(completion.slot, lane, slot, completion.completed_ns)
            {
                continue;
            }
            if let Some(request) = self.lanes[slot.lane as usize].next_request() {
                slot.request = request;
                target.stage(completion.slot, &request);
                done[answers] = completion;
                answers += 1;
            }
        }
        if in_ramp && !self.measurement.is_in_ramp() {
            self.measurement.count_from(target.meters());
        }
        self.outstanding -= done.len();
        done.truncate(answers);
        if !self.issuing {
            self.paced_loop.stop();
        }
        if self.trouble.ends_the_run() {
            if let Some(replay_loop) = &mut self.replay_loop {
                replay_loop.stop(self.now_ns, &mut self.measurement);
            }
            self.open_loop.stop(self.now_ns, &mut self.lanes, &mut self.measurement);
        }
    }

    /// What was measured until `ended_ns`; what is outstanding then is given up.
    pub(crate) fn conclude(
        mut self,
        ended_ns: u64,
        meters: Meters,
        condition: Condition,
        progress: &Progress,
    ) -> Recording {
        self.open_loop.stop(ended_ns, &mut self.lanes, &mut self.measurement);
        let errno = self.trouble.given_up_errno();
        for slot in self.slots.iter().filter(|slot| slot.submitted_ns != FREE) {
            self.measurement
                .completed(slot, &Completion { slot: 0, completed_ns: ended_ns, errno });
        }
        self.measurement.publish(progress, ended_ns - self.started_ns);
        let (mut interrupted, mut failure) = self.trouble.conclude();
        let replayed = self.replay_loop.map(|mut replay_loop| {
            if let Some(unread) = replay_loop.take_failure() {
                failure.get_or_insert(unread);
                interrupted = true;
            }
            if replay_loop.is_open() || meters != Meters::default() {
                replay_loop.metered(ended_ns, &meters);
            }
            if !condition.is_empty() {
                replay_loop.ask(ended_ns, true, || condition);
            }
            replay_loop.finish()
        });
        let measured = self.measurement.finish(meters);
        Recording { generating_ns: self.generating_ns, interrupted, failure, replayed, ..measured }
    }

    /// The same for a worker that hangs in a call of its target.
    pub(crate) fn conclude_hanging(mut self, now_ns: u64, progress: &Progress) -> Recording {
        if let Some(index) = self.submitting {
            self.submitted(index, self.now_ns);
        }
        self.trouble.look(now_ns, progress, || outstanding_now(&self.slots));
        self.conclude(now_ns, Meters::default(), Vec::new(), progress)
    }
}

/// Issues and records until the run's end.
///
/// # Errors
/// A call of the target hung, and somebody else concludes.
pub(crate) fn work<T: Target, const WATCHED: bool>(
    custody: &mut Custody<Worker, WATCHED>,
    target: &mut T,
    progress: &Progress,
) -> Result<Recording, Taken> {
    let slots = custody.get().slots.len();
    let at_once = if custody.get().replay_loop.is_some() { 0 } else { slots };
    let mut done: Vec<Completion> = Vec::with_capacity(slots);
    // In virtual time waiting for a processor makes nothing late.
    let _first = custody.get().is_punctual(target).then(First::go);
    let waited_before_ns = target.clock().and_then(|_| cpu::thread_waited_ns());
    custody.get().begin_replay(target);
    for index in 0..at_once {
        let slot = custody.get().slots[index];
        if slot.free_ns.is_none() && !custody.get().is_paced(&slot) {
            submit(custody, target, index as u32, &slot.request)?;
        }
    }
    loop {
        loop {
            if let Some((index, request)) = custody.get().next_to_stage() {
                if request.operation == Operation::Write && request.length_bytes >= LONG_TO_MAKE {
                    // What was due before does not wait for that.
                    custody.call(|| target.pass_on())?;
                }
                target.stage(index, &request);
            }
            let Some((index, request)) = custody.get().next_due() else { break };
            if custody.get().replay_loop.is_none() {
                target.stage(index, &request);
            }
            submit(custody, target, index, &request)?;
        }
        let Some(deadline_ns) = custody.get().wait_until_ns() else { break };
        let waited = custody.call(|| target.wait(deadline_ns, &mut done))?;
        let worker = custody.get();
        if let Err(error) = waited {
            worker.trouble.fail(error.0, progress);
            break;
        }
        if worker.look(&done, target, progress) {
            break;
        }
        worker.completed(&mut done, target, progress);
        for &Completion { slot, .. } in &done {
            let request = custody.get().slots[slot as usize].request;
            submit(custody, target, slot, &request)?;
        }
        done.clear();
    }
    let worker = custody.get();
    for completion in &done {
        let slot = &mut worker.slots[completion.slot as usize];
        worker.measurement.completed(slot, completion);
        slot.submitted_ns = FREE;
    }
    worker.generating_ns = target.generating_ns();
    let mut condition = Vec::new();
    if let Some(replay_loop) = &mut worker.replay_loop {
        let waited_ns = cpu::thread_waited_ns().zip(waited_before_ns);
        replay_loop.waited(waited_ns.map(|(after, before)| after - before));
        condition = target.condition();
    }
    Ok(custody.take().conclude(target.now_ns(), target.meters(), condition, progress))
}

#[inline]
fn submit<T: Target, const WATCHED: bool>(
    custody: &mut Custody<Worker, WATCHED>,
    target: &mut T,
    index: u32,
    request: &Request,
) -> Result<(), Taken> {
    if WATCHED {
        custody.get().submitting = Some(index);
    }
    let submitted_ns = custody.call(|| target.submit(index, request))?;
    let worker = custody.get();
    if WATCHED {
        worker.submitting = None;
    }
    worker.submitted(index, submitted_ns);
    worker.outstanding += 1;
    Ok(())
}

/// After how many completions a clock that stands still ends this workload: never if it is
/// so many I/Os long.
fn timeless_ios(workload: &Workload) -> u64 {
    if workload.stop.ios.is_some() {
        u64::MAX
    } else if workload.streams.iter().all(|stream| stream.read_fraction >= 1.0) {
        TIMELESS_READS
    } else {
        TIMELESS_IOS
    }
}

fn outstanding_now(slots: &[Slot]) -> Option<Outstanding> {
    let submitted = slots.iter().filter(|slot| slot.submitted_ns != FREE);
    let oldest = submitted.clone().min_by_key(|slot| slot.submitted_ns)?;
    Some(Outstanding {
        ios: submitted.count(),
        oldest: oldest.request,
        submitted_ns: oldest.submitted_ns,
    })
}

/// A slot for each request that may be outstanding. Closed-loop lanes fill
/// theirs with requests whose data is ready.
fn first_requests<T: Target>(lanes: &mut [Lane], target: &mut T) -> Vec<Slot> {
    let mut slots = Vec::new();
    for (index, lane) in lanes.iter_mut().enumerate() {
        for _ in 0..lane.queue_depth {
            let later = lane.arrivals.is_some() || is_paced(lane);
            let request = if later { Some(NO_REQUEST) } else { lane.next_request() };
            let Some(request) = request else { break };
            if !later {
                target.stage(slots.len() as u32, &request);
            }
            let lane = index as u32;
            slots.push(Slot { request, due_ns: 0, free_ns: None, submitted_ns: FREE, lane });
        }
    }
    slots
}
