//! A simulated drive as a block device that real programs use.
//!
//! - [`Served`] is the drive: its model behind [`fourcorners_target::VirtualDrive`], its
//!   [`data`], copies of what is not durable yet, and faults. It lives in virtual time
//!   and reads no clock.
//! - [`Server`] binds that time to this machine's clock and passes I/Os between programs
//!   and the drive: by NBD ([`nbd`]), and as a [`File`] (FUSE).

mod clients;
mod clock;
mod contents;
mod control;
pub mod data;
mod fault;
#[cfg(target_os = "linux")]
mod fuse;
#[cfg(not(target_os = "linux"))]
#[path = "no_fuse.rs"]
mod fuse;
mod injection;
mod io;
mod listen;
pub mod nbd;
mod pending;
mod saving;
mod served;
mod server;
mod tally;
mod undo;
mod witness;

pub use clock::Clock;
pub use control::Wish;
pub use fault::{Fault, Kind};
pub use fuse::File;
pub use injection::{DataFault, DeviceFault, Effect};
pub use io::{Command, Finished, Io, TRANSFER_BYTES_MAX};
pub use saving::Saving;
pub use served::{OUTSTANDING_MAX, Served};
pub use server::{Ended, Manner, Remote, Server};
pub use tally::{Corruption, Cut, LATE_NS, Tally};
pub use witness::{Seen, What, Witness};
