//! Places for outstanding requests.

use fourcorners_workload::{Content, Operation, Request};

/// What a slot holds before its first request at a given rate.
pub(crate) const NO_REQUEST: Request = Request {
    operation: Operation::Read,
    offset_bytes: 0,
    length_bytes: 0,
    content: Content::Incompressible,
    fua: false,
};

/// One outstanding request, or a place for it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) request: Request,
    /// What its latency counts from: in a closed loop its submission.
    pub(crate) due_ns: u64,
    /// At a given rate: since when the slot was free for it.
    pub(crate) free_ns: Option<u64>,
    /// [`FREE`] where nothing is outstanding.
    pub(crate) submitted_ns: u64,
    pub(crate) lane: u32,
}

/// Submission time of a free slot: later than any other.
pub(crate) const FREE: u64 = u64::MAX;

impl Default for Slot {
    /// A free place of the first lane.
    fn default() -> Self {
        Self { request: NO_REQUEST, due_ns: 0, free_ns: None, submitted_ns: FREE, lane: 0 }
    }
}
