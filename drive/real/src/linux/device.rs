//! Plans for block devices.

use super::sysfs::System;
use super::{in_use, nvme, signature};
use crate::access::Access;
use crate::facts::Facts;
use crate::identity::Identity;
use crate::plan::{Kind, Plan, refusal};
use fourcorners_target::TargetError;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

// From linux/fs.h: _IO(0x12, nr) but for the size, which is _IOR(0x12, 114, size_t).
const BLKROGET: libc::Ioctl = 0x125E;
const BLKDISCARD: libc::Ioctl = 0x1277;
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

/// Plans for the existing block device at `path` (resolved).
pub(crate) fn plan(path: &Path, metadata: &Metadata, access: &Access) -> Result<Plan, TargetError> {
    let shown = path.display();
    if access.size_bytes.is_some() {
        return Err(TargetError(format!(
            "--size is for regular files, and {shown} is a block device: leave it out"
        )));
    }
    let writable = access.destroy_data.is_some();
    let device = File::open(path).map_err(|error| refusal(path, &error))?;
    let uses = in_use::uses(&device).map_err(|error| refusal(path, &error))?;
    if writable {
        // Before it is opened for writing: who uses a device says more than that it is busy.
        uses.permit_writing(path)?;
    }
    let identity = DeviceIdentity::of(&device, metadata).map_err(|error| refusal(path, &error))?;
    let (capacity_bytes, holds) = (identity.size_bytes, identity.holds.as_slice());
    if capacity_bytes == 0 {
        return Err(TargetError(format!(
            "{shown} has no size: nothing is attached to it, or no medium is in it"
        )));
    }
    let named =
        identity.serial.as_ref().map_or(String::new(), |serial| format!(" (serial {serial})"));
    let mut notes = Vec::new();
    if writable {
        if is_read_only(&device) {
            return Err(TargetError(format!(
                "{shown} is set read-only: make it writable (`blockdev --setrw {shown}`), or leave out --destroy-data"
            )));
        }
        if holds.is_empty() && signature::has_content(&device, capacity_bytes) {
            notes.push(format!(
                "{shown}{named} is not empty: data of no known format will be overwritten"
            ));
        }
        for name in holds {
            notes.push(format!("{shown}{named} holds {name} that will be destroyed"));
        }
        uses.note(path, &mut notes);
    } else if !uses.users.is_empty() {
        notes.push(format!(
            "{shown} is in use ({}): I/O of other programs may disturb the measurement",
            uses.users.join("; ")
        ));
    }
    let read_only_reason = (!writable).then(|| {
            let loss = match holds {
                [] => String::new(),
                names => format!(" and destroys {}", names.join(" and ")),
            };
            format!(
                "{shown}{named} is a block device: only reads are measured unless --destroy-data {shown} permits writes{loss}"
            )
        });
    Ok(Plan {
        path: path.to_owned(),
        kind: Kind::Device,
        capacity_bytes,
        writable,
        read_only_reason,
        creates: false,
        needs_fill: false,
        direct: true,
        request_alignment_bytes: logical_block_bytes(&device)
            .map_err(|error| refusal(path, &error))?,
        notes,
        limit: None,
        identity: Some(Identity::Device(identity)),
        seals: false,
    })
}

/// Why a character device is no target, where there is more to say than what it is.
pub(crate) fn refused_character_device(path: &Path) -> Option<TargetError> {
    let block_device = nvme::block_device_of(path)?;
    Some(TargetError(format!(
        "{} takes NVMe commands: give the block device of the same namespace, {}, and --engine nvme",
        path.display(),
        block_device.display()
    )))
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

/// Tells the device that nothing of a part of its content is needed any more (TRIM).
pub(crate) fn discard(device: &File, part: &Range<u64>) -> std::io::Result<()> {
    let range = [part.start, part.end - part.start];
    // SAFETY: the ioctl reads a start and a length, both u64, from the array.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) })
}

fn logical_block_bytes(device: &File) -> std::io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the ioctl writes one int to where it is told.
    check(unsafe { libc::ioctl(device.as_raw_fd(), libc::BLKSSZGET, &mut bytes) })?;
    Ok(bytes as u32)
}

fn is_read_only(device: &File) -> bool {
    let mut flag: libc::c_int = 0;
    // SAFETY: the ioctl writes one int to where it is told.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), BLKROGET, &mut flag) };
    result == 0 && flag != 0
}

fn check(result: libc::c_int) -> std::io::Result<()> {
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}
