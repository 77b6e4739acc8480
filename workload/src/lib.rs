//! What to issue: streams (access specifications) turned into requests.
//!
//! Pure and deterministic: a request sequence is a function of the workload,
//! its seed and the target's capacity. No clock, no I/O.

mod arrival;
mod lane;
mod request;
mod skew;
mod stream;

pub use arrival::{Arrival, Arrivals};
pub use lane::Lane;
pub use request::{Content, Operation, Request};
pub use skew::{Class, Scatter, below};
pub use stream::{Pattern, Places, Stop, Stream, Workload, WorkloadError};
