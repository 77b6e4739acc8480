//! Plans for block devices.

use super::identity::{DeviceIdentity, check};
use super::{in_use, nvme, signature};
use crate::access::Access;
use crate::identity::Identity;
use crate::plan::{Kind, Plan};
use crate::refusal::refusal;
use fourcorners_target::TargetError;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

// From linux/fs.h: _IO(0x12, nr).
const BLKROGET: libc::Ioctl = 0x125E;
const BLKDISCARD: libc::Ioctl = 0x1277;

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
    let (capacity_bytes, holds) = (identity.length_bytes(), identity.holds());
    if capacity_bytes == 0 {
        return Err(TargetError(format!(
            "{shown} has no size: nothing is attached to it, or no medium is in it"
        )));
    }
    let named = identity.serial().map_or(String::new(), |serial| format!(" (serial {serial})"));
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
