//! A simulated drive of any kind behind the target seam.
//!
//! It chooses the model with each I/O. A caller for whom that is too slow chooses
//! once for a workload, with [`crate::with_model`].

use crate::drive::SimulatedDrive;
use crate::with_model;
use fourcorners_target::{Completion, Meters, Target, TargetError};
use fourcorners_workload::Request;

impl Target for SimulatedDrive {
    fn capacity_bytes(&self) -> u64 {
        SimulatedDrive::capacity_bytes(self)
    }

    fn now_ns(&mut self) -> u64 {
        with_model!(&mut self.model, drive => drive.now_ns())
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        with_model!(&mut self.model, drive => drive.prepare(slots, block_bytes_max))
    }

    fn meters(&self) -> Meters {
        with_model!(&self.model, drive => drive.meters())
    }

    #[inline]
    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        with_model!(&mut self.model, drive => drive.submit(slot, request))
    }

    #[inline]
    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        with_model!(&mut self.model, drive => drive.wait(deadline_ns, done))
    }
}
