//! Sections that drives of several kinds have, and the rules that hold for them.

use super::{Bytes, BytesPerSecond, Nanoseconds, Parameter, check_second, require};
use serde::Deserialize;

/// The host that a drive was measured on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Software and host bus adapter time per command, not overlapped with the
    /// device's work on the same command.
    pub overhead: Parameter<Nanoseconds>,
}

/// User-accessible size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Bytes that the host can address.
    pub user: Parameter<Bytes>,
}

impl Capacity {
    /// # Errors
    /// A size that is not of whole sectors.
    pub fn check_sectors(&self) -> Result<(), String> {
        let size = self.user.0;
        require(size > 0 && size.is_multiple_of(512), "capacity.user: use a multiple of 512 bytes")
    }
}

/// Firmware of an SSD that buffers rows of pages on their way to flash.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowController {
    /// Processor time per read command.
    pub read_overhead: Parameter<Nanoseconds>,
    /// Processor time per write command.
    pub write_overhead: Parameter<Nanoseconds>,
    /// Buffer between link and flash, used in whole rows. A write completes
    /// when its data is in the buffer.
    pub buffer: Parameter<Bytes>,
    /// Whether capacitors keep the buffer when power fails: it is durable then,
    /// and neither flushes nor forced writes wait for flash. Absent: no.
    pub power_loss_protection: Option<Parameter<bool>>,
    /// Whether the firmware acknowledges flushes and forced writes at once, and
    /// leaves in the buffer what they are to make durable. Absent: no.
    pub ignores_flush: Option<Parameter<bool>>,
}

impl Host {
    /// # Errors
    /// A time that is too long.
    pub fn check(&self) -> Result<(), String> {
        check_second("host.overhead", &self.overhead)
    }
}

impl RowController {
    /// Whether capacitors keep the buffer.
    pub fn is_protected(&self) -> bool {
        self.power_loss_protection.as_ref().is_some_and(|protection| protection.value)
    }

    /// Whether flushes and forced writes complete before data is durable.
    pub fn lies(&self) -> bool {
        self.ignores_flush.as_ref().is_some_and(|ignores| ignores.value)
    }

    /// # Errors
    /// A time that is too long.
    pub fn check(&self) -> Result<(), String> {
        check_second("controller.read_overhead", &self.read_overhead)?;
        check_second("controller.write_overhead", &self.write_overhead)
    }
}

/// # Errors
/// `flash.page_size` is not of whole sectors, or too large.
pub fn check_page_size(page_size: &Parameter<Bytes>) -> Result<(), String> {
    require(
        (512..=65_536).contains(&page_size.0) && page_size.0.is_multiple_of(512),
        "flash.page_size: use a multiple of 512 B up to 64 KiB",
    )
}

/// # Errors
/// `flash.bus_rate` is so low that the time of a transfer would not fit 32 bits
/// of nanoseconds.
pub fn check_bus_rate(bus_rate: &Parameter<BytesPerSecond>) -> Result<(), String> {
    require(bus_rate.0 >= 1_000_000, "flash.bus_rate: use at least 1 MB/s")
}
