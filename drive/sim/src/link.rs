//! The cable between host and drive.

use crate::specification;

/// A half-duplex link (SATA): one frame exchange at a time.
///
/// A data phase occupies the link for its payload time. Afterwards the link
/// stays occupied for the command's other frames (command, DMA set-up, device
/// bits) and turn-arounds; the host already has its data then, so this part
/// limits throughput but not the latency of a lone command.
#[derive(Clone, Debug)]
pub struct Link {
    /// Payload bytes per second.
    rate: u64,
    overhead_ns: u64,
    free_ns: u64,
}

impl Link {
    /// From the specification; 8b/10b coding leaves 8 of 10 bits for payload.
    pub fn new(specification: &specification::Link) -> Self {
        let rate = specification.line_rate.0 / 10;
        Self { rate, overhead_ns: transfer_ns(specification.command_overhead.0, rate), free_ns: 0 }
    }

    /// Transfers a data phase as soon as the link is free after `ready_ns`;
    /// returns when its last byte has passed. `last` marks a command's final
    /// data phase, which its other frames follow.
    #[inline]
    pub fn transfer(&mut self, ready_ns: u64, bytes: u64, last: bool) -> u64 {
        let end_ns = ready_ns.max(self.free_ns) + transfer_ns(bytes, self.rate);
        self.free_ns = if last { end_ns + self.overhead_ns } else { end_ns };
        end_ns
    }
}

/// Time for `bytes` at `rate` bytes per second, rounded up to a nanosecond.
#[inline]
pub fn transfer_ns(bytes: u64, rate: u64) -> u64 {
    // Requests are below 2^30 bytes: the product stays below 2^60.
    (bytes * 1_000_000_000).div_ceil(rate)
}
