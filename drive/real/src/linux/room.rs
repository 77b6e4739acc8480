//! The room of a file: taken, given back, and never written.

pub(crate) use super::extents::any_unwritten;

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Allocates a part of a file, and makes it that long.
///
/// # Errors
/// `EOPNOTSUPP` where the file system cannot.
pub(crate) fn allocate(file: &File, part: &Range<u64>) -> std::io::Result<()> {
    fallocate(file, 0, part)
}

/// Gives the room of a part back.
///
/// # Errors
/// `EOPNOTSUPP` where the file system cannot.
pub(crate) fn free(file: &File, part: &Range<u64>) -> std::io::Result<()> {
    fallocate(file, FREE, part)
}

/// Has a part of a file or device read as zeroes, its room allocated.
///
/// # Errors
/// `EOPNOTSUPP` where the file system or the device cannot.
pub(crate) fn zero(file: &File, part: &Range<u64>) -> std::io::Result<()> {
    fallocate(file, ZERO, part)
}

/// How a part is asked to be given back.
pub(crate) const FREE: libc::c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
/// How a part is asked to be zeroed.
pub(crate) const ZERO: libc::c_int = libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE;

fn fallocate(file: &File, mode: libc::c_int, part: &Range<u64>) -> std::io::Result<()> {
    let (offset, count) = (part.start as libc::off_t, (part.end - part.start) as libc::off_t);
    loop {
        // SAFETY: the call acts on a descriptor that `file` owns, on no memory.
        let result = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, count) };
        if result == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        // A signal ends a long allocation on some file systems (tmpfs).
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

/// Whether a file has no content at all: it is empty, or all of it is room that was never written.
/// Where the file system does not tell, its content counts.
pub(crate) fn never_written(file: &File) -> bool {
    // SAFETY: the call acts on a descriptor that `file` owns, on no memory. All reads and writes
    // say where they are, so that the place that it moves does not matter.
    let data = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_DATA) };
    data < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO)
}
