//! What happened: every completion, kept in constant memory per second of run.
//!
//! A recording does not know what kind of target made it. Latencies go into a
//! histogram per operation (relative error below 2^-10, all I/Os counted) and
//! into a per-second series; the sums of both equal the totals.

mod io_log;
mod latency;
mod recorder;

pub use io_log::{IoLog, LoggedIo};
pub use latency::Latencies;
pub use recorder::{
    CpuTime, Offered, OperationRecord, Recorder, Recording, Second, Stages, Totals,
};
