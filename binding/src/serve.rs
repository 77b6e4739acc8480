//! Simulated drives served to other programs, for Python.

use crate::foreign::ForeignDrive;
use crate::raw_recording::{RawLatencies, RawRecording};
use crate::served_trace::ServedTrace;
use crate::simulated::SimulatedDrive;
use crate::{io_error, value_error};
use fourcorners_recording::{Latencies, Recording};
use fourcorners_serve::data::Data;
use fourcorners_serve::{
    Corruption, Cut, Device, Ended, Fault, Manner, Remote, Saving, Served, Wish,
};
use fourcorners_target::VirtualDrive;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// A server that listens, and serves one drive once.
#[pyclass(frozen, module = "fourcorners._core")]
pub struct Server {
    server: Mutex<Option<fourcorners_serve::Server>>,
    remote: Remote,
    uri: Option<String>,
    block_device: Option<PathBuf>,
}

/// What a session showed.
#[pyclass(frozen, get_all, module = "fourcorners._core")]
pub struct RawSession {
    recording: Py<RawRecording>,
    /// How late answers were, in nanoseconds of this machine.
    lateness: Py<RawLatencies>,
    /// `stopped`, `power-cut` or `failed`.
    ended: &'static str,
    /// Why it failed.
    failure: Option<String>,
    /// Losses of power, changed writes and counts.
    events_json: String,
}

/// What is left when the drive is free again.
struct Left {
    ended: Ended,
    recording: Recording,
    lateness: Latencies,
    events_json: String,
}

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (
        *, nbd=None, expose=None, control=None, file=None, ublk=false, vhost_user=None,
        capacity_bytes=0, read_only=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        nbd: Option<&str>,
        expose: Option<&str>,
        control: Option<PathBuf>,
        file: Option<PathBuf>,
        ublk: bool,
        vhost_user: Option<PathBuf>,
        capacity_bytes: u64,
        read_only: bool,
    ) -> PyResult<Self> {
        let mut devices: Vec<Box<dyn Device>> = Vec::new();
        if let Some(path) = file {
            let file = fourcorners_serve::file(&path, capacity_bytes, read_only);
            devices.push(file.map_err(value_error)?);
        }
        let mut block_device = None;
        if ublk {
            let device = fourcorners_serve::block_device().map_err(value_error)?;
            block_device = Some(device.path().to_path_buf());
            devices.push(device);
        }
        if let Some(path) = vhost_user {
            devices.push(fourcorners_serve::socket(&path).map_err(value_error)?);
        }
        let server = fourcorners_serve::Server::new(nbd, expose, control.as_deref(), devices)
            .map_err(value_error)?;
        let (remote, uri) = (server.remote(), server.uri());
        Ok(Self { server: Mutex::new(Some(server)), remote, uri, block_device })
    }

    /// The block device of `ublk`, which appears when the drive is served.
    #[getter]
    fn block_device(&self) -> Option<&std::path::Path> {
        self.block_device.as_deref()
    }

    #[getter]
    fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// Serves until it is told to stop, or power is gone for good. Calls `begins` when everything
    /// that was given can be used.
    #[pyo3(signature = (
        drive, begins, *, data=None, faults_json="[]", seed=1, speed=1.0, read_only=false, description="",
        restart_after_ns=None, sync=false, state=None, save_every_s=0.0, trace=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn serve(
        &self,
        py: Python<'_>,
        drive: &Bound<'_, PyAny>,
        begins: Py<PyAny>,
        data: Option<PathBuf>,
        faults_json: &str,
        seed: u64,
        speed: f64,
        read_only: bool,
        description: &str,
        restart_after_ns: Option<u64>,
        sync: bool,
        state: Option<PathBuf>,
        save_every_s: f64,
        trace: Option<PathBuf>,
    ) -> PyResult<RawSession> {
        let server = self.server.lock().ok().and_then(|mut server| server.take());
        let server = server.ok_or_else(|| value_error("this server has served already"))?;
        let faults: Vec<Fault> = serde_json::from_str(faults_json).map_err(value_error)?;
        let manner = Manner {
            speed,
            is_read_only: read_only,
            description: description.into(),
            restart_after_ns,
            saving: state.map(|path| Saving { path, every: Duration::from_secs_f64(save_every_s) }),
        };
        let serve = |drive: &mut dyn VirtualDrive| {
            let capacity_bytes = drive.capacity_bytes();
            let data = match data {
                Some(path) => Data::in_file(&path, capacity_bytes, read_only)?,
                None => Data::in_memory(capacity_bytes),
            };
            let mut served = Served::new(drive, data, seed)?;
            if sync {
                served.sync_with_flushes();
            }
            for fault in faults {
                served.add_fault(fault)?;
            }
            let trace = trace.map(|path| ServedTrace::new(&path, description)).transpose()?;
            if let Some(trace) = &trace {
                served.tell(trace.witness());
            }
            Python::attach(|py| begins.call0(py)).map_err(|error| error.to_string())?;
            let mut left = session(server, served, &manner);
            if let Some(Err(why)) = trace.map(ServedTrace::finish)
                && !matches!(left.ended, Ended::Failed(_))
            {
                left.ended = Ended::Failed(why);
            }
            Ok(left)
        };
        let left: Result<Left, String> = if let Ok(simulated) = drive.cast::<SimulatedDrive>() {
            let mut simulated = simulated.borrow_mut();
            let drive = &mut simulated.drive;
            py.detach(|| serve(drive))
        } else {
            let mut foreign = drive.cast::<ForeignDrive>()?.borrow_mut();
            let drive = &mut foreign.drive;
            py.detach(|| serve(drive))
        };
        let left = left.map_err(value_error)?;
        let (ended, failure) = match left.ended {
            Ended::Stopped => ("stopped", None),
            Ended::PowerCut => ("power-cut", None),
            Ended::Failed(why) => ("failed", Some(why)),
        };
        Ok(RawSession {
            recording: Py::new(py, RawRecording::new(py, left.recording)?)?,
            lateness: Py::new(py, RawLatencies::new(py, &left.lateness))?,
            ended,
            failure,
            events_json: left.events_json,
        })
    }

    /// Has a command done, a document in JSON, and returns the answer, another.
    fn ask(&self, py: Python<'_>, command_json: &str) -> PyResult<String> {
        let wish = Wish::parse(command_json.as_bytes()).map_err(value_error)?;
        let answer = py.detach(|| self.remote.ask(wish));
        Ok(answer.ok_or_else(|| io_error("the session has ended"))?.to_string())
    }

    fn stop(&self) {
        self.remote.stop();
    }
}

fn session(server: fourcorners_serve::Server, mut served: Served<'_>, manner: &Manner) -> Left {
    let ended = server.run(&mut served, manner);
    let counters: serde_json::Map<_, _> =
        served.counters().into_iter().map(|(name, value)| (name, json!(value))).collect();
    let tally = served.finish();
    let (answers, late) = tally.answers();
    let (trims, zeroes, cuts, corruptions): (u64, u64, &[Cut], &[Corruption]) = tally.events();
    let events = json!({
        "answers": answers,
        "late": late,
        "trims": trims,
        "zeroes": zeroes,
        "power_cuts": cuts,
        "corruptions": corruptions,
        "counters": counters,
    });
    let (recording, lateness) = tally.finish();
    Left { ended, recording, lateness, events_json: events.to_string() }
}
