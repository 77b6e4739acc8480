//! Verification for Python: the ledger and what was found, kept between runs.

use crate::value_error;
use fourcorners_verified::{Damage, Damages, Ledger, resolve};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// What is known of a target's blocks, and what was wrong with them.
#[pyclass(frozen, module = "fourcorners._core")]
pub struct Verification {
    pub ledger: Arc<Ledger>,
    pub damages: Arc<Damages>,
    under_load: Mutex<Vec<Damage>>,
}

impl Verification {
    fn with(ledger: Ledger) -> Self {
        Self { ledger: Arc::new(ledger), damages: Arc::default(), under_load: Mutex::default() }
    }
}

#[pymethods]
impl Verification {
    #[new]
    #[pyo3(signature = (capacity_bytes, span_bytes, drive, run, path=None))]
    fn new(
        capacity_bytes: u64,
        span_bytes: u64,
        drive: u64,
        run: u64,
        path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let ledger = match path {
            Some(path) => Ledger::create(&path, capacity_bytes, span_bytes, drive, run),
            None => Ledger::in_memory(capacity_bytes, drive, run),
        };
        Ok(Self::with(ledger.map_err(value_error)?))
    }

    #[staticmethod]
    fn open(path: PathBuf, capacity_bytes: u64) -> PyResult<Self> {
        Ok(Self::with(Ledger::open(&path, capacity_bytes).map_err(value_error)?))
    }

    /// What was found until now was found under load.
    fn end_load(&self) {
        *self.under_load.lock().expect("no thread panics with it") = self.damages.take();
    }

    /// Entries of the state that were damaged when it was opened.
    #[getter]
    fn state_damaged(&self) -> u64 {
        self.ledger.damaged()
    }

    #[getter]
    fn checked(&self) -> u64 {
        self.damages.checked.load(Relaxed)
    }

    #[getter]
    fn unchecked(&self) -> u64 {
        self.damages.unchecked.load(Relaxed)
    }

    #[getter]
    fn damaged(&self) -> u64 {
        self.damages.damaged.load(Relaxed)
    }

    /// Name and address of every damage, and the address that a block found there
    /// was written for.
    fn take(&self) -> Vec<(&'static str, u64, Option<u64>)> {
        let under_load = std::mem::take(&mut *self.under_load.lock().expect("as above"));
        resolve(under_load, self.damages.take(), &self.ledger)
            .iter()
            .map(|damage| {
                (damage.kind.name(), damage.address, damage.found.map(|found| found.address))
            })
            .collect()
    }
}
