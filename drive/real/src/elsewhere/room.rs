//! The room of a file, which writing takes.

use std::fs::File;
use std::io;
use std::ops::Range;

/// # Errors
/// Always: a file takes its room as it is written.
pub(crate) fn allocate(_file: &File, _part: &Range<u64>) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// # Errors
/// Always.
pub(crate) fn free(_file: &File, _part: &Range<u64>) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// # Errors
/// Always.
pub(crate) fn zero(_file: &File, _part: &Range<u64>) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Not told: there is nothing beside holes.
pub(crate) fn any_unwritten(_file: &File) -> bool {
    false
}

/// Whether a file has no content at all, where an empty one is all that can be told.
pub(crate) fn never_written(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.len() == 0)
}
