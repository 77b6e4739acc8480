//! Lanes at a given rate: which requests are due, and the slots that are free
//! for them.

use crate::measurement::Measurement;
use crate::slot::Slot;
use fourcorners_workload::{Lane, Request};
use std::collections::VecDeque;

/// The open-loop side of the issuing loop. What is due and finds no free slot
/// is not stored: the arrival process stands still at it, so that a target that
/// falls behind costs no memory.
pub(crate) struct OpenLoop {
    started_ns: u64,
    /// By lane: free slots in the order in which they became free. `None` in a
    /// closed loop, and when nothing more is due.
    free: Vec<Option<VecDeque<u32>>>,
    lanes_open: usize,
    /// The lane whose requests are being issued.
    cursor: usize,
}

impl OpenLoop {
    pub(crate) fn new(started_ns: u64, lanes: &[Lane], slots: &[Slot]) -> Self {
        let mut free: Vec<Option<VecDeque<u32>>> =
            lanes.iter().map(|lane| lane.arrivals.as_ref().map(|_| VecDeque::new())).collect();
        for (index, slot) in slots.iter().enumerate() {
            if let Some(queue) = &mut free[slot.lane as usize] {
                queue.push_back(index as u32);
            }
        }
        let lanes_open = free.iter().flatten().count();
        Self { started_ns, free, lanes_open, cursor: 0 }
    }

    /// Whether anything may still become due.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.lanes_open > 0
    }

    /// A request at a given rate has completed: its slot is free.
    pub(crate) fn release(&mut self, index: u32, slot: &mut Slot, now_ns: u64) {
        slot.free_ns = Some(now_ns);
        if let Some(queue) = &mut self.free[slot.lane as usize] {
            queue.push_back(index);
        }
    }

    /// The next request that is due at `now_ns` and has a free slot, which it
    /// takes; lane by lane. `None` when all have been issued.
    pub(crate) fn next(
        &mut self,
        now_ns: u64,
        lanes: &mut [Lane],
        slots: &mut [Slot],
        measurement: &mut Measurement,
    ) -> Option<(u32, Request)> {
        while let Some(lane) = lanes.get_mut(self.cursor) {
            if let Some(issued) = self.next_of(lane, now_ns, slots, measurement) {
                return Some(issued);
            }
            if lane.arrivals.is_none() && self.free[self.cursor].take().is_some() {
                self.lanes_open -= 1;
            }
            self.cursor += 1;
        }
        self.cursor = 0;
        None
    }

    fn next_of(
        &mut self,
        lane: &mut Lane,
        now_ns: u64,
        slots: &mut [Slot],
        measurement: &mut Measurement,
    ) -> Option<(u32, Request)> {
        let arrivals = lane.arrivals.as_mut()?;
        let due_ns = self.started_ns + arrivals.due_ns();
        let ends_ns = measurement.end_ns().min(self.started_ns.saturating_add(lane.end_ns));
        if due_ns >= ends_ns {
            measurement.closed(ends_ns, 0);
            lane.arrivals = None;
            return None;
        }
        if now_ns >= measurement.give_up_ns() {
            close(lane, self.started_ns, measurement.end_ns(), measurement);
            return None;
        }
        if due_ns > now_ns {
            return None;
        }
        let queue = self.free[self.cursor].as_mut()?;
        let &index = queue.front()?;
        arrivals.advance();
        let Some(request) = lane.next_request() else {
            measurement.closed(due_ns, 0);
            lane.arrivals = None;
            return None;
        };
        queue.pop_front();
        let slot = &mut slots[index as usize];
        slot.request = request;
        slot.due_ns = due_ns;
        measurement.offered();
        Some((index, request))
    }

    /// Issues nothing more: the run is stopped at `now_ns`.
    pub(crate) fn stop(&mut self, now_ns: u64, lanes: &mut [Lane], measurement: &mut Measurement) {
        let until_ns = now_ns.min(measurement.end_ns());
        for lane in lanes {
            close(lane, self.started_ns, until_ns, measurement);
        }
        self.free.fill(None);
        self.lanes_open = 0;
    }

    /// When the next request is due that has a free slot.
    pub(crate) fn next_due_ns(&self, lanes: &[Lane]) -> Option<u64> {
        lanes
            .iter()
            .zip(&self.free)
            .filter(|(_, free)| free.as_ref().is_some_and(|queue| !queue.is_empty()))
            .filter_map(|(lane, _)| lane.arrivals.as_ref())
            .map(|arrivals| self.started_ns + arrivals.due_ns())
            .min()
    }
}

/// Ends a lane's arrivals and counts those that are due and will not be issued.
fn close(lane: &mut Lane, started_ns: u64, until_ns: u64, measurement: &mut Measurement) {
    if let Some(arrivals) = lane.arrivals.take() {
        measurement.closed(until_ns, arrivals.due_before(until_ns - started_ns));
    }
}
