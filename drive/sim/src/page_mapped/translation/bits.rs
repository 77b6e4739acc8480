//! Bit sets in words of 64 bits.

use std::ops::Range;

/// Finds set bits of `range` in ascending order, as many as `found` has room
/// for. Returns how many; the range then begins where to go on.
#[inline]
pub fn find(words: &[u64], range: &mut Range<u32>, found: &mut [u32]) -> usize {
    let mut count = 0;
    while range.start < range.end && count < found.len() {
        let first = range.start / 64 * 64;
        let mut left = words[first as usize / 64] & (u64::MAX << (range.start % 64));
        if range.end - first < 64 {
            left &= (1 << (range.end - first)) - 1;
        }
        let room = (found.len() - count).min(left.count_ones() as usize);
        for bit in &mut found[count..count + room] {
            *bit = first + left.trailing_zeros();
            left &= left - 1;
        }
        count += room;
        range.start = range.end.min(first + left.trailing_zeros());
    }
    count
}

/// Visits the set bits of a range in ascending order.
#[inline]
pub fn for_each(words: &[u64], range: Range<u32>, mut visit: impl FnMut(u32)) {
    by_word(range, |word, mask| {
        let mut left = words[word] & mask;
        while left != 0 {
            visit(word as u32 * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    });
}

/// How many bits of a range are set.
#[inline]
pub fn count(words: &[u64], range: Range<u32>) -> u32 {
    let mut count = 0;
    by_word(range, |word, mask| count += (words[word] & mask).count_ones());
    count
}

/// Sets the bits of a range.
#[inline]
pub fn set(words: &mut [u64], range: Range<u32>) {
    by_word(range, |word, mask| words[word] |= mask);
}

/// Unsets the bits of a range.
#[inline]
pub fn unset(words: &mut [u64], range: Range<u32>) {
    by_word(range, |word, mask| words[word] &= !mask);
}

#[inline]
fn by_word(range: Range<u32>, mut visit: impl FnMut(usize, u64)) {
    let mut bit = range.start;
    while bit < range.end {
        let length = (64 - bit % 64).min(range.end - bit);
        visit(bit as usize / 64, (u64::MAX >> (64 - length)) << (bit % 64));
        bit += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_set(words: &[u64], bit: u32) -> bool {
        words[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    proptest! {
        #[test]
        fn bits_are_found_one_by_one(
            words in prop::collection::vec(any::<u64>(), 4),
            from in 0u32..200, length in 0u32..56, most in 0usize..60,
        ) {
            let all = from..from + length;
            let expected: Vec<u32> =
                all.clone().filter(|&bit| is_set(&words, bit)).take(most).collect();
            let (mut left, mut found) = (all.clone(), vec![0; most]);
            let count = find(&words, &mut left, &mut found);
            found.truncate(count);
            prop_assert_eq!(&found, &expected);
            let mut visited = Vec::new();
            for_each(&words, all.clone(), |bit| visited.push(bit));
            visited.truncate(most);
            prop_assert_eq!(&visited, &expected);
            prop_assert!(left.start >= all.start && left.end == all.end);
            let passed = (all.start..left.start).filter(|&bit| is_set(&words, bit)).count();
            prop_assert_eq!(passed, count);
        }

        #[test]
        fn ranges_are_set_and_unset_bit_by_bit(
            words in prop::collection::vec(any::<u64>(), 4), first in 0u32..190, length in 0u32..66,
        ) {
            let range = first..first + length;
            let (mut with, mut without) = (words.clone(), words.clone());
            set(&mut with, range.clone());
            unset(&mut without, range.clone());
            for bit in 0..256 {
                let (inside, before) = (range.contains(&bit), is_set(&words, bit));
                prop_assert_eq!(is_set(&with, bit), before || inside);
                prop_assert_eq!(is_set(&without, bit), before && !inside);
            }
        }
    }
}
