//! Which bytes lie on which member.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Addresses dealt to the members in chunks, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stripe {
    chunk_shift: u32,
    members: u64,
}

/// A member's share of a range of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Which member.
    pub member: u32,
    /// First byte, counted from the start of the member.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u64,
}

impl Stripe {
    /// `chunk_bytes` is a power of two.
    pub fn new(chunk_bytes: u64, members: usize) -> Self {
        debug_assert!(chunk_bytes.is_power_of_two() && members > 0);
        Self { chunk_shift: chunk_bytes.trailing_zeros(), members: members as u64 }
    }

    /// Size of a chunk.
    pub fn chunk_bytes(&self) -> u64 {
        1 << self.chunk_shift
    }

    /// Bytes of an array whose smallest member has `member_bytes`.
    pub fn capacity_bytes(&self, member_bytes: u64) -> u64 {
        ((member_bytes >> self.chunk_shift) << self.chunk_shift) * self.members
    }

    /// The members' shares of a range, in order of the addresses that they
    /// begin at.
    ///
    /// A member's chunks of one range follow each other on the member, and the
    /// host joins them into one command, as striping drivers do: there is at
    /// most one extent per member.
    #[inline]
    pub fn extents(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> impl Iterator<Item = Extent> + use<> {
        let stripe = *self;
        let end_byte = offset_bytes + length_bytes;
        let first_chunk = offset_bytes >> self.chunk_shift;
        let end_chunk = end_byte.div_ceil(1 << self.chunk_shift);
        let members = (end_chunk - first_chunk).min(self.members);
        (first_chunk..first_chunk + members).map(move |chunk| {
            let rounds = (end_chunk - 1 - chunk) / stripe.members;
            let last_chunk = chunk + rounds * stripe.members;
            let first_byte = offset_bytes.max(chunk << stripe.chunk_shift);
            let last_byte = end_byte.min((last_chunk + 1) << stripe.chunk_shift) - 1;
            let member_offset = stripe.on_member(first_byte);
            Extent {
                member: (chunk % stripe.members) as u32,
                offset_bytes: member_offset,
                length_bytes: stripe.on_member(last_byte) + 1 - member_offset,
            }
        })
    }

    /// The ranges of the array that a range of a member holds, ascending.
    pub fn on_array(&self, member: usize, range: Range<u64>) -> Vec<Range<u64>> {
        let chunk_bytes = 1 << self.chunk_shift;
        let (mut byte, mut ranges) = (range.start, Vec::new());
        while byte < range.end {
            let row = byte >> self.chunk_shift;
            let until = range.end.min((row + 1) << self.chunk_shift);
            let start =
                (row * self.members + member as u64) * chunk_bytes + (byte & (chunk_bytes - 1));
            ranges.push(start..start + (until - byte));
            byte = until;
        }
        ranges
    }

    /// A byte's address on its member.
    fn on_member(&self, byte: u64) -> u64 {
        let chunk = byte >> self.chunk_shift;
        let within = byte - (chunk << self.chunk_shift);
        ((chunk / self.members) << self.chunk_shift) + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_over_a_chunk_boundary_has_two_extents() {
        let stripe = Stripe::new(1024, 3);
        let extents: Vec<Extent> = stripe.extents(5 * 1024 + 512, 1024).collect();
        let expected = [
            Extent { member: 2, offset_bytes: 1024 + 512, length_bytes: 512 },
            Extent { member: 0, offset_bytes: 2048, length_bytes: 512 },
        ];
        assert_eq!(extents, expected);
        assert_eq!(stripe.extents(5 * 1024, 0).count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against the definition, byte by byte.
        #[test]
        fn every_byte_is_on_its_member_once(
            shift in 0u32..5, members in 1usize..8, offset in 0u64..500, length in 1u64..300,
        ) {
            let stripe = Stripe::new(1 << shift, members);
            let mut expected = vec![Vec::new(); members];
            for byte in offset..offset + length {
                let (chunk, within) = (byte >> shift, byte & ((1 << shift) - 1));
                let member = (chunk % members as u64) as usize;
                expected[member].push((chunk / members as u64) * (1 << shift) + within);
            }
            let mut dealt = vec![Vec::new(); members];
            for extent in stripe.extents(offset, length) {
                let bytes = &mut dealt[extent.member as usize];
                prop_assert!(bytes.is_empty(), "two extents on a member");
                bytes.extend(extent.offset_bytes..extent.offset_bytes + extent.length_bytes);
            }
            prop_assert_eq!(dealt, expected);
            // And back again.
            let mut found: Vec<u64> = stripe
                .extents(offset, length)
                .flat_map(|extent| {
                    let bytes = extent.offset_bytes..extent.offset_bytes + extent.length_bytes;
                    stripe.on_array(extent.member as usize, bytes)
                })
                .flatten()
                .collect();
            found.sort_unstable();
            prop_assert!(found.into_iter().eq(offset..offset + length));
        }
    }
}
