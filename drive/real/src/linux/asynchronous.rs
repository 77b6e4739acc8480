//! The ways through an io_uring: file operations, and NVMe commands.

use super::nvme::NvmeCommands;
use super::operations::FileOperations;
use super::ring::Ring;
use crate::buffers::Buffers;
use crate::claim::ClaimedFile;
use crate::engine::Engine;
use crate::transfer::Transfer;
use crate::unavailable::Unavailable;
use fourcorners_target::{Completion, TargetError};

pub(crate) use super::nvme::Namespace;

/// A ring for file operations or NVMe commands.
pub(crate) enum Asynchronous {
    Files(Ring<FileOperations>),
    Nvme(Ring<NvmeCommands>),
}

/// The same call of whichever it is.
macro_rules! either {
    ($self:expr, $ring:ident => $call:expr) => {
        match $self {
            Asynchronous::Files($ring) => $call,
            Asynchronous::Nvme($ring) => $call,
        }
    };
}

impl Asynchronous {
    /// A ring for `slots` outstanding requests on `file`, or as commands to its
    /// namespace, through `buffers`.
    ///
    /// # Errors
    /// See [`Unavailable`].
    pub(crate) fn new(
        slots: u32,
        file: &ClaimedFile,
        namespace: Option<&Namespace>,
        buffers: &mut Buffers,
        engine: &Engine,
    ) -> Result<Self, Unavailable> {
        Ok(match namespace {
            Some(Namespace { file, commands, .. }) => {
                Self::Nvme(Ring::new(slots, file, buffers, engine, *commands)?)
            }
            None => {
                let operations = FileOperations { is_device: super::is_device(file) };
                Self::Files(Ring::new(slots, file, buffers, engine, operations)?)
            }
        })
    }

    /// Whether buffers are pinned once, not at every I/O.
    pub(crate) fn has_registered_buffers(&self) -> bool {
        either!(self, ring => ring.registered_buffers)
    }

    pub(crate) fn outstanding(&self) -> u32 {
        either!(self, ring => ring.outstanding)
    }

    /// The clock, read now.
    pub(crate) fn now_ns(&mut self) -> u64 {
        either!(self, ring => ring.now_ns())
    }

    /// Something that takes time is done between two submissions.
    #[inline]
    pub(crate) fn time_passes(&mut self) {
        either!(self, ring => ring.time_passes());
    }

    /// Takes a transfer and returns its submission time.
    #[inline]
    pub(crate) fn submit(&mut self, transfer: &Transfer) -> u64 {
        either!(self, ring => ring.submit(transfer))
    }

    /// Passes what is queued to the kernel.
    pub(crate) fn pass_on(&mut self) {
        either!(self, ring => ring.hand_over());
    }

    /// See [`fourcorners_target::Target::wait`].
    #[inline]
    pub(crate) fn wait(
        &mut self,
        deadline_ns: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), TargetError> {
        either!(self, ring => ring.wait(deadline_ns, done))
    }
}
