//! A simulated drive as a block device that real programs use.
//!
//! - [`Served`] is the drive: its model behind [`fourcorners_target::VirtualDrive`], its
//!   [`data`], copies of what is not durable yet, and faults. It lives in virtual time
//!   and reads no clock.
//! - [`Server`] binds that time to this machine's clock and passes I/Os between programs
//!   and the drive: by NBD ([`nbd`]), and as a [`Device`]: a file (FUSE), a block device
//!   (ublk), or a disk of a virtual machine (vhost-user).

mod attention;
mod awake;
mod clients;
mod clock;
mod contents;
mod control;
pub mod data;
mod device;
mod fault;
#[cfg(target_os = "linux")]
mod fuse;
#[cfg(target_os = "linux")]
mod inbox;
mod injection;
mod io;
mod listen;
mod mended;
pub mod nbd;
#[cfg(not(target_os = "linux"))]
mod no_devices;
mod pages;
mod pending;
mod saving;
mod served;
mod server;
mod tally;
#[cfg(target_os = "linux")]
mod ublk;
mod undo;
#[cfg(target_os = "linux")]
mod vhost_user;
mod witness;

pub use attention::Attention;
pub use clock::Clock;
pub use control::Wish;
pub use device::{About, Device};
pub use fault::{Fault, Kind};
#[cfg(target_os = "linux")]
pub use fuse::file;
pub use injection::{DataFault, DeviceFault, Effect};
pub use io::{Command, Finished, Io, TRANSFER_BYTES_MAX};
#[cfg(not(target_os = "linux"))]
pub use no_devices::{block_device, file, socket};
pub use saving::Saving;
pub use served::{OUTSTANDING_MAX, Served};
pub use server::{Ended, Manner, Remote, Server};
pub use tally::{Corruption, Cut, LATE_NS, Tally};
#[cfg(target_os = "linux")]
pub use ublk::block_device;
#[cfg(target_os = "linux")]
pub use vhost_user::socket;
pub use witness::{Seen, What, Witness};
