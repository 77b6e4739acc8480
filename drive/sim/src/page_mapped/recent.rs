//! What was used last, up to a number: the memory of caches.

use crate::validity::{Checked, ensure};
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

/// Fails unless loaded entries can be those of a cache that was `made` over keys
/// below `end`.
pub fn check<V>(entries: &Recent<V>, made: &Recent<V>, end: usize) -> Checked {
    ensure(entries.cap() == made.cap(), "the room in a cache")?;
    ensure(entries.iter().all(|(&key, _)| (key as usize) < end), "an entry of a cache")
}

/// A saved state has the entries in order of their last use.
pub mod in_order {
    use super::{Recent, recent};
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::num::NonZeroUsize;

    /// The number of entries that there is room for, and the entries.
    pub fn serialize<V: Serialize, S: Serializer>(
        entries: &Recent<V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let oldest_first: Vec<(&u32, &V)> = entries.iter().rev().collect();
        (entries.cap().get() as u64, oldest_first).serialize(serializer)
    }

    /// What [`serialize`] wrote.
    pub fn deserialize<'de, V: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Recent<V>, D::Error> {
        let (room, oldest_first) = <(u64, Vec<(u32, V)>)>::deserialize(deserializer)?;
        if oldest_first.len() as u64 > room {
            return Err(D::Error::custom("more entries than there is room for"));
        }
        // Room for as many as there are: the number may be any.
        let mut entries = recent(oldest_first.len() as u64);
        for (key, value) in oldest_first {
            entries.put(key, value);
        }
        entries.resize(NonZeroUsize::new(room as usize).unwrap_or(NonZeroUsize::MIN));
        Ok(entries)
    }
}
