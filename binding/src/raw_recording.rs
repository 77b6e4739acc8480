//! A recording as Python sees it.

use fourcorners_recording::{IoLog, Job, LATE_NS, Latencies, OperationRecord, Recording, Replayed};
use fourcorners_workload::Operation;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

/// A distribution of latencies. Times are integer nanoseconds.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawLatencies {
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    sum_ns: u128,
    bucket_low_ns: Py<PyArray1<u64>>,
    bucket_high_ns: Py<PyArray1<u64>>,
    bucket_count: Py<PyArray1<u64>>,
}

impl RawLatencies {
    /// Hands a distribution over to Python.
    pub fn new(py: Python<'_>, latencies: &Latencies) -> Self {
        let buckets: Vec<(u64, u64, u64)> = latencies.buckets().collect();
        let column = |values: Vec<u64>| values.into_pyarray(py).unbind();
        Self {
            min_ns: latencies.min_ns(),
            max_ns: latencies.max_ns(),
            sum_ns: latencies.sum_ns(),
            bucket_low_ns: column(buckets.iter().map(|b| b.0).collect()),
            bucket_high_ns: column(buckets.iter().map(|b| b.1).collect()),
            bucket_count: column(buckets.iter().map(|b| b.2).collect()),
        }
    }
}

/// One operation's share of a recording. Times are integer nanoseconds.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawOperation {
    ios: u64,
    bytes: u64,
    /// Failed I/Os by errno.
    errors: BTreeMap<i32, u64>,
    latencies: Py<RawLatencies>,
    /// Parts of the latencies of I/Os at a given rate, by name; else none.
    stages: BTreeMap<&'static str, Py<RawLatencies>>,
    second_ios: Py<PyArray1<u64>>,
    second_bytes: Py<PyArray1<u64>>,
    second_latency_sum_ns: Py<PyArray1<u64>>,
    second_latency_max_ns: Py<PyArray1<u64>>,
    /// Latencies of every second, a row for each bucket that holds something.
    over_time_second: Py<PyArray1<u64>>,
    over_time_low_ns: Py<PyArray1<u64>>,
    over_time_high_ns: Py<PyArray1<u64>>,
    over_time_count: Py<PyArray1<u64>>,
}

impl RawOperation {
    fn new(py: Python<'_>, record: OperationRecord) -> PyResult<Self> {
        let mut stages = BTreeMap::new();
        if let Some(parts) = &record.stages {
            let parts = [
                ("queue", &parts.queue),
                ("lateness", &parts.lateness),
                ("service", &parts.service),
            ];
            for (name, latencies) in parts {
                stages.insert(name, Py::new(py, RawLatencies::new(py, latencies))?);
            }
        }
        let column = |values: Vec<u64>| values.into_pyarray(py).unbind();
        let seconds = &record.seconds;
        let over_time = &record.latency_over_time;
        Ok(Self {
            ios: record.ios,
            bytes: record.bytes,
            latencies: Py::new(py, RawLatencies::new(py, &record.latencies))?,
            stages,
            second_ios: column(seconds.iter().map(|s| s.ios).collect()),
            second_bytes: column(seconds.iter().map(|s| s.bytes).collect()),
            second_latency_sum_ns: column(seconds.iter().map(|s| s.latency_sum_ns).collect()),
            second_latency_max_ns: column(seconds.iter().map(|s| s.latency_max_ns).collect()),
            over_time_second: column(over_time.iter().map(|e| u64::from(e.second)).collect()),
            over_time_low_ns: column(over_time.iter().map(|e| e.bounds_ns().0).collect()),
            over_time_high_ns: column(over_time.iter().map(|e| e.bounds_ns().1).collect()),
            over_time_count: column(over_time.iter().map(|e| u64::from(e.count)).collect()),
            errors: record.errors,
        })
    }
}

/// One operation of a named part of the workload.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawJobOperation {
    ios: u64,
    bytes: u64,
    errors: u64,
    latencies: Py<RawLatencies>,
}

/// A named part of the workload. Times are integer nanoseconds from the start of
/// measuring.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawJob {
    name: String,
    start_ns: u64,
    end_ns: u64,
    /// By name of the operation; those that it did.
    operations: BTreeMap<&'static str, Py<RawJobOperation>>,
}

impl RawJob {
    fn new(py: Python<'_>, job: Job) -> PyResult<Self> {
        let mut operations = BTreeMap::new();
        for (operation, own) in Operation::ALL.into_iter().zip(job.operations) {
            let Some(own) = own else { continue };
            let latencies = Py::new(py, RawLatencies::new(py, &own.latencies))?;
            let (ios, bytes, errors) = (own.ios, own.bytes, own.errors);
            let raw = RawJobOperation { ios, bytes, errors, latencies };
            operations.insert(operation.name(), Py::new(py, raw)?);
        }
        Ok(Self { name: job.name, start_ns: job.start_ns, end_ns: job.end_ns, operations })
    }
}

/// Single I/Os in order of their completion, a column each. Times count from the
/// start of measuring.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawIoLog {
    /// I/Os that there were.
    offered: u64,
    /// One in so many is kept.
    one_in: u64,
    due_ns: Py<PyArray1<i64>>,
    submitted_ns: Py<PyArray1<i64>>,
    completed_ns: Py<PyArray1<i64>>,
    offset_bytes: Py<PyArray1<i64>>,
    bytes: Py<PyArray1<i64>>,
    /// Position in `operations`.
    operation: Py<PyArray1<i8>>,
    operations: Vec<&'static str>,
    fua: Py<PyArray1<bool>>,
    errno: Py<PyArray1<i32>>,
}

impl RawIoLog {
    fn new(py: Python<'_>, log: &IoLog) -> Self {
        let ios = log.ios();
        let times = |values: Vec<i64>| values.into_pyarray(py).unbind();
        Self {
            offered: log.offered(),
            one_in: log.one_in(),
            due_ns: times(ios.iter().map(|io| io.due_ns).collect()),
            submitted_ns: times(ios.iter().map(|io| io.submitted_ns).collect()),
            completed_ns: times(ios.iter().map(|io| io.completed_ns).collect()),
            offset_bytes: times(ios.iter().map(|io| io.offset_bytes as i64).collect()),
            bytes: times(ios.iter().map(|io| i64::from(io.bytes)).collect()),
            operation: ios
                .iter()
                .map(|io| io.operation.index() as i8)
                .collect::<Vec<_>>()
                .into_pyarray(py)
                .unbind(),
            operations: Operation::ALL.map(Operation::name).to_vec(),
            fua: ios.iter().map(|io| io.fua).collect::<Vec<_>>().into_pyarray(py).unbind(),
            errno: ios.iter().map(|io| io.errno).collect::<Vec<_>>().into_pyarray(py).unbind(),
        }
    }
}

/// What one workload's execution showed.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawRecording {
    elapsed_ns: u64,
    outstanding_integral_ns: u128,
    /// At a given rate: I/Os that were due, those of them that were not issued,
    /// and the time over which they were due; else 0.
    offered_ios: u64,
    unissued_ios: u64,
    offered_ns: u64,
    cpu_user_ns: u64,
    cpu_system_ns: u64,
    generating_ns: u64,
    /// Of the drive in the measured time, in joules.
    energy_j: Option<f64>,
    /// Into flash in the measured time.
    flash_programmed_bytes: Option<u64>,
    interrupted: bool,
    /// The failure that ended the run, in one sentence.
    failure: Option<String>,
    /// By name of the operation: `read`, `write`.
    operations: BTreeMap<&'static str, Py<RawOperation>>,
    /// Parts of the workload that have names.
    jobs: Vec<Py<RawJob>>,
    /// Where the workload asked for it.
    log: Option<Py<RawIoLog>>,
    /// How far I/Os of a trace were issued off their times; else nothing.
    off_time: Option<Py<RawLatencies>>,
    /// How a trace was replayed, as JSON.
    replayed_json: Option<String>,
}

fn replayed_json(replayed: &Replayed) -> String {
    let shares: serde_json::Map<String, serde_json::Value> = Operation::ALL
        .into_iter()
        .map(|operation| (operation.name().into(), json!(replayed.sizes[operation.index()])))
        .collect();
    let minutes: Vec<_> = replayed
        .minutes
        .iter()
        .map(|minute| {
            json!({
                "busy_ns": minute.busy_ns,
                "flash_programmed_bytes": minute.flash_programmed_bytes,
                "condition": minute.condition.iter().cloned().collect::<BTreeMap<_, _>>(),
            })
        })
        .collect();
    json!({
        "late_ios": replayed.late_ios,
        "late_ns": LATE_NS,
        "sizes": shares,
        "depths": replayed.depths,
        "busy_ns": replayed.busy_ns,
        "minutes": minutes,
        "waited_ns": replayed.waited_ns,
    })
    .to_string()
}

impl RawRecording {
    /// Hands a recording over to Python.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn new(py: Python<'_>, recording: Recording) -> PyResult<Self> {
        let mut operations = BTreeMap::new();
        for (operation, record) in Operation::ALL.into_iter().zip(recording.operations) {
            operations.insert(operation.name(), Py::new(py, RawOperation::new(py, record)?)?);
        }
        Ok(Self {
            elapsed_ns: recording.elapsed_ns,
            outstanding_integral_ns: recording.outstanding_integral_ns,
            offered_ios: recording.offered.ios + recording.offered.unissued,
            unissued_ios: recording.offered.unissued,
            offered_ns: recording.offered.span_ns,
            cpu_user_ns: recording.cpu.user_ns,
            cpu_system_ns: recording.cpu.system_ns,
            generating_ns: recording.generating_ns,
            energy_j: recording.energy_j,
            flash_programmed_bytes: recording.flash_programmed_bytes,
            interrupted: recording.interrupted,
            failure: recording.failure,
            operations,
            jobs: (recording.jobs.into_iter())
                .map(|job| Py::new(py, RawJob::new(py, job)?))
                .collect::<PyResult<_>>()?,
            off_time: (recording.replayed.as_deref())
                .map(|replayed| Py::new(py, RawLatencies::new(py, &replayed.off_time)))
                .transpose()?,
            replayed_json: recording.replayed.as_deref().map(replayed_json),
            log: recording.log.map(|log| Py::new(py, RawIoLog::new(py, &log))).transpose()?,
        })
    }
}
