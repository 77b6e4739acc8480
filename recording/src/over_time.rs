//! How latencies went on: a coarse histogram of every second.

use crate::latency::{BUCKETS, bounds, bucket_index};

/// Buckets of the whole histogram in one of these: a power of two, which leaves
/// eight buckets per power of two of latency. One is at most an eighth wide.
const MERGED_SHIFT: u32 = 7;
const COARSE_BUCKETS: usize = BUCKETS >> MERGED_SHIFT;

/// I/Os of one second whose latencies fell into one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondBucket {
    /// From the start of measuring.
    pub second: u32,
    /// Which bucket; see [`bounds_ns`](Self::bounds_ns).
    bucket: u16,
    /// I/Os, at least one.
    pub count: u32,
}

impl SecondBucket {
    /// Lower and upper bound of the latencies, both inclusive, in nanoseconds.
    pub fn bounds_ns(&self) -> (u64, u64) {
        let first = usize::from(self.bucket) << MERGED_SHIFT;
        (bounds(first).0, bounds(first + (1 << MERGED_SHIFT) - 1).1)
    }
}

/// Latencies of one operation by the second of their completion. What a second
/// held is a dozen or a hundred entries; a second without I/Os has none.
#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    /// Of the second that is not over.
    counts: [u32; COARSE_BUCKETS],
    /// Of those that are, in order of second and bucket.
    closed: Vec<SecondBucket>,
}

impl Default for OverTime {
    fn default() -> Self {
        Self { counts: [0; COARSE_BUCKETS], closed: Vec::new() }
    }
}

impl OverTime {
    /// Counts one I/O in the second that is not over.
    #[inline]
    pub(crate) fn record(&mut self, latency_ns: u64) {
        self.counts[bucket_index(latency_ns) >> MERGED_SHIFT] += 1;
    }

    /// Ends a second that had I/Os.
    pub(crate) fn close(&mut self, second: u32) {
        for (bucket, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            let count = std::mem::take(count);
            self.closed.push(SecondBucket { second, bucket: bucket as u16, count });
        }
    }

    pub(crate) fn into_closed(self) -> Vec<SecondBucket> {
        self.closed
    }
}

/// Adds another worker's entries to `mine`; both are in order of second and
/// bucket, and so is what they become.
pub(crate) fn merge(mine: &mut Vec<SecondBucket>, theirs: &[SecondBucket]) {
    if theirs.is_empty() {
        return;
    }
    mine.extend_from_slice(theirs);
    // Two sorted runs: the sort recognizes them and only merges.
    mine.sort_by_key(|entry| (entry.second, entry.bucket));
    mine.dedup_by(|later, kept| {
        let same = (later.second, later.bucket) == (kept.second, kept.bucket);
        if same {
            kept.count += later.count;
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(seconds: &[Vec<u64>]) -> Vec<SecondBucket> {
        let mut over_time = OverTime::default();
        for (second, latencies) in seconds.iter().enumerate() {
            latencies.iter().for_each(|&latency_ns| over_time.record(latency_ns));
            over_time.close(second as u32);
        }
        over_time.into_closed()
    }

    proptest! {
        #[test]
        fn every_io_is_in_the_bucket_of_its_second(
            seconds in prop::collection::vec(prop::collection::vec(0u64..1 << 44, 0..40), 0..6),
        ) {
            let entries = of(&seconds);
            prop_assert!(entries.is_sorted_by_key(|entry| (entry.second, entry.bucket)));
            for (second, latencies) in seconds.iter().enumerate() {
                let mine = || entries.iter().filter(|entry| entry.second == second as u32);
                prop_assert_eq!(mine().map(|entry| entry.count as usize).sum::<usize>(), latencies.len());
                for entry in mine() {
                    let (low, high) = entry.bounds_ns();
                    prop_assert!(high - low <= (low / 8).max(127));
                    let held = latencies.iter().map(|&ns| ns.min((1 << 42) - 1));
                    prop_assert_eq!(held.filter(|ns| (low..=high).contains(ns)).count(), entry.count as usize);
                }
            }
        }

        #[test]
        fn merging_equals_recording_together(
            left in prop::collection::vec(prop::collection::vec(1u64..1 << 30, 0..20), 3),
            right in prop::collection::vec(prop::collection::vec(1u64..1 << 30, 0..20), 5),
        ) {
            let together: Vec<Vec<u64>> = (0..5)
                .map(|second| [&left, &right].iter().filter_map(|part| part.get(second)).flatten().copied().collect())
                .collect();
            let mut merged = of(&left);
            merge(&mut merged, &of(&right));
            prop_assert_eq!(merged, of(&together));
        }
    }
}
