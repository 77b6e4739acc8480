//! What was examined, so that opening can tell whether it is still that.

use crate::system::device::DeviceIdentity;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// One device or file at one moment. Two that are equal are the same thing in
/// the same state, as far as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Device(DeviceIdentity),
    File { device: u64, inode: u64, length_bytes: u64 },
}

impl Identity {
    pub(crate) fn of_file(metadata: &Metadata) -> Identity {
        Identity::File {
            device: metadata.dev(),
            inode: metadata.ino(),
            length_bytes: metadata.len(),
        }
    }
}
