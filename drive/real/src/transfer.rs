//! One transfer between a buffer and the file.

use crate::system;
use fourcorners_workload::Operation;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A request as the system is asked for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub slot: u32,
    pub operation: Operation,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// A write completes when its data is durable.
    pub fua: bool,
    /// At least [`Transfer::moved_bytes`] of the slot's buffer.
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
    /// Bytes that pass the buffer: none of flushes, discards and write-zeroes.
    #[inline]
    pub(crate) fn moved_bytes(&self) -> u32 {
        if self.operation.transfers() { self.length_bytes } else { 0 }
    }

    /// Carries it out at once, and returns its errno.
    pub(crate) fn carry_out(&self, file: &File) -> i32 {
        let moved_bytes = self.moved_bytes();
        // SAFETY: the buffer holds so many bytes and is the slot's own until the
        // transfer has been carried out.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.pointer, moved_bytes as usize) };
        let range = self.offset_bytes..self.offset_bytes + u64::from(self.length_bytes);
        loop {
            let transferred = match self.operation {
                Operation::Read => file.read_at(buffer, self.offset_bytes),
                Operation::Write if self.fua => {
                    system::write_durably(file, buffer, self.offset_bytes)
                }
                Operation::Write => file.write_at(buffer, self.offset_bytes),
                Operation::Flush => file.sync_data().map(|()| 0),
                Operation::Discard => system::discard(file, &range).map(|()| 0),
                Operation::WriteZeroes => system::room::zero(file, &range).map(|()| 0),
            };
            let errno = match transferred {
                Ok(bytes) => return errno_of(bytes as i64, moved_bytes),
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            };
            if errno != libc::EINTR {
                return errno;
            }
        }
    }
}
