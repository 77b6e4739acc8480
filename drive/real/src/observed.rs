//! What came up while measuring that a reader of the results should know.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by a file and all its targets.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// A target had to do without registered buffers.
    unregistered: AtomicBool,
    /// io_uring could not be had: why.
    no_io_uring: OnceLock<String>,
}

impl Observed {
    pub(crate) fn unregistered(&self) {
        self.unregistered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn no_io_uring(&self, why: &str) {
        let _ = self.no_io_uring.set(why.into());
    }

    /// One sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(why) = self.no_io_uring.get() {
            notes.push(format!(
                "{why}: synchronous calls were used, above queue depth 1 with a thread for each outstanding request, so that latencies include waking it"
            ));
        }
        if self.unregistered.load(Ordering::Relaxed) {
            notes.push(
                "buffers could not be registered with io_uring (see `ulimit -l`): each I/O took more CPU time than it had to".into(),
            );
        }
        notes
    }
}
