//! A target behind disturbances.
//!
//! The drive's clock and the host's run at different paces: from one event of the
//! drive to the next, the time that it takes is multiplied by a random factor. So
//! the drive serves as it always does, and nothing about its state changes; only
//! times do.

use crate::Disturbance;
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError};
use fourcorners_workload::{Content, Operation, Request};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What somebody else reads at a time.
const LOAD_BYTES: u32 = 4096;
/// Until the first read of somebody else, whose time is not known yet.
const FIRST_SERVICE_NS: u64 = 100_000;

/// A target in virtual time, with disturbances that outlive it.
pub struct Disturbed<'a> {
    inner: &'a mut dyn Target,
    disturbance: &'a mut Disturbance,
    now_ns: u64,
    pace: f64,
    /// Requests that the host has not handed over yet, in order of time.
    waiting: VecDeque<(u64, u32, Request)>,
    /// When the host is done with the request before.
    host_free_ns: u64,
    /// When each slot's request was handed over; the last slot is somebody else's.
    handed_over_ns: Vec<u64>,
    /// Requests that the drive has.
    outstanding: u64,
    /// Requests that the drive has completed and the host has not seen yet.
    late: BinaryHeap<Reverse<(u64, u32, i32)>>,
    /// When somebody else reads; `None` while that lasts, and where nobody does.
    load_due_ns: Option<u64>,
    load_outstanding: bool,
    completed: Vec<Completion>,
}

impl<'a> Disturbed<'a> {
    /// Disturbs `inner`.
    pub fn new(inner: &'a mut dyn Target, disturbance: &'a mut Disturbance) -> Self {
        let now_ns = inner.now_ns();
        if disturbance.load_service_ns == 0 {
            disturbance.load_service_ns = FIRST_SERVICE_NS;
        }
        let loaded = disturbance.strength.load_share > 0.0;
        let load_due_ns = loaded.then(|| now_ns + disturbance.pause_ns());
        Self {
            pace: disturbance.pace(now_ns),
            inner,
            disturbance,
            now_ns,
            waiting: VecDeque::new(),
            host_free_ns: now_ns,
            handed_over_ns: Vec::new(),
            outstanding: 0,
            late: BinaryHeap::new(),
            load_due_ns,
            load_outstanding: false,
            completed: Vec::new(),
        }
    }

    /// Waits until nobody else uses the target.
    ///
    /// # Errors
    /// The target can serve nothing more.
    pub fn end(mut self) -> Result<(), TargetError> {
        self.load_due_ns = None;
        while self.load_outstanding {
            self.completed.clear();
            self.inner.wait(u64::MAX / 4, &mut self.completed)?;
            let load = self.load_slot();
            self.load_outstanding = !self.completed.iter().any(|done| done.slot == load);
        }
        Ok(())
    }

    fn load_slot(&self) -> u32 {
        self.handed_over_ns.len() as u32 - 1
    }

    fn hand_over(&mut self, slot: u32, request: &Request) {
        self.handed_over_ns[slot as usize] = self.now_ns;
        self.outstanding += 1;
        self.inner.submit(slot, request);
    }

    /// Does what is due now.
    fn act(&mut self, done: &mut Vec<Completion>) {
        while let Some(&Reverse((completed_ns, slot, errno))) = self.late.peek()
            && completed_ns <= self.now_ns
        {
            self.late.pop();
            done.push(Completion { slot, completed_ns, errno });
        }
        while let Some(&(due_ns, slot, request)) = self.waiting.front()
            && due_ns <= self.now_ns
        {
            self.waiting.pop_front();
            self.hand_over(slot, &request);
        }
        if self.load_due_ns.is_some_and(|due_ns| due_ns <= self.now_ns) {
            self.load_due_ns = None;
            self.load_outstanding = true;
            let blocks = self.inner.capacity_bytes() / u64::from(LOAD_BYTES);
            let request = Request {
                operation: Operation::Read,
                offset_bytes: self.disturbance.block(blocks) * u64::from(LOAD_BYTES),
                length_bytes: LOAD_BYTES,
                content: Content::Incompressible,
                fua: false,
            };
            self.hand_over(self.load_slot(), &request);
        }
    }

    /// When something of the host's is due, up to `deadline_ns`.
    fn next_ns(&self, deadline_ns: u64) -> u64 {
        let late_ns = self.late.peek().map(|&Reverse((due_ns, ..))| due_ns);
        let waiting_ns = self.waiting.front().map(|&(due_ns, ..)| due_ns);
        let due = [late_ns, waiting_ns, self.load_due_ns].into_iter().flatten();
        due.fold(deadline_ns, u64::min)
    }

    /// Lets the drive work until it completes something, or until `until_ns`.
    fn advance(&mut self, until_ns: u64) -> Result<(), TargetError> {
        let started_ns = self.inner.now_ns();
        let within_ns = ((until_ns - self.now_ns) as f64 / self.pace).ceil() as u64;
        self.completed.clear();
        self.inner.wait(started_ns + within_ns.max(1), &mut self.completed)?;
        if self.completed.is_empty() {
            self.now_ns = until_ns;
            return Ok(());
        }
        let took_ns = (self.inner.now_ns() - started_ns) as f64 * self.pace;
        self.now_ns = until_ns.min(self.now_ns + took_ns.round() as u64);
        for index in 0..self.completed.len() {
            let Completion { slot, errno, .. } = self.completed[index];
            let took_ns = self.now_ns - self.handed_over_ns[slot as usize];
            let share_ns = took_ns / self.outstanding;
            self.outstanding -= 1;
            if slot == self.load_slot() {
                self.load_outstanding = false;
                self.disturbance.load_service_ns = took_ns.max(1);
                self.load_due_ns = Some(self.now_ns + self.disturbance.pause_ns());
                continue;
            }
            // What waits for others takes no longer for itself: its share of the time counts.
            let outlier_ns = self.disturbance.outlier_ns(share_ns);
            let seen_ns = self.now_ns + outlier_ns + self.disturbance.overhead_ns();
            self.late.push(Reverse((seen_ns, slot, errno)));
        }
        self.pace = self.disturbance.pace(self.now_ns);
        Ok(())
    }
}

impl Target for Disturbed<'_> {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.handed_over_ns = vec![0; slots as usize + 1];
        self.inner.prepare(slots + 1, block_bytes_max.max(LOAD_BYTES))
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        self.inner.stage(slot, request);
    }

    fn meters(&self) -> Meters {
        self.inner.meters()
    }

    fn condition(&mut self) -> Condition {
        self.inner.condition()
    }

    fn pass_on(&mut self) {
        self.inner.pass_on();
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        let overhead_ns = self.disturbance.overhead_ns();
        let due_ns = self.host_free_ns.max(self.now_ns) + overhead_ns;
        self.host_free_ns = due_ns;
        self.waiting.push_back((due_ns, slot, *request));
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        loop {
            self.act(done);
            if !done.is_empty() || self.now_ns >= deadline_ns {
                return Ok(());
            }
            self.advance(self.next_ns(deadline_ns))?;
        }
    }
}
