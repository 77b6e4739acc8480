//! Traces for Python: what files hold, and files made of them.

use crate::watch::run_watched;
use crate::{io_error, value_error};
use fourcorners_execution::Progress;
use fourcorners_trace::{Error, Format, Input, Source, Step, inform, survey, transform};
use fourcorners_workload::{Recorded, Workload};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

fn told(error: Error) -> PyErr {
    match error {
        Error::Io { .. } => io_error(error),
        _ => value_error(error),
    }
}

fn named(format: &str) -> PyResult<Format> {
    Format::named(format).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
        value_error(format!("no format is called {format}: there are {}", names.join(", ")))
    })
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(value_error)
}

/// Lets Python stop the work.
fn going(progress: &Progress) -> impl FnMut(u64) -> bool + '_ {
    |ios| {
        progress.ios.store(ios, Ordering::Relaxed);
        !progress.stop.load(Ordering::Relaxed)
    }
}

fn opened(files: &[PathBuf], meant: Option<Format>) -> Result<Vec<Input>, Error> {
    files.iter().map(|file| Input::open(file, meant)).collect()
}

/// Reads files as one trace, takes it through a step (JSON) and writes a new file; what became of
/// it, as JSON.
#[pyfunction]
#[pyo3(signature = (files, out, *, to, step_json=None, format=None, processor=None, watch=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn trace_transform(
    py: Python<'_>,
    files: Vec<PathBuf>,
    out: PathBuf,
    to: &str,
    step_json: Option<&str>,
    format: Option<&str>,
    processor: Option<u32>,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let to = named(to)?;
    let meant = format.map(named).transpose()?;
    let step: Option<Step> =
        step_json.map(serde_json::from_str).transpose().map_err(value_error)?;
    let done = run_watched(py, watch, |progress| {
        let inputs = opened(&files, meant)?;
        transform(&inputs, step.as_ref(), &out, to, processor, &mut going(progress))
    })?;
    json(&done.map_err(told)?)
}

/// The requests of a workload that is a trace.
pub fn source_of(workload: &Workload) -> Option<Box<dyn Recorded + Send>> {
    let trace = workload.streams.iter().find_map(|stream| stream.trace.as_ref())?;
    Some(Box::new(Source::new(trace)))
}

/// Reads files as one trace; what has to be known of it before it is replayed, as JSON.
#[pyfunction]
#[pyo3(signature = (files, *, format=None, watch=None))]
pub fn trace_survey(
    py: Python<'_>,
    files: Vec<PathBuf>,
    format: Option<&str>,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let meant = format.map(named).transpose()?;
    let found =
        run_watched(py, watch, |progress| survey(&opened(&files, meant)?, &mut going(progress)))?;
    json(&found.map_err(told)?)
}

/// Reads files as one trace; what is in it, as JSON.
#[pyfunction]
#[pyo3(signature = (files, *, format=None, watch=None))]
pub fn trace_information(
    py: Python<'_>,
    files: Vec<PathBuf>,
    format: Option<&str>,
    watch: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let meant = format.map(named).transpose()?;
    let found =
        run_watched(py, watch, |progress| inform(&opened(&files, meant)?, &mut going(progress)))?;
    json(&found.map_err(told)?)
}
