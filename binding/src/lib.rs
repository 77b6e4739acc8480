//! The Python face of the Rust crates: few, coarse calls.
//!
//! A run happens on a thread of its own with the interpreter released; the
//! calling thread looks for Ctrl-C and calls `watch` ten times a second.
//! Arrays cross without copies of their elements.

#![expect(unnameable_types, reason = "Python names them")]

mod disturbance;
mod foreign;
mod raw_recording;
mod real;
mod serve;
mod served_trace;
mod simulated;
mod trace;
mod verification;
mod virtual_run;
mod watch;

use fourcorners_workload::Workload;
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

/// Refuses a workload that no target of this capacity could run, in words for the user.
#[pyfunction]
fn check_workload(workload_json: &str, capacity_bytes: u64) -> PyResult<()> {
    Workload::from_json(workload_json)
        .and_then(|workload| workload.check(capacity_bytes))
        .map_err(value_error)
}

/// A panic reaches Python as an exception, which the command line tells in one sentence; where in
/// the code it happened is for who looks into it.
fn tell_of_panics_when_debugging() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::env::var_os("FOURCORNERS_DEBUG").is_some_and(|value| value == "1") {
            tell(panic);
        }
    }));
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tell_of_panics_when_debugging();
    module.add_function(wrap_pyfunction!(check_workload, module)?)?;
    module.add_function(wrap_pyfunction!(foreign::foreign_conformance, module)?)?;
    module.add_class::<disturbance::Disturbance>()?;
    module.add_function(wrap_pyfunction!(trace::trace_information, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_survey, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_transform, module)?)?;
    module.add_class::<foreign::ForeignDrive>()?;
    module.add_class::<raw_recording::RawIoLog>()?;
    module.add_class::<raw_recording::RawJob>()?;
    module.add_class::<raw_recording::RawJobOperation>()?;
    module.add_class::<raw_recording::RawLatencies>()?;
    module.add_class::<raw_recording::RawOperation>()?;
    module.add_class::<raw_recording::RawRecording>()?;
    module.add_class::<real::RealTarget>()?;
    module.add_class::<serve::RawSession>()?;
    module.add_class::<serve::Server>()?;
    module.add_class::<simulated::SimulatedDrive>()?;
    module.add_class::<verification::Verification>()?;
    Ok(())
}
