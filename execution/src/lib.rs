//! Runs a workload on a target and records it: the one issuing loop, for
//! simulated and real targets alike.
//!
//! Closed loop: each lane keeps its queue depth outstanding; a completion is
//! answered by the lane's next request at once. When the time is up nothing
//! more is issued, what is outstanding is waited for and counted, and the
//! measured time ends with the last completion: a request that takes seconds
//! is neither cut off nor half counted.
//!
//! Paced closed loop (a stream that begins late, ends early, pauses or answers in
//! batches): the same, but free places wait until it may go on.
//!
//! Open loop (a stream with an arrival process): requests are due when the
//! process says so, whatever the target does, and latency counts from then. The
//! queue depth limits what is outstanding; what is due beyond it waits. What was
//! due in time is issued, however late, until as long again has passed.
//!
//! Replay (a stream with a trace): requests come from outside, in their order, and are
//! due at recorded times, as others complete, or some time after that.
//!
//! An error that is not tolerated, a target that fails, and an I/O that takes
//! longer than its limit end the run, and what was measured until then is kept,
//! even if a system call does not return.

mod barrier;
mod cpu;
mod custody;
mod dependences;
mod feed;
mod first;
mod measurement;
mod open_loop;
mod paced_loop;
mod progress;
mod replay_loop;
mod run;
mod slot;
mod trouble;
mod watchdog;
mod worker;

pub use progress::Progress;
pub use run::{ExecutionError, execute, execute_parallel, replay, replay_parallel};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
