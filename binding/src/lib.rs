//! The Python face of the Rust crates: few, coarse calls.
//!
//! A run happens on a thread of its own with the interpreter released; the
//! calling thread looks for Ctrl-C and calls `watch` ten times a second.
//! Arrays cross without copies of their elements.

mod raw_recording;
mod simulated;
mod watch;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<raw_recording::RawOperation>()?;
    module.add_class::<raw_recording::RawRecording>()?;
    module.add_class::<simulated::SimulatedDrive>()?;
    Ok(())
}
