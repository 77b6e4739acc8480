//! Files and block devices for Python.

use crate::raw_recording::RawRecording;
use crate::trace::source_of;
use crate::verification::Verification;
use crate::watch::run_watched;
use crate::{io_error, value_error};
use fourcorners_execution::{execute_parallel, replay_parallel};
use fourcorners_real::{Access, Engine, Facts, Kind, Plan, RealFile, Unprepared};
use fourcorners_verified::Verified;
use fourcorners_workload::{Pace, Workload};
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Unless told otherwise, longer than Linux tries to bring back a drive that
/// does not answer (30 s a try), and than the reviews' largest transfer takes on
/// a slow disk.
const IO_LIMIT_NS: u64 = 120_000_000_000;

/// Opening is more than one I/O.
const OPENING_LIMIT_MIN: Duration = Duration::from_secs(10);

/// An open file or block device. Each worker of a workload gets a thread and a
/// way to the kernel of its own.
#[pyclass(module = "fourcorners._core")]
pub struct RealTarget {
    file: RealFile,
    seed: u64,
    /// Longest that one I/O may take.
    io_limit_ns: u64,
}

#[pymethods]
impl RealTarget {
    #[new]
    #[pyo3(signature = (path, *, size_bytes=None, destroy_data=None, overwrite=None, seed=1, io_limit_ns=IO_LIMIT_NS, engine="auto"))]
    #[allow(clippy::too_many_arguments)] // They are Python's keywords.
    fn new(
        py: Python<'_>,
        path: PathBuf,
        size_bytes: Option<u64>,
        destroy_data: Option<PathBuf>,
        overwrite: Option<PathBuf>,
        seed: u64,
        io_limit_ns: u64,
        engine: &str,
    ) -> PyResult<Self> {
        let limit = Some(Duration::from_nanos(io_limit_ns).max(OPENING_LIMIT_MIN));
        let access = Access { size_bytes, destroy_data, overwrite, limit };
        let engine: Engine = engine.parse().map_err(value_error)?;
        let open = || {
            let plan = Plan::examine(&path, &access)?;
            engine.check(&plan)?;
            RealFile::open(plan)?.with_engine(engine)
        };
        let file = py.detach(open).map_err(value_error)?;
        Ok(Self { file, seed, io_limit_ns })
    }

    /// Refuses what opening would refuse, of a file that it would make; makes none.
    #[staticmethod]
    #[pyo3(signature = (path, *, size_bytes, destroy_data, overwrite, engine))]
    fn examine(
        py: Python<'_>,
        path: PathBuf,
        size_bytes: Option<u64>,
        destroy_data: Option<PathBuf>,
        overwrite: Option<PathBuf>,
        engine: &str,
    ) -> PyResult<()> {
        let engine: Engine = engine.parse().map_err(value_error)?;
        let access = Access { size_bytes, destroy_data, overwrite, limit: Some(OPENING_LIMIT_MIN) };
        py.detach(|| engine.check(&Plan::examine(&path, &access)?)).map_err(value_error)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.file.plan().kind {
            Kind::File => "file",
            Kind::Device => "device",
        }
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.file.plan().capacity_bytes
    }

    #[getter]
    fn direct(&self) -> bool {
        self.file.plan().direct
    }

    #[getter]
    fn is_counted(&self) -> bool {
        self.file.is_counted()
    }

    #[getter]
    fn needs_fill(&self) -> bool {
        self.file.plan().needs_fill
    }

    #[getter]
    fn request_alignment_bytes(&self) -> u32 {
        self.file.plan().request_alignment_bytes
    }

    #[getter]
    fn read_only_reason(&self) -> Option<&str> {
        self.file.plan().read_only_reason.as_deref()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.file.notes()
    }

    #[pyo3(signature = (workload_json, watch=None, verification=None))]
    fn run(
        &self,
        py: Python<'_>,
        workload_json: &str,
        watch: Option<&Bound<'_, PyAny>>,
        verification: Option<&Bound<'_, Verification>>,
    ) -> PyResult<RawRecording> {
        let mut workload = Workload::from_json(workload_json).map_err(value_error)?;
        workload.stop.io_ns = Some(self.io_limit_ns);
        let plan = self.file.plan();
        if let (true, Some(reason)) = (workload.writes(), &plan.read_only_reason) {
            return Err(value_error(reason));
        }
        if workload.writes() {
            py.detach(|| self.file.guard().begin_writing()).map_err(value_error)?;
        }
        let verification = verification.map(Bound::get);
        let source = source_of(&workload);
        let run = run_watched(py, watch, |progress| {
            let open = || Ok(self.file.target(self.seed));
            let Some(Verification { ledger, damages, .. }) = verification else {
                let capacity_bytes = plan.capacity_bytes;
                return match source {
                    Some(source) if has_times(&workload) => {
                        let open = || Ok(self.file.punctual_target(self.seed));
                        replay_parallel(&workload, capacity_bytes, open, source, progress)
                    }
                    Some(source) => {
                        replay_parallel(&workload, capacity_bytes, open, source, progress)
                    }
                    None => execute_parallel(&workload, capacity_bytes, open, progress),
                };
            };
            let open = || Ok(Verified::new(open()?, Arc::clone(ledger), Arc::clone(damages)));
            execute_parallel(&workload, plan.capacity_bytes, open, progress)
        });
        if workload.writes() {
            let orderly = matches!(&run, Ok(Ok(recording)) if recording.failure.is_none());
            py.detach(|| self.file.guard().end_writing(orderly));
        }
        RawRecording::new(py, run?.map_err(io_error)?)
    }

    /// What the file or device is known by again.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        match self.file.facts().map_err(io_error)? {
            Facts::File { inode, generation, born_ns, size_bytes } => {
                facts.set_item("inode", inode)?;
                facts.set_item("generation", generation)?;
                facts.set_item("born_ns", born_ns)?;
                facts.set_item("size_bytes", size_bytes)?;
            }
            Facts::Device { serial, size_bytes, sequence, number } => {
                facts.set_item("serial", serial)?;
                facts.set_item("size_bytes", size_bytes)?;
                facts.set_item("sequence", sequence)?;
                facts.set_item("number", number)?;
            }
        }
        Ok(facts)
    }

    /// Formats that were found on what may be written.
    fn holds(&self) -> Vec<String> {
        self.file.guard().holds()
    }

    /// Looks once more at what is about to be written.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.file.guard().look()).map_err(value_error)
    }

    /// Marks what a file of ours holds as ours.
    fn seal(&self, py: Python<'_>) {
        py.detach(|| self.file.guard().seal());
    }

    fn purge(&mut self, py: Python<'_>) -> PyResult<()> {
        let limit = Duration::from_nanos(self.io_limit_ns);
        py.detach(|| self.file.purge(limit)).map_err(preparation_error)
    }

    fn trim(&mut self, py: Python<'_>, offset_bytes: u64, length_bytes: u64) -> PyResult<()> {
        let limit = Duration::from_nanos(self.io_limit_ns);
        let part = offset_bytes..offset_bytes.saturating_add(length_bytes);
        py.detach(|| self.file.trim(part, limit)).map_err(preparation_error)
    }

    fn filled(&mut self, py: Python<'_>) -> PyResult<()> {
        let limit = Duration::from_nanos(self.io_limit_ns);
        py.detach(|| self.file.filled(limit)).map_err(preparation_error)
    }
}

/// Whether the I/Os of its trace are due at times, and not as soon as others complete.
fn has_times(workload: &Workload) -> bool {
    workload.streams.iter().any(|one| one.trace.as_ref().is_some_and(|t| t.pace != Pace::Depth))
}

fn preparation_error(error: Unprepared) -> PyErr {
    match error {
        Unprepared::Failed(error) => io_error(error),
        Unprepared::Hangs(hangs) => PyTimeoutError::new_err(hangs),
    }
}
