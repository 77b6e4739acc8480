//! Calls of the system that prepare a medium, and may hang as I/O does.

use fourcorners_target::TargetError;
use std::io;
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
pub(crate) fn within(
    limit: Duration,
    call: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Option<io::Result<()>> {
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
    fn what_returns_in_time_is_told() {
        let limit = Duration::from_secs(60);
        assert!(within(limit, || Ok(())).unwrap().is_ok());
        let error = within(limit, || Err(io::Error::from_raw_os_error(5))).unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
