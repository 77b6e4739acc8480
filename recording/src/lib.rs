//! What happened: every completion, kept in constant memory per second of run.
//!
//! A recording does not know what kind of target made it. Latencies go into a
//! histogram per operation (relative error below 2^-10, all I/Os counted), into
//! a coarser one of every second, and into a per-second series; the sums of all
//! equal the totals.

mod io_log;
mod jobs;
mod latency;
mod over_time;
mod recorder;
mod replayed;

pub use io_log::{IoLog, LoggedIo};
pub use jobs::{Job, JobOperation};
pub use latency::Latencies;
pub use over_time::SecondBucket;
pub use recorder::{
    CpuTime, Offered, OperationRecord, Recorder, Recording, Second, Stages, Totals,
};
pub use replayed::{DEPTH_CLASSES, LATE_NS, MINUTE_NS, Minute, Replayed, SIZE_CLASSES};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
