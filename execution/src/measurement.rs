//! The recorder, and the part of a run that it covers.

use crate::progress::Progress;
use crate::slot::Slot;
use fourcorners_recording::{IoLog, Job, LoggedIo, Offered, Recorder, Recording, Totals};
use fourcorners_target::{Completion, Meters};
use fourcorners_workload::{Lane, Workload};
use std::sync::atomic::Ordering;

/// Counts what is issued and completed between the end of the ramp and the stop.
pub(crate) struct Measurement {
    recorder: Recorder,
    started_ns: u64,
    /// Until the ramp is over: when it will be.
    ramp_end_ns: Option<u64>,
    time_ns: Option<u64>,
    /// Nothing is due from here on; open while the ramp lasts.
    end_ns: u64,
    /// Sum of completion times less sum of submission times, both counted from
    /// the start of measuring: the time integral of the outstanding I/Os.
    outstanding_integral_ns: i128,
    offered: Offered,
    /// What the target's meters showed when measuring started.
    meters_before: Meters,
    /// Where single I/Os are kept.
    log: Option<IoLog>,
    /// Parts of the workload that have names, ...
    jobs: Vec<Job>,
    /// ... and by lane which one it belongs to.
    job_of_lane: Vec<Option<usize>>,
    /// What was added to the shared progress: other workers add theirs.
    published: Totals,
}

impl Measurement {
    /// For a worker that keeps `log_ios` single I/Os at most.
    pub(crate) fn new(
        workload: &Workload,
        lanes: &[Lane],
        started_ns: u64,
        log_ios: usize,
    ) -> Self {
        let (jobs, job_of_lane) = jobs(workload, lanes);
        let time_ns = workload.stop.time_ns;
        let ramped = workload.ramp_ns > 0;
        Self {
            recorder: Recorder::new(started_ns),
            started_ns,
            ramp_end_ns: ramped.then_some(started_ns + workload.ramp_ns),
            time_ns,
            end_ns: match time_ns {
                Some(time_ns) if !ramped => started_ns + time_ns,
                _ => u64::MAX,
            },
            outstanding_integral_ns: 0,
            offered: Offered::default(),
            meters_before: Meters::default(),
            log: (log_ios > 0).then(|| IoLog::new(log_ios)),
            jobs,
            job_of_lane,
            published: Totals::default(),
        }
    }

    /// Measuring starts at this time and not when this was made.
    pub(crate) fn begin(&mut self, started_ns: u64) {
        self.started_ns = started_ns;
        self.recorder.begin(started_ns);
        if let (Some(time_ns), None) = (self.time_ns, self.ramp_end_ns) {
            self.end_ns = started_ns + time_ns;
        }
    }

    /// See [`Recorder::warm`].
    pub(crate) fn warm(&mut self) {
        self.recorder.warm();
    }

    /// Whether nothing is measured yet.
    pub(crate) fn is_in_ramp(&self) -> bool {
        self.ramp_end_ns.is_some()
    }

    /// Takes the readings of the target's meters as those at which measuring starts.
    pub(crate) fn count_from(&mut self, meters: Meters) {
        self.meters_before = meters;
    }

    /// When the time is up.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// When I/Os that were due in time but have not been issued are given up:
    /// after as long again.
    pub(crate) fn give_up_ns(&self) -> u64 {
        self.end_ns.saturating_add(self.time_ns.unwrap_or(0))
    }

    #[inline]
    pub(crate) fn submitted(&mut self, now_ns: u64) {
        self.outstanding_integral_ns -= i128::from(now_ns - self.recorder.start_ns());
    }

    /// Counts an I/O at a given rate as it is issued.
    pub(crate) fn offered(&mut self) {
        self.offered.ios += 1;
    }

    /// Closes a stream at a given rate: nothing was due between its latest I/O
    /// and `until_ns` but `unissued`.
    pub(crate) fn closed(&mut self, until_ns: u64, unissued: u64) {
        let span_ns = until_ns.saturating_sub(self.recorder.start_ns());
        self.offered.span_ns = self.offered.span_ns.max(span_ns);
        self.offered.unissued += unissued;
    }

    // Every I/O passes here, and a call would cost as much as what it does.
    #[inline(always)]
    pub(crate) fn completed(&mut self, slot: &Slot, completion: &Completion) {
        let completed_ns = completion.completed_ns;
        if let Some(ramp_end_ns) = self.ramp_end_ns {
            if completed_ns >= ramp_end_ns {
                self.end_ramp(completed_ns);
            }
            return;
        }
        self.outstanding_integral_ns += i128::from(completed_ns - self.recorder.start_ns());
        let operation = slot.request.operation;
        if self.log.is_some() {
            self.log(slot, completion);
        }
        if !self.jobs.is_empty() {
            self.of_job(slot, completion);
        }
        if completion.errno == 0 {
            let bytes = slot.request.length_bytes;
            self.recorder.completed(operation, bytes, slot.due_ns, completed_ns);
            if let Some(free_ns) = slot.free_ns {
                let ready_ns = slot.due_ns.max(free_ns);
                self.recorder.stages(
                    operation,
                    ready_ns - slot.due_ns,
                    slot.submitted_ns - ready_ns,
                    completed_ns - slot.submitted_ns,
                );
            }
        } else {
            self.recorder.failed(operation, completion.errno, completed_ns);
        }
    }

    // Apart from the way of every I/O: few runs keep single ones.
    #[inline(never)]
    fn log(&mut self, slot: &Slot, completion: &Completion) {
        let start_ns = self.recorder.start_ns();
        let since_start = |at_ns: u64| at_ns as i64 - start_ns as i64;
        let log = self.log.as_mut().expect("the caller has looked");
        log.add(LoggedIo {
            due_ns: since_start(slot.due_ns),
            submitted_ns: since_start(slot.submitted_ns),
            completed_ns: since_start(completion.completed_ns),
            offset_bytes: slot.request.offset_bytes,
            bytes: slot.request.length_bytes,
            operation: slot.request.operation,
            fua: slot.request.fua,
            errno: completion.errno,
        });
    }

    // Apart as well: few workloads have names.
    #[inline(never)]
    fn of_job(&mut self, slot: &Slot, completion: &Completion) {
        let Some(job) = self.job_of_lane[slot.lane as usize] else { return };
        let latency_ns = completion.completed_ns - slot.due_ns;
        self.jobs[job].completed(
            slot.request.operation,
            slot.request.length_bytes,
            (completion.errno == 0).then_some(latency_ns),
            completion.completed_ns - self.recorder.start_ns(),
        );
    }

    /// Starts measuring with the first completion after the ramp, which is not
    /// counted: at queue depth 1 the measured time then holds whole I/Os only.
    fn end_ramp(&mut self, now_ns: u64) {
        self.ramp_end_ns = None;
        self.recorder = Recorder::new(now_ns);
        self.end_ns = self.time_ns.map_or(u64::MAX, |time_ns| now_ns + time_ns);
        self.outstanding_integral_ns = 0;
        self.offered = Offered::default();
        for job in &mut self.jobs {
            job.start_ns = (self.started_ns + job.start_ns).saturating_sub(now_ns);
            job.end_ns = job.start_ns;
        }
    }

    pub(crate) fn publish(&mut self, progress: &Progress, elapsed_ns: u64) {
        let now = self.recorder.totals();
        let before = std::mem::replace(&mut self.published, now);
        progress.elapsed_ns.fetch_max(elapsed_ns, Ordering::Relaxed);
        progress.ios.fetch_add(now.ios - before.ios, Ordering::Relaxed);
        progress.bytes.fetch_add(now.bytes - before.bytes, Ordering::Relaxed);
        let latency_ns = (now.latency_sum_ns - before.latency_sum_ns) as u64;
        progress.latency_sum_ns.fetch_add(latency_ns, Ordering::Relaxed);
    }

    /// `meters` are the target's at the end.
    pub(crate) fn finish(self, meters: Meters) -> Recording {
        let mut recording = self.recorder.finish();
        recording.outstanding_integral_ns = self.outstanding_integral_ns.unsigned_abs();
        recording.offered = self.offered;
        recording.log = self.log;
        recording.jobs = self.jobs;
        let metered = meters.since(&self.meters_before);
        recording.energy_j = metered.energy_j;
        recording.flash_programmed_bytes = metered.flash_programmed_bytes;
        recording
    }
}

/// The jobs of these lanes in the order of the streams, from their starts, and by lane
/// the place of its own.
fn jobs(workload: &Workload, lanes: &[Lane]) -> (Vec<Job>, Vec<Option<usize>>) {
    let mut jobs: Vec<Job> = Vec::new();
    let places = lanes.iter().map(|lane| {
        let name = workload.streams[lane.stream].job.as_ref()?;
        let known = jobs.iter().position(|job| job.name == *name);
        let place = known.unwrap_or(jobs.len());
        match jobs.get_mut(place) {
            Some(job) => job.start_ns = job.start_ns.min(lane.start_ns),
            None => jobs.push(Job::new(name.clone(), lane.start_ns)),
        }
        jobs[place].end_ns = jobs[place].start_ns;
        Some(place)
    });
    let places = places.collect();
    (jobs, places)
}
