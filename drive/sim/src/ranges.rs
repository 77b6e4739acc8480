//! Ranges of bytes.

use std::ops::Range;

/// The bytes that ranges cover together, as ranges that ascend and neither overlap nor
/// touch.
pub fn ascending(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let joins = next.start <= range.end;
        if joins {
            range.end = range.end.max(next.end);
        }
        joins
    });
    ranges
}
