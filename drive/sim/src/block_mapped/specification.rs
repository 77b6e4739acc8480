//! Parameters of a block-mapped SSD.

use crate::specification::{
    Bytes, BytesPerSecond, Capacity, Host, Link, Nanoseconds, Parameter, RowController,
    check_bus_rate, check_memory, check_page_size, check_second, require,
};
use serde::Deserialize;

/// A block-mapped SSD.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The host it was measured on.
    pub host: Host,
    /// The cable.
    pub link: Link,
    /// User-accessible size.
    pub capacity: Capacity,
    /// Firmware: one command at a time, from start to end.
    pub controller: RowController,
    /// NAND.
    pub flash: Flash,
}

/// NAND geometry and times. All channels work in step: a *row* is one page of
/// each plane on each channel, and a superblock is one block of each plane on each
/// channel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Independent buses.
    pub channels: Parameter<u32>,
    /// Dies of a channel over which the rows of a stream rotate.
    pub ways: Parameter<u32>,
    /// Planes that a die reads, programs and erases together.
    pub planes: Parameter<u32>,
    /// User bytes of a page.
    pub page_size: Parameter<Bytes>,
    /// Pages of an erase block: rows of a superblock.
    pub pages_per_block: Parameter<u32>,
    /// Array to page register (tR).
    pub read_time: Parameter<Nanoseconds>,
    /// Page register to array (tPROG), mean over a block's pages.
    pub program_time: Parameter<Nanoseconds>,
    /// Block erase (tBERS).
    pub erase_time: Parameter<Nanoseconds>,
    /// Payload rate of a channel.
    pub bus_rate: Parameter<BytesPerSecond>,
}

impl Flash {
    /// User bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.channels.value) * u64::from(self.planes.value) * self.page_size.0
    }

    /// User bytes of a superblock, the unit of mapping.
    pub fn superblock_bytes(&self) -> u64 {
        self.row_bytes() * u64::from(self.pages_per_block.value)
    }
}

impl Specification {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        self.link.check()?;
        let flash = &self.flash;
        self.capacity.check_sectors()?;
        self.host.check()?;
        self.controller.check()?;
        check_second("flash.read_time", &flash.read_time)?;
        check_second("flash.program_time", &flash.program_time)?;
        check_second("flash.erase_time", &flash.erase_time)?;
        require(
            self.link.queue_depth.value == 1,
            "link.queue_depth: use 1, a block-mapped SSD serves one command at a time",
        )?;
        for (name, value) in
            [("channels", &flash.channels), ("ways", &flash.ways), ("planes", &flash.planes)]
        {
            require((1..=64).contains(&value.value), &format!("flash.{name}: use 1 to 64"))?;
        }
        check_page_size(&flash.page_size)?;
        require(
            (1..=4096).contains(&flash.pages_per_block.value),
            "flash.pages_per_block: use 1 to 4096",
        )?;
        check_bus_rate(&flash.bus_rate)?;
        require(
            self.controller.buffer.0 >= flash.row_bytes(),
            &format!(
                "controller.buffer: use at least one row, {} KiB (channels x planes x page)",
                flash.row_bytes() / 1024
            ),
        )?;
        require(self.controller.buffer.0 <= 1 << 30, "controller.buffer: use at most 1 GiB")?;
        check_memory(
            self.memory_bytes(),
            "lower capacity.user, or raise flash.page_size or flash.pages_per_block",
        )
    }

    /// See [`crate::Specification::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        let superblocks = self.capacity.user.0.div_ceil(self.flash.superblock_bytes());
        superblocks + self.controller.buffer.0 / self.flash.row_bytes() * 8
    }
}
