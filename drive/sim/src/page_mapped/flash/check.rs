//! What must hold of loaded dies, and what they have been given.

use super::die::Die;
use super::variation::Variation;
use super::{Flash, PageRead};
use crate::event::NEVER_NS;
use crate::validity::{Checked, Clock, both, ensure, ensure_counts, same};

impl Flash {
    /// Fails unless loaded dies can go on as those that were `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self {
            dies,
            due_ns,
            channel_free_ns,
            read_ns,
            bus_rate,
            suspend,
            lanes,
            together,
            variation,
            plain,
            array_time,
        } = self;
        both(variation.as_deref(), made.variation.as_deref(), Variation::check)?;
        same!(made; read_ns, bus_rate, suspend, lanes, together, plain);
        let planes = lanes.per_die.max(together.planes());
        ensure(
            dies.len() == made.dies.len()
                && due_ns.count() == made.due_ns.count()
                && channel_free_ns.len() == made.channel_free_ns.len(),
            "the dies and channels",
        )?;
        for (index, (die, made)) in (0..).zip(dies.iter().zip(&made.dies)) {
            die.check(made, due_ns.get(index), planes, clock)?;
        }
        let unused = dies.len() as u32..due_ns.count();
        ensure(unused.into_iter().all(|index| due_ns.get(index) == NEVER_NS), "a die too many")?;
        clock.ensure_soon(channel_free_ns.iter().copied())?;
        ensure_counts([array_time.read_ns, array_time.program_ns, array_time.erase_ns])
    }

    /// The page reads that dies have been given and not delivered.
    pub fn page_reads(&self) -> impl Iterator<Item = &PageRead> {
        self.dies.iter().flat_map(Die::page_reads)
    }

    /// By lane: how many rows of the host's it has been given, and what they release
    /// in the write buffer.
    pub fn releases(&self) -> Vec<(usize, u64)> {
        let mut sums = vec![(0, 0); self.lanes() as usize];
        for (index, die) in (0..).zip(&self.dies) {
            for (plane, bytes) in die.releases() {
                let (rows, sum) = &mut sums[self.lanes.lane(index, plane) as usize];
                (*rows, *sum) = (*rows + 1, *sum + u64::from(bytes));
            }
        }
        sums
    }
}
