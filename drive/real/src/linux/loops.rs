//! Loop devices, and what backs each of them: by inode, not by path. A path leads to
//! another file, or to none, once the file was renamed, removed or mounted over, and
//! in another mount namespace.

use super::sysfs::{System, names};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// From linux/loop.h.
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;

/// `struct loop_info64`.
#[repr(C)]
struct Status {
    device: u64,
    inode: u64,
    special_device: u64,
    offset_bytes: u64,
    limit_bytes: u64,
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    names_and_key: [u8; 160],
    init: [u64; 2],
}

/// What a loop device is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// A regular file, by the number of its file system and its inode.
    File { device: u64, inode: u64 },
    /// A block device.
    Device(u64),
    /// It may not be asked, and its path leads nowhere from here.
    Unknown,
}

/// An attached loop device.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub name: String,
    pub device: u64,
    pub backing: Backing,
    /// The backing file's name when it was attached.
    pub path: String,
    pub offset_bytes: u64,
    /// 0 where it reaches to the end of what backs it.
    pub limit_bytes: u64,
}

impl System {
    /// All attached loop devices, in the order of their names.
    pub(crate) fn loops(&self) -> Vec<Loop> {
        names(&self.root.join("sys/block"))
            .into_iter()
            .filter(|name| name.starts_with("loop"))
            .filter_map(|name| self.loop_named(name))
            .collect()
    }

    fn loop_named(&self, name: String) -> Option<Loop> {
        let attribute = |what: &str| self.read(&format!("sys/block/{name}/{what}"));
        let path = attribute("loop/backing_file").trim_end_matches('\n').to_owned();
        if path.is_empty() {
            return None;
        }
        let number = |what: &str| attribute(what).trim().parse().unwrap_or(0);
        let (offset_bytes, limit_bytes) = (number("loop/offset"), number("loop/sizelimit"));
        let device = super::sysfs::parse_device(attribute("dev").trim())?;
        let backing = self.status(&name, device).unwrap_or_else(|| by_path(&path));
        Some(Loop { device, backing, path, offset_bytes, limit_bytes, name })
    }

    /// What the loop device itself says of its backing.
    fn status(&self, name: &str, device: u64) -> Option<Backing> {
        let node = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(self.root.join("dev").join(name))
            .ok()?;
        if node.metadata().ok()?.rdev() != device {
            return None;
        }
        // SAFETY: the struct is plain numbers, for which zeroes are valid.
        let mut status: Status = unsafe { std::mem::zeroed() };
        // SAFETY: the struct has the kernel's layout, which the call fills.
        if unsafe { libc::ioctl(node.as_raw_fd(), LOOP_GET_STATUS64, &mut status) } != 0 {
            return None;
        }
        // Of a regular file it is 0, or that of the file system where the kernel is old.
        let is_file = status.special_device == 0 || status.special_device == status.device;
        Some(match is_file {
            true => Backing::File { device: status.device, inode: status.inode },
            false => Backing::Device(status.special_device),
        })
    }
}

/// The next best: without permission to open the device only its path is told.
fn by_path(path: &str) -> Backing {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_block_device() => Backing::Device(metadata.rdev()),
        Ok(metadata) => Backing::File { device: metadata.dev(), inode: metadata.ino() },
        Err(_) => Backing::Unknown,
    }
}
