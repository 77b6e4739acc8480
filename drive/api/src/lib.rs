//! The seam between what issues I/O and what serves it.
//!
//! Simulated drives, real files and devices, and the no-op target all stand
//! behind [`Target`], and one issuing loop drives each of them, so that a
//! result on one can be compared with a result on another.

mod in_turn;
mod noop;
mod virtual_drive;

pub use in_turn::InTurn;
pub use noop::NoopTarget;
pub use virtual_drive::VirtualDrive;

use fourcorners_workload::Request;
use std::borrow::Cow;

/// How one I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot that was given to [`Target::submit`].
    pub slot: u32,
    /// When, on the target's clock.
    pub completed_ns: u64,
    /// 0, or the errno of the failure; a short transfer is `EIO`.
    pub errno: i32,
}

/// A failure of the target as a whole, not of one I/O: nothing more can be
/// issued. The message is for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TargetError(pub String);

/// Readings of a target's own meters, each since an arbitrary start; `None` where
/// nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Meters {
    /// Energy taken, in joules.
    pub energy_j: Option<f64>,
    /// Bytes programmed into flash: of the host, of GC, and of the drive's own
    /// tables.
    pub flash_programmed_bytes: Option<u64>,
}

impl Meters {
    /// What was added since an earlier reading.
    pub fn since(&self, earlier: &Meters) -> Meters {
        let bytes = self.flash_programmed_bytes.zip(earlier.flash_programmed_bytes);
        Meters {
            energy_j: self.energy_j.zip(earlier.energy_j).map(|(now, then)| now - then),
            flash_programmed_bytes: bytes.map(|(now, then)| now - then),
        }
    }
}

/// What state a drive says it is in: names with the unit last, and values.
pub type Condition = Vec<(Cow<'static, str>, f64)>;

/// Something that serves I/O on a clock of its own: virtual time for a
/// simulated drive, monotonic time for a real one.
pub trait Target {
    /// Size, in bytes. Requests never pass it.
    fn capacity_bytes(&self) -> u64;

    /// The target's clock, in nanoseconds from an arbitrary start. It never
    /// goes back.
    fn now_ns(&mut self) -> u64;

    /// The same clock for other threads, where time passes by itself. Where it
    /// does, a run can be ended although a call of this target does not return.
    fn clock(&self) -> Option<fn() -> u64> {
        None
    }

    /// Makes the target ready for `slots` outstanding requests of at most
    /// `block_bytes_max` each; slots are numbered from 0.
    ///
    /// # Errors
    /// Resources that cannot be had (memory, rings).
    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError>;

    /// Makes the data of a request that is about to be submitted under a free
    /// slot. The issuing loop calls it before it notes the submission time, so
    /// that making data is not latency. Targets that need no data do nothing.
    fn stage(&mut self, _slot: u32, _request: &Request) {}

    /// The data of a write that is about to be submitted, for a caller that makes
    /// it itself in place of [`Target::stage`]; `None` if the target carries none.
    fn write_data(&mut self, _slot: u32, _length_bytes: u32) -> Option<&mut [u8]> {
        None
    }

    /// What a read that has completed returned; `None` if the target carries no
    /// data. It stays until the slot's next request.
    fn read_data(&mut self, _slot: u32, _length_bytes: u32) -> Option<&[u8]> {
        None
    }

    /// Time spent making data since [`Target::prepare`], in nanoseconds, as far
    /// as the target knows it.
    fn generating_ns(&self) -> u64 {
        0
    }

    /// What the target's own meters show.
    fn meters(&self) -> Meters {
        Meters::default()
    }

    /// What state the drive says it is in: free blocks, wear, merges, fill of its
    /// caches. Empty where it says nothing, or cannot while requests are outstanding.
    /// It may take as long as looking at every block.
    fn condition(&mut self) -> Condition {
        Vec::new()
    }

    /// Hands over a request under a free slot and returns the clock's value that
    /// its latency counts from. The target knows how often its clock must be
    /// read. It may hold the request back until [`Target::wait`].
    fn submit(&mut self, slot: u32, request: &Request) -> u64;

    /// Hands over what [`Target::submit`] holds back, without waiting for anything.
    fn pass_on(&mut self) {}

    /// Waits until at least one request has completed or the clock reaches
    /// `deadline_ns`, and appends what completed, in order of time.
    ///
    /// # Errors
    /// The target can serve nothing more.
    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError>;
}

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
