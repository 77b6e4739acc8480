//! Simulated drives in virtual time.
//!
//! A drive is a [`specification`] and its state. Time is integer nanoseconds,
//! advances only with events, and is never read from a clock: a run is a pure
//! function of specification, seed and workload.

mod block_mapped;
mod device;
mod disk;
mod drive;
mod event;
mod link;
mod log_block;
mod page_mapped;
mod raid0;
pub mod specification;
mod state;
mod table;
mod validity;

pub use device::{Device, Simulated};
pub use drive::{Model, SimulatedDrive};
pub use event::NEVER_NS;
pub use specification::SpecificationError;
pub use state::{Identity, StateError};
