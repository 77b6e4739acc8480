//! What to issue: streams (access specifications) turned into requests.
//!
//! Pure and deterministic: a request sequence is a function of the workload,
//! its seed and the target's capacity. No clock, no I/O.

mod addresses;
mod arrival;
mod lane;
mod pattern;
mod replay;
mod request;
mod sizes;
mod skew;
mod stream;
mod uneven;

/// Changes with this crate's code: what is kept of requests is read by the same
/// code only.
pub const SOURCES_FINGERPRINT: &str = env!("SOURCES_FINGERPRINT");

pub use arrival::{Arrival, Arrivals};
pub use lane::Lane;
pub use pattern::Pattern;
pub use replay::{Pace, Recorded, Replay, TimedRequest};
pub use request::{Content, Operation, Request};
pub use sizes::{SizeShare, Sizes};
pub use skew::{Class, Scatter, below};
pub use stream::{Places, Stop, Stream, StridedZones, Think, Workload, WorkloadError};
pub use uneven::Zone;

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
