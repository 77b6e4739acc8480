//! Content at places drawn at random, as one number.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::FileExt;
use twox_hash::XxHash3_64;

const BLOCK_BYTES: u64 = 4096;
/// At each end, where file systems, archives and volumes have what they are known by.
const BLOCKS_AT_AN_END: u64 = 16;
/// Of changes that reach a tenth of the blocks, one in 800 is missed by these (0.9 to their power).
const BLOCKS_BETWEEN: u64 = 64;

/// A key that nobody can foresee.
pub(crate) fn key() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A digest of blocks at both ends of the first `length_bytes`, and of blocks at places that
/// `key` draws. A block that cannot be read counts with its error.
pub(crate) fn digest(file: &File, length_bytes: u64, key: u64) -> u64 {
    let mut random = SplitMix64::seed_from_u64(key);
    let blocks = length_bytes.div_ceil(BLOCK_BYTES);
    let end = BLOCKS_AT_AN_END.min(blocks);
    let between = (0..BLOCKS_BETWEEN.min(blocks)).map(|_| random.next_u64() % blocks);
    let mut hasher = XxHash3_64::with_seed(key);
    let mut bytes = [0; BLOCK_BYTES as usize];
    for block in (0..end).chain(blocks - end..blocks).chain(between) {
        let offset_bytes = block * BLOCK_BYTES;
        let bytes = &mut bytes[..(length_bytes - offset_bytes).min(BLOCK_BYTES) as usize];
        match file.read_exact_at(bytes, offset_bytes) {
            Ok(()) => hasher.write(bytes),
            Err(error) => hasher.write_i32(error.raw_os_error().unwrap_or(-1)),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_follows_the_content_and_the_key() {
        let path = std::env::temp_dir().join(format!("fourcorners-sample-{}", std::process::id()));
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let before = digest(&file, 1 << 20, 1);
        assert_eq!(digest(&file, 1 << 20, 1), before);
        assert_ne!(digest(&file, 1 << 20, 2), before);
        file.write_all_at(&[8], (1 << 20) - 1).unwrap();
        assert_ne!(digest(&file, 1 << 20, 1), before);
        assert_ne!(digest(&file, 5000, 1), digest(&file, 4096, 1));
        std::fs::remove_file(path).unwrap();
    }
}
