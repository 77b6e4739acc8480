//! Direct I/O, for which there is a request at most, and no answer.

use crate::direct::DirectIo;
use std::fs::File;
use std::io;
use std::path::Path;

/// Nothing that can be relied on.
pub(crate) fn examine(_file: &File, _file_system: Option<&str>) -> DirectIo {
    DirectIo::NONE
}

/// # Errors
/// None: opening tells.
pub(crate) fn examine_folder(_folder: &Path, _file_system: Option<&str>) -> io::Result<DirectIo> {
    Ok(DirectIo::NONE)
}

/// The note on its absence.
pub(crate) fn absent(_file_system: Option<&str>) -> String {
    "this system was asked to keep the data out of its cache and does not tell whether it does: results may include the page cache".into()
}

/// What a file is asked for when it has been opened: to keep its data out of the
/// cache.
pub(crate) fn at_opening(file: &File) {
    switch(file, true);
}

/// Asks for it, or takes that back; false where the system refuses.
#[cfg(target_vendor = "apple")]
pub(crate) fn switch(file: &File, on: bool) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: the call acts on a descriptor that `file` owns.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_NOCACHE, libc::c_int::from(on)) == 0 }
}

/// Asks for it, or takes that back; false where the system refuses.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn switch(file: &File, on: bool) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: both calls act on the flags of a descriptor that `file` owns.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        let wanted = if on { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) == 0
    }
}
