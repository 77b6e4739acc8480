//! Drives that other programs simulate, for Python.

use crate::disturbance::Disturbance;
use crate::raw_recording::RawRecording;
use crate::verification::Verification;
use crate::virtual_run::VirtualRun;
use crate::{io_error, value_error};
use fourcorners_execution::execute;
use fourcorners_foreign::{Command, Outcome, SILENCE_S_MAX, conformance};
use fourcorners_verified::Memory;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// As long as the default of the crate.
const IO_LIMIT_NS: u64 = SILENCE_S_MAX * 1_000_000_000;

/// A child process that is a drive, and its virtual clock.
#[pyclass(module = "fourcorners._core")]
pub struct ForeignDrive {
    pub(crate) drive: fourcorners_foreign::ForeignDrive,
    /// What verified writes left; without verification nothing.
    memory: Memory,
}

#[pymethods]
impl ForeignDrive {
    #[new]
    #[pyo3(signature = (command, seed, io_limit_ns=IO_LIMIT_NS))]
    fn new(py: Python<'_>, command: Vec<String>, seed: u64, io_limit_ns: u64) -> PyResult<Self> {
        let command = command_of(command)?;
        let drive = py
            .detach(|| {
                let limit = Duration::from_nanos(io_limit_ns);
                fourcorners_foreign::ForeignDrive::start_within(&command, seed, limit)
            })
            .map_err(io_error)?;
        Ok(Self { drive, memory: Memory::default() })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.drive.identity().name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.drive.identity().summary
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.identity().capacity_bytes
    }

    #[getter]
    fn keeps_state(&self) -> bool {
        self.drive.identity().keeps_state
    }

    #[getter]
    fn can_purge(&self) -> bool {
        self.drive.identity().abilities.purge
    }

    #[getter]
    fn can_trim(&self) -> bool {
        self.drive.identity().abilities.trim
    }

    #[getter]
    fn can_save(&self) -> bool {
        self.drive.identity().abilities.save
    }

    #[getter]
    fn truths_json(&self) -> &str {
        &self.drive.identity().truths
    }

    #[pyo3(signature = (workload_json, watch=None, verification=None, disturbance=None))]
    fn run(
        &mut self,
        py: Python<'_>,
        workload_json: &str,
        watch: Option<&Bound<'_, PyAny>>,
        verification: Option<&Bound<'_, Verification>>,
        disturbance: Option<&Bound<'_, Disturbance>>,
    ) -> PyResult<RawRecording> {
        VirtualRun { workload_json, watch, verification, disturbance }.on(
            py,
            &mut self.drive,
            &mut self.memory,
            execute,
        )
    }

    fn idle(&mut self, py: Python<'_>, idle_ns: u64) -> PyResult<()> {
        py.detach(|| self.drive.idle(idle_ns)).map_err(io_error)
    }

    fn purge(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.drive.purge()).map_err(io_error)?;
        self.memory.clear();
        Ok(())
    }

    fn trim(&mut self, py: Python<'_>, offset_bytes: u64, length_bytes: u64) -> PyResult<()> {
        py.detach(|| self.drive.trim(offset_bytes, length_bytes)).map_err(io_error)
    }

    fn power_cut(&mut self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        let lost = py.detach(|| self.drive.power_cut()).map_err(io_error)?;
        for range in &lost {
            self.memory.forget(range.clone());
        }
        Ok(lost.into_iter().map(|range| (range.start, range.end - range.start)).collect())
    }

    fn save(&mut self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| self.drive.save(path)).map_err(io_error)
    }

    fn load(&mut self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| self.drive.load(path)).map_err(io_error)
    }

    fn close(&mut self, py: Python<'_>) {
        py.detach(|| self.drive.close());
    }

    fn counters(&mut self, py: Python<'_>) -> PyResult<BTreeMap<String, f64>> {
        py.detach(|| self.drive.counters()).map_err(io_error)
    }
}

/// Each check: what is wanted, whether it is so (`None` where the drive does not offer it), and why not.
#[pyfunction]
#[pyo3(signature = (command, seed, folder, io_limit_ns=IO_LIMIT_NS))]
pub fn foreign_conformance(
    py: Python<'_>,
    command: Vec<String>,
    seed: u64,
    folder: PathBuf,
    io_limit_ns: u64,
) -> PyResult<Vec<(&'static str, Option<bool>, String)>> {
    let command = command_of(command)?;
    let limit = Duration::from_nanos(io_limit_ns);
    let checks = py.detach(|| conformance(&command, seed, limit, &folder));
    Ok(checks
        .into_iter()
        .map(|check| match check.outcome {
            Outcome::Passed => (check.wanted, Some(true), String::new()),
            Outcome::Failed(why) => (check.wanted, Some(false), why),
            Outcome::NotOffered => (check.wanted, None, String::new()),
            Outcome::NotMade => (check.wanted, None, "not checked, as it is no drive".into()),
        })
        .collect())
}

fn command_of(words: Vec<String>) -> PyResult<Command> {
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| value_error("the command is empty"))?;
    Ok(Command { program, arguments: words.collect() })
}
