//! Simulated drives in virtual time.
//!
//! A drive is a [`specification`] and its state. Time is integer nanoseconds,
//! advances only with events, and is never read from a clock: a run is a pure
//! function of specification, seed and workload.

pub mod block_mapped;
mod blueprint;
mod device;
pub mod disk;
mod drive;
mod drive_file;
mod event;
mod host_interface;
mod identity;
pub mod log_block;
pub mod page_mapped;
pub mod raid0;
mod ranges;
pub mod specification;
mod state;
mod table;
mod target;
mod truth;
mod validity;

pub use device::{Device, Overwriting, Simulated};
pub use drive::{Model, SimulatedDrive};
pub use drive_file::{Header, Kind, Specification};
pub use event::NEVER_NS;
pub use identity::Identity;
pub use specification::SpecificationError;
pub use state::StateError;
pub use truth::{Treatment, Truth, Unit};
pub use validity::{Broken, Checked, Clock};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
