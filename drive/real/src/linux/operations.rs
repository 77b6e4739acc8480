//! Transfers as io_uring's operations on a file or block device.

use super::ring::{FILE, Protocol};
use crate::transfer::{Transfer, errno_of};
use fourcorners_workload::Operation;
use io_uring::{cqueue, opcode, squeue, types};

pub(crate) struct FileOperations;

impl Protocol for FileOperations {
    type Entry = squeue::Entry;
    type Posted = cqueue::Entry;

    #[inline]
    fn entry(&self, transfer: &Transfer, registered_buffers: bool) -> squeue::Entry {
        let Transfer { pointer, length_bytes, piece, offset_bytes: offset, .. } = *transfer;
        let write_flags = if transfer.fua { libc::RWF_DSYNC } else { 0 };
        match (transfer.operation, registered_buffers) {
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
        }
    }

    #[inline]
    fn errno(result: i32, length_bytes: u32) -> i32 {
        errno_of(i64::from(result), length_bytes)
    }
}
