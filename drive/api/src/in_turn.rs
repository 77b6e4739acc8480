//! Discards and write-zeroes on a drive in virtual time.

use crate::{Completion, Condition, Meters, Target, TargetError, VirtualDrive};
use fourcorners_workload::{Content, Operation, Request};
use std::collections::VecDeque;

/// A drive in virtual time that is asked for discards and write-zeroes beside other
/// requests.
///
/// Models take a TRIM while nothing is outstanding, as SATA drives do before queued
/// TRIM (ACS-2, DATA SET MANAGEMENT is not queued): a discard waits for what came
/// before it, and what comes after it waits for it. It takes no time of its own.
/// Write-zeroes are the same where the drive has TRIM, as block layers have it, and
/// else a write of data that compresses to nothing.
pub struct InTurn<'a, D> {
    drive: &'a mut D,
    /// What waits for a discard, and the discard, in order.
    held: VecDeque<(u32, Request)>,
    /// What the drive has.
    outstanding: usize,
}

impl<'a, D: VirtualDrive> InTurn<'a, D> {
    /// The drive, on which nothing is outstanding.
    pub fn new(drive: &'a mut D) -> Self {
        Self { drive, held: VecDeque::new(), outstanding: 0 }
    }

    /// Whether a request needs the drive for itself.
    fn is_trim(&self, request: &Request) -> bool {
        match request.operation {
            Operation::Discard => true,
            Operation::WriteZeroes => self.drive.has_trim(),
            _ => false,
        }
    }

    fn give(&mut self, slot: u32, request: &Request) {
        self.outstanding += 1;
        if request.operation == Operation::WriteZeroes {
            let content = Content::Compressible(0);
            self.drive.submit(slot, &Request { operation: Operation::Write, content, ..*request });
        } else {
            self.drive.submit(slot, request);
        }
    }

    /// Hands over what waits, as far as it may.
    fn release(&mut self, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        while let Some(&(slot, request)) = self.held.front() {
            if self.is_trim(&request) {
                if self.outstanding > 0 {
                    break;
                }
                self.drive
                    .trim(request.offset_bytes, u64::from(request.length_bytes))
                    .map_err(TargetError)?;
                done.push(Completion { slot, completed_ns: self.drive.now_ns(), errno: 0 });
            } else {
                self.give(slot, &request);
            }
            self.held.pop_front();
        }
        Ok(())
    }
}

impl<D: VirtualDrive> Target for InTurn<'_, D> {
    fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.drive.now_ns()
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.drive.prepare(slots, block_bytes_max)
    }

    fn meters(&self) -> Meters {
        self.drive.meters()
    }

    fn condition(&mut self) -> Condition {
        self.drive.condition()
    }

    #[inline]
    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        if self.held.is_empty() && !self.is_trim(request) {
            self.give(slot, request);
        } else {
            self.held.push_back((slot, *request));
        }
        self.drive.now_ns()
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        loop {
            if !self.held.is_empty() {
                self.release(done)?;
                if done.len() > before {
                    return Ok(());
                }
            }
            self.drive.wait(deadline_ns, done)?;
            self.outstanding -= done.len() - before;
            if done.len() > before || self.held.is_empty() || self.outstanding > 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoopTarget;

    fn request(operation: Operation) -> Request {
        Request { operation, length_bytes: 4096, ..Request::FLUSH }
    }

    #[test]
    fn a_discard_waits_for_what_is_before_it_and_holds_up_what_is_behind_it() {
        let mut noop = NoopTarget::new(1 << 30, 100);
        let mut drive = InTurn::new(&mut noop);
        for (slot, operation) in
            [Operation::Read, Operation::Discard, Operation::Write].into_iter().enumerate()
        {
            drive.submit(slot as u32, &request(operation));
        }
        let mut all = Vec::new();
        for _ in 0..3 {
            let mut done = Vec::new();
            drive.wait(u64::MAX, &mut done).unwrap();
            all.extend(done.into_iter().map(|one| (one.slot, one.completed_ns)));
        }
        assert_eq!(all, [(0, 100), (1, 100), (2, 200)]);
    }
}
