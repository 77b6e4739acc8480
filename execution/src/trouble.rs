//! What ends a run before its own stop does: errors, an I/O that takes too long,
//! a target that fails, a request from outside.

use crate::progress::Progress;
use fourcorners_workload::{Request, Stop};
use std::sync::atomic::Ordering;

/// What outstanding I/Os get to end in once one of them has taken too long.
pub(crate) const GRACE_NS: u64 = 1_000_000_000;
/// The same after any other end; less where one I/O may take less.
pub(crate) const DRAIN_NS: u64 = 10_000_000_000;

/// The outstanding I/Os at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub ios: usize,
    /// The one that was submitted first, and when.
    pub oldest: Request,
    pub submitted_ns: u64,
}

/// One worker's view of what goes wrong.
pub(crate) struct Trouble {
    stop: Stop,
    tolerated_errors: u64,
    failure: Option<String>,
    asked_to_stop: bool,
    /// When the outstanding I/Os are given up.
    give_up_ns: Option<u64>,
    too_slow: bool,
}

impl Trouble {
    pub(crate) fn new(stop: Stop) -> Self {
        Self {
            stop,
            tolerated_errors: stop.tolerated_errors,
            failure: None,
            asked_to_stop: false,
            give_up_ns: None,
            too_slow: false,
        }
    }

    /// Nothing more is to be issued.
    pub(crate) fn ends_the_run(&self) -> bool {
        self.asked_to_stop || self.failure.is_some()
    }

    /// An I/O failed.
    #[cold]
    pub(crate) fn failed(&mut self, request: &Request, errno: i32, progress: &Progress) {
        match self.tolerated_errors.checked_sub(1) {
            Some(left) => self.tolerated_errors = left,
            None => {
                let error = std::io::Error::from_raw_os_error(errno);
                self.fail(format!("{} failed: {error}", described(request)), progress);
            }
        }
    }

    /// The target as a whole failed, or an I/O took too long. The other workers
    /// end, too; the first failure is the one that is told.
    #[cold]
    pub(crate) fn fail(&mut self, failure: String, progress: &Progress) {
        self.failure.get_or_insert(failure);
        progress.failed.store(true, Ordering::Relaxed);
    }

    /// Looks around; true when what is outstanding is to be given up.
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        progress: &Progress,
        outstanding: impl FnOnce() -> Option<Outstanding>,
    ) -> bool {
        self.asked_to_stop |=
            progress.stop.load(Ordering::Relaxed) || progress.failed.load(Ordering::Relaxed);
        let Some(limit_ns) = self.stop.io_ns else {
            return false;
        };
        if !self.too_slow
            && let Some(outstanding) = outstanding()
            && now_ns.saturating_sub(outstanding.submitted_ns) > limit_ns
        {
            self.too_slow = true;
            self.give_up_ns = Some(now_ns + GRACE_NS);
            let failure = format!(
                "{} took longer than {} s, the limit for one I/O ({} outstanding)",
                described(&outstanding.oldest),
                limit_ns as f64 / 1e9,
                outstanding.ios
            );
            self.fail(failure, progress);
        }
        if self.ends_the_run() {
            now_ns >= *self.give_up_ns.get_or_insert(now_ns + limit_ns.min(DRAIN_NS))
        } else {
            false
        }
    }

    /// The errno under which outstanding I/Os count that are given up.
    pub(crate) fn given_up_errno(&self) -> i32 {
        if self.too_slow { libc::ETIMEDOUT } else { libc::ECANCELED }
    }

    /// Why the run ended before its time: whether anything did, and the failure.
    pub(crate) fn conclude(self) -> (bool, Option<String>) {
        (self.ends_the_run(), self.failure)
    }
}

fn described(request: &Request) -> String {
    format!(
        "a {} of {} bytes at byte {}",
        request.operation.name(),
        request.length_bytes,
        request.offset_bytes
    )
}
