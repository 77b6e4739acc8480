//! Pending events in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of events. Equal times come out by ascending `E`, so that the order
/// never depends on the heap's history.
#[derive(Clone, Debug)]
pub struct EventQueue<E: Ord> {
    heap: BinaryHeap<Reverse<(u64, E)>>,
}

impl<E: Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::with_capacity(64) }
    }
}

impl<E: Ord + Copy> EventQueue<E> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at_ns: u64, event: E) {
        self.heap.push(Reverse((at_ns, event)));
    }

    /// Time of the earliest event.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
