//! Names what is wrong with one block.

use crate::damage::Kind;
use crate::stamp::{BLOCK_BYTES, Stamp};

/// Drives write whole sectors: a torn block is torn between two of them.
const SECTOR_BYTES: usize = 512;
/// More wrong bits than this are no flipped bits any more.
const FLIPPED_BITS_MAX: u32 = 64;

/// What is wrong with `block`, which should carry `expected`, and the stamp that
/// it carries instead, if it is whole.
pub(crate) fn diagnose(block: &[u8], expected: Stamp) -> (Kind, Option<Stamp>) {
    if let Some(found) = Stamp::read(block) {
        return (foreign(found, expected), Some(found));
    }
    if is_zero(block) {
        return (Kind::Zeroed, None);
    }
    let mut should = [0; BLOCK_BYTES];
    expected.write(&mut should);
    let wrong_bits: u32 = block.iter().zip(should).map(|(a, b)| (a ^ b).count_ones()).sum();
    if wrong_bits <= FLIPPED_BITS_MAX {
        return (Kind::BitFlip, None);
    }
    let (mut right, mut wrong_is_zero) = (0, true);
    for (is, should) in block.chunks(SECTOR_BYTES).zip(should.chunks(SECTOR_BYTES)) {
        if is == should {
            right += 1;
        } else {
            wrong_is_zero &= is_zero(is);
        }
    }
    let kind = match (right, wrong_is_zero) {
        (0, _) => Kind::Corrupt,
        (_, true) => Kind::Zeroed,
        (_, false) => Kind::Torn,
    };
    (kind, None)
}

/// A whole block that came from another write.
fn foreign(found: Stamp, expected: Stamp) -> Kind {
    if found.drive != expected.drive {
        Kind::WrongDrive
    } else if found.run == expected.run && found.address != expected.address {
        Kind::Misplaced
    } else {
        // An earlier write to this place, of this run or of one before it.
        Kind::Lost
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
