//! Parameters of a page-mapped SSD.

mod allocation;
mod caches;
mod collection;
mod flash;
mod reduction;
mod variation;

pub use allocation::Level;
pub use caches::{MapCache, ReadAhead, ReadCache, SlcCache, WhenFull, WriteBuffer};
pub use collection::{GarbageCollection, Levelling, Policy, StreamRule, Wear, WriteStreams};
pub use flash::{Flash, Translation};
pub use reduction::{Compression, Deduplication};
pub use variation::{Thermal, Variation};

use super::content::StoredSizes;
use crate::specification::{
    BytesPerSecond, Capacity, Host, Link, Milliwatts, Nanoseconds, Parameter, check_memory,
    check_second, require,
};
use serde::Deserialize;

/// A page-mapped SSD.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The host it was measured on.
    pub host: Host,
    /// The cable.
    pub link: Link,
    /// User-accessible size.
    pub capacity: Capacity,
    /// Firmware.
    pub controller: Controller,
    /// Volatile buffer for writes.
    pub write_buffer: WriteBuffer,
    /// NAND.
    pub flash: Flash,
    /// Mapping of logical to physical addresses.
    pub translation: Translation,
    /// Reclaiming of blocks.
    pub garbage_collection: GarbageCollection,
    /// Present on drives that write hot data apart from the rest.
    pub write_streams: Option<WriteStreams>,
    /// What becomes of blocks; present where they wear out or are levelled.
    pub wear: Option<Wear>,
    /// Present on controllers that read ahead of sequential reads.
    pub read_ahead: Option<ReadAhead>,
    /// Present on controllers that keep data in memory to read it there.
    pub read_cache: Option<ReadCache>,
    /// Present on controllers that have only a part of the map in memory.
    pub map_cache: Option<MapCache>,
    /// Present on drives that take writes with one bit per cell first.
    pub slc_cache: Option<SlcCache>,
    /// What the drive draws; present where energy is to be counted.
    pub power: Option<Power>,
    /// Present on drives whose times vary.
    pub variation: Option<Variation>,
    /// Present on drives that get too hot.
    pub thermal: Option<Thermal>,
    /// Present on controllers that compress what they store.
    pub compression: Option<Compression>,
    /// Present on controllers that store what repeats once.
    pub deduplication: Option<Deduplication>,
}

/// Firmware: one processor that handles commands one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Processor time per read command.
    pub read_overhead: Parameter<Nanoseconds>,
    /// Processor time per read command that the map answers: nothing of what
    /// it asks for was ever written. Absent: as other reads.
    pub unmapped_read_overhead: Option<Parameter<Nanoseconds>>,
    /// Processor time per write command.
    pub write_overhead: Parameter<Nanoseconds>,
    /// Processor time for each mapping unit that holds data and that a write
    /// covers only in part: the processor waits until the rest has been read
    /// and merged. Absent: it goes on while the die reads.
    pub modify_overhead: Option<Parameter<Nanoseconds>>,
    /// Rate at which written data passes the controller's data path, counted
    /// as stored (after compression). Absent: not a limit.
    pub write_data_rate: Option<Parameter<BytesPerSecond>>,
}

/// Power: `idle` always, and what each part adds while it works.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// The whole drive, ready, without commands.
    pub idle: Parameter<Milliwatts>,
    /// The host interface while data passes the link, in each direction.
    pub interface: Parameter<Milliwatts>,
    /// Processor and memory while at least one command is in the drive.
    pub controller: Parameter<Milliwatts>,
    /// A die while it reads, with its share of the channel.
    pub read: Parameter<Milliwatts>,
    /// A die while it programs, with the reads of what is moved.
    pub program: Parameter<Milliwatts>,
    /// A die while it erases.
    pub erase: Parameter<Milliwatts>,
}

impl Controller {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        for (name, time) in [
            ("controller.read_overhead", Some(&self.read_overhead)),
            ("controller.unmapped_read_overhead", self.unmapped_read_overhead.as_ref()),
            ("controller.write_overhead", Some(&self.write_overhead)),
            ("controller.modify_overhead", self.modify_overhead.as_ref()),
        ] {
            time.map_or(Ok(()), |time| check_second(name, time))?;
        }
        require(
            self.write_data_rate.as_ref().is_none_or(|rate| rate.0 >= 1_000_000),
            "controller.write_data_rate: use at least 1 MB/s",
        )
    }
}

impl Specification {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        self.link.check()?;
        self.host.check()?;
        self.controller.check()?;
        let (flash, translation) = (&self.flash, &self.translation);
        flash.check()?;
        translation.check(flash)?;
        let unit = translation.unit.0;
        require(
            self.capacity.user.0 > 0 && self.capacity.user.0.is_multiple_of(unit),
            "capacity.user: use a multiple of translation.unit",
        )?;
        let collection = &self.garbage_collection;
        require(
            collection.start_free_blocks.value >= self.free_blocks_min(),
            "garbage_collection.start_free_blocks: use at least 2 (one for the host's writes, one for the collector's), and 1 more with each of write_streams and wear.endurance",
        )?;
        collection.check()?;
        self.write_streams.as_ref().map_or(Ok(()), |streams| streams.check(collection))?;
        self.wear.as_ref().map_or(Ok(()), Wear::check)?;
        self.check_room()?;
        // An open row of each stream waits in the buffer for its last units.
        self.write_buffer.check(2 * self.host_streams(), unit.max(flash.row_bytes()))?;
        self.read_ahead.as_ref().map_or(Ok(()), |ahead| ahead.check(unit))?;
        let user_bytes = self.capacity.user.0;
        self.read_cache.as_ref().map_or(Ok(()), |cache| cache.check(unit, user_bytes))?;
        self.map_cache.as_ref().map_or(Ok(()), |cache| cache.check(flash.page_size.0))?;
        self.slc_cache
            .as_ref()
            .map_or(Ok(()), |cache| cache.check(&flash.program_time, collection.shares_stream()))?;
        self.check_stored_sizes()?;
        self.variation.as_ref().map_or(Ok(()), Variation::check)?;
        self.thermal.as_ref().map_or(Ok(()), Thermal::check)?;
        require(
            flash.planes_read_together() == 1 || !self.stored_sizes().vary(),
            "flash.multi_plane_reads: not where data is compressed or deduplicated, whose units are not on one plane each",
        )?;
        require(
            flash.planes_read_together() == 1 || unit <= flash.page_size.0,
            "flash.multi_plane_reads: use a translation.unit of at most a page",
        )?;
        check_memory(
            self.memory_bytes(),
            "it keeps a map of all of its flash (channels, dies, planes, blocks, pages and their size): have less flash, or raise translation.unit",
        )
    }

    /// The flash holds the user's data, the spare area, and what collection keeps
    /// free.
    fn check_room(&self) -> Result<(), String> {
        require(
            self.blocks_per_lane() <= self.flash_blocks_per_lane(),
            &format!(
                "translation.spare_area: the flash holds capacity.user and at most {:.2} % of it as spare area",
                (100.0 * self.spare_area_of(self.flash_blocks_per_lane())).max(0.0)
            ),
        )?;
        require(
            self.needed_blocks_per_pool() <= self.good_blocks_per_pool(),
            "capacity.user: the flash that translation.spare_area gives, less bad blocks and the free blocks that garbage collection keeps, does not hold it",
        )
    }

    /// Units of data that is compressed or repeated can be counted.
    fn check_stored_sizes(&self) -> Result<(), String> {
        let unit = self.translation.unit.0;
        require(
            self.compression.as_ref().is_none_or(|c| (0.1..=1.0).contains(&c.smallest.value.0)),
            "compression.smallest: use 0.1 to 1",
        )?;
        require(
            self.deduplication
                .as_ref()
                .is_none_or(|d| (unit.div_ceil(10)..=unit).contains(&d.reference_size.0)),
            "deduplication.reference_size: use a tenth of translation.unit to all of it",
        )?;
        let stored_sizes = self.stored_sizes();
        let slots_per_row =
            self.flash.row_bytes() / unit * (unit / u64::from(stored_sizes.least()));
        // A row's fill is kept in a byte.
        require(
            !stored_sizes.vary() || slots_per_row <= 255,
            "compression.smallest, deduplication.reference_size: a row (a page on each plane) may hold at most 255 of such units",
        )?;
        require(
            slots_per_row * self.flash.read_time.0 <= 2_000_000_000,
            "flash.read_time: reading a page for every unit of a row must not take more than 2 s",
        )?;
        let rows = u64::from(self.lanes())
            * u64::from(self.flash.blocks_per_plane.value)
            * u64::from(self.flash.pages_per_block.value);
        require(
            rows * slots_per_row < u64::from(u32::MAX),
            "translation.unit: the flash holds more than 2^32 of them, use a larger one",
        )
    }

    /// See [`crate::Specification::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        let unit = self.translation.unit.0;
        let sizes = self.stored_sizes();
        let units = self.capacity.user.0 / unit;
        let blocks = u64::from(self.lanes()) * u64::from(self.blocks_per_lane());
        let rows = blocks * u64::from(self.flash.pages_per_block.value);
        let slots = rows * (self.flash.row_bytes() / unit) * (unit / u64::from(sizes.least()));
        // Map, owners and valid bits; what is known of blocks, and of rows that vary.
        let map = 4 * units + 4 * slots + slots / 8 + 21 * blocks;
        let fill = if sizes.vary() { rows } else { 0 };
        let detects = self.write_streams.as_ref().is_some_and(WriteStreams::detects);
        let history = if detects { units } else { 0 };
        // An entry that was used lately, with its place in a table of hashes.
        let recent = |bytes: Option<u64>, of: u64| bytes.map_or(0, |bytes| bytes / of) * 64;
        let read_cache = recent(self.read_cache.as_ref().map(|cache| cache.size.0), unit);
        let map_cache = self.map_cache.as_ref().map_or(0, |cache| {
            let pages = units.div_ceil(cache.page_size.0 / cache.entry_size.0);
            pages + (cache.size.0 / cache.page_size.0).min(pages) * 64
        });
        map + fill + history + read_cache + map_cache
    }

    /// What units of data take on flash.
    pub(crate) fn stored_sizes(&self) -> StoredSizes {
        let (compression, deduplication) = (self.compression.as_ref(), self.deduplication.as_ref());
        StoredSizes::new(
            self.translation.unit.0 as u32,
            compression.map(|compression| compression.smallest.value.0),
            deduplication.map(|deduplication| deduplication.reference_size.0 as u32),
        )
    }

    /// Mapping units of an erase block, uncompressed.
    pub fn units_per_block(&self) -> u64 {
        self.flash.block_bytes() / self.translation.unit.0
    }

    /// Free blocks that a pool needs to go on: one for the host's writes, one
    /// for each kind of collected data, one that may turn out to be worn out.
    pub fn free_blocks_min(&self) -> u32 {
        let wears_out = self.wear.as_ref().is_some_and(|wear| wear.endurance.is_some());
        1 + self.host_streams() + u32::from(wears_out)
    }

    /// Streams that the host's data is told apart into.
    pub fn host_streams(&self) -> u32 {
        1 + u32::from(self.write_streams.is_some())
    }

    /// Blocks of a pool that are not bad from the factory.
    pub fn good_blocks_per_pool(&self) -> u32 {
        let share = self.wear.as_ref().and_then(|wear| wear.bad_block_share.as_ref());
        let blocks = self.blocks_per_lane();
        blocks - (f64::from(blocks) * share.map_or(0.0, |share| share.value.0)) as u32
    }

    /// Blocks of a pool that its share of the user's data takes, with those
    /// that the collector keeps free and those that are being filled.
    pub fn needed_blocks_per_pool(&self) -> u32 {
        let units = self.capacity.user.0.div_ceil(self.translation.unit.0);
        let data = units.div_ceil(u64::from(self.lanes()) * self.units_per_block());
        let collection = &self.garbage_collection;
        let kept = collection.start_free_blocks.value
            + collection.burst_blocks.value
            + 2 * self.host_streams();
        u32::try_from(data).unwrap_or(u32::MAX).saturating_add(kept)
    }

    /// Erase blocks of a lane that data may use: those of the user area and of the
    /// spare area, in whole blocks.
    pub fn blocks_per_lane(&self) -> u32 {
        let Some(spare_area) = &self.translation.spare_area else {
            return self.flash_blocks_per_lane();
        };
        let bytes = self.capacity.user.0 as f64 * (1.0 + spare_area.value.0);
        (bytes / self.bytes_per_block_of_lanes()).round() as u32
    }

    /// The spare area, over the user area, of a drive whose lanes use so many
    /// blocks.
    pub fn spare_area_of(&self, blocks_per_lane: u32) -> f64 {
        let bytes = f64::from(blocks_per_lane) * self.bytes_per_block_of_lanes();
        bytes / self.capacity.user.0 as f64 - 1.0
    }

    /// Bytes of one block of each lane.
    pub fn bytes_per_block_of_lanes(&self) -> f64 {
        f64::from(self.lanes()) * self.flash.block_bytes() as f64
    }
}
