//! A simulated drive of any kind behind the target seam.
//!
//! It chooses the model with each I/O. A caller for whom that is too slow chooses
//! once for a workload, with [`crate::with_model`].

use crate::device::Device;
use crate::drive::SimulatedDrive;
use crate::with_model;
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError, VirtualDrive};
use fourcorners_workload::Request;
use std::io::Write;
use std::ops::Range;

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

    fn condition(&mut self) -> Condition {
        with_model!(&mut self.model, drive => drive.condition())
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

impl VirtualDrive for SimulatedDrive {
    fn next_event_ns(&self) -> Option<u64> {
        Some(with_model!(&self.model, drive => drive.device().next_event_ns()))
    }

    fn has_trim(&self) -> bool {
        with_model!(&self.model, drive => drive.device().has_trim())
    }

    fn trim(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), String> {
        SimulatedDrive::trim(self, offset_bytes, length_bytes);
        Ok(())
    }

    fn honours_flush(&self) -> bool {
        with_model!(&self.model, drive => drive.device().honours_flush())
    }

    fn is_write_through(&self) -> bool {
        with_model!(&self.model, drive => drive.device().is_write_through())
    }

    fn can_lose_power(&self) -> Result<(), String> {
        Ok(())
    }

    fn at_risk(&self) -> Option<Vec<Range<u64>>> {
        Some(with_model!(&self.model, drive => drive.at_risk()))
    }

    fn power_cut(&mut self) -> Result<Vec<Range<u64>>, String> {
        Ok(SimulatedDrive::power_cut(self))
    }

    fn save(&self, output: &mut dyn Write) -> Result<(), String> {
        SimulatedDrive::save(self, output).map_err(|error| error.to_string())
    }

    fn counters(&mut self) -> Vec<(String, f64)> {
        let counters = SimulatedDrive::counters(self);
        counters.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }
}
