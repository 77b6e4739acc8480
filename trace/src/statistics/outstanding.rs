//! I/Os outstanding when one is issued, by the latencies that were recorded.

use super::Quantiles;
use crate::record::Record;
use fourcorners_recording::Latencies;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Completions that are waited for: more than any device has outstanding.
const OUTSTANDING_MAX: usize = 1 << 16;

/// I/Os outstanding.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueFigures {
    /// When an I/O was issued, with itself.
    pub depth: Quantiles,
    /// Time with an I/O outstanding.
    pub busy_ns: u64,
    /// Time without one, from the first issue to the last: how long such times were.
    pub idle_ns: Option<Quantiles>,
}

#[derive(Default)]
pub(super) struct Outstanding {
    completions: BinaryHeap<Reverse<u64>>,
    depths: Latencies,
    idle: Latencies,
    busy_ns: u64,
    /// Until when the device was busy, as far as is known.
    busy_until_ns: u64,
    is_known: bool,
}

impl Outstanding {
    pub(super) fn count(&mut self, record: &Record) {
        let Some(latency_ns) = record.latency_ns else { return };
        let now_ns = record.time_ns;
        while self.completions.peek().is_some_and(|Reverse(time_ns)| *time_ns <= now_ns) {
            self.completions.pop();
        }
        if self.completions.len() >= OUTSTANDING_MAX {
            self.completions.pop();
        }
        let end_ns = now_ns.saturating_add(latency_ns);
        self.completions.push(Reverse(end_ns));
        self.depths.record(self.completions.len() as u64);
        if self.is_known && now_ns > self.busy_until_ns {
            self.idle.record(now_ns - self.busy_until_ns);
        }
        let begin_ns = if self.is_known { now_ns.max(self.busy_until_ns) } else { now_ns };
        self.busy_ns += end_ns.saturating_sub(begin_ns);
        self.busy_until_ns = self.busy_until_ns.max(end_ns);
        self.is_known = true;
    }

    pub(super) fn finish(self) -> Option<QueueFigures> {
        Some(QueueFigures {
            depth: Quantiles::of(&self.depths)?,
            busy_ns: self.busy_ns,
            idle_ns: Quantiles::of(&self.idle),
        })
    }
}
