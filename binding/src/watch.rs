//! Runs work on a thread while Python stays responsive.

use fourcorners_execution::Progress;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Time between two looks at Ctrl-C and two calls of `watch`.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work` with the interpreter released and returns what it returns.
/// `watch(elapsed_ns, ios, bytes, latency_sum_ns)` is called while it runs; when it returns
/// `False`, or raises, or a signal handler raises, the work is asked to stop
/// and is waited for.
///
/// # Errors
/// What `watch` or a signal handler raised.
pub fn run_watched<R: Send>(
    py: Python<'_>,
    watch: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Progress>) -> R + Send,
) -> PyResult<R> {
    let progress: Arc<Progress> = Arc::default();
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        let shared = &progress;
        let thread = scope.spawn(move || {
            // The receiver outlives the thread: sending cannot fail.
            let _ = sender.send(work(shared));
        });
        let mut raised = None;
        let result = loop {
            let results = &mut receiver;
            // The result itself wakes this thread, so that a short workload
            // does not wait for the next look.
            match py.detach(move || results.recv_timeout(WATCH_INTERVAL)) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("a thread that did not panic has sent its result"),
                },
            }
            if raised.is_some() {
                continue;
            }
            match py.check_signals().and_then(|()| go_on(watch, &progress)) {
                Ok(true) => {}
                Ok(false) => progress.stop.store(true, Ordering::Relaxed),
                Err(error) => {
                    progress.stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
        };
        raised.map_or(Ok(result), Err)
    })
}

fn go_on(watch: Option<&Bound<'_, PyAny>>, progress: &Progress) -> PyResult<bool> {
    let Some(watch) = watch else { return Ok(true) };
    let seen = (
        progress.elapsed_ns.load(Ordering::Relaxed),
        progress.ios.load(Ordering::Relaxed),
        progress.bytes.load(Ordering::Relaxed),
        progress.latency_sum_ns.load(Ordering::Relaxed),
    );
    watch.call1(seen)?.extract()
}
