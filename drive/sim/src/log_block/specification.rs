//! Parameters of a log-block SSD.

use crate::specification::{
    Bytes, BytesPerSecond, Capacity, Host, Link, Nanoseconds, Parameter, RowController,
    check_bus_rate, check_memory, check_page_size, check_second, require,
};
use serde::{Deserialize, Serialize};

/// A log-block SSD.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The host it was measured on.
    pub host: Host,
    /// The cable.
    pub link: Link,
    /// User-accessible size.
    pub capacity: Capacity,
    /// Firmware: one processor that handles commands one after the other.
    pub controller: RowController,
    /// NAND.
    pub flash: Flash,
    /// Mapping of logical to physical addresses.
    pub translation: Mapping,
}

/// NAND geometry and times. A *row* is one page of each plane of a die: what a
/// die reads or programs at once, and the unit of the log's page mapping.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Independent buses.
    pub channels: Parameter<u32>,
    /// Dies in all; die `i` is on channel `i mod channels`.
    pub dies: Parameter<u32>,
    /// Planes that a die reads, programs and erases together.
    pub planes: Parameter<u32>,
    /// User bytes of a page.
    pub page_size: Parameter<Bytes>,
    /// Pages of an erase block.
    pub pages_per_block: Parameter<u32>,
    /// Blocks of a plane that data and logs may use.
    pub blocks_per_plane: Parameter<u32>,
    /// Array to page register (tR).
    pub read_time: Parameter<Nanoseconds>,
    /// Page register to array (tPROG), mean over a block's pages.
    pub program_time: Parameter<Nanoseconds>,
    /// Block erase (tBERS).
    pub erase_time: Parameter<Nanoseconds>,
    /// Payload rate of a channel.
    pub bus_rate: Parameter<BytesPerSecond>,
}

/// Mapping: data by block, the latest writes by page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Dies that a mapped block spans, row by row in turn; they are a *bank*
    /// with log blocks of its own.
    pub dies_per_block: Parameter<u32>,
    /// Log blocks of each bank for writes that do not continue.
    pub log_blocks: Parameter<u32>,
    /// Which data blocks a log block takes writes of.
    pub sharing: Parameter<Sharing>,
}

/// Associativity of log blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// All of the bank's (fully associative: FAST, Lee et al., ACM TECS 6(3),
    /// 2007), and one more log block takes writes that run through a block from
    /// its start.
    Shared,
    /// One data block's (block associative: BAST, Kim et al., IEEE Trans.
    /// Consumer Electronics 48(2), 2002).
    PerBlock,
}

impl Flash {
    /// User bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.planes.value) * self.page_size.0
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
        let size = self.capacity.user.0;
        for (name, count, most) in [
            ("flash.channels", &flash.channels, 64),
            ("flash.dies", &flash.dies, 1024),
            ("flash.planes", &flash.planes, 16),
            ("flash.pages_per_block", &flash.pages_per_block, 4096),
            ("flash.blocks_per_plane", &flash.blocks_per_plane, 65_536),
            ("translation.log_blocks", &self.translation.log_blocks, 1024),
        ] {
            require((1..=most).contains(&count.value), &format!("{name}: use 1 to {most}"))?;
        }
        require(
            flash.dies.value.is_multiple_of(flash.channels.value),
            "flash.dies: use a multiple of flash.channels",
        )?;
        let span = self.translation.dies_per_block.value;
        require(
            span > 0 && flash.dies.value.is_multiple_of(span),
            "translation.dies_per_block: use a divisor of flash.dies",
        )?;
        check_page_size(&flash.page_size)?;
        check_bus_rate(&flash.bus_rate)?;
        require(flash.program_time.0 > 0, "flash.program_time: use a positive time")?;
        require(
            (2 * flash.row_bytes()..=1 << 30).contains(&self.controller.buffer.0),
            "controller.buffer: use two rows (planes x page) to 1 GiB",
        )?;
        // Beside data and logs a bank needs a block to merge into.
        let blocks = self.data_blocks_per_bank() + u64::from(self.log_blocks_per_bank()) + 1;
        require(
            blocks <= u64::from(flash.blocks_per_plane.value),
            "capacity.user: the flash, less the log blocks and one to merge into, does not hold it",
        )?;
        let log_rows = u64::from(self.banks())
            * u64::from(self.log_blocks_per_bank())
            * u64::from(self.rows_per_block());
        require(log_rows < 1 << 32, "translation.log_blocks: use fewer than 2^32 rows in all")?;
        require(
            size.div_ceil(flash.row_bytes()) + u64::from(self.rows_per_block()) < 1 << 32,
            "capacity.user: use fewer than 2^32 rows",
        )?;
        check_memory(
            self.memory_bytes(),
            "lower capacity.user or translation.log_blocks, or raise flash.page_size",
        )
    }

    /// See [`crate::Specification::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        let rows = self.capacity.user.0.div_ceil(self.flash.row_bytes());
        let logs = u64::from(self.banks()) * u64::from(self.log_blocks_per_bank());
        // A row's place and a bit; a log, and the rows in it.
        rows * 4 + rows / 8 + logs * (64 + 4 * u64::from(self.rows_per_block()))
    }

    /// Groups of dies with log blocks of their own.
    pub fn banks(&self) -> u32 {
        self.flash.dies.value / self.translation.dies_per_block.value
    }

    /// Rows of a mapped block.
    pub fn rows_per_block(&self) -> u32 {
        self.flash.pages_per_block.value * self.translation.dies_per_block.value
    }

    /// Log blocks of a bank, with the one for writes in order if there is one.
    pub fn log_blocks_per_bank(&self) -> u32 {
        let in_order = u32::from(self.translation.sharing.value == Sharing::Shared);
        self.translation.log_blocks.value + in_order
    }

    /// Blocks that are erased as one, over all banks.
    pub fn blocks(&self) -> u64 {
        u64::from(self.banks()) * u64::from(self.flash.blocks_per_plane.value)
    }

    fn data_blocks_per_bank(&self) -> u64 {
        let block_bytes = u64::from(self.rows_per_block()) * self.flash.row_bytes();
        self.capacity.user.0.div_ceil(block_bytes).div_ceil(u64::from(self.banks()))
    }
}
