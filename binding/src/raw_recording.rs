//! A recording as Python sees it.

use fourcorners_recording::{Latencies, OperationRecord, Recording};
use fourcorners_workload::Operation;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
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
    fn new(py: Python<'_>, latencies: &Latencies) -> Self {
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
        Ok(Self {
            ios: record.ios,
            bytes: record.bytes,
            latencies: Py::new(py, RawLatencies::new(py, &record.latencies))?,
            stages,
            second_ios: column(seconds.iter().map(|s| s.ios).collect()),
            second_bytes: column(seconds.iter().map(|s| s.bytes).collect()),
            second_latency_sum_ns: column(seconds.iter().map(|s| s.latency_sum_ns).collect()),
            second_latency_max_ns: column(seconds.iter().map(|s| s.latency_max_ns).collect()),
            errors: record.errors,
        })
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
    interrupted: bool,
    /// The failure that ended the run, in one sentence.
    failure: Option<String>,
    /// By name of the operation: `read`, `write`.
    operations: BTreeMap<&'static str, Py<RawOperation>>,
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
            interrupted: recording.interrupted,
            failure: recording.failure,
            operations,
        })
    }
}
