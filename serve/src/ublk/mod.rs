//! The drive as a block device of its own, `/dev/ublkbN`, by the kernel's ublk driver.
//!
//! The kernel passes requests through a ring (io_uring) to the server's thread, which
//! answers each when the drive does ([`device`]); [`queue`] is that ring, [`control`] makes
//! and removes devices, [`request`] says what a request means to a drive, and [`abi`] has
//! the kernel's own words (`linux/ublk_cmd.h`).
//!
//! Why not by the crate `libublk`: it, and the crate of its low-level parts, generate those
//! words from the header with libclang wherever they are compiled, some 100 MB that nothing
//! else here needs, and its queues are run by a runtime of its own, beside ours, which waits
//! for sockets and for the drive. What both stand on is the crate `io-uring`.

mod abi;
mod control;
mod device;
mod queue;
mod request;

pub use device::block_device;
