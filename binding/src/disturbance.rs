//! Disturbances of targets in virtual time, for Python.

use fourcorners_disturbed::{Disturbed, Strength};
use fourcorners_execution::{ExecutionError, Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_target::Target;
use fourcorners_workload::Workload;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// What disturbs a target; it goes on from run to run.
#[pyclass(frozen, module = "fourcorners._core")]
pub struct Disturbance(Arc<Mutex<fourcorners_disturbed::Disturbance>>);

#[pymethods]
impl Disturbance {
    #[new]
    #[pyo3(signature = (seed, *, spread=0.0, drift=0.0, outlier_share=0.0, load_share=0.0, overhead_ns=0))]
    fn new(
        seed: u64,
        spread: f64,
        drift: f64,
        outlier_share: f64,
        load_share: f64,
        overhead_ns: u64,
    ) -> Self {
        let strength = Strength { spread, drift, outlier_share, load_share, overhead_ns };
        Self(Arc::new(Mutex::new(fourcorners_disturbed::Disturbance::new(strength, seed))))
    }
}

impl Disturbance {
    /// The same disturbances, for another thread.
    pub fn shared(&self) -> Arc<Mutex<fourcorners_disturbed::Disturbance>> {
        Arc::clone(&self.0)
    }
}

/// Runs a workload on a target that is disturbed.
pub fn execute_disturbed(
    workload: &Workload,
    target: &mut dyn Target,
    disturbance: &Mutex<fourcorners_disturbed::Disturbance>,
    progress: &Progress,
) -> Result<Recording, ExecutionError> {
    let mut disturbance = disturbance.lock().unwrap_or_else(PoisonError::into_inner);
    let mut disturbed = Disturbed::new(target, &mut disturbance);
    let mut recording = execute(workload, &mut disturbed, progress)?;
    if let Err(error) = disturbed.end() {
        recording.failure.get_or_insert(error.0);
    }
    Ok(recording)
}
