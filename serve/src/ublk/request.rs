//! What the kernel's requests mean to a drive, and what it is told of the drive.

use super::abi::{self, Basic, Descriptor, Discard, Params};
use crate::device::{About, Asked};
use crate::io::Command;
use std::mem::size_of;

/// Longest transfer: what the file has, too (`fuse/filesystem.rs`).
pub const TRANSFER_BYTES_MAX: u32 = 1 << 20;

/// Most bytes of a request without a transfer: an I/O's length has 32 bits.
const RANGE_BYTES_MAX: u32 = 1 << 31;

const SECTOR_SHIFT: u8 = 9;

/// What a drive had better be given at least: the mapping unit of most.
const PREFERRED_SHIFT: u8 = 12;

/// What a request means.
///
/// # Errors
/// The errno of one that no drive of this kind was said to serve.
pub fn read(descriptor: &Descriptor, about: &About) -> Result<Asked, i32> {
    let op = descriptor.op_flags as u8;
    let is_forced = descriptor.op_flags & abi::FUA != 0;
    if op == abi::FLUSH {
        let command = Command::Flush;
        return Ok(Asked { command, offset_bytes: 0, length_bytes: 0, is_forced: false });
    }
    let length_bytes = u64::from(descriptor.sectors) << SECTOR_SHIFT;
    let command = match op {
        abi::READ => Command::Read,
        abi::WRITE => Command::Write(Vec::new()),
        abi::DISCARD if about.has_trim => Command::Trim,
        abi::WRITE_ZEROES => {
            let may_discard = about.has_trim && descriptor.op_flags & abi::NO_UNMAP == 0;
            Command::Zero { may_discard }
        }
        _ => return Err(libc::EOPNOTSUPP),
    };
    if about.is_read_only && op != abi::READ {
        return Err(libc::EPERM);
    }
    let is_transfer = matches!(command, Command::Read | Command::Write(_));
    let most = if is_transfer { TRANSFER_BYTES_MAX } else { RANGE_BYTES_MAX };
    match about.start_of(descriptor.start_sector, length_bytes) {
        Some(offset_bytes) if length_bytes <= most.into() => {
            Ok(Asked { command, offset_bytes, length_bytes: length_bytes as u32, is_forced })
        }
        _ => Err(libc::EINVAL),
    }
}

/// What the kernel is told of a drive.
pub fn params(about: &About) -> Params {
    let mut attributes = 0;
    if about.is_read_only {
        attributes |= abi::IS_READ_ONLY;
    }
    // Without it the kernel sends no flush and no FUA write.
    if about.has_volatile_cache {
        attributes |= abi::HAS_VOLATILE_CACHE | abi::HAS_FUA;
    }
    let range_sectors = RANGE_BYTES_MAX >> SECTOR_SHIFT;
    Params {
        len: size_of::<Params>() as u32,
        types: abi::HAS_BASIC | abi::HAS_DISCARD,
        basic: Basic {
            attributes,
            logical_block_shift: SECTOR_SHIFT,
            physical_block_shift: PREFERRED_SHIFT,
            io_opt_shift: PREFERRED_SHIFT,
            io_min_shift: PREFERRED_SHIFT,
            sectors_max: TRANSFER_BYTES_MAX >> SECTOR_SHIFT,
            device_sectors: about.capacity_bytes >> SECTOR_SHIFT,
            ..Basic::default()
        },
        discard: Discard {
            granularity_bytes: 1 << PREFERRED_SHIFT,
            sectors_max: if about.has_trim { range_sectors } else { 0 },
            zero_sectors_max: range_sectors,
            segments_max: 1,
            ..Discard::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About = About {
        capacity_bytes: 1 << 40,
        is_read_only: false,
        has_trim: true,
        has_volatile_cache: true,
    };

    fn descriptor(op: u8, flags: u32, start_sector: u64, sectors: u32) -> Descriptor {
        Descriptor { op_flags: u32::from(op) | flags, sectors, start_sector, addr: 0 }
    }

    fn asked(command: Command, offset_bytes: u64, length_bytes: u32, is_forced: bool) -> Asked {
        Asked { command, offset_bytes, length_bytes, is_forced }
    }

    #[test]
    fn requests_are_read_as_the_kernel_means_them() {
        for (op, flags, start, sectors, meant) in [
            (abi::READ, 0, 8, 16, asked(Command::Read, 4096, 8192, false)),
            (abi::WRITE, 0, 1, 1, asked(Command::Write(Vec::new()), 512, 512, false)),
            (abi::WRITE, abi::FUA, 0, 2048, asked(Command::Write(Vec::new()), 0, 1 << 20, true)),
            (abi::FLUSH, 0, 0, 0, asked(Command::Flush, 0, 0, false)),
            (abi::DISCARD, 0, 0, 1 << 22, asked(Command::Trim, 0, 1 << 31, false)),
            (abi::WRITE_ZEROES, 0, 8, 8, {
                asked(Command::Zero { may_discard: true }, 4096, 4096, false)
            }),
            (abi::WRITE_ZEROES, abi::NO_UNMAP | abi::FUA, 8, 8, {
                asked(Command::Zero { may_discard: false }, 4096, 4096, true)
            }),
            // The last sector.
            (abi::READ, 0, (1 << 31) - 1, 1, asked(Command::Read, (1 << 40) - 512, 512, false)),
        ] {
            assert_eq!(read(&descriptor(op, flags, start, sectors), &ABOUT), Ok(meant));
        }
    }

    #[test]
    fn what_the_drive_was_not_said_to_do_is_refused() {
        let plain = About { has_trim: false, ..ABOUT };
        let kept = About { is_read_only: true, ..ABOUT };
        for (op, start, sectors, about, errno) in [
            (abi::DISCARD, 0, 8, plain, libc::EOPNOTSUPP),
            (4, 0, 8, ABOUT, libc::EOPNOTSUPP),
            (abi::WRITE, 0, 8, kept, libc::EPERM),
            (abi::WRITE_ZEROES, 0, 8, kept, libc::EPERM),
            (abi::READ, (1 << 31) - 1, 2, ABOUT, libc::EINVAL),
            (abi::READ, u64::MAX, 8, ABOUT, libc::EINVAL),
            (abi::READ, 0, 2049, ABOUT, libc::EINVAL),
            (abi::WRITE_ZEROES, 0, u32::MAX, ABOUT, libc::EINVAL),
        ] {
            assert_eq!(read(&descriptor(op, 0, start, sectors), &about), Err(errno));
        }
        let zeroes = read(&descriptor(abi::WRITE_ZEROES, 0, 0, 8), &plain).unwrap();
        assert_eq!(zeroes.command, Command::Zero { may_discard: false });
    }

    #[test]
    fn the_kernel_is_told_what_the_drive_is() {
        let told = params(&ABOUT);
        assert_eq!(told.basic.attributes, abi::HAS_VOLATILE_CACHE | abi::HAS_FUA);
        assert_eq!((told.basic.device_sectors, told.basic.sectors_max), (1 << 31, 2048));
        assert_eq!((told.discard.sectors_max, told.discard.segments_max), (1 << 22, 1));
        let through = About { has_volatile_cache: false, is_read_only: true, ..ABOUT };
        assert_eq!(params(&through).basic.attributes, abi::IS_READ_ONLY);
        let told = params(&About { has_trim: false, ..ABOUT });
        assert_eq!((told.discard.sectors_max, told.discard.zero_sectors_max), (0, 1 << 22));
    }
}
