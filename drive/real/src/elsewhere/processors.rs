//! Binding threads to processors, which is left to the system.

use std::io;

/// As on Linux, so that the same numbers are understood.
pub(crate) const COUNT_MAX: u32 = 1024;

/// Left to the system.
pub(crate) fn keep_off(_some: &[u32]) {}

/// # Errors
/// Always.
pub(crate) fn bind_to(_cpu: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
