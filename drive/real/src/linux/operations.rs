//! Transfers as io_uring's operations on a file or block device.

use super::ring::{FILE, Protocol};
use super::room::{FREE, ZERO};
use crate::transfer::{Transfer, errno_of};
use fourcorners_workload::Operation;
use io_uring::{cqueue, opcode, squeue, types};

/// From linux/blkdev.h, since Linux 6.12: `_IO(0x12, 0)`.
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;

pub(crate) struct FileOperations {
    /// The file is a block device.
    pub(crate) is_device: bool,
}

impl Protocol for FileOperations {
    type Entry = squeue::Entry;
    type Posted = cqueue::Entry;

    #[inline]
    fn entry(&self, transfer: &Transfer, registered_buffers: bool) -> Option<squeue::Entry> {
        let Transfer { pointer, length_bytes, piece, offset_bytes: offset, .. } = *transfer;
        let write_flags = if transfer.fua { libc::RWF_DSYNC } else { 0 };
        Some(match (transfer.operation, registered_buffers) {
            (Operation::Read, true) => {
                opcode::ReadFixed::new(FILE, pointer, length_bytes, piece).offset(offset).build()
            }
            (Operation::Read, false) => {
                opcode::Read::new(FILE, pointer, length_bytes).offset(offset).build()
            }
            (Operation::Write, true) => opcode::WriteFixed::new(FILE, pointer, length_bytes, piece)
                .offset(offset)
                .rw_flags(write_flags)
                .build(),
            (Operation::Write, false) => opcode::Write::new(FILE, pointer, length_bytes)
                .offset(offset)
                .rw_flags(write_flags)
                .build(),
            // What it takes to read the data again, without times of access.
            (Operation::Flush, _) => {
                opcode::Fsync::new(FILE).flags(types::FsyncFlags::DATASYNC).build()
            }
            (Operation::Discard, _) if self.is_device => {
                let mut command = [0; 16];
                command[..8].copy_from_slice(&u64::from(length_bytes).to_ne_bytes());
                opcode::UringCmd16::new(FILE, BLOCK_URING_CMD_DISCARD)
                    .addr(Some(offset))
                    .cmd(command)
                    .build()
            }
            (Operation::Discard | Operation::WriteZeroes, _) => {
                let mode = if transfer.operation == Operation::Discard { FREE } else { ZERO };
                opcode::Fallocate::new(FILE, u64::from(length_bytes))
                    .offset(offset)
                    .mode(mode)
                    .build()
            }
        })
    }

    #[inline]
    fn errno(result: i32, length_bytes: u32) -> i32 {
        errno_of(i64::from(result), length_bytes)
    }
}
