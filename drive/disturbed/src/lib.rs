//! A target in virtual time behind what a real system does to measurements.
//!
//! Estimators that are right about drives without noise may claim falsely where
//! there is some. [`Disturbed`] puts it before any target, so that contests can
//! tell: the pace of the drive spreads and drifts, commands take a hundred times
//! as long, somebody else reads, and the host takes its time for each command.

mod disturbance;
mod target;

pub use disturbance::{Disturbance, Strength};
pub use target::Disturbed;

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
