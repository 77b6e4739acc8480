//! Collects completions while a workload runs.

use crate::over_time::{OverTime, merge};
use crate::{IoLog, Job, Latencies, Replayed, SecondBucket};
use fourcorners_workload::Operation;
use std::collections::BTreeMap;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Completions of one operation within one second of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Completed I/Os.
    pub ios: u64,
    /// Completed bytes.
    pub bytes: u64,
    /// Sum of latencies, for the mean.
    pub latency_sum_ns: u64,
    /// Worst latency.
    pub latency_max_ns: u64,
}

/// Everything kept of one operation.
#[derive(Clone, Debug, Default)]
pub struct OperationRecord {
    /// Successful I/Os.
    pub ios: u64,
    /// Bytes of successful I/Os.
    pub bytes: u64,
    /// Failed I/Os by errno; a transfer that came up short counts as `EIO`.
    pub errors: BTreeMap<i32, u64>,
    /// From when an I/O was due to its completion. In a closed loop it is due
    /// when it is submitted.
    pub latencies: Latencies,
    /// Where the time of I/Os at a given rate went; `None` when there were none.
    pub stages: Option<Box<Stages>>,
    /// One entry per second from the start of measuring; the last may cover
    /// less than a second. Empty of an operation that did not occur.
    pub seconds: Vec<Second>,
    /// Latencies of every second, in order of second and latency; only what
    /// holds something.
    pub latency_over_time: Vec<SecondBucket>,
}

impl OperationRecord {
    /// Whether there was an I/O, if only one that failed.
    fn occurred(&self) -> bool {
        self.ios > 0 || !self.errors.is_empty()
    }
}

/// The parts of the latencies of I/Os at a given rate. In a closed loop there is
/// only service.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// From when it was due until it had a place among the outstanding I/Os.
    pub queue: Latencies,
    /// From then until its submission: how late the generator was.
    pub lateness: Latencies,
    /// From submission to completion.
    pub service: Latencies,
}

impl Stages {
    fn merge(&mut self, other: &Stages) {
        self.queue.merge(&other.queue);
        self.lateness.merge(&other.lateness);
        self.service.merge(&other.service);
    }
}

/// What streams at a given rate asked for while measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// I/Os that were due and issued, however late.
    pub ios: u64,
    /// I/Os that were due and never issued, because the target had fallen too
    /// far behind or the run was stopped: what latencies do not show.
    pub unissued: u64,
    /// Time over which they were due.
    pub span_ns: u64,
}

/// CPU time that the process spent while measuring, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

/// What one workload's execution showed.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Per operation, indexed by [`Operation::index`].
    pub operations: [OperationRecord; Operation::COUNT],
    /// Start of measuring (the end of the ramp) to the last completion.
    pub elapsed_ns: u64,
    /// Time integral of the number of outstanding I/Os over the measured time,
    /// in I/O-nanoseconds, summed at the issuing side. Divided by
    /// `elapsed_ns` it is the mean queue depth, which Little's law compares
    /// with the latencies.
    pub outstanding_integral_ns: u128,
    /// At a given rate: what was asked for. All zero in a closed loop.
    pub offered: Offered,
    /// CPU time; zero for a simulated target, where it would say nothing.
    pub cpu: CpuTime,
    /// Time spent making the data of writes, over all workers; zero for a
    /// simulated target.
    pub generating_ns: u64,
    /// Energy that the drive took in the measured time, in joules; `None` where
    /// the target does not know it.
    pub energy_j: Option<f64>,
    /// Bytes that the drive programmed into flash in the measured time; `None`
    /// where the target does not know it.
    pub flash_programmed_bytes: Option<u64>,
    /// Every I/O, or a share of them, where the workload asks for it.
    pub log: Option<IoLog>,
    /// Named parts of the workload, in the order of its streams; none without names.
    pub jobs: Vec<Job>,
    /// How a trace was replayed.
    pub replayed: Option<Box<Replayed>>,
    /// A failure or a request to stop ended the run before its own stop did:
    /// the recording is partial.
    pub interrupted: bool,
    /// The failure, in one sentence.
    pub failure: Option<String>,
}

impl Recording {
    /// Joins recordings of workers that ran side by side over the same time.
    pub fn merge(parts: Vec<Recording>) -> Recording {
        let mut merged = Recording::default();
        for part in parts {
            for (mine, theirs) in merged.operations.iter_mut().zip(part.operations) {
                mine.ios += theirs.ios;
                mine.bytes += theirs.bytes;
                mine.latencies.merge(&theirs.latencies);
                if let Some(theirs) = theirs.stages {
                    mine.stages.get_or_insert_default().merge(&theirs);
                }
                for (errno, count) in theirs.errors {
                    *mine.errors.entry(errno).or_default() += count;
                }
                merge(&mut mine.latency_over_time, &theirs.latency_over_time);
                if mine.seconds.len() < theirs.seconds.len() {
                    mine.seconds.resize(theirs.seconds.len(), Second::default());
                }
                for (second, other) in mine.seconds.iter_mut().zip(theirs.seconds) {
                    second.ios += other.ios;
                    second.bytes += other.bytes;
                    second.latency_sum_ns += other.latency_sum_ns;
                    second.latency_max_ns = second.latency_max_ns.max(other.latency_max_ns);
                }
            }
            merged.elapsed_ns = merged.elapsed_ns.max(part.elapsed_ns);
            merged.outstanding_integral_ns += part.outstanding_integral_ns;
            merged.offered.ios += part.offered.ios;
            merged.offered.unissued += part.offered.unissued;
            merged.offered.span_ns = merged.offered.span_ns.max(part.offered.span_ns);
            merged.generating_ns += part.generating_ns;
            merged.interrupted |= part.interrupted;
            merged.failure = merged.failure.or(part.failure);
            // A trace is replayed by one worker.
            merged.replayed = merged.replayed.or(part.replayed);
            Job::join(&mut merged.jobs, part.jobs);
            match (&mut merged.log, part.log) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine, theirs) => *mine = mine.take().or(theirs),
            }
        }
        let seconds = merged.operations.iter().map(|o| o.seconds.len()).max().unwrap_or(0);
        for operation in merged.operations.iter_mut().filter(|one| one.occurred()) {
            operation.seconds.resize(seconds, Second::default());
        }
        merged
    }

    /// I/Os that failed, over all operations.
    pub fn errors(&self) -> u64 {
        self.operations.iter().flat_map(|o| o.errors.values()).sum()
    }
}

/// Completed reads and writes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// Sum of their latencies.
    pub latency_sum_ns: u128,
}

/// Takes completions one by one; no allocation but the entries of a second when
/// it is over.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    start_ns: u64,
    /// End of the second that the latest completion fell into, and what each
    /// operation had counted when it began: a second is the difference, so that
    /// an I/O is counted once.
    second_end_ns: u64,
    at_second_start: [Counted; Operation::COUNT],
    second_latency_max_ns: [u64; Operation::COUNT],
    over_time: [OverTime; Operation::COUNT],
    last_completion_ns: u64,
}

/// Counts of one operation at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    ios: u64,
    bytes: u64,
    latency_sum_ns: u128,
}

impl Recorder {
    /// Starts measuring at `start_ns`.
    pub fn new(start_ns: u64) -> Self {
        Self {
            recording: Recording::default(),
            start_ns,
            second_end_ns: start_ns + NANOSECONDS_PER_SECOND,
            at_second_start: Default::default(),
            second_latency_max_ns: [0; Operation::COUNT],
            over_time: Default::default(),
            last_completion_ns: start_ns,
        }
    }

    /// Starts measuring at this time and not when it was made; nothing has completed yet.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.last_completion_ns = start_ns;
        self.second_end_ns = start_ns + NANOSECONDS_PER_SECOND;
    }

    /// Has all memory at hand that I/Os at given times will need, see [`Latencies::warm`].
    pub fn warm(&mut self) {
        for record in &mut self.recording.operations {
            let Stages { queue, lateness, service } = &mut **record.stages.get_or_insert_default();
            for latencies in [&mut record.latencies, queue, lateness, service] {
                latencies.warm();
            }
        }
    }

    /// When measuring started.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What was counted so far. Only of seconds that are over there are series.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What was counted so far of reads and writes.
    pub fn totals(&self) -> Totals {
        let [reads, writes, ..] = &self.recording.operations;
        Totals {
            ios: reads.ios + writes.ios,
            bytes: reads.bytes + writes.bytes,
            latency_sum_ns: reads.latencies.sum_ns() + writes.latencies.sum_ns(),
        }
    }

    /// Counts a successful I/O that was due at `due_ns`. Completions come in
    /// order of time.
    #[inline]
    pub fn completed(&mut self, operation: Operation, bytes: u32, due_ns: u64, completed_ns: u64) {
        if completed_ns >= self.second_end_ns {
            self.advance_to(completed_ns);
        }
        self.last_completion_ns = completed_ns;
        let latency_ns = completed_ns - due_ns;
        let record = &mut self.recording.operations[operation.index()];
        record.ios += 1;
        record.bytes += u64::from(bytes);
        record.latencies.record(latency_ns);
        self.over_time[operation.index()].record(latency_ns);
        let worst_ns = &mut self.second_latency_max_ns[operation.index()];
        *worst_ns = latency_ns.max(*worst_ns);
    }

    /// Notes where the time of an I/O at a given rate went, in nanoseconds.
    pub fn stages(&mut self, operation: Operation, queue: u64, lateness: u64, service: u64) {
        let record = &mut self.recording.operations[operation.index()];
        let stages = record.stages.get_or_insert_default();
        stages.queue.record(queue);
        stages.lateness.record(lateness);
        stages.service.record(service);
    }

    /// Counts a failed I/O. It has no latency: time to an error is not service.
    pub fn failed(&mut self, operation: Operation, errno: i32, completed_ns: u64) {
        if completed_ns >= self.second_end_ns {
            self.advance_to(completed_ns);
        }
        self.last_completion_ns = completed_ns;
        *self.recording.operations[operation.index()].errors.entry(errno).or_default() += 1;
    }

    /// Opens the second that holds `now_ns`; the seconds between stay, empty.
    #[cold]
    fn advance_to(&mut self, now_ns: u64) {
        self.close_second();
        let second = (now_ns - self.start_ns) / NANOSECONDS_PER_SECOND;
        self.second_end_ns = self.start_ns + (second + 1) * NANOSECONDS_PER_SECOND;
    }

    fn close_second(&mut self) {
        let number = (self.second_end_ns - self.start_ns) / NANOSECONDS_PER_SECOND - 1;
        for (index, record) in self.recording.operations.iter_mut().enumerate() {
            if !record.occurred() {
                continue;
            }
            record.seconds.resize(number as usize, Second::default());
            let before = &mut self.at_second_start[index];
            let latency_sum_ns = record.latencies.sum_ns();
            if record.ios > before.ios {
                self.over_time[index].close(record.seconds.len() as u32);
            }
            record.seconds.push(Second {
                ios: record.ios - before.ios,
                bytes: record.bytes - before.bytes,
                latency_sum_ns: (latency_sum_ns - before.latency_sum_ns) as u64,
                latency_max_ns: std::mem::take(&mut self.second_latency_max_ns[index]),
            });
            *before = Counted { ios: record.ios, bytes: record.bytes, latency_sum_ns };
        }
    }

    /// Ends the recording at the last completion, so that no second is cut off
    /// and no idle tail lowers the rate. What the issuing side knows is left to
    /// it: the outstanding I/Os, what was offered, whether it was interrupted.
    pub fn finish(mut self) -> Recording {
        self.close_second();
        self.recording.elapsed_ns = self.last_completion_ns - self.start_ns;
        for (record, over_time) in self.recording.operations.iter_mut().zip(self.over_time) {
            record.latency_over_time = over_time.into_closed();
        }
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn series_sums_equal_totals_and_silent_seconds_are_present() {
        let mut recorder = Recorder::new(500 * MS);
        for at_ms in [600, 700, 4_900] {
            recorder.completed(Operation::Write, 4096, (at_ms - 50) * MS, at_ms * MS);
        }
        let recording = recorder.finish();
        let writes = &recording.operations[1];
        let per_second: Vec<u64> = writes.seconds.iter().map(|s| s.ios).collect();
        assert_eq!(per_second, [2, 0, 0, 0, 1]);
        assert_eq!(per_second.iter().sum::<u64>(), writes.ios);
        assert!(recording.operations[0].seconds.is_empty());
        let by_bucket: Vec<(u32, u32)> =
            writes.latency_over_time.iter().map(|entry| (entry.second, entry.count)).collect();
        assert_eq!(by_bucket, [(0, 2), (4, 1)]);
        assert!(recording.operations[0].latency_over_time.is_empty());
        assert_eq!(recording.elapsed_ns, 4_400 * MS);
    }

    #[test]
    fn merged_workers_add_up_and_keep_the_worst() {
        let part = |latency_ms: u64, end_ms: u64| {
            let mut recorder = Recorder::new(0);
            recorder.completed(Operation::Read, 512, (end_ms - latency_ms) * MS, end_ms * MS);
            recorder.failed(Operation::Read, 5, end_ms * MS);
            let mut recording = recorder.finish();
            recording.outstanding_integral_ns = u128::from(latency_ms * MS);
            recording
        };
        let merged = Recording::merge(vec![part(3, 10), part(9, 1_200)]);
        let reads = &merged.operations[0];
        assert_eq!(reads.ios, 2);
        assert_eq!(reads.errors, BTreeMap::from([(5, 2)]));
        assert_eq!(reads.latencies.max_ns(), Some(9 * MS));
        assert_eq!(reads.seconds.iter().map(|s| s.ios).collect::<Vec<_>>(), [1, 1]);
        assert!(merged.operations[1].seconds.is_empty());
        assert_eq!(reads.latency_over_time.iter().map(|e| e.second).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(merged.outstanding_integral_ns, u128::from(12 * MS));
    }
}
