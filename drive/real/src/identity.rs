//! What was examined, so that opening can tell whether it is still that.

use crate::in_use::System;
use crate::{device, signature};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;

/// One device or file at one moment. Two that are equal are the same thing in
/// the same state, as far as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Device(DeviceIdentity),
    File { device: u64, inode: u64, length_bytes: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceIdentity {
    number: u64,
    /// The kernel counts every disk that appears (Linux 5.15), so a disk that
    /// took over another one's name has another number here.
    disk_sequence: Option<u64>,
    pub serial: Option<String>,
    pub size_bytes: u64,
    /// What it holds: a file system that somebody made in the meantime is not
    /// in what the user agreed to.
    pub holds: Vec<&'static str>,
}

impl DeviceIdentity {
    /// # Errors
    /// The device does not answer.
    pub(crate) fn of(device: &File, metadata: &Metadata) -> std::io::Result<DeviceIdentity> {
        let size_bytes = device::size_bytes(device)?;
        Ok(DeviceIdentity {
            number: metadata.rdev(),
            disk_sequence: device::disk_sequence(device),
            serial: System::running().serial(metadata.rdev()),
            size_bytes,
            holds: signature::found(device, size_bytes),
        })
    }
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
