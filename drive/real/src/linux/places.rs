//! Where the bytes of a device lie: on its disk, in the file behind a loop device, on
//! another path to the same drive. Two devices that share a place overwrite each other.

use super::loops::{Backing, Loop};
use super::sysfs::{Member, System};
use std::ops::Range;

/// Loop devices over loop devices: more than the kernel lets anybody stack.
const DEPTH_MAX: usize = 32;

/// What holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Disk(u64),
    File { device: u64, inode: u64 },
}

/// A range of bytes of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub storage: Storage,
    pub bytes: Range<u64>,
    /// What it is called in a message; empty for the device itself.
    pub name: String,
    /// It is not the device's own disk, but what backs it or another way to the drive.
    pub is_below: bool,
}

impl Place {
    pub(crate) fn of_file(device: u64, inode: u64) -> Place {
        Place {
            storage: Storage::File { device, inode },
            bytes: 0..u64::MAX,
            name: String::new(),
            is_below: false,
        }
    }

    pub(crate) fn overlaps(&self, other: &Place) -> bool {
        self.storage == other.storage && self.overlaps_bytes(&other.bytes)
    }

    /// Whether it has some of these bytes of the same storage.
    pub(crate) fn overlaps_bytes(&self, bytes: &Range<u64>) -> bool {
        self.bytes.start < bytes.end && bytes.start < self.bytes.end
    }
}

impl System {
    /// All places of a block device, from its disk downwards.
    pub(crate) fn places(&self, device: u64, loops: &[Loop]) -> Vec<Place> {
        let mut places = Vec::new();
        let mut next = Some((device, 0..u64::MAX, String::new()));
        while let Some((device, within, name)) = next.take() {
            let family = self.family(device);
            let Some(disk) = family.first() else { break };
            let own = family.iter().find(|member| member.device == device).unwrap_or(disk);
            let bytes = shifted(&within, own.start, own.end);
            let is_below = !places.is_empty();
            let disk_number = disk.device;
            places.push(Place {
                storage: Storage::Disk(disk_number),
                bytes: bytes.clone(),
                name,
                is_below,
            });
            places.extend(self.other_paths(disk).into_iter().map(|other| Place {
                storage: Storage::Disk(other),
                bytes: bytes.clone(),
                name: "the same drive".into(),
                is_below: true,
            }));
            let backed = loops.iter().find(|one| one.device == disk_number);
            let Some(backed) = backed.filter(|_| places.len() < DEPTH_MAX) else { break };
            let behind = backed.bytes(&bytes);
            match backed.backing {
                Backing::File { device, inode } => places.push(Place {
                    storage: Storage::File { device, inode },
                    bytes: behind,
                    name: backed.path.clone(),
                    is_below: true,
                }),
                Backing::Device(number) => next = Some((number, behind, backed.path.clone())),
                Backing::Unknown => {}
            }
        }
        places
    }
}

impl Loop {
    /// Which bytes of what backs it a part of it is.
    fn bytes(&self, part: &Range<u64>) -> Range<u64> {
        let end = match self.limit_bytes {
            0 => u64::MAX,
            limit => self.offset_bytes.saturating_add(limit),
        };
        shifted(part, self.offset_bytes, end)
    }
}

impl Member {
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.start..self.end
    }
}

/// A part of what begins at `start` and ends at `end`.
fn shifted(part: &Range<u64>, start: u64, end: u64) -> Range<u64> {
    let at = |offset: u64| start.saturating_add(offset).min(end);
    at(part.start)..at(part.end)
}
