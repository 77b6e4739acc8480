//! What takes the place of `linux` on other Unix systems: regular files, synchronous
//! calls. Who uses a device cannot be told there, so that devices are refused.

pub(crate) mod asynchronous;
pub(crate) mod device;
pub(crate) mod direct;
pub(crate) mod identity;
pub(crate) mod interrupts;
pub(crate) mod memory;
pub(crate) mod processors;
pub(crate) mod room;

use crate::uses::Uses;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Errors that say that there is no device or no medium.
pub(crate) const NO_DEVICE: &[i32] = &[libc::ENXIO, libc::ENODEV];

/// Nobody tells who uses a file as a disk.
pub(crate) const TELLS_USERS: bool = false;

/// None are known.
///
/// # Errors
/// Never.
pub(crate) fn uses(_opened: &File) -> io::Result<Uses> {
    Ok(Uses::default())
}

/// Not told.
pub(crate) fn file_system_of(_path: &Path) -> Option<String> {
    None
}

/// Writes so that the data is durable when the call returns.
pub(crate) fn write_durably(file: &File, bytes: &[u8], offset_bytes: u64) -> io::Result<usize> {
    let written = file.write_at(bytes, offset_bytes)?;
    file.sync_data()?;
    Ok(written)
}

/// A file gives its room back.
pub(crate) fn discard(file: &File, part: &Range<u64>) -> io::Result<()> {
    room::free(file, part)
}

/// None are looked for: what is written is a file that was named, or one of our own.
pub(crate) fn signatures(_file: &File, _length_bytes: u64) -> Vec<String> {
    Vec::new()
}

/// Not told.
pub(crate) fn generation(_file: &File) -> u64 {
    0
}

/// Nobody can be asked to.
pub(crate) fn forget_cached(_file: &File) {}
