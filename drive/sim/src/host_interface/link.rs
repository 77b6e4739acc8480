//! The cable between host and drive.

use crate::specification;
use crate::specification::Interface;
use crate::truth::{Truths, Unit, seconds};
use crate::validity::{Checked, Clock, ensure_counts, same};
use serde::{Deserialize, Serialize};

/// A link, and when it is free.
///
/// A data phase occupies the link for its payload time. Afterwards the link
/// stays occupied for the command's other frames (command, DMA set-up, device
/// bits) and turn-arounds; the host already has its data then, so this part
/// limits throughput but not the latency of a lone command.
///
/// SATA is half-duplex: one frame exchange at a time. PCIe carries data in both
/// directions at once; a command's doorbell, fetch and completion entry are
/// round trips that delay it and occupy nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    /// Payload bytes per second.
    rate: u64,
    /// By direction: towards the host, towards the drive.
    overhead_ns: [u64; 2],
    full_duplex: bool,
    /// By direction; half-duplex links use the first.
    free_ns: [u64; 2],
    busy_ns: u64,
}

/// User bytes of a SATA data frame, at most.
const SATA_FRAME_BYTES: u64 = 8_192;
/// Line time that goes with each, in bytes: header, checksum and delimiters are
/// 16, the rest are the primitives with which the sides ask, answer and turn the
/// line around. Chosen so that 6 Gb/s carry the 550 to 560 MB/s that the fastest
/// drives are sold and seen with.
const SATA_FRAME_OVERHEAD_BYTES: u64 = 600;

/// User bytes of a PCIe packet: the limit that hosts commonly set.
const PCIE_PACKET_BYTES: u64 = 256;
/// Bytes around them: framing and sequence number 4, header with a 64-bit
/// address 16, link CRC 4.
const PCIE_PACKET_OVERHEAD_BYTES: u64 = 24;

impl Link {
    /// From the specification.
    pub fn new(specification: &specification::Link) -> Self {
        let rate = payload_rate(&specification.interface);
        let (overhead, full_duplex) = match &specification.interface {
            Interface::Sata { command_overhead, write_command_overhead, .. } => {
                let write = write_command_overhead.as_ref().unwrap_or(command_overhead);
                ([command_overhead.0, write.0], false)
            }
            Interface::Pcie { command_overhead, .. } => ([command_overhead.0; 2], true),
        };
        let overhead_ns = overhead.map(|bytes| transfer_ns(bytes, rate));
        Self { rate, overhead_ns, full_duplex, free_ns: [0; 2], busy_ns: 0 }
    }

    /// Fails unless a loaded link can go on as one that was `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { rate, overhead_ns, full_duplex, free_ns, busy_ns } = self;
        same!(made; rate, overhead_ns, full_duplex);
        ensure_counts([*busy_ns])?;
        clock.ensure_soon(*free_ns)
    }

    /// Time spent on data so far, both directions added up.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Transfers a data phase towards the host as soon as the link is free
    /// after `ready_ns`; returns when its last byte has passed. `last` marks a
    /// command's final data phase, which its other frames follow.
    #[inline]
    pub fn send_to_host(&mut self, ready_ns: u64, bytes: u64, last: bool) -> u64 {
        self.pass(0, ready_ns, bytes, last)
    }

    /// As [`Link::send_to_host`], towards the drive.
    #[inline]
    pub fn send_to_drive(&mut self, ready_ns: u64, bytes: u64, last: bool) -> u64 {
        self.pass(1, ready_ns, bytes, last)
    }

    #[inline]
    fn pass(&mut self, direction: usize, ready_ns: u64, bytes: u64, last: bool) -> u64 {
        let free_ns = &mut self.free_ns[if self.full_duplex { direction } else { 0 }];
        let data_ns = transfer_ns(bytes, self.rate);
        self.busy_ns += data_ns;
        let end_ns = ready_ns.max(*free_ns) + data_ns;
        *free_ns = if last { end_ns + self.overhead_ns[direction] } else { end_ns };
        end_ns
    }
}

/// Payload bytes per second, and direction: line rate, less line coding, less
/// packet headers where packets are small.
fn payload_rate(interface: &Interface) -> u64 {
    match interface {
        // 8b/10b coding.
        Interface::Sata { line_rate, .. } => {
            line_rate.0 / 10 * SATA_FRAME_BYTES / (SATA_FRAME_BYTES + SATA_FRAME_OVERHEAD_BYTES)
        }
        Interface::Pcie { generation, lanes, .. } => {
            // Gigatransfers per second; 8b/10b, from the third on 128b/130b.
            let lane_rate = match generation.value {
                1 => 2_500_000_000 / 10,
                2 => 5_000_000_000 / 10,
                later => (8_000_000_000 << (later - 3)) / 130 * 16,
            };
            lane_rate * u64::from(lanes.value) * PCIE_PACKET_BYTES
                / (PCIE_PACKET_BYTES + PCIE_PACKET_OVERHEAD_BYTES)
        }
    }
}

impl Interface {
    /// Bytes per second, and direction, that the line code leaves.
    fn line_rate(&self) -> f64 {
        match self {
            Interface::Sata { line_rate, .. } => line_rate.0 as f64 / 10.0,
            Interface::Pcie { generation, lanes, .. } => {
                let (transfers, code) = match generation.value {
                    1 => (2.5e9, 0.8),
                    2 => (5e9, 0.8),
                    later => (1e9 * f64::from(1u32 << later), 128.0 / 130.0),
                };
                f64::from(lanes.value) * transfers / 8.0 * code
            }
        }
    }

    /// Bytes per second, and direction, that are left for data.
    pub fn payload_rate(&self) -> f64 {
        let share = |data: u64, overhead: u64| data as f64 / (data + overhead) as f64;
        self.line_rate()
            * match self {
                Interface::Sata { .. } => share(SATA_FRAME_BYTES, SATA_FRAME_OVERHEAD_BYTES),
                Interface::Pcie { .. } => share(PCIE_PACKET_BYTES, PCIE_PACKET_OVERHEAD_BYTES),
            }
    }

    /// Time that a command and its completion spend on round trips.
    pub fn command_latency_ns(&self) -> u64 {
        match self {
            Interface::Sata { .. } => 0,
            Interface::Pcie { command_latency, .. } => command_latency.0,
        }
    }
}

/// What is true of the host, the link and its command queue.
pub fn host_truths(truths: &mut Truths, link: &specification::Link, host_ns: u64) {
    truths.add("host_overhead", seconds(host_ns), Unit::Seconds);
    truths.add("link", link.interface.line_rate().round(), Unit::BytesPerSecond);
    truths.add("link_ceiling", link.interface.payload_rate(), Unit::BytesPerSecond);
    truths.add("command_queue_depth", f64::from(link.queue_depth.value), Unit::Count);
}

/// Time for `bytes` at `rate` bytes per second, rounded up to a nanosecond.
#[inline]
pub fn transfer_ns(bytes: u64, rate: u64) -> u64 {
    // Requests are below 2^30 bytes: the product stays below 2^60.
    (bytes * 1_000_000_000).div_ceil(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{BitsPerSecond, Bytes, Nanoseconds, Parameter};

    fn given<T>(value: T) -> Parameter<T> {
        Parameter { value, source: "test".into() }
    }

    fn sata(line_rate: u64, read_overhead: u64, write_overhead: u64) -> Link {
        let interface = Interface::Sata {
            line_rate: given(BitsPerSecond(line_rate)),
            command_overhead: given(Bytes(read_overhead)),
            write_command_overhead: Some(given(Bytes(write_overhead))),
        };
        Link::new(&specification::Link { interface, queue_depth: given(32) })
    }

    fn pcie(generation: u32, lanes: u32) -> Link {
        let interface = Interface::Pcie {
            generation: given(generation),
            lanes: given(lanes),
            command_overhead: given(Bytes(0)),
            command_latency: given(Nanoseconds(1_000)),
        };
        Link::new(&specification::Link { interface, queue_depth: given(1_024) })
    }

    #[test]
    fn rates_are_what_the_generations_leave_for_data() {
        let megabytes = |link: Link| link.rate / 1_000_000;
        assert_eq!(megabytes(sata(1_500_000_000, 0, 0)), 139);
        assert_eq!(megabytes(sata(3_000_000_000, 0, 0)), 279);
        assert_eq!(megabytes(sata(6_000_000_000, 0, 0)), 559);
        assert_eq!(megabytes(pcie(1, 1)), 228);
        assert_eq!(megabytes(pcie(2, 4)), 1_828);
        // Drives on four lanes reach 3.5, 7 and 14 GB/s.
        assert_eq!(megabytes(pcie(3, 4)), 3_600);
        assert_eq!(megabytes(pcie(4, 4)), 7_201);
        assert_eq!(megabytes(pcie(5, 4)), 14_403);
    }

    #[test]
    fn pcie_carries_both_directions_at_once_and_sata_one() {
        let both_end_ns = |mut link: Link| {
            let read_ns = link.send_to_host(0, 1 << 20, true);
            link.send_to_drive(0, 1 << 20, true).max(read_ns)
        };
        let alone_ns = |mut link: Link| link.send_to_host(0, 1 << 20, true);
        assert_eq!(both_end_ns(pcie(3, 4)), alone_ns(pcie(3, 4)));
        assert_eq!(both_end_ns(sata(6_000_000_000, 0, 0)), 2 * alone_ns(sata(6_000_000_000, 0, 0)));
    }

    #[test]
    fn the_frames_of_a_write_take_longer_than_those_of_a_read() {
        let mut link = sata(3_000_000_000, 300, 600);
        let bytes_ns = |bytes| transfer_ns(bytes, link.rate);
        let (data_ns, read_ns, write_ns) = (bytes_ns(3_000), bytes_ns(300), bytes_ns(600));
        assert_eq!(link.send_to_host(0, 3_000, true), data_ns);
        assert_eq!(link.send_to_drive(0, 3_000, true), 2 * data_ns + read_ns);
        assert_eq!(link.send_to_host(0, 3_000, true), 3 * data_ns + read_ns + write_ns);
    }
}
