//! What a guest's requests mean to a drive, and what it is told of the drive (virtio 1.2,
//! section 5.2).

use crate::device::{About, Asked};
use crate::io::{Command, TRANSFER_BYTES_MAX};
use virtio_bindings::virtio_blk as blk;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

/// Bytes before a request's data: its type, a reserved word, and its sector.
pub const HEADER_BYTES: usize = 16;

/// Answers.
pub const OK: u8 = blk::VIRTIO_BLK_S_OK as u8;
pub const FAILED: u8 = blk::VIRTIO_BLK_S_IOERR as u8;
pub const UNSUPPORTED: u8 = blk::VIRTIO_BLK_S_UNSUPP as u8;

/// Queues that a guest may use, one of each of its processors.
pub const QUEUES: u16 = 8;

/// Ranges of a TRIM or of zeroes that come in one request.
const SEGMENTS: u32 = 1;

/// Most pieces of memory of one transfer: as many as QEMU's own disks have.
const PIECES: u32 = 126;

const SECTOR_BYTES: u32 = 512;

/// Most sectors of a TRIM or of zeroes: an I/O's length has 32 bits.
const RANGE_SECTORS: u32 = (1 << 31) / SECTOR_BYTES;

/// What the drive can do, as bits of the guest's features.
pub fn features(about: &About) -> u64 {
    let mut bits = vec![
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_EVENT_IDX,
        VIRTIO_RING_F_INDIRECT_DESC,
        blk::VIRTIO_BLK_F_SEG_MAX,
        blk::VIRTIO_BLK_F_BLK_SIZE,
        blk::VIRTIO_BLK_F_TOPOLOGY,
        blk::VIRTIO_BLK_F_MQ,
        blk::VIRTIO_BLK_F_WRITE_ZEROES,
    ];
    if about.is_read_only {
        bits.push(blk::VIRTIO_BLK_F_RO);
    }
    // Without it the guest sends no flush.
    if about.has_volatile_cache {
        bits.push(blk::VIRTIO_BLK_F_FLUSH);
    }
    if about.has_trim {
        bits.push(blk::VIRTIO_BLK_F_DISCARD);
    }
    bits.into_iter().fold(0, |features, bit| features | 1 << bit)
}

/// The device's configuration, as the guest reads it.
pub fn configuration(about: &About) -> blk::virtio_blk_config {
    blk::virtio_blk_config {
        capacity: about.capacity_bytes / u64::from(SECTOR_BYTES),
        seg_max: PIECES,
        blk_size: SECTOR_BYTES,
        // 4096 bytes, the mapping unit of most drives.
        physical_block_exp: 3,
        min_io_size: 8,
        opt_io_size: 8,
        num_queues: QUEUES,
        max_discard_sectors: RANGE_SECTORS,
        max_discard_seg: SEGMENTS,
        discard_sector_alignment: 8,
        max_write_zeroes_sectors: RANGE_SECTORS,
        max_write_zeroes_seg: SEGMENTS,
        write_zeroes_may_unmap: u8::from(about.has_trim),
        ..blk::virtio_blk_config::default()
    }
}

/// What a request is, before its data is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A transfer from the drive.
    Read,
    /// A transfer to the drive, whose data follows.
    Write,
    /// One whose range follows.
    Range,
    /// What was acknowledged becomes durable.
    Flush,
    /// The drive's name.
    Name,
}

/// The request's type and first sector.
///
/// # Errors
/// The answer to what is not known.
pub fn header(bytes: [u8; HEADER_BYTES]) -> Result<(Kind, u32, u64), u8> {
    let (kind, rest) = bytes.split_at(4);
    let kind = u32::from_le_bytes(kind.try_into().expect("4 bytes"));
    let sector = u64::from_le_bytes(rest[4..].try_into().expect("8 bytes"));
    let known = match kind {
        blk::VIRTIO_BLK_T_IN => Kind::Read,
        blk::VIRTIO_BLK_T_OUT => Kind::Write,
        blk::VIRTIO_BLK_T_FLUSH => Kind::Flush,
        blk::VIRTIO_BLK_T_GET_ID => Kind::Name,
        blk::VIRTIO_BLK_T_DISCARD | blk::VIRTIO_BLK_T_WRITE_ZEROES => Kind::Range,
        _ => return Err(UNSUPPORTED),
    };
    Ok((known, kind, sector))
}

/// What a transfer or a flush means.
///
/// # Errors
/// The answer to one that cannot be.
pub fn transfer(kind: Kind, sector: u64, length_bytes: u64, about: &About) -> Result<Asked, u8> {
    let command = match kind {
        Kind::Read => Command::Read,
        Kind::Write if !about.is_read_only => Command::Write(Vec::new()),
        Kind::Flush => {
            let command = Command::Flush;
            return Ok(Asked { command, offset_bytes: 0, length_bytes: 0, is_forced: false });
        }
        _ => return Err(FAILED),
    };
    let is_whole = length_bytes > 0 && length_bytes.is_multiple_of(SECTOR_BYTES.into());
    match about.start_of(sector, length_bytes) {
        Some(offset_bytes) if is_whole && length_bytes <= TRANSFER_BYTES_MAX.into() => {
            let length_bytes = length_bytes as u32;
            Ok(Asked { command, offset_bytes, length_bytes, is_forced: false })
        }
        _ => Err(FAILED),
    }
}

/// What a TRIM or zeroes mean, whose range these bytes are.
///
/// # Errors
/// The answer to one that cannot be.
pub fn range(kind: u32, segments: &[u8], about: &About) -> Result<Asked, u8> {
    let segment: [u8; 16] = segments.try_into().map_err(|_| UNSUPPORTED)?;
    let word = |at: usize| u32::from_le_bytes(segment[at..at + 4].try_into().expect("4 bytes"));
    let sector = u64::from_le_bytes(segment[..8].try_into().expect("8 bytes"));
    let (sectors, flags) = (word(8), word(12));
    let may_discard = about.has_trim && flags & blk::VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0;
    let command = match kind {
        _ if about.is_read_only => return Err(FAILED),
        blk::VIRTIO_BLK_T_WRITE_ZEROES => Command::Zero { may_discard },
        _ if about.has_trim => Command::Trim,
        _ => return Err(UNSUPPORTED),
    };
    let length_bytes = u64::from(sectors) * u64::from(SECTOR_BYTES);
    match about.start_of(sector, length_bytes) {
        Some(offset_bytes) if (1..=RANGE_SECTORS).contains(&sectors) => {
            let length_bytes = length_bytes as u32;
            Ok(Asked { command, offset_bytes, length_bytes, is_forced: false })
        }
        _ => Err(FAILED),
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

    fn segment(sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
        let words = [sectors.to_le_bytes(), flags.to_le_bytes()].concat();
        [&sector.to_le_bytes()[..], &words].concat()
    }

    #[test]
    fn requests_are_read_as_the_guest_means_them() {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = 1;
        bytes[8..].copy_from_slice(&9_u64.to_le_bytes());
        assert_eq!(header(bytes), Ok((Kind::Write, 1, 9)));
        bytes[0] = 3;
        assert_eq!(header(bytes), Err(UNSUPPORTED));
        let write = transfer(Kind::Write, 9, 1024, &ABOUT).unwrap();
        assert_eq!((write.offset_bytes, write.length_bytes), (4608, 1024));
        for (kind, flags, command) in [
            (blk::VIRTIO_BLK_T_DISCARD, 0, Command::Trim),
            (blk::VIRTIO_BLK_T_WRITE_ZEROES, 0, Command::Zero { may_discard: false }),
            (blk::VIRTIO_BLK_T_WRITE_ZEROES, 1, Command::Zero { may_discard: true }),
        ] {
            let asked = range(kind, &segment(8, RANGE_SECTORS, flags), &ABOUT).unwrap();
            assert_eq!(asked.command, command);
            assert_eq!((asked.offset_bytes, asked.length_bytes), (4096, 1 << 31));
        }
    }

    #[test]
    fn what_cannot_be_is_answered_and_not_done() {
        let kept = About { is_read_only: true, ..ABOUT };
        let plain = About { has_trim: false, ..ABOUT };
        let trim = blk::VIRTIO_BLK_T_DISCARD;
        assert_eq!(transfer(Kind::Write, 0, 512, &kept), Err(FAILED));
        assert_eq!(transfer(Kind::Read, 0, 511, &ABOUT), Err(FAILED));
        assert_eq!(transfer(Kind::Read, 0, 0, &ABOUT), Err(FAILED));
        assert_eq!(transfer(Kind::Read, (1 << 31) - 1, 1024, &ABOUT), Err(FAILED));
        assert_eq!(transfer(Kind::Read, u64::MAX, 512, &ABOUT), Err(FAILED));
        assert_eq!(transfer(Kind::Read, 0, (32 << 20) + 512, &ABOUT), Err(FAILED));
        assert_eq!(range(trim, &segment(0, 8, 0), &kept), Err(FAILED));
        assert_eq!(range(trim, &segment(0, 8, 0), &plain), Err(UNSUPPORTED));
        assert_eq!(range(trim, &segment(0, 0, 0), &ABOUT), Err(FAILED));
        assert_eq!(range(trim, &segment(1 << 31, 8, 0), &ABOUT), Err(FAILED));
        assert_eq!(range(trim, &[0; 32], &ABOUT), Err(UNSUPPORTED));
    }

    #[test]
    fn the_guest_is_told_what_the_drive_is() {
        let has = |about: &About, bit: u32| features(about) & 1 << bit != 0;
        assert!(has(&ABOUT, blk::VIRTIO_BLK_F_FLUSH) && has(&ABOUT, blk::VIRTIO_BLK_F_DISCARD));
        assert!(!has(&ABOUT, blk::VIRTIO_BLK_F_RO));
        let other =
            About { is_read_only: true, has_trim: false, has_volatile_cache: false, ..ABOUT };
        assert!(!has(&other, blk::VIRTIO_BLK_F_FLUSH) && !has(&other, blk::VIRTIO_BLK_F_DISCARD));
        assert!(has(&other, blk::VIRTIO_BLK_F_RO));
        let told = configuration(&ABOUT);
        assert_eq!({ told.capacity }, 1 << 31);
        assert_eq!(told.write_zeroes_may_unmap, 1);
        assert_eq!(configuration(&other).write_zeroes_may_unmap, 0);
    }
}
