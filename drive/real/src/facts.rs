//! What a file or device is known by again, after it was closed and opened.

use crate::system;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// What tells one file or device from others. `None` is what the system does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facts {
    /// A regular file.
    File {
        /// Its number in the file system, which another file may get after this one was removed.
        inode: u64,
        /// What tells those apart, where the file system counts it (0 where not).
        generation: u64,
        /// When it was created, in nanoseconds since the epoch.
        born_ns: Option<u64>,
        /// Its length.
        size_bytes: u64,
    },
    /// A block device.
    Device {
        /// That of the disk, also for a partition.
        serial: Option<String>,
        /// Its size.
        size_bytes: u64,
        /// Its place in the order in which disks appeared since the machine started.
        sequence: Option<u64>,
        /// Major and minor number as the system has them together.
        number: u64,
    },
}

impl Facts {
    pub(crate) fn of_file(file: &File, metadata: &Metadata) -> Facts {
        let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Facts::File {
            inode: metadata.ino(),
            generation: system::generation(file),
            born_ns: born.map(|since| since.as_nanos() as u64),
            size_bytes: metadata.len(),
        }
    }
}
