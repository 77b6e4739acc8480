//! The issuing loop.

use crate::cpu;
use crate::measurement::Measurement;
use crate::open_loop::OpenLoop;
use crate::trouble::{Outstanding, Trouble};
use fourcorners_recording::Recording;
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Content, Lane, Operation, Request, Workload, WorkloadError};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Completions between two looks at [`Progress::stop`], at simulated speed some
/// milliseconds ...
const COMPLETIONS_PER_LOOK: u32 = 1 << 14;

/// ... and the most target time between two looks, also on a target that is slow
/// or hangs.
const LOOK_INTERVAL_NS: u64 = 100_000_000;

/// Seen from outside while a workload runs; shared by its threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set from outside to end the run early.
    pub stop: AtomicBool,
    /// A worker failed: the others end, too.
    pub failed: AtomicBool,
    /// Target time since the start, ramp included, in nanoseconds.
    pub elapsed_ns: AtomicU64,
    /// Measured I/Os completed so far.
    pub ios: AtomicU64,
    /// Measured bytes completed so far.
    pub bytes: AtomicU64,
}

/// Why a run gave no recording.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// The workload does not fit the target.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The target failed as a whole.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Runs all lanes of `workload` on one target.
///
/// # Errors
/// A workload that does not fit, or a target that cannot begin. One that fails
/// later gives a partial recording.
pub fn execute<T: Target>(
    workload: &Workload,
    target: &mut T,
    progress: &Progress,
) -> Result<Recording, ExecutionError> {
    workload.check(target.capacity_bytes())?;
    let lanes = Lane::all(workload, target.capacity_bytes());
    Ok(run_lanes(workload, lanes, target, progress)?)
}

/// Runs each lane of `workload` on a target and a thread of its own, opened by
/// `open`, and merges what they recorded.
///
/// A worker whose target hangs is left behind: a request that the kernel cannot
/// cancel keeps its thread from ending, and must not keep the run.
///
/// # Errors
/// As [`execute`]; the first failing thread's error.
pub fn execute_parallel<T: Target + Send + 'static>(
    workload: &Workload,
    capacity_bytes: u64,
    open: impl Fn() -> Result<T, TargetError>,
    progress: &Arc<Progress>,
) -> Result<Recording, ExecutionError> {
    workload.check(capacity_bytes)?;
    let lanes = Lane::all(workload, capacity_bytes);
    let targets = lanes.iter().map(|_| open()).collect::<Result<Vec<T>, _>>()?;
    let before = cpu::process_cpu_time();
    let workload = Arc::new(workload.clone());
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<JoinHandle<()>> = lanes
        .into_iter()
        .zip(targets)
        .map(|(lane, mut target)| {
            let (workload, progress) = (Arc::clone(&workload), Arc::clone(progress));
            let sender = sender.clone();
            std::thread::spawn(move || {
                let part = catch_unwind(AssertUnwindSafe(|| {
                    run_lanes(&workload, vec![lane], &mut target, &progress)
                        .inspect_err(|_| progress.failed.store(true, Ordering::Relaxed))
                }));
                // Without a receiver nobody waits for it any more. The receiver
                // ends with the last sender, and dropping the target may hang.
                let _ = sender.send(part);
                drop(sender);
            })
        })
        .collect();
    drop(sender);
    let parts: Vec<_> =
        receiver.iter().map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect();
    // Targets tell what they observed as they are dropped. The threads are not
    // joined: the kernel may keep them for as long as a device hangs.
    let give_up = Instant::now() + LEAVE_BEHIND;
    while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < give_up {
        std::thread::sleep(JOIN_INTERVAL);
    }
    let parts = parts.into_iter().collect::<Result<Vec<Recording>, TargetError>>();
    let mut recording = Recording::merge(parts?);
    recording.cpu = cpu::difference(before, cpu::process_cpu_time());
    Ok(recording)
}

/// What a worker gets to end in once it has told its result; targets themselves
/// wait for two seconds for what is outstanding.
const LEAVE_BEHIND: Duration = Duration::from_secs(3);
/// A worker usually ends within microseconds.
const JOIN_INTERVAL: Duration = Duration::from_micros(100);

/// What a slot holds before its first request at a given rate.
const NO_REQUEST: Request = Request {
    operation: Operation::Read,
    offset_bytes: 0,
    length_bytes: 0,
    content: Content::Incompressible,
    fua: false,
};

/// One outstanding request, or a place for it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) request: Request,
    /// What its latency counts from: in a closed loop its submission.
    pub(crate) due_ns: u64,
    /// At a given rate: since when the slot was free for it.
    pub(crate) free_ns: Option<u64>,
    /// [`FREE`] where nothing is outstanding.
    pub(crate) submitted_ns: u64,
    pub(crate) lane: u32,
}

/// Submission time of a free slot: later than any other.
pub(crate) const FREE: u64 = u64::MAX;

impl Slot {
    /// In a closed loop a request is due when it is submitted.
    #[inline]
    fn submitted(&mut self, now_ns: u64, measurement: &mut Measurement) {
        self.due_ns = now_ns;
        self.submitted_ns = now_ns;
        measurement.submitted(now_ns);
    }
}

fn run_lanes<T: Target>(
    workload: &Workload,
    mut lanes: Vec<Lane>,
    target: &mut T,
    progress: &Progress,
) -> Result<Recording, TargetError> {
    let slots_total: u32 = lanes.iter().map(|lane| lane.queue_depth).sum();
    let block_bytes_max = workload.streams.iter().map(|s| s.block_bytes).max().unwrap_or(0);
    target.prepare(slots_total, block_bytes_max)?;

    let mut slots = first_requests(&mut lanes, target);
    let started_ns = target.now_ns();
    let mut measurement = Measurement::new(workload, started_ns);
    measurement.count_energy_from(target.energy_j());
    let mut open_loop = OpenLoop::new(started_ns, &lanes, &slots);
    let mut outstanding = 0;
    for (index, slot) in slots.iter_mut().enumerate() {
        if lanes[slot.lane as usize].arrivals.is_some() {
            slot.free_ns = Some(started_ns);
        } else {
            slot.submitted(target.submit(index as u32, &slot.request), &mut measurement);
            outstanding += 1;
        }
    }

    let mut done: Vec<Completion> = Vec::with_capacity(slots.len());
    let mut issuing = true;
    let mut trouble = Trouble::new(workload.stop, progress);
    let mut completions_to_look = COMPLETIONS_PER_LOOK;
    let mut look_ns = started_ns + LOOK_INTERVAL_NS;
    let mut now_ns = started_ns;
    loop {
        let mut deadline_ns = look_ns.max(now_ns);
        if open_loop.is_open() {
            outstanding +=
                open_loop.issue(now_ns, &mut lanes, &mut slots, target, &mut measurement);
            if let Some(due_ns) = open_loop.next_due_ns(&lanes) {
                deadline_ns = deadline_ns.min(due_ns);
            }
        }
        if outstanding == 0 && !open_loop.is_open() {
            break;
        }
        if let Err(error) = target.wait(deadline_ns, &mut done) {
            trouble.fail(error.0);
            break;
        }
        now_ns = done.last().map_or_else(|| target.now_ns(), |last| last.completed_ns);
        completions_to_look = completions_to_look.saturating_sub(done.len() as u32);
        if completions_to_look == 0 || now_ns >= look_ns {
            completions_to_look = COMPLETIONS_PER_LOOK;
            look_ns = now_ns + LOOK_INTERVAL_NS;
            measurement.publish(progress, now_ns - started_ns);
            if trouble.look(now_ns, || outstanding_now(&slots)) {
                break;
            }
        }
        issuing = issuing && !trouble.ends_the_run() && now_ns < measurement.end_ns();
        // What stays in `done` is answered by a request whose data is ready.
        let in_ramp = measurement.is_in_ramp();
        let mut answers = 0;
        for index in 0..done.len() {
            let completion = done[index];
            let slot = &mut slots[completion.slot as usize];
            measurement.completed(slot, &completion);
            if completion.errno != 0 {
                trouble.failed(&slot.request, completion.errno);
                issuing &= !trouble.ends_the_run();
            }
            if slot.free_ns.is_some() {
                open_loop.release(completion.slot, slot, completion.completed_ns);
                continue;
            }
            let next = if issuing { lanes[slot.lane as usize].next_request() } else { None };
            if let Some(request) = next {
                slot.request = request;
                target.stage(completion.slot, &request);
                done[answers] = completion;
                answers += 1;
            } else {
                slot.submitted_ns = FREE;
            }
        }
        if in_ramp && !measurement.is_in_ramp() {
            measurement.count_energy_from(target.energy_j());
        }
        outstanding -= done.len() - answers;
        for completion in &done[..answers] {
            let slot = &mut slots[completion.slot as usize];
            slot.submitted(target.submit(completion.slot, &slot.request), &mut measurement);
        }
        done.clear();
        if trouble.ends_the_run() {
            open_loop.stop(now_ns, &mut lanes, &mut measurement);
        }
    }
    let ended_ns = target.now_ns();
    open_loop.stop(ended_ns, &mut lanes, &mut measurement);
    for completion in &done {
        let slot = &mut slots[completion.slot as usize];
        measurement.completed(slot, completion);
        slot.submitted_ns = FREE;
    }
    for slot in slots.iter().filter(|slot| slot.submitted_ns != FREE) {
        let errno = trouble.given_up_errno();
        measurement.completed(slot, &Completion { slot: 0, completed_ns: ended_ns, errno });
    }
    measurement.publish(progress, ended_ns - started_ns);
    let (interrupted, failure) = trouble.conclude();
    let generating_ns = target.generating_ns();
    let measured = measurement.finish(target.energy_j());
    Ok(Recording { generating_ns, interrupted, failure, ..measured })
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
            let request = match &lane.arrivals {
                None => lane.next_request(),
                Some(_) => Some(NO_REQUEST),
            };
            let Some(request) = request else { break };
            if lane.arrivals.is_none() {
                target.stage(slots.len() as u32, &request);
            }
            let lane = index as u32;
            slots.push(Slot { request, due_ns: 0, free_ns: None, submitted_ns: FREE, lane });
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use fourcorners_target::NoopTarget;
    use fourcorners_workload::{Arrival, Pattern, Stop, Stream};

    const MS: u64 = 1_000_000;

    fn workload(queue_depth: u32, stop: Stop, ramp_ns: u64) -> Workload {
        Workload {
            streams: vec![Stream {
                read_fraction: 1.0,
                block_bytes: 4096,
                pattern: Pattern::Random,
                offset_bytes: 0,
                span_bytes: None,
                alignment_bytes: None,
                misalignment_bytes: 0,
                queue_depth,
                arrival: Arrival::Closed,
                workers: 1,
                content: Content::Incompressible,
                flush_every_writes: None,
                fua: false,
            }],
            stop,
            ramp_ns,
            seed: 1,
        }
    }

    fn run(workload: &Workload) -> Recording {
        execute(workload, &mut NoopTarget::new(1 << 30, 10 * MS), &Progress::default()).unwrap()
    }

    #[test]
    fn a_number_of_ios_is_met_exactly() {
        let stop = Stop { ios: Some(37), ..Stop::default() };
        let recording = run(&workload(8, stop, 0));
        assert_eq!(recording.operations[0].ios, 37);
        // 37 I/Os of 10 ms, 8 at a time: five rounds.
        assert_eq!(recording.elapsed_ns, 50 * MS);
    }

    #[test]
    fn time_counts_from_the_end_of_the_ramp() {
        let stop = Stop { time_ns: Some(1_000 * MS), ..Stop::default() };
        let recording = run(&workload(1, stop, 105 * MS));
        // The ramp ends with the completion at 110 ms; 100 whole I/Os follow.
        assert_eq!(recording.operations[0].ios, 100);
        assert_eq!(recording.elapsed_ns, 1_000 * MS);
    }

    #[test]
    fn littles_law_holds_by_independent_accounts() {
        let stop = Stop { ios: Some(8_000), ..Stop::default() };
        let recording = run(&workload(8, stop, 0));
        let mean_depth = recording.outstanding_integral_ns as f64 / recording.elapsed_ns as f64;
        let by_latency =
            recording.operations[0].latencies.sum_ns() as f64 / recording.elapsed_ns as f64;
        assert!((mean_depth - 8.0).abs() < 1e-9, "{mean_depth}");
        assert!((by_latency - 8.0).abs() < 1e-9, "{by_latency}");
    }

    #[test]
    fn a_request_to_stop_ends_the_run_and_is_told() {
        let progress = Progress::default();
        progress.stop.store(true, Ordering::Relaxed);
        let endless = workload(4, Stop { time_ns: Some(u64::MAX / 2), ..Stop::default() }, 0);
        let recording =
            execute(&endless, &mut NoopTarget::new(1 << 30, 10 * MS), &progress).unwrap();
        assert!(recording.interrupted);
        assert!(recording.operations[0].ios > 0);
    }

    #[test]
    fn workers_on_threads_of_their_own_are_merged() {
        let mut three = workload(2, Stop { ios: Some(30), ..Stop::default() }, 0);
        three.streams[0].workers = 3;
        let open = || Ok(NoopTarget::new(1 << 30, 10 * MS));
        let recording = execute_parallel(&three, 1 << 30, open, &Arc::default()).unwrap();
        assert_eq!(recording.operations[0].ios, 30);
        assert_eq!(recording.elapsed_ns, 50 * MS);
    }

    #[test]
    fn a_workload_that_does_not_fit_is_refused() {
        let stop = Stop { ios: Some(1), ..Stop::default() };
        let error =
            execute(&workload(1, stop, 0), &mut NoopTarget::new(1024, MS), &Progress::default())
                .unwrap_err();
        assert!(error.to_string().contains("does not fit"), "{error}");
    }
}
