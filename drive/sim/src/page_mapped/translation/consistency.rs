//! What must hold of the map at any time.

use super::Translation;
use super::victim::NOT_CLOSED;

impl Translation {
    /// Valid units of each block that is full and not being emptied.
    #[cfg(test)]
    pub fn closed_counts(&self) -> Vec<u32> {
        self.counts.iter().copied().filter(|&count| count < NOT_CLOSED).collect()
    }

    /// Checks every invariant of the map; slow, for tests.
    ///
    /// # Panics
    /// When one is broken.
    pub fn assert_consistent(&self) {
        let mut counts = vec![0u32; self.counts.len()];
        let mut mapped = 0;
        for (unit, &entry) in self.map.iter().enumerate() {
            if entry != 0 {
                let slot = entry - 1;
                mapped += 1;
                assert_eq!(self.owner(slot) as usize, unit, "owner of slot {slot}");
                assert_ne!(self.valid[slot as usize / 64] >> (slot % 64) & 1, 0, "slot {slot}");
                counts[self.geometry.block_of_slot(slot) as usize] += 1;
            }
        }
        let valid: u32 = self.valid.iter().map(|word| word.count_ones()).sum();
        assert_eq!(valid, mapped, "valid slots against mapped units");
        for (index, (&count, expected)) in self.counts.iter().zip(counts).enumerate() {
            assert_eq!(count & !NOT_CLOSED, expected, "count of block {index}");
        }
        for (number, pool) in (0..).zip(&self.pools) {
            // Every good block is free, being filled, being emptied or closed,
            // and bad ones are none of these.
            let mut uses = vec![0; self.geometry.blocks as usize];
            let open = pool.frontiers.iter().map(|frontier| frontier.block);
            let emptied = pool.victim.iter().map(|victim| victim.block);
            for block in pool.free.iter().copied().chain(open).chain(emptied) {
                uses[block as usize] += 1;
            }
            for (block, uses) in (0..).zip(uses) {
                let index = self.geometry.block_index(number, block);
                let closed = u32::from(self.counts[index] < NOT_CLOSED);
                let good = u32::from(!self.wear.is_bad(index));
                assert_eq!(uses + closed, good, "uses of block {block} of pool {number}");
            }
        }
    }
}
