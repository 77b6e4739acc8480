//! What was used last, up to a number: the memory of caches.

use lru::LruCache;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;

/// Keys and values in order of their last use. Hashes have no random seed, so
/// that equal runs do equal work.
pub type Recent<V> = LruCache<u32, V, BuildHasherDefault<DefaultHasher>>;

/// Room for `entries`, at least one.
pub fn recent<V>(entries: u64) -> Recent<V> {
    let entries = NonZeroUsize::new(entries as usize).unwrap_or(NonZeroUsize::MIN);
    LruCache::with_hasher(entries, BuildHasherDefault::default())
}
