//! A recording as Python sees it.

use fourcorners_recording::{OperationRecord, Recording};
use fourcorners_workload::Operation;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// One operation's share of a recording. Times are integer nanoseconds.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawOperation {
    ios: u64,
    bytes: u64,
    /// Failed I/Os by errno.
    errors: BTreeMap<i32, u64>,
    latency_min_ns: Option<u64>,
    latency_max_ns: Option<u64>,
    latency_sum_ns: u128,
    bucket_low_ns: Py<PyArray1<u64>>,
    bucket_high_ns: Py<PyArray1<u64>>,
    bucket_count: Py<PyArray1<u64>>,
    second_ios: Py<PyArray1<u64>>,
    second_bytes: Py<PyArray1<u64>>,
    second_latency_sum_ns: Py<PyArray1<u64>>,
    second_latency_max_ns: Py<PyArray1<u64>>,
}

impl RawOperation {
    fn new(py: Python<'_>, record: OperationRecord) -> Self {
        let buckets: Vec<(u64, u64, u64)> = record.latencies.buckets().collect();
        let column = |values: Vec<u64>| values.into_pyarray(py).unbind();
        let seconds = &record.seconds;
        Self {
            ios: record.ios,
            bytes: record.bytes,
            latency_min_ns: record.latencies.min_ns(),
            latency_max_ns: record.latencies.max_ns(),
            latency_sum_ns: record.latencies.sum_ns(),
            bucket_low_ns: column(buckets.iter().map(|b| b.0).collect()),
            bucket_high_ns: column(buckets.iter().map(|b| b.1).collect()),
            bucket_count: column(buckets.iter().map(|b| b.2).collect()),
            second_ios: column(seconds.iter().map(|s| s.ios).collect()),
            second_bytes: column(seconds.iter().map(|s| s.bytes).collect()),
            second_latency_sum_ns: column(seconds.iter().map(|s| s.latency_sum_ns).collect()),
            second_latency_max_ns: column(seconds.iter().map(|s| s.latency_max_ns).collect()),
            errors: record.errors,
        }
    }
}

/// What one workload's execution showed.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawRecording {
    elapsed_ns: u64,
    outstanding_integral_ns: u128,
    cpu_user_ns: u64,
    cpu_system_ns: u64,
    generating_ns: u64,
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
            operations.insert(operation.name(), Py::new(py, RawOperation::new(py, record))?);
        }
        Ok(Self {
            elapsed_ns: recording.elapsed_ns,
            outstanding_integral_ns: recording.outstanding_integral_ns,
            cpu_user_ns: recording.cpu.user_ns,
            cpu_system_ns: recording.cpu.system_ns,
            generating_ns: recording.generating_ns,
            interrupted: recording.interrupted,
            failure: recording.failure,
            operations,
        })
    }
}
