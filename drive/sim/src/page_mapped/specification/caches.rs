//! Memory on the controller, and cells that cache writes.

use crate::specification::{Bytes, Nanoseconds, Parameter, Share, require};
use serde::Deserialize;

/// Buffer that takes writes before they are programmed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffer {
    /// Its size; a write completes when its data is in the buffer.
    pub size: Parameter<Bytes>,
    /// Whether writes complete when their data is in the buffer (write-back) or
    /// on flash (write-through: the host has switched the volatile cache off).
    /// Absent: write-back.
    pub write_back: Option<Parameter<bool>>,
    /// Whether capacitors keep the buffer when power fails: it is durable then,
    /// and neither flushes nor forced writes wait for flash. Absent: no.
    pub power_loss_protection: Option<Parameter<bool>>,
    /// Whether the firmware acknowledges flushes and forced writes at once, and
    /// leaves in the buffer what they are to make durable. Absent: no.
    pub ignores_flush: Option<Parameter<bool>>,
}

/// Buffer for what the controller reads ahead of sequential reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAhead {
    /// Its size; each stream reads ahead by an equal share of it.
    pub size: Parameter<Bytes>,
    /// Sequential streams that the controller tells apart.
    pub streams: Parameter<u32>,
}

/// Memory that keeps what was last written or read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCache {
    /// Its size.
    pub size: Parameter<Bytes>,
}

/// Memory for a part of the map, of controllers without DRAM for all of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCache {
    /// Its size, on the controller or in the host's memory.
    pub size: Parameter<Bytes>,
    /// What a mapping unit takes in the map.
    pub entry_size: Parameter<Bytes>,
    /// Part of the map that is read and kept together.
    pub page_size: Parameter<Bytes>,
}

/// Cells that take writes with one bit each before they are folded into cells
/// of several bits. Static and dynamic parts add up.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCache {
    /// Page register to array with one bit per cell.
    pub program_time: Parameter<Nanoseconds>,
    /// Bytes that the cache always takes. Its blocks hold nothing else, so
    /// they are no part of `translation.spare_area`. Absent: none.
    pub static_size: Option<Parameter<Bytes>>,
    /// Share of the drive's free space (user bytes that hold no data) whose
    /// cells may be used with one bit each. Absent: none.
    pub dynamic_share: Option<Parameter<Share>>,
    /// Bits per cell in the cells' usual mode: so many bytes of free space
    /// make one byte of dynamic cache.
    pub bits_per_cell: Option<Parameter<u32>>,
    /// What a write meets when the cache is full.
    pub when_full: Parameter<WhenFull>,
    /// Time without commands after which the drive empties the cache.
    pub idle_delay: Parameter<Nanoseconds>,
}

/// What a write meets when the SLC cache is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It is programmed with all bits per cell at once.
    Direct,
    /// It goes through the cache, and waits until a row of it is folded.
    Fold,
}

impl WriteBuffer {
    /// Whether capacitors keep it.
    pub fn is_protected(&self) -> bool {
        self.power_loss_protection.as_ref().is_some_and(|protection| protection.value)
    }

    /// Whether flushes and forced writes complete before data is durable.
    pub fn lies(&self) -> bool {
        self.ignores_flush.as_ref().is_some_and(|ignores| ignores.value)
    }

    /// # Errors
    /// A size that is too large, or too small for so many rows that are filled
    /// at the same time, each of so many bytes.
    pub fn check(&self, open_rows: u32, row_bytes: u64) -> Result<(), String> {
        require(
            self.size.0 >= u64::from(open_rows) * row_bytes,
            &format!(
                "write_buffer.size: use at least {open_rows} pages of all planes (and {open_rows} mapping units)"
            ),
        )?;
        require(self.size.0 <= 1 << 34, "write_buffer.size: use at most 16 GiB")
    }
}

impl ReadAhead {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self, unit_bytes: u64) -> Result<(), String> {
        let streams = self.streams.value;
        require((1..=64).contains(&streams), "read_ahead.streams: use 1 to 64")?;
        require(
            (unit_bytes..=1 << 30).contains(&(self.size.0 / u64::from(streams))),
            "read_ahead.size: use at least a mapping unit and at most 1 GiB per stream",
        )
    }
}

impl ReadCache {
    /// # Errors
    /// An impossible size.
    pub fn check(&self, unit_bytes: u64, user_bytes: u64) -> Result<(), String> {
        require(
            (unit_bytes..=user_bytes).contains(&self.size.0),
            "read_cache.size: use a mapping unit to capacity.user",
        )
    }
}

impl MapCache {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self, flash_page_bytes: u64) -> Result<(), String> {
        let page = self.page_size.0;
        require(
            (1..=page).contains(&self.entry_size.0),
            "map_cache.entry_size: use 1 B to map_cache.page_size",
        )?;
        require(
            (1..=flash_page_bytes).contains(&page),
            "map_cache.page_size: use at most flash.page_size",
        )?;
        require(
            (page..=1 << 40).contains(&self.size.0),
            "map_cache.size: use at least map_cache.page_size, up to 1 TiB",
        )
    }
}

impl SlcCache {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(
        &self,
        program_time: &Parameter<Nanoseconds>,
        shares_stream: bool,
    ) -> Result<(), String> {
        require(
            self.program_time.0 <= program_time.0,
            "slc_cache.program_time: use at most flash.program_time",
        )?;
        require(
            self.dynamic_share.is_some() == self.bits_per_cell.is_some(),
            "slc_cache.dynamic_share: give it together with slc_cache.bits_per_cell",
        )?;
        let share = self.dynamic_share.as_ref().map_or(0.0, |share| share.value.0);
        require((0.0..=1.0).contains(&share), "slc_cache.dynamic_share: use 0 to 1")?;
        let bits = self.bits_per_cell.as_ref().map_or(2, |bits| bits.value);
        require((2..=5).contains(&bits), "slc_cache.bits_per_cell: use 2 to 5")?;
        require(
            !shares_stream,
            "garbage_collection.shared_stream: not together with slc_cache, which takes the host's writes alone",
        )
    }
}
