//! The link's parameters: which of them a drive file gives says which kind of
//! link it is.

use super::{BitsPerSecond, Bytes, Nanoseconds, Parameter, check_second};
use serde::Deserialize;

/// The link between host and drive, and its command queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Link {
    /// The kind of link.
    pub interface: Interface,
    /// Commands that the drive accepts at once (SATA with NCQ: 32, without:
    /// 1; NVMe: thousands).
    pub queue_depth: Parameter<u32>,
}

/// The kinds of link.
#[derive(Clone, Debug)]
pub enum Interface {
    /// SATA: a file gives `line_rate`.
    Sata {
        /// 1.5, 3 or 6 Gb/s.
        line_rate: Parameter<BitsPerSecond>,
        /// What a command's frames and turn-arounds cost beside its payload,
        /// expressed in bytes of line time.
        command_overhead: Parameter<Bytes>,
        /// The same of a write, for whose data the drive asks with one frame
        /// more (DMA Activate). Absent: as `command_overhead`.
        write_command_overhead: Option<Parameter<Bytes>>,
    },
    /// NVMe over PCIe: a file gives `pcie_generation` and `pcie_lanes`.
    Pcie {
        /// 1 to 6.
        generation: Parameter<u32>,
        /// Lanes in each direction.
        lanes: Parameter<u32>,
        /// Bytes of submission and completion entries and of the packets
        /// around them, counted in the direction of the data.
        command_overhead: Parameter<Bytes>,
        /// Doorbell, fetch of the submission entry, completion entry and
        /// interrupt: round trips that delay a command but occupy nothing.
        command_latency: Parameter<Nanoseconds>,
    },
}

/// What a drive file may say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    line_rate: Option<Parameter<BitsPerSecond>>,
    pcie_generation: Option<Parameter<u32>>,
    pcie_lanes: Option<Parameter<u32>>,
    command_overhead: Parameter<Bytes>,
    write_command_overhead: Option<Parameter<Bytes>>,
    command_latency: Option<Parameter<Nanoseconds>>,
    queue_depth: Parameter<u32>,
}

impl TryFrom<Fields> for Link {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let Fields {
            queue_depth, command_overhead, write_command_overhead, command_latency, ..
        } = fields;
        let interface = match (fields.line_rate, fields.pcie_generation, fields.pcie_lanes) {
            (Some(line_rate), None, None) if command_latency.is_none() => {
                Interface::Sata { line_rate, command_overhead, write_command_overhead }
            }
            (None, Some(generation), Some(lanes)) if write_command_overhead.is_none() => {
                let command_latency =
                    command_latency.ok_or("command_latency is missing, which a PCIe link needs")?;
                Interface::Pcie { generation, lanes, command_overhead, command_latency }
            }
            _ => {
                return Err(
                    "give either line_rate (SATA; with it, write_command_overhead if it differs), or pcie_generation, pcie_lanes and command_latency (NVMe)",
                );
            }
        };
        Ok(Self { interface, queue_depth })
    }
}

impl Link {
    /// # Errors
    /// Rates that no generation has, and an impossible queue depth.
    pub fn check(&self) -> Result<(), String> {
        let depth = self.queue_depth.value;
        let overheads = match &self.interface {
            Interface::Sata { command_overhead, write_command_overhead, .. } => {
                [Some(command_overhead), write_command_overhead.as_ref()]
            }
            Interface::Pcie { command_overhead, .. } => [Some(command_overhead), None],
        };
        if overheads.into_iter().flatten().any(|overhead| overhead.0 > 1 << 20) {
            return Err("link: use command overheads of at most 1 MiB".into());
        }
        match &self.interface {
            Interface::Sata { line_rate, .. } => {
                if ![1_500_000_000, 3_000_000_000, 6_000_000_000].contains(&line_rate.0) {
                    return Err("link.line_rate: SATA has 1.5 Gb/s, 3 Gb/s and 6 Gb/s".into());
                }
                if !(1..=32).contains(&depth) {
                    return Err("link.queue_depth: use 1 (no NCQ) to 32".into());
                }
            }
            Interface::Pcie { generation, lanes, command_latency, .. } => {
                check_second("link.command_latency", command_latency)?;
                if !(1..=6).contains(&generation.value) {
                    return Err("link.pcie_generation: use 1 to 6".into());
                }
                if ![1, 2, 4, 8, 16].contains(&lanes.value) {
                    return Err("link.pcie_lanes: use 1, 2, 4, 8 or 16".into());
                }
                if !(1..=65_535).contains(&depth) {
                    return Err("link.queue_depth: use 1 to 65535".into());
                }
            }
        }
        Ok(())
    }
}
