//! What was examined, so that opening and writing can tell whether it is still that.

use crate::system::identity::DeviceIdentity;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// One device or file at one moment. Two that are equal are the same thing in
/// the same state, as far as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Device(DeviceIdentity),
    File(FileIdentity),
}

/// One regular file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    length_bytes: u64,
    times: Times,
}

/// When a file's content and when anything of it was last changed, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub modified_ns: i128,
    /// Nobody can set this one back, short of the machine's clock.
    pub changed_ns: i128,
}

impl Times {
    pub(crate) fn of(metadata: &Metadata) -> Times {
        let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Times {
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Identity {
    pub(crate) fn of_file(metadata: &Metadata) -> Identity {
        Identity::File(FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length_bytes: metadata.len(),
            times: Times::of(metadata),
        })
    }

    /// Whether both are the same thing, whatever it holds. Of a file the times count as well
    /// where `times` says so.
    pub(crate) fn is_same_thing(&self, other: &Identity, times: bool) -> bool {
        match (self, other) {
            (Identity::Device(one), Identity::Device(other)) => one.is_same_device(other),
            (Identity::File(one), Identity::File(other)) => {
                let other_times = if times { other.times } else { one.times };
                *one == FileIdentity { times: other_times, ..other.clone() }
            }
            _ => false,
        }
    }
}
