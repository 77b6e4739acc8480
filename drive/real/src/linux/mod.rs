//! What Linux has and other systems have not, or have in another way. The names
//! used from outside are those that `elsewhere` has, too.

pub(crate) mod asynchronous;
mod blkid;
pub(crate) mod device;
pub(crate) mod direct;
mod extents;
mod found;
pub(crate) mod identity;
mod in_use;
pub(crate) mod interrupts;
mod locks;
mod loops;
mod magics;
pub(crate) mod memory;
mod nvme;
mod operations;
mod places;
mod processes;
pub(crate) mod processors;
mod queues;
mod ring;
pub(crate) mod room;
mod signature;
mod sysfs;

pub(crate) use in_use::{file_system_of, uses};
pub(crate) use signature::found as signatures;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

/// Errors that say that there is no device or no medium.
pub(crate) const NO_DEVICE: &[i32] = &[libc::ENXIO, libc::ENODEV, libc::ENOMEDIUM];

/// Whether file users and block devices can be examined: what is used by others is
/// then refused, not noted.
pub(crate) const TELLS_USERS: bool = true;

/// Writes so that the data is durable when the call returns.
pub(crate) fn write_durably(file: &File, bytes: &[u8], offset_bytes: u64) -> io::Result<usize> {
    let vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let offset = offset_bytes as libc::off64_t;
    // SAFETY: the vector is `bytes`, which the call only reads.
    let written = unsafe { libc::pwritev2(file.as_raw_fd(), &vector, 1, offset, libc::RWF_DSYNC) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(written as usize) }
}

/// Tells what is below that a part of a file or device is needed no more.
pub(crate) fn discard(file: &File, part: &Range<u64>) -> io::Result<()> {
    if is_device(file) { device::discard(file, part) } else { room::free(file, part) }
}

/// Whether a file is a block device.
pub(crate) fn is_device(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// From linux/fs.h: `_IOR('v', 1, long)`.
const FS_IOC_GETVERSION: libc::Ioctl = libc::_IOR::<libc::c_long>(b'v' as u32, 1);

/// Tells files apart that had the same inode one after the other; 0 where the file system does not
/// count them.
pub(crate) fn generation(file: &File) -> u64 {
    let mut generation = 0u64;
    // SAFETY: the ioctl writes an int or a long to where it is told.
    match unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_GETVERSION, &mut generation) } {
        0 => generation,
        _ => 0,
    }
}

/// Has the next reads of a file or device come from the medium, block by block as they are asked
/// for.
pub(crate) fn forget_cached(file: &File) {
    for advice in [libc::POSIX_FADV_RANDOM, libc::POSIX_FADV_DONTNEED] {
        // SAFETY: the call acts on a descriptor that `file` owns, on no memory. It is advice.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
    }
}
