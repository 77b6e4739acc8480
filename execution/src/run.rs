//! Runs a workload: one worker, or one for each lane on a thread of its own.

use crate::cpu;
use crate::custody::Custody;
use crate::feed::Feed;
use crate::progress::Progress;
use crate::watchdog::{Message, Watchdog};
use crate::worker::{Worker, work};
use fourcorners_recording::Recording;
use fourcorners_target::{Target, TargetError};
use fourcorners_workload::{Lane, Recorded, Workload, WorkloadError};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    alone(workload, target, None, progress)
}

/// The same of a workload whose stream has a trace: its requests are those of
/// `source`.
///
/// # Errors
/// As [`execute`]. A trace that cannot be read to its end gives a partial recording.
pub fn replay<T: Target>(
    workload: &Workload,
    target: &mut T,
    source: Box<dyn Recorded + Send>,
    progress: &Progress,
) -> Result<Recording, ExecutionError> {
    workload.check(target.capacity_bytes())?;
    alone(workload, target, Some(feed(workload, source)), progress)
}

fn feed(workload: &Workload, source: Box<dyn Recorded + Send>) -> Feed {
    Feed::start(source, workload.streams[0].content)
}

fn alone<T: Target>(
    workload: &Workload,
    target: &mut T,
    feed: Option<Feed>,
    progress: &Progress,
) -> Result<Recording, ExecutionError> {
    workload.check(target.capacity_bytes())?;
    let lanes = Lane::all(workload, target.capacity_bytes());
    let mut custody = Custody::<_, false>::new(Worker::new(workload, lanes, target, feed)?);
    Ok(work(&mut custody, target, progress).expect("nobody takes what is not watched"))
}

/// Runs each lane of `workload` on a target and a thread of its own, opened by
/// `open`, and merges what they recorded.
///
/// A worker whose target hangs is left behind: a request that the kernel cannot
/// cancel keeps its thread from ending, and must not keep the run. If it hangs in
/// a system call what it has measured is taken over.
///
/// # Errors
/// As [`execute`]; the first failing thread's error.
pub fn execute_parallel<T: Target + Send + 'static>(
    workload: &Workload,
    capacity_bytes: u64,
    open: impl Fn() -> Result<T, TargetError>,
    progress: &Arc<Progress>,
) -> Result<Recording, ExecutionError> {
    parallel(workload, capacity_bytes, open, None, progress)
}

/// The same of a workload whose stream has a trace: its requests are those of
/// `source`.
///
/// # Errors
/// As [`replay`].
pub fn replay_parallel<T: Target + Send + 'static>(
    workload: &Workload,
    capacity_bytes: u64,
    open: impl Fn() -> Result<T, TargetError>,
    source: Box<dyn Recorded + Send>,
    progress: &Arc<Progress>,
) -> Result<Recording, ExecutionError> {
    workload.check(capacity_bytes)?;
    parallel(workload, capacity_bytes, open, Some(feed(workload, source)), progress)
}

fn parallel<T: Target + Send + 'static>(
    workload: &Workload,
    capacity_bytes: u64,
    open: impl Fn() -> Result<T, TargetError>,
    mut feed: Option<Feed>,
    progress: &Arc<Progress>,
) -> Result<Recording, ExecutionError> {
    workload.check(capacity_bytes)?;
    let lanes = Lane::all(workload, capacity_bytes);
    let targets = lanes.iter().map(|_| open()).collect::<Result<Vec<T>, _>>()?;
    let before = cpu::process_cpu_time();
    let workload = Arc::new(workload.clone());
    let (sender, receiver) = mpsc::channel();
    let mut watchdog = Watchdog::new(workload.stop, lanes.len());
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (index, (lane, mut target)) in lanes.into_iter().zip(targets).enumerate() {
        let (workload, progress) = (Arc::clone(&workload), Arc::clone(progress));
        let sender = sender.clone();
        // A trace has one worker.
        let feed = feed.take();
        threads.push(std::thread::spawn(move || {
            let part = catch_unwind(AssertUnwindSafe(|| {
                let worker = Worker::new(&workload, vec![lane], &mut target, feed)
                    .inspect_err(|_| progress.failed.store(true, Ordering::Relaxed))?;
                let mut custody = Custody::<_, true>::new(worker);
                if let Some(clock) = target.clock() {
                    let _ = sender.send(Message::Begun { index, watch: custody.watch(), clock });
                }
                Ok(work(&mut custody, &mut target, &progress).ok().map(Box::new))
            }));
            // Without a receiver nobody waits for it any more.
            let _ = sender.send(Message::Ended { index, part });
        }));
    }
    let parts = watchdog.parts(&receiver, progress);
    let parts: Vec<_> =
        parts.into_iter().map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect();
    // Targets tell what they observed as they are dropped. The threads are not
    // joined: the kernel may keep them for as long as a device hangs.
    let give_up = Instant::now() + LEAVE_BEHIND;
    while Instant::now() < give_up
        && threads
            .iter()
            .enumerate()
            .any(|(index, thread)| !thread.is_finished() && !watchdog.has_left_behind(index))
    {
        std::thread::sleep(JOIN_INTERVAL);
    }
    let parts = parts.into_iter().collect::<Result<Vec<Recording>, TargetError>>();
    let mut recording = Recording::merge(parts?);
    // Workers end in any order.
    recording.jobs.sort_by_key(|job| {
        workload.streams.iter().position(|stream| stream.job.as_ref() == Some(&job.name))
    });
    recording.cpu = cpu::difference(before, cpu::process_cpu_time());
    Ok(recording)
}

/// What a worker gets to end in once it has told its result; targets themselves
/// wait for two seconds for what is outstanding.
const LEAVE_BEHIND: Duration = Duration::from_secs(3);
/// A worker usually ends within microseconds.
const JOIN_INTERVAL: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;
    use fourcorners_target::NoopTarget;
    use fourcorners_workload::{Pattern, Stop, Stream};

    const MS: u64 = 1_000_000;

    fn workload(queue_depth: u32, stop: Stop, ramp_ns: u64) -> Workload {
        Workload {
            streams: vec![Stream {
                queue_depth_per_worker: queue_depth,
                ..Stream::new(1.0, Pattern::Random, 4096)
            }],
            stop,
            ramp_ns,
            seed: 1,
            log_ios: 0,
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
    fn what_takes_no_time_ends_although_its_time_never_comes() {
        let stop = Stop { time_ns: Some(1_000 * MS), ..Stop::default() };
        // Writes may fill what takes them in no time; reads do not.
        for (read_fraction, ios_min) in [(1.0, 1 << 17), (0.0, 1 << 22)] {
            let mut timeless = NoopTarget::new(1 << 30, 0);
            let mut workload = workload(8, stop, 0);
            workload.streams[0].read_fraction = read_fraction;
            let recording = execute(&workload, &mut timeless, &Progress::default()).unwrap();
            assert_eq!((recording.interrupted, &recording.failure), (false, &None));
            assert_eq!(recording.elapsed_ns, 0);
            let ios: u64 = recording.operations.iter().map(|operation| operation.ios).sum();
            assert!((ios_min..2 * ios_min).contains(&ios), "{ios}");
        }
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
    fn the_log_has_every_measured_io_and_none_of_the_ramp() {
        let stop = Stop { time_ns: Some(1_000 * MS), ..Stop::default() };
        let logged = Workload { log_ios: 1_000, ..workload(2, stop, 105 * MS) };
        let recording = run(&logged);
        let log = recording.log.as_ref().unwrap();
        assert_eq!(log.ios().len() as u64, recording.operations[0].ios);
        assert_eq!(log.one_in(), 1);
        let total_ns: i64 = log.ios().iter().map(|io| io.completed_ns - io.due_ns).sum();
        assert_eq!(total_ns as u128, recording.operations[0].latencies.sum_ns());
        assert!(log.ios().iter().all(|io| io.due_ns <= io.submitted_ns && io.bytes == 4096));
        assert!(run(&workload(2, stop, 0)).log.is_none());
    }

    #[test]
    fn workers_share_the_room_of_the_log() {
        let stop = Stop { ios: Some(3_000), ..Stop::default() };
        let mut three = Workload { log_ios: 300, ..workload(2, stop, 0) };
        three.streams[0].workers = 3;
        let open = || Ok(NoopTarget::new(1 << 30, 10 * MS));
        let recording = execute_parallel(&three, 1 << 30, open, &Arc::default()).unwrap();
        let log = recording.log.unwrap();
        assert_eq!(log.offered(), 3_000);
        assert!((100..=300).contains(&log.ios().len()), "{}", log.ios().len());
        assert!(log.ios().is_sorted_by_key(|io| io.completed_ns));
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
