//! Finds out whether a target keeps what is written to it.
//!
//! Every 4 KiB block that is written carries a [`Stamp`]: drive, run, address,
//! sequence number and a checksum over all of it. The [`Ledger`] remembers which
//! write each block should hold, also across a restart. [`Verified`] is a target
//! that stamps what is written to another one and checks what is read from it;
//! [`resolve`] names what went wrong.

mod damage;
mod diagnose;
mod ledger;
mod remembering;
mod stamp;
mod target;

pub use damage::{Damage, Damages, Kind, resolve};
pub use ledger::Ledger;
pub use remembering::{Memory, Remembering};
pub use stamp::{BLOCK_BYTES, Stamp};
pub use target::Verified;

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
