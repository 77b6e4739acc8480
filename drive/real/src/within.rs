//! Calls of the system that open or prepare a medium, and may hang as I/O does.

use crate::refusal::refusal;
use fourcorners_target::TargetError;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Why a medium was not prepared.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    /// It cannot be, or failed.
    #[error(transparent)]
    Failed(#[from] TargetError),
    /// It no longer answers: a call has not returned in its time.
    #[error("{0}")]
    Hangs(String),
}

/// Makes a call on a thread of its own, which is left behind if it takes longer
/// than `limit`: the kernel lets nobody end it. `None` then.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Option<io::Result<T>> {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::Builder::new().spawn(move || {
        // Without a receiver nobody waits for it any more.
        let _ = tell.send(call());
    });
    match thread {
        Ok(_) => told.recv_timeout(limit).ok(),
        Err(error) => Some(Err(error)),
    }
}

/// A step on the way to an open target, `doing` something to `path`. Without a limit
/// it is waited for.
///
/// # Errors
/// Those of the call, or that it takes longer than `limit`.
pub(crate) fn step<T: Send + 'static>(
    doing: &str,
    path: &Path,
    limit: Option<Duration>,
    call: impl FnOnce() -> Result<T, TargetError> + Send + 'static,
) -> Result<T, TargetError> {
    let Some(limit) = limit else { return call() };
    match within(limit, move || Ok(call())) {
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(refusal(path, &error)),
        None => Err(TargetError(format!(
            "{doing} {} took longer than {} s: its drive or file system does not answer",
            path.display(),
            limit.as_secs_f64()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_does_not_return_is_left_behind() {
        let (release, released) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = released.recv();
            Ok(())
        };
        assert!(within(Duration::from_millis(20), hangs).is_none());
        drop(release);
    }

    #[test]
    fn a_step_that_does_not_return_is_told_in_a_sentence() {
        let (release, released) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = released.recv();
            Ok(())
        };
        let limit = Some(Duration::from_millis(20));
        let said = step("opening", Path::new("/far/away"), limit, hangs).unwrap_err().0;
        assert!(said.contains("opening /far/away took longer than 0.02 s"), "{said}");
        assert_eq!(step("opening", Path::new("/here"), None, || Ok(1)).unwrap(), 1);
        drop(release);
    }

    #[test]
    fn what_returns_in_time_is_told() {
        let limit = Duration::from_secs(60);
        assert!(within(limit, || Ok(())).unwrap().is_ok());
        let error =
            within::<()>(limit, || Err(io::Error::from_raw_os_error(5))).unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
