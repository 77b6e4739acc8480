//! placeholder
use crate::Device;
use crate::specification::{Host, Link};
use fourcorners_target::Completion;
use fourcorners_workload::Request;
use serde::Deserialize;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// Host.
    pub host: Host,
    /// Link.
    pub link: Link,
}

impl Specification {
    /// # Errors
    /// Impossible values.
    pub fn check(&self) -> Result<(), String> {
        self.link.check()
    }
}

/// The model.
#[derive(Debug)]
pub struct PageMapped;

impl PageMapped {
    /// Makes the drive.
    pub fn new(_specification: &Specification, _seed: u64) -> Self {
        Self
    }
}

impl Device for PageMapped {
    fn capacity_bytes(&self) -> u64 {
        todo!()
    }
    fn submit(&mut self, _at_ns: u64, _tag: u32, _request: &Request) {
        todo!()
    }
    fn next_event_ns(&self) -> Option<u64> {
        todo!()
    }
    fn step(&mut self, _done: &mut Vec<Completion>) {
        todo!()
    }
    fn purge(&mut self, _at_ns: u64) {}
    fn counters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
