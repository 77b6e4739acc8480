//! As little as a FUSE server can be: one file, whose reads are answered at once from a file of
//! the host, past the kernel's cache.

use fuser::{
    BackgroundSession, Config, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyOpen, Request,
    Session,
};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A mounted file; dropping it unmounts it.
pub struct Mounted {
    _session: BackgroundSession,
}

impl Mounted {
    /// Mounts a file of this size over an empty one that is made at `path`.
    pub fn new(path: &Path, size: u64) -> Self {
        File::create(path).expect("a place of our own");
        let below = Path::new("/dev/shm").join(format!("fourcorners-bare-{}", std::process::id()));
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&below);
        let file = file.expect("a file in memory");
        std::fs::remove_file(&below).expect("it is ours");
        file.set_len(size).expect("room in memory");
        let bare = Bare { size, file };
        let session = Session::new(bare, path, &Config::default()).expect("FUSE is there");
        Self { _session: session.spawn().expect("a thread") }
    }
}

struct Bare {
    size: u64,
    file: File,
}

impl Filesystem for Bare {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(256);
        Ok(())
    }

    fn getattr(&self, _: &Request, _: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let now = SystemTime::now();
        let attributes = FileAttr {
            ino: INodeNo::ROOT,
            size: self.size,
            blocks: self.size / 512,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        reply.attr(&Duration::from_secs(60), &attributes);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        match self.file.read_exact_at(&mut buffer, offset) {
            Ok(()) => reply.data(&buffer),
            Err(_) => reply.error(fuser::Errno::EIO),
        }
    }
}
