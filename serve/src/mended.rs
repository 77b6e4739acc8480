//! What has been written since a fault began: ranges that are put together where they meet.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that neither overlap nor touch, by their starts.
#[derive(Debug, Default)]
pub struct Mended(BTreeMap<u64, u64>);

impl Mended {
    /// Adds a range.
    pub fn add(&mut self, range: &Range<u64>) {
        let mut joined = range.clone();
        // From the last that begins within, or where it ends, to the first that reaches it.
        while let Some((&start, &end)) = self.0.range(..=joined.end).next_back()
            && end >= joined.start
        {
            self.0.remove(&start);
            joined = joined.start.min(start)..joined.end.max(end);
        }
        self.0.insert(joined.start, joined.end);
    }

    /// Whether all of a range was added.
    pub fn covers(&self, range: Range<u64>) -> bool {
        let before = self.0.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, &end)| end >= range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_covers_what_was_added(
            added in prop::collection::vec((0..60u64, 1..9u64), 0..40),
            asked in prop::collection::vec((0..60u64, 0..20u64), 40),
        ) {
            let (mut mended, mut is_mended) = (Mended::default(), [false; 80]);
            for (start, length) in added {
                mended.add(&(start..start + length));
                is_mended[start as usize..(start + length) as usize].fill(true);
            }
            for (start, length) in asked {
                let all = is_mended[start as usize..(start + length) as usize].iter().all(|&one| one);
                prop_assert_eq!(mended.covers(start..start + length), all);
            }
            let runs = is_mended.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            prop_assert_eq!(mended.0.len(), runs + usize::from(is_mended[0]));
        }
    }
}
