//! What to issue: streams (access specifications) turned into requests.
//!
//! Pure and deterministic: a request sequence is a function of the workload,
//! its seed and the target's capacity. No clock, no I/O.

mod arrival;
mod lane;
mod request;
mod skew;
mod stream;

/// Changes with this crate's code: what is kept of requests is read by the same
/// code only.
pub const SOURCES_FINGERPRINT: &str = env!("SOURCES_FINGERPRINT");

pub use arrival::{Arrival, Arrivals};
pub use lane::Lane;
pub use request::{Content, Operation, Request};
pub use skew::{Class, Scatter, below};
pub use stream::{Pattern, Places, Stop, Stream, Workload, WorkloadError};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
