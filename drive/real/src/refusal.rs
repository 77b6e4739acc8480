//! What the system refuses, in a sentence for the user.

use crate::system;
use fourcorners_target::TargetError;
use std::path::Path;

/// An error of opening or examining, as a sentence.
pub(crate) fn refusal(path: &Path, error: &std::io::Error) -> TargetError {
    let path = path.display();
    TargetError(match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "{path}: permission denied: run as a user who may open it, or change its permissions"
        ),
        Some(libc::EROFS) => {
            format!("{path} is on a file system mounted read-only: choose another place")
        }
        Some(libc::ENOSPC | libc::EDQUOT) => {
            format!("{path}: the file system is full: make room, or give a smaller --size")
        }
        Some(libc::EBUSY) => format!(
            "{path} is in use by the kernel (mounted, or part of LVM, RAID or dm-crypt): release it first"
        ),
        Some(libc::ETXTBSY) => {
            format!("{path} is in use as a program or swap file: choose another file")
        }
        Some(libc::EFBIG) => {
            format!("{path}: the file system holds no file of this size: give a smaller --size")
        }
        Some(number) if system::NO_DEVICE.contains(&number) => {
            format!("{path}: there is no device or no medium behind it: check the name")
        }
        _ => format!("{path}: {error}"),
    })
}
