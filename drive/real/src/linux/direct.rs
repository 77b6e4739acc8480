//! Direct I/O (`O_DIRECT`).

use crate::direct::{DirectIo, SECTOR_BYTES};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Grid assumed where the file system takes `O_DIRECT` and tells nothing more.
const ASSUMED_ALIGNMENT_BYTES: u32 = 4096;

/// Asks the file system, and where it does not know, tries.
pub(crate) fn examine(file: &File, file_system: Option<&str>) -> DirectIo {
    if let Some(alignment_bytes) = stated_alignment_bytes(file) {
        return match alignment_bytes {
            0 => DirectIo::NONE,
            bytes => DirectIo { available: true, alignment_bytes: bytes.max(SECTOR_BYTES) },
        };
    }
    // tmpfs accepts the flag since Linux 6.6 and goes on using the page
    // cache, which is all it has.
    if matches!(file_system, Some("tmpfs" | "ramfs")) || !switch(file, true) {
        return DirectIo::NONE;
    }
    DirectIo { available: true, alignment_bytes: ASSUMED_ALIGNMENT_BYTES }
}

/// What a new file in a folder can do.
///
/// # Errors
/// Nothing can be written there.
pub(crate) fn examine_folder(folder: &Path, file_system: Option<&str>) -> io::Result<DirectIo> {
    // A nameless file tells what a named one could do, and leaves nothing.
    let probe =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).open(folder);
    match probe {
        Ok(probe) => Ok(examine(&probe, file_system)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EROFS)) => {
            Err(error)
        }
        // No nameless files here: `RealFile::open` examines the real one.
        Err(_) => Ok(DirectIo::NONE),
    }
}

/// The note on its absence.
pub(crate) fn absent(file_system: Option<&str>) -> String {
    format!(
        "O_DIRECT is not available on {}: results include the page cache",
        file_system.unwrap_or("this file system")
    )
}

/// Puts an open file into direct mode or out of it; false where the file system
/// refuses.
pub(crate) fn switch(file: &File, on: bool) -> bool {
    set_flag(file, libc::O_DIRECT, on)
}

/// What a file is asked for when it has been opened: that reads leave its time of
/// access alone, where that is permitted. To look at it costs every read of the
/// page cache.
pub(crate) fn at_opening(file: &File) {
    set_flag(file, libc::O_NOATIME, true);
}

fn set_flag(file: &File, flag: libc::c_int, on: bool) -> bool {
    // SAFETY: both calls act on the flags of a descriptor that `file` owns.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        let wanted = if on { flags | flag } else { flags & !flag };
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) == 0
    }
}

/// `STATX_DIOALIGN` (Linux 6.1): 0 means no direct I/O, `None` that the file
/// system does not say.
fn stated_alignment_bytes(file: &File) -> Option<u32> {
    // SAFETY: the kernel fills the struct, for which zeroes are valid; the
    // empty path with AT_EMPTY_PATH means the descriptor itself.
    let (result, stat) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let result = libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut stat,
        );
        (result, stat)
    };
    (result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0).then_some(stat.stx_dio_offset_align)
}
