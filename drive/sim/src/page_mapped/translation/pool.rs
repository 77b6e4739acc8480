//! Pools: dies that collect together, and who fills their rows.

use super::frontier::Frontier;
use super::victim::Victim;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Who fills a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// The host.
    Host,
    /// The collector.
    Collector,
    /// The host, of drives that write hot data apart from the rest: hot data.
    HotHost,
    /// The collector, of what it finds among hot data.
    HotCollector,
}

impl Stream {
    /// Whether only the collector fills its rows.
    pub fn is_collected(self) -> bool {
        matches!(self, Self::Collector | Self::HotCollector)
    }
}

/// One pool's blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pool {
    /// Empty blocks.
    pub free: VecDeque<u32>,
    /// The open rows, by [`Stream`].
    pub frontiers: Box<[Frontier]>,
    /// The block that is being collected.
    pub victim: Option<Victim>,
    /// Units written since the pool last collected, and units that it may move
    /// before the next write.
    pub units_written: u32,
    /// See `units_written`.
    pub credit: f64,
    /// Bytes that the collector put into rows that were the host's turn.
    pub turn_taken_bytes: u32,
    /// Collects: free blocks ran low, and are not yet plenty again.
    pub bursting: bool,
    /// It is collecting because it ran out of free blocks.
    pub collecting: bool,
    /// Its last victim was chosen to level wear.
    pub levelled: bool,
    /// Its blocks are so full of valid units that collecting frees next to
    /// nothing.
    pub crowded: bool,
}

impl Pool {
    /// A pool of empty blocks.
    pub fn erased(mut free: VecDeque<u32>, separates: bool) -> Self {
        let streams = if separates { 4 } else { 2 };
        let mut open = |_| {
            let block = free.pop_front().expect("a pool has blocks to write to");
            Frontier::at_start_of(block)
        };
        let frontiers = (0..streams).map(&mut open).collect();
        Self {
            free,
            frontiers,
            victim: None,
            units_written: 0,
            turn_taken_bytes: 0,
            credit: 0.0,
            bursting: false,
            collecting: false,
            levelled: false,
            crowded: false,
        }
    }
}
