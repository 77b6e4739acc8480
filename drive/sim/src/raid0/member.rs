//! A member of an array: any other drive model.

use crate::block_mapped::BlockMapped;
use crate::device::{Device, Overwriting};
use crate::disk::Disk;
use crate::log_block::LogBlock;
use crate::page_mapped::PageMapped;
use crate::validity::{Checked, Clock, ensure};
use fourcorners_target::{Completion, Condition};
use fourcorners_workload::Request;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A drive in an array. A choice between known models, so that no I/O pays for
/// a call through a table.
#[derive(Debug, Serialize, Deserialize)]
pub enum Member {
    /// SSD that maps every few KiB.
    PageMapped(Box<PageMapped>),
    /// SSD that maps whole superblocks.
    BlockMapped(Box<BlockMapped>),
    /// Hard disk drive.
    Disk(Box<Disk>),
    /// SSD with log blocks.
    LogBlock(Box<LogBlock>),
}

macro_rules! with_member {
    ($member:expr, $drive:ident => $body:expr) => {
        match $member {
            Member::PageMapped($drive) => $body,
            Member::BlockMapped($drive) => $body,
            Member::Disk($drive) => $body,
            Member::LogBlock($drive) => $body,
        }
    };
}

impl Device for Member {
    fn capacity_bytes(&self) -> u64 {
        with_member!(self, drive => drive.capacity_bytes())
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        with_member!(self, drive => drive.submit(at_ns, tag, request));
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        with_member!(self, drive => drive.next_event_ns())
    }

    #[inline]
    fn step(&mut self, done: &mut Vec<Completion>) {
        with_member!(self, drive => drive.step(done));
    }

    fn purge(&mut self, at_ns: u64) {
        with_member!(self, drive => drive.purge(at_ns));
    }

    fn trim(&mut self, at_ns: u64, offset_bytes: u64, length_bytes: u64) {
        with_member!(self, drive => drive.trim(at_ns, offset_bytes, length_bytes));
    }

    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>> {
        with_member!(self, drive => drive.power_cut(at_ns))
    }

    fn at_risk(&self, at_ns: u64) -> Vec<Range<u64>> {
        with_member!(self, drive => drive.at_risk(at_ns))
    }

    fn honours_flush(&self) -> bool {
        with_member!(self, drive => drive.honours_flush())
    }

    fn is_write_through(&self) -> bool {
        with_member!(self, drive => drive.is_write_through())
    }

    fn has_trim(&self) -> bool {
        with_member!(self, drive => drive.has_trim())
    }

    fn has_steady_state(&self, of: &Overwriting) -> Result<(), String> {
        with_member!(self, drive => drive.has_steady_state(of))
    }

    fn enter_steady_state(&mut self, at_ns: u64, of: &Overwriting) {
        with_member!(self, drive => drive.enter_steady_state(at_ns, of));
    }

    fn complete(&mut self, made: &Self, clock: Clock) -> Checked {
        match (self, made) {
            (Self::PageMapped(drive), Self::PageMapped(made)) => drive.complete(made, clock),
            (Self::BlockMapped(drive), Self::BlockMapped(made)) => drive.complete(made, clock),
            (Self::Disk(drive), Self::Disk(made)) => drive.complete(made, clock),
            (Self::LogBlock(drive), Self::LogBlock(made)) => drive.complete(made, clock),
            _ => ensure(false, "the kind of a member"),
        }
    }

    fn counters(&self) -> Vec<(&'static str, f64)> {
        with_member!(self, drive => drive.counters())
    }

    fn condition(&self) -> Condition {
        with_member!(self, drive => drive.condition())
    }

    fn assert_consistent(&self) {
        with_member!(self, drive => drive.assert_consistent());
    }

    fn energy_j(&self, now_ns: u64) -> Option<f64> {
        with_member!(self, drive => drive.energy_j(now_ns))
    }

    fn flash_programmed_bytes(&self) -> Option<u64> {
        with_member!(self, drive => drive.flash_programmed_bytes())
    }
}
