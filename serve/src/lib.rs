//! A simulated drive as a block device that real programs use.
//!
//! - [`Served`] is the drive: its model behind [`fourcorners_target::VirtualDrive`], its
//!   [`data`], copies of what is not durable yet, and faults. It lives in virtual time
//!   and reads no clock.
//! - [`Server`] binds that time to this machine's clock and passes I/Os between programs
//!   and the drive: by NBD ([`nbd`]), and as a [`Device`] of the kernel's, which is a file
//!   (FUSE) or a block device (ublk).

mod clients;
mod clock;
mod contents;
mod control;
pub mod data;
mod device;
mod fault;
#[cfg(target_os = "linux")]
mod fuse;
mod injection;
mod io;
mod listen;
pub mod nbd;
#[cfg(not(target_os = "linux"))]
mod no_devices;
mod pending;
mod saving;
mod served;
mod server;
mod tally;
#[cfg(target_os = "linux")]
mod ublk;
mod undo;
mod witness;

pub use clock::Clock;
pub use control::Wish;
pub use device::{About, Device};
pub use fault::{Fault, Kind};
#[cfg(target_os = "linux")]
pub use fuse::file;
pub use injection::{DataFault, DeviceFault, Effect};
pub use io::{Command, Finished, Io, TRANSFER_BYTES_MAX};
#[cfg(not(target_os = "linux"))]
pub use no_devices::{block_device, file};
pub use saving::Saving;
pub use served::{OUTSTANDING_MAX, Served};
pub use server::{Ended, Manner, Remote, Server};
pub use tally::{Corruption, Cut, LATE_NS, Tally};
#[cfg(target_os = "linux")]
pub use ublk::block_device;
pub use witness::{Seen, What, Witness};
