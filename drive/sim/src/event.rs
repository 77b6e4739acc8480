//! Pending events in order of time.
//!
//! Most events of a drive come from things that serve one after another: a
//! link, a firmware, a data path. The times that one of them gives out never
//! fall, so its events wait in a plain queue, and only the heads of the queues
//! are compared. That is several times as fast as a heap of all events.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// An event of a drive model: what happens, to which command or part.
pub trait Kinds: Copy {
    /// How many kinds there are.
    const KINDS: usize;

    /// The kind, below [`Kinds::KINDS`]. Of equal times the lower kind comes
    /// first; events of one kind come in the order in which they were added.
    fn kind(self) -> usize;
}

/// A queue of events. The order of events that are due at once depends on
/// their kinds and on when they were added, and on nothing else.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// By kind, in order of time.
    queues: Box<[VecDeque<(u64, E)>]>,
    /// Times of the queues' heads; [`NEVER_NS`] where a queue is empty.
    heads_ns: [u64; KINDS_MAX],
    /// The earliest head.
    next_ns: u64,
    next_kind: usize,
}

/// Most kinds of events.
const KINDS_MAX: usize = 8;

/// Later than any event.
pub const NEVER_NS: u64 = u64::MAX;

impl<E: Kinds> Default for EventQueue<E> {
    fn default() -> Self {
        const { assert!(E::KINDS <= KINDS_MAX) };
        Self {
            queues: (0..E::KINDS).map(|_| VecDeque::with_capacity(64)).collect(),
            heads_ns: [NEVER_NS; KINDS_MAX],
            next_ns: NEVER_NS,
            next_kind: 0,
        }
    }
}

impl<E: Kinds> EventQueue<E> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at_ns: u64, event: E) {
        let kind = event.kind();
        let queue = &mut self.queues[kind];
        if queue.back().is_none_or(|&(last_ns, _)| last_ns <= at_ns) {
            queue.push_back((at_ns, event));
        } else {
            let place = queue.partition_point(|&(other_ns, _)| other_ns <= at_ns);
            queue.insert(place, (at_ns, event));
        }
        if at_ns < self.heads_ns[kind] {
            self.heads_ns[kind] = at_ns;
            if (at_ns, kind) < (self.next_ns, self.next_kind) {
                (self.next_ns, self.next_kind) = (at_ns, kind);
            }
        }
    }

    /// Time of the earliest event; [`NEVER_NS`] when there is none.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        let kind = self.next_kind;
        let queue = &mut self.queues[kind];
        let event = queue.pop_front()?;
        self.heads_ns[kind] = queue.front().map_or(NEVER_NS, |&(at_ns, _)| at_ns);
        (self.next_ns, self.next_kind) = (self.heads_ns[0], 0);
        for kind in 1..E::KINDS {
            // Which kind is next cannot be predicted.
            let head_ns = self.heads_ns[kind];
            let earlier = head_ns < self.next_ns;
            self.next_ns = select_unpredictable(earlier, head_ns, self.next_ns);
            self.next_kind = select_unpredictable(earlier, kind, self.next_kind);
        }
        Some(event)
    }
}

impl<E> EventQueue<E> {
    /// How many events satisfy a condition.
    pub fn count(&self, is: impl Fn(&E) -> bool) -> usize {
        self.iter().filter(|(_, event)| is(event)).count()
    }

    /// All events, kind by kind, each kind in order of time.
    pub fn iter(&self) -> impl Iterator<Item = &(u64, E)> {
        self.queues.iter().flatten()
    }
}

// A saved state has the events; which come first follows from them.
impl<E: Serialize> Serialize for EventQueue<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.iter().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de, E: Kinds + Deserialize<'de>> Deserialize<'de> for EventQueue<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut events = Self::default();
        for (at_ns, event) in Vec::<(u64, E)>::deserialize(deserializer)? {
            let last = events.queues[event.kind()].back();
            if at_ns == NEVER_NS || last.is_some_and(|&(last_ns, _)| last_ns > at_ns) {
                return Err(D::Error::custom("events out of order"));
            }
            events.push(at_ns, event);
        }
        Ok(events)
    }
}

/// One timer for each of a number of things: a tree in which every node has the
/// earlier one of its two children. A timer is one integer, its time above its
/// number, so that setting one compares it with one number per level, none of
/// which has to be looked up by another. Which one is earlier cannot be
/// predicted: it is found without a branch.
#[derive(Clone, Debug)]
pub struct Timers {
    /// Node 1 is the root, node `n` has the children `2n` and `2n + 1`; the
    /// leaves are the second half.
    nodes: Box<[u64]>,
    /// Bits of a timer's number.
    number_bits: u32,
    /// What the root's timer is set to.
    next_ns: u64,
}

impl Timers {
    /// `count` timers, none of them set.
    pub fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let number_bits = leaves.trailing_zeros();
        let mut timers = Self { nodes: vec![0; 2 * leaves].into(), number_bits, next_ns: NEVER_NS };
        for leaf in 0..leaves {
            timers.nodes[leaves + leaf] = timers.timer(leaf as u32, NEVER_NS);
        }
        for node in (1..leaves).rev() {
            timers.nodes[node] = timers.nodes[2 * node];
        }
        timers
    }

    #[inline]
    fn timer(&self, index: u32, at_ns: u64) -> u64 {
        let at_ns = at_ns.min(self.never());
        at_ns << self.number_bits | u64::from(index)
    }

    /// The time that stands for none: 2^59 ns are 18 years of 32 timers.
    #[inline]
    fn never(&self) -> u64 {
        NEVER_NS >> self.number_bits
    }

    #[inline]
    fn time_of(&self, timer: u64) -> u64 {
        let at_ns = timer >> self.number_bits;
        if at_ns == self.never() { NEVER_NS } else { at_ns }
    }

    /// Sets a timer, or stops it with [`NEVER_NS`].
    ///
    /// # Panics
    /// When the time is beyond 2^64 ns divided by the number of timers.
    #[inline]
    pub fn set(&mut self, index: u32, at_ns: u64) {
        assert!(at_ns < self.never() || at_ns == NEVER_NS, "the end of time");
        let mut earliest = self.timer(index, at_ns);
        let mut node = self.nodes.len() / 2 + index as usize;
        self.nodes[node] = earliest;
        while node > 1 {
            // SAFETY: `node` only falls from a leaf of the tree, which was just
            // accessed. The number of nodes is even, since only `new` makes nodes,
            // for a loaded state too: so its sibling is in the tree as well.
            unsafe {
                let other = *self.nodes.get_unchecked(node ^ 1);
                earliest = select_unpredictable(other < earliest, other, earliest);
                node /= 2;
                *self.nodes.get_unchecked_mut(node) = earliest;
            }
        }
        self.next_ns = self.time_of(earliest);
    }

    /// How many timers there are: the number asked for, rounded up to a power of
    /// two.
    pub fn count(&self) -> u32 {
        (self.nodes.len() / 2) as u32
    }

    /// What a timer is set to.
    #[inline]
    pub fn get(&self, index: u32) -> u64 {
        self.time_of(self.nodes[self.nodes.len() / 2 + index as usize])
    }

    /// The earliest time.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The timer with the earliest time; the first of several.
    #[inline]
    pub fn next(&self) -> u32 {
        (self.nodes[1] & !(NEVER_NS << self.number_bits)) as u32
    }
}

// A saved state has what each timer is set to; the tree is made anew from that,
// so that no state can bring one whose parts do not fit together.
impl Serialize for Timers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (0..self.count()).map(|index| self.get(index)).collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Timers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let times_ns = Vec::<u64>::deserialize(deserializer)?;
        if !times_ns.len().is_power_of_two() {
            return Err(D::Error::custom("timers for no number of things"));
        }
        let mut timers = Self::new(times_ns.len());
        for (index, at_ns) in (0..).zip(times_ns) {
            if at_ns >= timers.never() && at_ns != NEVER_NS {
                return Err(D::Error::custom("a timer beyond the end of time"));
            }
            timers.set(index, at_ns);
        }
        Ok(timers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// However the times of a state are mangled, the tree is whole or refused.
    #[test]
    fn timers_of_any_bytes_are_whole_or_refused() {
        let mut timers = Timers::new(3);
        timers.set(1, 50);
        let bytes = postcard::to_stdvec(&timers).unwrap();
        let again: Timers = postcard::from_bytes(&bytes).unwrap();
        assert_eq!((again.next_ns(), again.next(), again.count()), (50, 1, 4));
        for times_ns in [vec![], vec![1; 3], vec![1; 5], vec![NEVER_NS - 1; 4]] {
            let bytes = postcard::to_stdvec(&times_ns).unwrap();
            assert!(postcard::from_bytes::<Timers>(&bytes).is_err(), "{times_ns:?}");
        }
    }

    #[test]
    fn events_of_a_state_are_in_order_or_refused() {
        let load = |events: &[(u64, Sample)]| {
            postcard::from_bytes::<EventQueue<Sample>>(
                &postcard::to_stdvec(&events.to_vec()).unwrap(),
            )
        };
        let mut queue = load(&[(7, Sample::First(1)), (3, Sample::Second(2))]).unwrap();
        assert_eq!(queue.pop(), Some((3, Sample::Second(2))));
        assert!(load(&[(7, Sample::First(1)), (3, Sample::First(2))]).is_err());
        assert!(load(&[(NEVER_NS, Sample::First(1))]).is_err());
    }

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    enum Sample {
        First(u32),
        Second(u32),
    }

    impl Kinds for Sample {
        const KINDS: usize = 2;
        fn kind(self) -> usize {
            matches!(self, Sample::Second(_)).into()
        }
    }

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_kind_then_age(
            steps in prop::collection::vec(prop::option::of((0u64..50, any::<bool>())), 1..200)
        ) {
            let mut queue = EventQueue::default();
            let mut expected: Vec<(u64, usize, u32, Sample)> = Vec::new();
            for (age, step) in (0u32..).zip(steps) {
                if let Some((at_ns, second)) = step {
                    let event = if second { Sample::Second(age) } else { Sample::First(age) };
                    queue.push(at_ns, event);
                    expected.push((at_ns, event.kind(), age, event));
                } else {
                    expected.sort_by_key(|&(at_ns, kind, age, _)| (at_ns, kind, age));
                    let first = (!expected.is_empty()).then(|| expected.remove(0));
                    prop_assert_eq!(queue.pop(), first.map(|(at_ns, _, _, event)| (at_ns, event)));
                }
                let next_ns = expected.iter().map(|&(at_ns, ..)| at_ns).min();
                prop_assert_eq!(queue.next_ns(), next_ns.unwrap_or(NEVER_NS));
            }
        }

        #[test]
        fn the_earliest_timer_is_found(
            count in 1u32..70, steps in prop::collection::vec((any::<u32>(), 0u64..50), 1..100)
        ) {
            let mut timers = Timers::new(count as usize);
            let mut expected = vec![NEVER_NS; count as usize];
            for (index, at_ns) in steps {
                let at_ns = if at_ns == 0 { NEVER_NS } else { at_ns };
                timers.set(index % count, at_ns);
                expected[(index % count) as usize] = at_ns;
                let earliest_ns = *expected.iter().min().unwrap();
                prop_assert_eq!(timers.next_ns(), earliest_ns);
                prop_assert_eq!(timers.get(index % count), at_ns);
                let first = expected.iter().position(|&ns| ns == earliest_ns).unwrap();
                prop_assert_eq!(timers.next(), first as u32);
            }
        }
    }
}
