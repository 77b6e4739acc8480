//! What an unused device holds: file systems, volumes, tables, archives, so that a plan
//! can say what a write would destroy. libblkid tells it, and a table of magic numbers
//! what it does not know. A missing signature proves nothing; a found one is named.

use super::blkid;
use super::found::Signature;
use super::magics::{MAGICS, Magic, Place};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A ring of the latest states of a ZFS pool, each with this number at its
/// start, in the order of bytes of the machine that wrote it. It stands in each of four
/// labels, two at either end of a device.
const ZFS_STATE: [u8; 4] = [0x0C, 0xB1, 0xBA, 0x00];
const ZFS_LABEL_BYTES: u64 = 256 << 10;
const ZFS_STATES_OFFSET: u64 = 128 << 10;
const ZFS_STATES_BYTES: usize = 128 << 10;
const ZFS_STATE_BYTES: usize = 1024;

/// ext2, ext3 and ext4 keep copies of their superblock at the start of some groups of
/// blocks, of which there are eight times as many in a group as a block has bytes.
const EXT_BLOCK_BYTES: [u64; 3] = [1024, 2048, 4096];
const EXT_GROUPS: [u64; 6] = [1, 3, 5, 7, 9, 25];
const EXT_MAGIC_OFFSET: usize = 0x38;
const EXT_MAGIC: [u8; 2] = [0x53, 0xEF];
const EXT_BLOCK_SIZE_OFFSET: usize = 0x18;
const EXT_GROUP_OFFSET: usize = 0x5A;

/// Places that are looked at for content of any kind: a third of a second on a disk.
const SAMPLES: u64 = 32;
const SAMPLE_BYTES: usize = 4096;

/// Everything that is known to be on a device or in a file of `capacity_bytes`, each with
/// its first place, in the order of these. What cannot be read is passed over.
pub(crate) fn found(device: &File, capacity_bytes: u64) -> Vec<String> {
    let known = blkid::signatures(device);
    let is_known = known.is_some();
    let mut found = known.unwrap_or_default();
    for magic in MAGICS.iter().filter(|magic| magic.bytes.len() > 2 || !is_known) {
        found.extend(at_its_place(magic, device, capacity_bytes));
    }
    found.extend(zfs_state(device, capacity_bytes));
    found.extend(ext_copy(device));
    // The table's name for what libblkid told already, or one sign for many.
    let mut named: Vec<Signature> = Vec::new();
    for signature in found {
        if !named.iter().any(|one| one.offset == signature.offset || one.what == signature.what) {
            named.push(signature);
        }
    }
    if named.is_empty() && has_mbr(device) {
        named.push(Signature { what: "an MBR partition table".into(), label: None, offset: 0 });
    }
    named.sort_by_key(|signature| signature.offset);
    named.iter().map(Signature::words).collect()
}

fn at_its_place(magic: &Magic, device: &File, capacity_bytes: u64) -> Option<Signature> {
    let offset = magic.place.offset(capacity_bytes)?;
    let mut there = [0; 16];
    let there = &mut there[..magic.bytes.len()];
    let is_there = device.read_exact_at(there, offset).is_ok() && there == magic.bytes;
    is_there.then(|| Signature { what: magic.name.to_owned(), label: None, offset })
}

fn zfs_state(device: &File, capacity_bytes: u64) -> Option<Signature> {
    let mut swapped = ZFS_STATE;
    swapped.reverse();
    let whole = Place::EndOfWhole(2 * ZFS_LABEL_BYTES, ZFS_LABEL_BYTES).offset(capacity_bytes)?;
    for label in [0, ZFS_LABEL_BYTES, whole, whole + ZFS_LABEL_BYTES] {
        let offset = label + ZFS_STATES_OFFSET;
        let mut states = vec![0; ZFS_STATES_BYTES];
        if device.read_exact_at(&mut states, offset).is_err() {
            continue;
        }
        let is_state = |state: &[u8]| state[..4] == ZFS_STATE || state[4..8] == swapped;
        if states.chunks(ZFS_STATE_BYTES).any(is_state) {
            return Some(Signature { what: "a ZFS pool's member".into(), label: None, offset });
        }
    }
    None
}

/// A copy of a superblock, which says of what group it is and how long blocks are.
fn ext_copy(device: &File) -> Option<Signature> {
    for block_bytes in EXT_BLOCK_BYTES {
        // Blocks of 1 KiB are counted from the second one.
        let first = if block_bytes == 1024 { block_bytes } else { 0 };
        for group in EXT_GROUPS {
            let offset = first + group * 8 * block_bytes * block_bytes;
            let mut block = [0; 128];
            if device.read_exact_at(&mut block, offset).is_err() {
                break;
            }
            let shift =
                u32::from_le_bytes([0, 1, 2, 3].map(|at| block[EXT_BLOCK_SIZE_OFFSET + at]));
            let of_group = [0, 1].map(|at| block[EXT_GROUP_OFFSET + at]);
            if block[EXT_MAGIC_OFFSET..][..2] == EXT_MAGIC
                && 1024u64.checked_shl(shift) == Some(block_bytes)
                && u64::from(u16::from_le_bytes(of_group)) == group
            {
                let what = "an ext2, ext3 or ext4 superblock's copy".into();
                return Some(Signature { what, label: None, offset });
            }
        }
    }
    None
}

/// Whether any of some places, the ends among them, holds more than zeros.
pub(crate) fn has_content(device: &File, capacity_bytes: u64) -> bool {
    let last = capacity_bytes.saturating_sub(SAMPLE_BYTES as u64);
    (0..=SAMPLES).any(|sample| {
        let mut bytes = [0; SAMPLE_BYTES];
        let offset = u128::from(last) * u128::from(sample) / u128::from(SAMPLES);
        let read = device.read_at(&mut bytes, offset as u64).unwrap_or(0);
        bytes[..read].iter().any(|byte| *byte != 0)
    })
}

/// A boot signature with at least one entry in use: drives are also delivered
/// with an empty table.
fn has_mbr(device: &File) -> bool {
    let mut sector = [0; 512];
    device.read_exact_at(&mut sector, 0).is_ok()
        && sector[510..] == [0x55, 0xAA]
        && sector[446..510].chunks(16).any(|entry| entry[4] != 0)
}
