//! The Python face of the Rust crates: few, coarse calls.
//!
//! A run happens on a thread of its own with the interpreter released; the
//! calling thread looks for Ctrl-C and calls `watch` ten times a second.
//! Arrays cross without copies of their elements.

mod raw_recording;
mod real;
mod simulated;
mod verification;
mod watch;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;

/// What the caller asked for is wrong or refused; the message is for the user.
fn value_error(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The target failed; the message is for the user.
fn io_error(error: impl Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<raw_recording::RawIoLog>()?;
    module.add_class::<raw_recording::RawLatencies>()?;
    module.add_class::<raw_recording::RawOperation>()?;
    module.add_class::<raw_recording::RawRecording>()?;
    module.add_class::<real::RealTarget>()?;
    module.add_class::<simulated::SimulatedDrive>()?;
    module.add_class::<verification::Verification>()?;
    Ok(())
}
