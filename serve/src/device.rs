//! What this machine's kernel has of the drive, or a virtual machine: a file, a block device.

use crate::attention::Attention;
use crate::injection::DeviceFault;
use crate::io::{Command, Finished};
use crate::served::Served;
use mio::Registry;
use std::path::Path;
use std::sync::Arc;

/// What a kernel may know of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its size.
    pub capacity_bytes: u64,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Whether TRIM does anything.
    pub has_trim: bool,
    /// Whether a write may be acknowledged before it is durable.
    pub has_volatile_cache: bool,
}

/// A request of the kernel's or a guest's, whose data is not with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// A write's bytes are where the request came from.
    pub command: Command,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 of a flush.
    pub length_bytes: u32,
    /// It completes when its effect is durable.
    pub is_forced: bool,
}

impl About {
    /// The first byte of a range, where all of it is on the drive.
    pub(crate) fn start_of(&self, sector: u64, length_bytes: u64) -> Option<u64> {
        let offset_bytes = sector.checked_mul(512)?;
        let end = offset_bytes.checked_add(length_bytes)?;
        (end <= self.capacity_bytes).then_some(offset_bytes)
    }
}

/// A drive where kernels have their drives. All but its making happens on the server's
/// thread, or on the one that calls it while it sleeps ([`Attention`]).
pub trait Device: Send {
    /// Where programs find it.
    fn path(&self) -> &Path;

    /// What [`crate::Io::client`] is of its I/Os: no socket has this number.
    fn client(&self) -> usize;

    /// The server begins to serve. Whatever is asked has its attention, or ends its sleep by an
    /// event of the registry.
    ///
    /// # Errors
    /// In one sentence.
    fn begin(
        &mut self,
        about: &About,
        registry: &Registry,
        attention: &Arc<Attention>,
    ) -> Result<(), String>;

    /// Hands what was asked to the drive.
    ///
    /// # Errors
    /// Why nothing can be asked any more, in one sentence.
    fn receive(
        &mut self,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) -> Result<(), String>;

    /// An I/O of it has ended.
    fn finished(
        &mut self,
        finished: &Finished,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    );

    /// The device is away: all that was asked fails.
    fn fail(&mut self);

    /// Answers that wait are sent.
    fn flush(&mut self) {}

    /// Whether the thread that calls the server may do the server's work while that sleeps: it
    /// then holds nothing that a method of this needs.
    fn may_attend(&self) -> bool {
        false
    }

    /// The server's thread is about to sleep; not where something was asked.
    fn may_sleep(&mut self) -> bool;

    /// Begins to leave, and returns whether it has left: until then the kernel may still
    /// ask for what it has to write.
    fn leave(&mut self) -> bool {
        true
    }
}
