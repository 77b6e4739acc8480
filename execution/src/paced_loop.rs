//! Lanes in a closed loop that do not answer every completion at once: they begin
//! late, end early, pause, or answer in batches.

use crate::measurement::Measurement;
use crate::slot::Slot;
use fourcorners_workload::{Lane, Request};

/// The paced side of the issuing loop.
pub(crate) struct PacedLoop {
    started_ns: u64,
    /// By lane; `None` of those that are answered at once, or at a given rate.
    paces: Vec<Option<Pace>>,
    /// Whether there are any.
    any: bool,
    /// Lanes that may still issue something.
    lanes_open: usize,
    /// The lane whose requests are being issued.
    cursor: usize,
}

struct Pace {
    /// Slots that wait, the next one last.
    waiting: Vec<u32>,
    outstanding: u32,
    /// Nothing is issued before this time; [`CLOSED_NS`] when nothing will be again.
    ready_ns: u64,
    /// Requests until the next pause; of lanes without pauses never 0.
    to_pause: u64,
    /// Whether free places are being filled.
    filling: bool,
}

/// When a lane goes on that has ended.
const CLOSED_NS: u64 = u64::MAX;

/// Whether completions of a lane are not answered at once.
pub(crate) fn is_paced(lane: &Lane) -> bool {
    lane.arrivals.is_none()
        && (lane.start_ns > 0
            || lane.end_ns < u64::MAX
            || lane.think.is_some()
            || lane.answer_batch > 1)
}

impl Pace {
    fn new(lane: &Lane, started_ns: u64) -> Self {
        Self {
            waiting: Vec::new(),
            outstanding: 0,
            ready_ns: started_ns + lane.start_ns,
            to_pause: lane.think.map_or(u64::MAX, |think| u64::from(think.ios)),
            filling: true,
        }
    }
}

impl PacedLoop {
    pub(crate) fn new(started_ns: u64, lanes: &[Lane], slots: &[Slot]) -> Self {
        let mut paces: Vec<Option<Pace>> =
            lanes.iter().map(|lane| is_paced(lane).then(|| Pace::new(lane, started_ns))).collect();
        for (index, slot) in slots.iter().enumerate().rev() {
            if let Some(pace) = &mut paces[slot.lane as usize] {
                pace.waiting.push(index as u32);
            }
        }
        let lanes_open = paces.iter().flatten().count();
        Self { started_ns, paces, any: lanes_open > 0, lanes_open, cursor: 0 }
    }

    /// Whether anything may still be issued.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.lanes_open > 0
    }

    /// Takes a slot whose request has completed; false of a lane that is not paced.
    #[inline]
    pub(crate) fn release(&mut self, index: u32, lane: &Lane, slot: &Slot, now_ns: u64) -> bool {
        if !self.any {
            return false;
        }
        let Some(pace) = &mut self.paces[slot.lane as usize] else {
            return false;
        };
        if pace.ready_ns == CLOSED_NS {
            return true;
        }
        pace.waiting.push(index);
        pace.outstanding -= 1;
        pace.filling |= pace.waiting.len() >= lane.answer_batch as usize;
        if let Some(think) = lane.think
            && pace.to_pause == 0
            && pace.outstanding == 0
        {
            pace.to_pause = u64::from(think.ios);
            pace.ready_ns = now_ns + think.time_ns;
            pace.filling = true;
        }
        true
    }

    /// The next request that may be issued at `now_ns`, and its slot; lane by lane.
    /// `None` when all have been issued.
    pub(crate) fn next(
        &mut self,
        now_ns: u64,
        lanes: &mut [Lane],
        slots: &mut [Slot],
        measurement: &Measurement,
    ) -> Option<(u32, Request)> {
        while let Some(lane) = lanes.get_mut(self.cursor) {
            if let Some(pace) = &mut self.paces[self.cursor] {
                let ends_ns = measurement.end_ns().min(self.started_ns.saturating_add(lane.end_ns));
                if now_ns >= ends_ns {
                    self.close();
                } else if pace.filling && now_ns >= pace.ready_ns && pace.to_pause > 0 {
                    match (pace.waiting.pop(), lane.next_request()) {
                        (Some(index), Some(request)) => {
                            pace.to_pause -= 1;
                            pace.outstanding += 1;
                            pace.filling = !pace.waiting.is_empty();
                            slots[index as usize].request = request;
                            return Some((index, request));
                        }
                        (Some(_), None) => self.close(),
                        (None, _) => unreachable!("a lane that fills has a place that is free"),
                    }
                }
            }
            self.cursor += 1;
        }
        self.cursor = 0;
        None
    }

    /// Ends the lane at the cursor: it issues nothing more.
    fn close(&mut self) {
        if let Some(pace) = &mut self.paces[self.cursor]
            && pace.ready_ns < CLOSED_NS
        {
            pace.ready_ns = CLOSED_NS;
            self.lanes_open -= 1;
        }
    }

    /// Issues nothing more: the run is stopped.
    pub(crate) fn stop(&mut self) {
        for pace in self.paces.iter_mut().flatten() {
            pace.ready_ns = CLOSED_NS;
        }
        self.lanes_open = 0;
    }

    /// When the next lane may go on that waits for nothing but time.
    pub(crate) fn next_due_ns(&self, lanes: &[Lane], measurement: &Measurement) -> Option<u64> {
        lanes
            .iter()
            .zip(&self.paces)
            .filter_map(|(lane, pace)| Some((lane, pace.as_ref()?)))
            .filter(|(_, pace)| pace.filling && pace.to_pause > 0 && pace.ready_ns < CLOSED_NS)
            .map(|(lane, pace)| pace.ready_ns.min(self.started_ns.saturating_add(lane.end_ns)))
            .min()
            .map(|due_ns| due_ns.min(measurement.end_ns()))
    }
}
