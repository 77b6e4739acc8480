//! A workload on a drive in virtual time: as it is, from a trace, verified or disturbed.

use crate::disturbance::{Disturbance, execute_disturbed};
use crate::raw_recording::RawRecording;
use crate::trace::source_of;
use crate::value_error;
use crate::verification::Verification;
use crate::watch::run_watched;
use fourcorners_execution::{ExecutionError, Progress, execute, replay};
use fourcorners_recording::Recording;
use fourcorners_target::{InTurn, VirtualDrive};
use fourcorners_verified::{Memory, Remembering, Verified};
use fourcorners_workload::Workload;
use pyo3::prelude::*;
use std::sync::Arc;

/// How a drive carries a workload out that asks for nothing else.
pub type Plainly<D> = fn(&Workload, &mut D, &Progress) -> Result<Recording, ExecutionError>;

/// What Python asks of a run.
pub struct VirtualRun<'a, 'py> {
    pub workload_json: &'a str,
    pub watch: Option<&'a Bound<'py, PyAny>>,
    pub verification: Option<&'a Bound<'py, Verification>>,
    pub disturbance: Option<&'a Bound<'py, Disturbance>>,
}

impl VirtualRun<'_, '_> {
    /// Runs it on `drive`, whose blocks hold what is in `memory`.
    ///
    /// # Errors
    /// A workload that cannot be run, or what `watch` raised.
    pub fn on<D: VirtualDrive>(
        self,
        py: Python<'_>,
        drive: &mut D,
        memory: &mut Memory,
        plainly: Plainly<D>,
    ) -> PyResult<RawRecording> {
        let workload = Workload::from_json(self.workload_json).map_err(value_error)?;
        let source = source_of(&workload);
        let verification = self.verification.map(Bound::get);
        let disturbance = self.disturbance.map(|one| one.get().shared());
        let recording = run_watched(py, self.watch, |progress| {
            if let Some(Verification { ledger, damages, .. }) = verification {
                let remembering = Remembering::new(drive, memory);
                let (ledger, damages) = (Arc::clone(ledger), Arc::clone(damages));
                return execute(
                    &workload,
                    &mut Verified::new(remembering, ledger, damages),
                    progress,
                );
            }
            if let Some(disturbance) = disturbance {
                return execute_disturbed(&workload, drive, &disturbance, progress);
            }
            match source {
                Some(source) => replay(&workload, &mut InTurn::new(drive), source, progress),
                None => plainly(&workload, drive, progress),
            }
        })?
        .map_err(value_error)?;
        RawRecording::new(py, recording)
    }
}
