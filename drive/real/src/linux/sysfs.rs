//! What /proc and /sys say of block devices, below a root that tests replace.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// sysfs counts in these, whatever the device's blocks are.
const SECTOR_BYTES: u64 = 512;

/// Where /proc and /sys are, `/` but in tests.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub root: PathBuf,
}

/// A mount as /proc/self/mountinfo lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub device: u64,
    pub point: String,
    pub file_system: String,
    pub source: String,
    pub options: String,
}

/// A disk or partition: what sysfs calls it, its number, and which part of the disk
/// it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub name: String,
    pub device: u64,
    pub directory: PathBuf,
    pub start: u64,
    pub end: u64,
}

impl System {
    /// The running system.
    pub(crate) fn running() -> Self {
        Self { root: "/".into() }
    }

    /// A file of /proc or /sys; empty where it is missing.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// All mounts that this process sees.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        self.read("proc/self/mountinfo").lines().filter_map(parse_mount).collect()
    }

    /// Devices and files that are used as swap, by path.
    pub(crate) fn swap_areas(&self) -> Vec<String> {
        self.read("proc/swaps")
            .lines()
            .skip(1)
            .filter_map(|line| Some(unescape(line.split_whitespace().next()?)))
            .collect()
    }

    /// The disk's serial number as its driver tells it, for a partition that of
    /// its disk; `None` where it tells none.
    pub(crate) fn serial(&self, device: u64) -> Option<String> {
        let disk = self.disk_directory(device)?;
        ["serial", "device/serial", "wwid", "device/wwid"]
            .iter()
            .find_map(|name| attribute(&disk.join(name)))
    }

    /// The disk that a device is or is a part of, with all of its partitions.
    pub(crate) fn family(&self, device: u64) -> Vec<Member> {
        let Some(disk) = self.disk_directory(device) else {
            return vec![Member {
                name: String::new(),
                device,
                directory: PathBuf::new(),
                start: 0,
                end: u64::MAX,
            }];
        };
        let partitions = names(&disk)
            .into_iter()
            .map(|name| disk.join(name))
            .filter(|child| child.join("partition").exists());
        std::iter::once(disk.clone()).chain(partitions).filter_map(|path| member(&path)).collect()
    }

    /// Other disks with the same world-wide identifier and size: further paths to one
    /// drive.
    pub(crate) fn other_paths(&self, disk: &Member) -> Vec<u64> {
        let identity = |directory: &Path| {
            let wwid = ["wwid", "device/wwid"].iter().find_map(|n| attribute(&directory.join(n)));
            wwid.map(|wwid| (wwid, attribute(&directory.join("size"))))
        };
        let Some(own) = identity(&disk.directory) else { return Vec::new() };
        names(&self.root.join("sys/block"))
            .iter()
            .filter(|name| **name != disk.name)
            .map(|name| self.root.join("sys/block").join(name))
            .filter(|other| identity(other).as_ref() == Some(&own))
            .filter_map(|other| Some(member(&other)?.device))
            .collect()
    }

    /// The directory of the disk that a device is or is a part of.
    pub(crate) fn disk_directory(&self, device: u64) -> Option<PathBuf> {
        let directory = std::fs::canonicalize(self.root.join(sysfs_link(device))).ok()?;
        match directory.join("partition").exists() {
            true => directory.parent().map(Path::to_owned),
            false => Some(directory),
        }
    }
}

/// Where sysfs has a block device, by its number.
fn sysfs_link(device: u64) -> String {
    format!("sys/dev/block/{}:{}", libc::major(device), libc::minor(device))
}

fn member(directory: &Path) -> Option<Member> {
    let sectors = |name: &str| attribute(&directory.join(name))?.parse::<u64>().ok();
    let start = sectors("start").unwrap_or(0) * SECTOR_BYTES;
    let end = match directory.join("partition").exists() {
        true => start + sectors("size").unwrap_or(0) * SECTOR_BYTES,
        false => u64::MAX,
    };
    Some(Member {
        name: directory.file_name()?.to_string_lossy().into_owned(),
        device: parse_device(&attribute(&directory.join("dev"))?)?,
        directory: directory.to_owned(),
        start,
        end,
    })
}

/// What a file of sysfs holds, if that is anything.
fn attribute(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Names in a directory, sorted; none where it is missing.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Number of the block device at a path.
pub(crate) fn block_device(path: &str) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| metadata.rdev())
}

pub(crate) fn parse_device(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// `36 35 98:0 /root /point options [fields] - type source options`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.split(' ');
    Some(Mount {
        device: parse_device(left.next()?)?,
        point: unescape(left.nth(1)?),
        file_system: right.next()?.to_owned(),
        source: unescape(right.next()?),
        options: unescape(right.next().unwrap_or_default()),
    })
}

/// Undoes the kernel's `\040` for bytes that would break its tables.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut result = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) => {
                result.push(byte);
                at += 4;
            }
            None => {
                result.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&result).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_stray_backslashes_kept() {
        assert_eq!(unescape("a\\040b\\134c\\"), "a b\\c\\");
    }
}
