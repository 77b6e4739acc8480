//! Latency histogram: nanoseconds, every I/O counted.

use histogram::Histogram;

/// Buckets per power of two: 2^10, so a bucket is at most 0.1 % wide.
const GROUPING_POWER: u8 = 10;
/// Values up to 2^42 ns, 73 minutes; longer ones land in the last bucket.
const MAX_VALUE_POWER: u8 = 42;
/// Buckets that there are.
pub(crate) const BUCKETS: usize =
    ((MAX_VALUE_POWER - GROUPING_POWER + 1) as usize) << GROUPING_POWER;

/// Latencies of one operation, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram,
    /// Exact extremes and sum: a bucket's bounds would round them.
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(GROUPING_POWER, MAX_VALUE_POWER)
                .expect("constants describe a valid histogram"),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }
}

impl Latencies {
    /// Counts one I/O.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram.as_mut_slice()[bucket_index(latency_ns)] += 1;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
    }

    /// Has the memory of an empty distribution at hand: where it is first used the system
    /// stops the thread to find some.
    pub fn warm(&mut self) {
        self.histogram.as_mut_slice().fill(0);
    }

    /// Adds another worker's latencies to these.
    pub fn merge(&mut self, other: &Latencies) {
        let theirs = other.histogram.as_slice();
        for (mine, count) in self.histogram.as_mut_slice().iter_mut().zip(theirs) {
            *mine += count;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// Shortest, or `None` before the first I/O.
    pub fn min_ns(&self) -> Option<u64> {
        (self.min_ns <= self.max_ns).then_some(self.min_ns)
    }

    /// Longest, or `None` before the first I/O.
    pub fn max_ns(&self) -> Option<u64> {
        self.min_ns().map(|_| self.max_ns)
    }

    /// Exact sum.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Buckets that hold something, in ascending order: lower bound, upper
    /// bound (both inclusive, nanoseconds) and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        (&self.histogram)
            .into_iter()
            .filter(|bucket| bucket.count() > 0)
            .map(|bucket| (bucket.start(), bucket.end(), bucket.count()))
    }
}

/// Index of the bucket that holds a latency: the histogram's own arithmetic
/// (`histogram::Config`) with its parameters known to the compiler. Every I/O
/// passes here.
#[inline]
pub(crate) fn bucket_index(latency_ns: u64) -> usize {
    let value = latency_ns.min((1 << MAX_VALUE_POWER) - 1);
    // Below 2^11 the buckets are single nanoseconds, and the shift is 0.
    let shift = (value | (1 << GROUPING_POWER)).ilog2() - u32::from(GROUPING_POWER);
    (u64::from(shift) << GROUPING_POWER) as usize + (value >> shift) as usize
}

/// Bounds of a bucket by its index, both inclusive, in nanoseconds.
pub(crate) fn bounds(index: usize) -> (u64, u64) {
    let shift = (index >> GROUPING_POWER).saturating_sub(1);
    let low = (index as u64 - ((shift as u64) << GROUPING_POWER)) << shift;
    (low, low + (1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_narrow_and_keep_every_value(values in prop::collection::vec(1u64..100_000_000_000, 1..200)) {
            let mut latencies = Latencies::default();
            for &value in &values {
                latencies.record(value);
            }
            let buckets: Vec<_> = latencies.buckets().collect();
            prop_assert_eq!(buckets.iter().map(|b| b.2).sum::<u64>(), values.len() as u64);
            for (low, high, _) in buckets {
                prop_assert!((high - low) as f64 <= low as f64 / 1024.0 + 1.0);
            }
            prop_assert_eq!(latencies.min_ns(), values.iter().copied().min());
            prop_assert_eq!(latencies.max_ns(), values.iter().copied().max());
        }

        #[test]
        fn merging_equals_recording_together(
            left in prop::collection::vec(1u64..1_000_000_000, 0..50),
            right in prop::collection::vec(1u64..1_000_000_000, 0..50),
        ) {
            let mut together = Latencies::default();
            let mut parts = [Latencies::default(), Latencies::default()];
            for (part, values) in parts.iter_mut().zip([&left, &right]) {
                for &value in values {
                    part.record(value);
                    together.record(value);
                }
            }
            let [mut merged, other] = parts;
            merged.merge(&other);
            prop_assert!(merged.buckets().eq(together.buckets()));
            prop_assert_eq!(merged.sum_ns(), together.sum_ns());
            prop_assert_eq!(merged.min_ns(), together.min_ns());
        }
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let edges = (0..63).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1]);
        for value in edges.chain((0..5_000).map(|n| n * 7_919 * n)).chain([u64::MAX]) {
            let mut latencies = Latencies::default();
            latencies.record(value);
            let clamped = value.min((1 << MAX_VALUE_POWER) - 1);
            let (low, high, count) = latencies.buckets().next().unwrap();
            assert!((low..=high).contains(&clamped) && count == 1, "{value}: {low} to {high}");
            assert_eq!(bounds(bucket_index(value)), (low, high));
        }
        assert_eq!(bounds(BUCKETS - 1).1, (1 << MAX_VALUE_POWER) - 1);
    }

    #[test]
    fn percentiles_are_within_half_a_percent_from_100_ns_to_100_s() {
        let mut value = 100u64;
        while value <= 100_000_000_000 {
            let mut latencies = Latencies::default();
            latencies.record(value);
            let (low, high, _) = latencies.buckets().next().unwrap();
            for bound in [low, high] {
                assert!((bound as f64 / value as f64 - 1.0).abs() < 0.005, "{value}: {bound}");
            }
            value += value / 97 + 1;
        }
    }

    #[test]
    fn nothing_recorded_has_no_extremes() {
        assert_eq!(Latencies::default().min_ns(), None);
        assert_eq!(Latencies::default().max_ns(), None);
    }
}
