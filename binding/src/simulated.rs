//! Simulated drives for Python.

use crate::disturbance::Disturbance;
use crate::raw_recording::RawRecording;
use crate::value_error;
use crate::verification::Verification;
use crate::virtual_run::VirtualRun;
use fourcorners_execution::execute;
use fourcorners_sim::{StateError, Treatment, with_model};
use fourcorners_verified::Memory;
use fourcorners_workload::Stream;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// A simulated drive and its virtual clock.
#[pyclass(module = "fourcorners._core")]
pub struct SimulatedDrive {
    pub(crate) drive: fourcorners_sim::SimulatedDrive,
    kind: String,
    /// What verified writes left; without verification nothing.
    memory: Memory,
}

#[pymethods]
impl SimulatedDrive {
    #[new]
    #[pyo3(signature = (text, settings, seed, members=Vec::new()))]
    fn new(
        text: &str,
        settings: Vec<(String, String)>,
        seed: u64,
        members: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let drive = fourcorners_sim::SimulatedDrive::with_members(text, &members, &settings, seed)
            .map_err(value_error)?;
        let kind = drive.header().kind.name().to_string();
        Ok(Self { drive, kind, memory: Memory::default() })
    }

    #[staticmethod]
    fn member_names(text: &str, settings: Vec<(String, String)>) -> PyResult<Vec<String>> {
        fourcorners_sim::SimulatedDrive::member_names(text, &settings).map_err(value_error)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.drive.header().name
    }

    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.drive.header().summary
    }

    #[getter]
    fn keeps_state(&self) -> bool {
        self.drive.keeps_state()
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
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
            |workload, drive, progress| {
                with_model!(&mut drive.model, model => execute(workload, model.as_mut(), progress))
            },
        )
    }

    fn idle(&mut self, py: Python<'_>, idle_ns: u64) {
        py.detach(|| self.drive.idle(idle_ns));
    }

    fn purge(&mut self, py: Python<'_>) {
        py.detach(|| self.drive.purge());
        self.memory.clear();
    }

    fn trim(&mut self, py: Python<'_>, offset_bytes: u64, length_bytes: u64) {
        py.detach(|| self.drive.trim(offset_bytes, length_bytes));
    }

    fn power_cut(&mut self, py: Python<'_>) -> Vec<(u64, u64)> {
        let lost = py.detach(|| self.drive.power_cut());
        for range in &lost {
            self.memory.forget(range.clone());
        }
        lost.into_iter().map(|range| (range.start, range.end - range.start)).collect()
    }

    #[pyo3(signature = (filled_share, stream_json=None))]
    fn enter_steady_state(
        &mut self,
        py: Python<'_>,
        filled_share: f64,
        stream_json: Option<&str>,
    ) -> PyResult<()> {
        let stream = stream_json.map(Stream::from_json).transpose().map_err(value_error)?;
        py.detach(|| self.drive.enter_steady_state(filled_share, stream.as_ref()))
            .map_err(value_error)
    }

    /// Writes the state to a new file, which must not be there yet.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let file = File::create_new(&path)?;
            self.drive.save(BufWriter::new(&file))?;
            Ok::<_, StateError>(file.sync_all()?)
        })
        .map_err(value_error)
    }

    fn load(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.drive.load(File::open(&path)?)).map_err(value_error)
    }

    /// Name, value and symbol of the unit of each truth.
    #[pyo3(signature = (*, burst_bytes, rest_ns, flushed_bytes, overwrite_block_bytes, collected_valid_share=None))]
    fn truths(
        &self,
        burst_bytes: u64,
        rest_ns: u64,
        flushed_bytes: u64,
        overwrite_block_bytes: u64,
        collected_valid_share: Option<f64>,
    ) -> Vec<(&'static str, f64, &'static str)> {
        let treatment = Treatment {
            burst_bytes,
            rest_ns,
            flushed_bytes,
            overwrite_block_bytes,
            collected_valid_share,
        };
        let truths = self.drive.truths(&treatment);
        truths.iter().map(|truth| (truth.name, truth.value, truth.unit.symbol())).collect()
    }

    fn counters(&self) -> BTreeMap<&'static str, f64> {
        self.drive.counters().into_iter().collect()
    }
}
