//! What tells one block device from others.

use super::signature;
use super::sysfs::System;
use crate::facts::Facts;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

// From linux/fs.h.
const BLKGETSIZE64: libc::Ioctl = libc::_IOR::<libc::size_t>(0x12, 114);
const BLKGETDISKSEQ: libc::Ioctl = libc::_IOR::<u64>(0x12, 128);

/// One device at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceIdentity {
    number: u64,
    /// The kernel counts every disk that appears (Linux 5.15), so a disk that
    /// took over another one's name has another number here.
    disk_sequence: Option<u64>,
    serial: Option<String>,
    size_bytes: u64,
    /// What it holds: a file system that somebody made in the meantime is not
    /// in what the user agreed to.
    holds: Vec<String>,
}

impl DeviceIdentity {
    /// # Errors
    /// The device does not answer.
    pub(crate) fn of(device: &File, metadata: &Metadata) -> std::io::Result<DeviceIdentity> {
        let size_bytes = size_bytes(device)?;
        Ok(DeviceIdentity {
            number: metadata.rdev(),
            disk_sequence: disk_sequence(device),
            serial: System::running().serial(metadata.rdev()),
            size_bytes,
            holds: signature::found(device, size_bytes),
        })
    }

    /// Whether both are one device, whatever it holds.
    pub(crate) fn is_same_device(&self, other: &DeviceIdentity) -> bool {
        *self == DeviceIdentity { holds: self.holds.clone(), ..other.clone() }
    }

    /// Names of the formats that are on it.
    pub(crate) fn holds(&self) -> &[String] {
        &self.holds
    }

    /// Its size.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Its serial number.
    pub(crate) fn serial(&self) -> Option<&str> {
        self.serial.as_deref()
    }

    /// What tells it from other devices, also after a restart where it has a serial number.
    pub(crate) fn facts(&self) -> Facts {
        Facts::Device {
            serial: self.serial.clone(),
            size_bytes: self.size_bytes,
            sequence: self.disk_sequence,
            number: self.number,
        }
    }
}

/// Size of an open block device.
fn size_bytes(device: &File) -> std::io::Result<u64> {
    let mut bytes = 0u64;
    // SAFETY: the ioctl writes one u64 to where it is told.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &mut bytes) })?;
    Ok(bytes)
}

/// Number of the disk in the order in which disks appeared; `None` before
/// Linux 5.15.
fn disk_sequence(device: &File) -> Option<u64> {
    let mut number = 0u64;
    // SAFETY: the ioctl writes one u64 to where it is told.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETDISKSEQ, &mut number) }).ok()?;
    Some(number)
}

/// An ioctl's result.
pub(super) fn check(result: libc::c_int) -> std::io::Result<()> {
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}
