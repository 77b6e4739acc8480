//! io_uring and NVMe commands, which are Linux's: there are no values of these types.

use crate::buffers::Buffers;
use crate::claim::ClaimedFile;
use crate::engine::Engine;
use crate::plan::Plan;
use crate::transfer::Transfer;
use crate::unavailable::Unavailable;
use fourcorners_target::{Completion, TargetError};
use std::fs::File;

#[derive(Debug)]
pub(crate) enum Namespace {}

impl Namespace {
    /// # Errors
    /// Always.
    pub(crate) fn beside(plan: &Plan, _block_device: &File) -> Result<Self, TargetError> {
        Err(TargetError(format!(
            "the engine nvme is for Linux, and {} is not there: leave out --engine",
            plan.path.display()
        )))
    }

    pub(crate) fn command_bytes_max(&self) -> u32 {
        match *self {}
    }
}

pub(crate) enum Asynchronous {}

impl Asynchronous {
    /// # Errors
    /// Always.
    pub(crate) fn new(
        _slots: u32,
        _file: &ClaimedFile,
        _namespace: Option<&Namespace>,
        _buffers: &mut Buffers,
        _engine: &Engine,
    ) -> Result<Self, Unavailable> {
        Err(Unavailable::Absent("only Linux has io_uring"))
    }

    pub(crate) fn has_registered_buffers(&self) -> bool {
        match *self {}
    }

    pub(crate) fn outstanding(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn now_ns(&mut self) -> u64 {
        match *self {}
    }

    pub(crate) fn time_passes(&mut self) {
        match *self {}
    }

    pub(crate) fn submit(&mut self, _transfer: &Transfer) -> u64 {
        match *self {}
    }

    pub(crate) fn pass_on(&mut self) {
        match *self {}
    }

    pub(crate) fn wait(
        &mut self,
        _deadline_ns: u64,
        _done: &mut Vec<Completion>,
    ) -> Result<(), TargetError> {
        match *self {}
    }
}
