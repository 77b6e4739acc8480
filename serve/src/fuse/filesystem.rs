//! What the kernel asks of a file system whose root is one file. What concerns the
//! drive is passed on; the rest is answered at once.

use super::asked::Asked;
use crate::inbox::Inbox;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyLseek,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::FallocateFlags;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Requests that the kernel sends before it waits for answers, of programs that wait for
/// none themselves: as many as of one NBD client.
const REQUESTS_MAX: u16 = 256;

/// Longest write: what kernels take unless the machine is told otherwise.
const WRITE_BYTES_MAX: u32 = 1 << 20;

/// How long the kernel need not ask again: the file's attributes do not change.
const FOR_LONG: Duration = Duration::from_secs(24 * 3600);

const SECTOR_BYTES: u64 = 512;

/// A drive as the root of a file system.
#[derive(Debug)]
pub struct OneFile {
    attributes: FileAttr,
    is_read_only: bool,
    queue: Arc<Inbox<Asked>>,
}

impl OneFile {
    /// A file of the drive's size that only this user may open.
    pub fn new(capacity_bytes: u64, is_read_only: bool, queue: Arc<Inbox<Asked>>) -> Self {
        let now = SystemTime::now();
        let attributes = FileAttr {
            ino: INodeNo::ROOT,
            size: capacity_bytes,
            // Not all of it, so that programs that copy it look for what is not stored; and not
            // none, which some take to mean that nothing is.
            blocks: 1,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind: FileType::RegularFile,
            perm: if is_read_only { 0o400 } else { 0o600 },
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        Self { attributes, is_read_only, queue }
    }

    /// So much of a range as lies on the drive.
    fn within(&self, offset_bytes: u64, length_bytes: u64) -> u64 {
        length_bytes.min(self.attributes.size.saturating_sub(offset_bytes))
    }
}

fn has(flags: OpenFlags, wanted: libc::c_int) -> bool {
    flags.0 & wanted != 0
}

fn is_whole(offset_bytes: u64, length_bytes: u64) -> bool {
    (offset_bytes | length_bytes).is_multiple_of(SECTOR_BYTES)
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each is a wish: a kernel that has no such thing goes on without it.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn getattr(&self, _: &Request, _: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_LONG, &self.attributes);
    }

    /// Opening a block device with `O_TRUNC`, which comes as size 0, and new times change
    /// nothing, and so they do here. Anything else is refused.
    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if mode.is_some() || uid.is_some() || gid.is_some() {
            reply.error(Errno::EPERM);
        } else if size.is_some_and(|size| size != 0 && size != self.attributes.size) {
            reply.error(Errno::EINVAL);
        } else {
            reply.attr(&FOR_LONG, &self.attributes);
        }
    }

    /// Nothing is kept in the kernel's cache, and no request is made another. Writes of
    /// programs that ask for direct I/O may go in parallel; of others, each waits for the
    /// one before it, so that parts of a sector can be written.
    fn open(&self, _: &Request, _: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mut how = FopenFlags::FOPEN_DIRECT_IO;
        if has(flags, libc::O_DIRECT) {
            how |= FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        }
        reply.opened(FileHandle(0), how);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length_bytes = self.within(offset, size.into()) as u32;
        if length_bytes == 0 {
            reply.data(&[]);
        } else if has(flags, libc::O_DIRECT) && !is_whole(offset, length_bytes.into()) {
            reply.error(Errno::EINVAL);
        } else {
            self.queue.push(Asked::Read { offset_bytes: offset, length_bytes, reply });
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length_bytes = self.within(offset, data.len() as u64);
        if self.is_read_only {
            reply.error(Errno::EROFS);
        } else if length_bytes == 0 {
            reply.error(Errno::ENOSPC);
        } else if has(flags, libc::O_DIRECT) && !is_whole(offset, length_bytes) {
            reply.error(Errno::EINVAL);
        } else {
            let data = data[..length_bytes as usize].to_vec();
            let is_forced = has(flags, libc::O_DSYNC);
            self.queue.push(Asked::Write { offset_bytes: offset, data, is_forced, reply });
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.queue.push(Asked::Flush { reply });
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let kept = mode - FallocateFlags::KEEP_SIZE;
        let length_bytes = self.within(offset, length);
        if self.is_read_only {
            reply.error(Errno::EROFS);
        } else if kept.is_empty() {
            // Room for what is within the drive is always there.
            if length_bytes == length { reply.ok() } else { reply.error(Errno::ENOSPC) }
        } else if !is_whole(offset, length_bytes) {
            reply.error(Errno::EINVAL);
        } else if length_bytes == 0 {
            reply.ok();
        } else if kept == FallocateFlags::PUNCH_HOLE {
            self.queue.push(Asked::Trim { offset_bytes: offset, length_bytes, reply });
        } else if kept == FallocateFlags::ZERO_RANGE {
            self.queue.push(Asked::Zero { offset_bytes: offset, length_bytes, reply });
        } else {
            reply.error(Errno::EOPNOTSUPP);
        }
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let offset_bytes = offset as u64;
        if offset < 0 || offset_bytes >= self.attributes.size {
            return reply.error(Errno::ENXIO);
        }
        match whence {
            libc::SEEK_DATA => {
                self.queue.push(Asked::Seek { offset_bytes, to_stored: true, reply })
            }
            libc::SEEK_HOLE => {
                self.queue.push(Asked::Seek { offset_bytes, to_stored: false, reply })
            }
            _ => reply.error(Errno::EINVAL),
        }
    }
}
