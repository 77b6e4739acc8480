use super::*;
use std::path::PathBuf;

fn ledger() -> Ledger {
    Ledger::in_memory(1 << 20, 1, 1).unwrap()
}

#[test]
fn writes_one_after_the_other_settle() {
    let ledger = ledger();
    assert_eq!(ledger.certain(3), None);
    for sequence in [1, 2] {
        ledger.submitted(3, sequence);
        assert_eq!(ledger.certain(3), None);
        ledger.completed(3, sequence, true);
        assert_eq!(ledger.certain(3), Some(sequence));
    }
}

/// Whatever the order, nothing is claimed of overlapping writes, and a later
/// write on its own settles the block again.
#[test]
fn overlapping_writes_leave_the_block_unsure() {
    for (first, second) in [(1, 2), (2, 1)] {
        let ledger = ledger();
        ledger.submitted(3, 1);
        ledger.submitted(3, 2);
        ledger.completed(3, first, true);
        assert_eq!(ledger.certain(3), None);
        ledger.completed(3, second, true);
        assert_eq!(ledger.certain(3), None);
        ledger.submitted(3, 4);
        ledger.completed(3, 4, true);
        assert_eq!(ledger.certain(3), Some(4));
    }
}

#[test]
fn a_write_that_is_overtaken_by_two_others_spoils_both() {
    let ledger = ledger();
    ledger.submitted(3, 1);
    ledger.submitted(3, 2);
    ledger.completed(3, 2, true);
    ledger.submitted(3, 4);
    ledger.completed(3, 4, true);
    ledger.completed(3, 1, true);
    assert_eq!(ledger.certain(3), None);
}

#[test]
fn a_failed_write_leaves_the_block_unsure() {
    let ledger = ledger();
    ledger.submitted(3, 1);
    ledger.completed(3, 1, false);
    assert_eq!(ledger.certain(3), None);
}

/// A new ledger in a file, with blocks 3 and 4 written, and the second one
/// still on its way.
fn kept(name: &str) -> PathBuf {
    let name = format!("fourcorners-ledger-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&path);
    let ledger = Ledger::create(&path, 1 << 20, 1 << 20, 7, 8).unwrap();
    assert_eq!(ledger.next_sequence(), 1);
    ledger.submitted(3, 1);
    ledger.completed(3, 1, true);
    ledger.submitted(4, 2);
    path
}

#[test]
fn a_file_keeps_the_ledger() {
    let path = kept("whole");
    assert!(Ledger::create(&path, 1 << 20, 1 << 20, 7, 8).is_err());
    assert!(Ledger::open(&path, 1 << 21).is_err());
    let ledger = Ledger::open(&path, 1 << 20).unwrap();
    assert_eq!((ledger.certain(3), ledger.certain(4)), (Some(1), None));
    assert_eq!((ledger.stamp(3, 1).drive, ledger.stamp(3, 1).run), (7, 8));
    assert_eq!((ledger.damaged(), ledger.next_sequence()), (0, 3));
    std::fs::remove_file(&path).unwrap();
}

/// Every bit of the header and of entries in each state: nothing false is said
/// of a block.
#[test]
fn a_flipped_bit_in_the_file_is_noticed() {
    let path = kept("flipped");
    let whole = std::fs::read(&path).unwrap();
    let header_bits = 0..(HEADER_WORDS + 1) * 64;
    let entry_bits = [3, 4, 255].into_iter().flat_map(|block| {
        let first = (HEADER_BYTES + block * 8) * 8;
        first..first + 64
    });
    for bit in header_bits.clone().chain(entry_bits) {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &changed).unwrap();
        let opened = Ledger::open(&path, 1 << 20);
        if header_bits.contains(&bit) {
            let TargetError(reason) = opened.expect_err("it was noticed");
            assert!(!reason.contains('\n') && reason.contains("flipped"), "{reason}");
            continue;
        }
        let ledger = opened.unwrap();
        let block = (bit / 8 - HEADER_BYTES) as u64 / 8;
        assert_eq!(ledger.damaged(), 1, "bit {bit}");
        assert_eq!(ledger.certain(block), None);
        assert_eq!(ledger.certain(3), (block != 3).then_some(1));
        // The next write settles it.
        ledger.submitted(block, 9);
        ledger.completed(block, 9, true);
        assert_eq!(ledger.certain(block), Some(9));
    }
    std::fs::remove_file(&path).unwrap();
}

/// The difference that a flipped bit makes, in every place and of any entry.
#[test]
fn a_flipped_bit_always_changes_the_checksum() {
    for bit in 0..KNOWN_BITS {
        let difference = MIXER.wrapping_mul(1 << bit);
        for up_or_down in [difference, difference.wrapping_neg()] {
            assert!(up_or_down >= 1 << KNOWN_BITS, "bit {bit}");
        }
    }
}

#[test]
fn what_is_no_ledger_is_refused() {
    let path = kept("cut");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, 4096, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Ledger::open(&path, 1 << 20).is_err());
    }
    std::fs::write(&path, vec![0xFF; whole.len()]).unwrap();
    assert!(Ledger::open(&path, 1 << 20).is_err());
    // Of whatever else its entries are made, nothing is claimed.
    let mut crafted = whole.clone();
    crafted[HEADER_BYTES..].fill(0xFF);
    std::fs::write(&path, &crafted).unwrap();
    let ledger = Ledger::open(&path, 1 << 20).unwrap();
    assert_eq!(ledger.damaged(), 256);
    assert!((0..256).all(|block| ledger.certain(block).is_none()));
    std::fs::remove_file(&path).unwrap();
    assert!(Ledger::open(Path::new("/dev/zero"), 1 << 20).is_err());
    assert!(Ledger::open(&std::env::temp_dir(), 1 << 20).is_err());
}
