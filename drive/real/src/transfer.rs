//! One transfer between a buffer and the file.

use fourcorners_workload::Operation;
use std::os::fd::RawFd;

/// A request as the system is asked for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub slot: u32,
    pub operation: Operation,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// A write completes when its data is durable.
    pub fua: bool,
    /// At least `length_bytes` of the slot's buffer.
    pub pointer: *mut u8,
    /// The registered piece of memory that the buffer lies in.
    pub piece: u16,
}

// SAFETY: the buffer belongs to the slot, and its target keeps it until the
// transfer has completed; one thread at a time has the transfer.
unsafe impl Send for Transfer {}

/// What became of a transfer: 0 or an errno; a short one is `EIO`.
#[inline]
pub(crate) fn errno_of(result: i64, length_bytes: u32) -> i32 {
    match result {
        result if result == i64::from(length_bytes) => 0,
        result if result >= 0 => libc::EIO,
        result => -result as i32,
    }
}

impl Transfer {
    /// Carries it out at once, and returns its errno.
    pub(crate) fn carry_out(&self, file: RawFd) -> i32 {
        let (pointer, length) = (self.pointer.cast(), self.length_bytes as usize);
        let vector = libc::iovec { iov_base: pointer, iov_len: length };
        let offset = self.offset_bytes as libc::off64_t;
        loop {
            // SAFETY: the buffer holds `length` bytes and is the slot's own.
            let result = unsafe {
                match self.operation {
                    Operation::Read => libc::pread64(file, pointer, length, offset),
                    Operation::Write if self.fua => {
                        libc::pwritev2(file, &vector, 1, offset, libc::RWF_DSYNC)
                    }
                    Operation::Write => libc::pwrite64(file, pointer, length, offset),
                    Operation::Flush => libc::fdatasync(file) as isize,
                }
            };
            if result >= 0 {
                return errno_of(result as i64, self.length_bytes);
            }
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            if errno != libc::EINTR {
                return errno;
            }
        }
    }
}
