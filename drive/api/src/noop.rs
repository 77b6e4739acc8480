//! A target that does nothing, at once: it measures the cost of issuing and
//! recording, and serves tests.

use crate::{Completion, Target, TargetError, VirtualDrive};
use fourcorners_workload::Request;

/// Completes every request after a fixed virtual latency.
#[derive(Debug)]
pub struct NoopTarget {
    capacity_bytes: u64,
    latency_ns: u64,
    now_ns: u64,
    /// Outstanding slots in order of submission, which is order of completion.
    pending: std::collections::VecDeque<(u32, u64)>,
}

impl NoopTarget {
    /// A target of `capacity_bytes` that takes `latency_ns` for anything.
    pub fn new(capacity_bytes: u64, latency_ns: u64) -> Self {
        Self { capacity_bytes, latency_ns, now_ns: 0, pending: std::collections::VecDeque::new() }
    }
}

impl Target for NoopTarget {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        self.pending.reserve(slots as usize);
        Ok(())
    }

    #[inline]
    fn submit(&mut self, slot: u32, _request: &Request) -> u64 {
        self.pending.push_back((slot, self.now_ns + self.latency_ns));
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let Some(&(_, first_ns)) = self.pending.front() else {
            self.now_ns = self.now_ns.max(deadline_ns);
            return Ok(());
        };
        if first_ns > deadline_ns {
            self.now_ns = deadline_ns;
            return Ok(());
        }
        self.now_ns = first_ns;
        while let Some(&(slot, completed_ns)) = self.pending.front() {
            if completed_ns > first_ns {
                break;
            }
            done.push(Completion { slot, completed_ns, errno: 0 });
            self.pending.pop_front();
        }
        Ok(())
    }
}

impl VirtualDrive for NoopTarget {
    fn next_event_ns(&self) -> Option<u64> {
        Some(self.pending.front().map_or(u64::MAX, |&(_, first_ns)| first_ns))
    }
}
