//! Parameters of a page-mapped SSD.

use super::content::StoredSizes;
use crate::link::transfer_ns;
use crate::specification::{
    Bytes, BytesPerSecond, Capacity, Host, Link, Milliwatts, Nanoseconds, Parameter, Share,
    check_bus_rate, check_memory, check_second, require,
};
use serde::{Deserialize, Serialize};

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
}

/// NAND geometry and times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Independent buses.
    pub channels: Parameter<u32>,
    /// Dies in all; die `i` is on channel `i mod channels`.
    pub dies: Parameter<u32>,
    /// Planes of a die.
    pub planes: Parameter<u32>,
    /// Whether a die programs and erases its planes together, and reads them
    /// together to collect. If not, one operation is for one plane, and an erase
    /// block is on one. The host's reads are of one page each in either case.
    /// Absent: yes.
    pub multi_plane: Option<Parameter<bool>>,
    /// User bytes of a page.
    pub page_size: Parameter<Bytes>,
    /// Pages of an erase block.
    pub pages_per_block: Parameter<u32>,
    /// Blocks of a plane.
    pub blocks_per_plane: Parameter<u32>,
    /// Array to page register (tR).
    pub read_time: Parameter<Nanoseconds>,
    /// Page register to array (tPROG), mean over a block's pages.
    pub program_time: Parameter<Nanoseconds>,
    /// Program times of a block's pages in the order in which they are written,
    /// repeated over the block: lower and upper pages of multi-level cells,
    /// such as `["0.5 ms", "2.1 ms"]`. Their mean is `program_time`. Absent:
    /// all pages take `program_time`.
    pub program_times: Option<Parameter<Vec<Nanoseconds>>>,
    /// Block erase (tBERS).
    pub erase_time: Parameter<Nanoseconds>,
    /// Time from a read's arrival at a die that programs or erases until the
    /// array is free for it. Absent: reads wait for the operation's end.
    pub suspend_time: Option<Parameter<Nanoseconds>>,
    /// Time that a suspended operation needs before it makes progress again.
    /// Absent: none.
    pub resume_time: Option<Parameter<Nanoseconds>>,
    /// Payload rate of a channel.
    pub bus_rate: Parameter<BytesPerSecond>,
}

/// Mapping.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// Mapping unit: a write of part of it reads, modifies and writes it.
    pub unit: Parameter<Bytes>,
    /// Share of the raw blocks that holds bad blocks, firmware, parity and
    /// tables, and so neither user data nor spare area.
    pub reserved_share: Parameter<Share>,
    /// Dies whose blocks are erased and collected together as superblocks.
    /// Absent: each die collects by itself.
    pub superblock_dies: Option<Parameter<u32>>,
    /// TRIM forgets only whole parts of so many bytes; 0: it forgets nothing.
    /// Absent: whole mapping units.
    pub trim_granularity: Option<Parameter<Bytes>>,
}

/// Reclaiming of blocks, in each pool of dies by itself (see
/// `translation.superblock_dies`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageCollection {
    /// A pool with fewer free blocks than this collects.
    pub start_free_blocks: Parameter<u32>,
    /// Blocks that a pool reclaims at a stretch before it takes writes again;
    /// 0: just as many units as are written, between the writes (paced).
    pub burst_blocks: Parameter<u32>,
    /// How many times as fast as they are written units are reclaimed during
    /// a burst, while writes go on. Absent: the die takes no writes meanwhile.
    pub burst_pace: Option<Parameter<f64>>,
    /// Free blocks that a pool collects up to, row by row, with dies that have
    /// nothing else to do. Absent: only what `start_free_blocks` asks for.
    pub background_free_blocks: Option<Parameter<u32>>,
    /// Free blocks that a pool collects up to while the drive is idle. Absent:
    /// idle time changes nothing.
    pub idle_free_blocks: Option<Parameter<u32>>,
    /// Time without commands after which the drive collects up to
    /// `idle_free_blocks`.
    pub idle_delay: Option<Parameter<Nanoseconds>>,
    /// Which block goes first. Absent: greedy.
    pub policy: Option<Parameter<Policy>>,
    /// Blocks that the d-choices policy looks at.
    pub candidates: Option<Parameter<u32>>,
    /// Collected units go into the same blocks as the host's. Absent: into
    /// blocks of their own.
    pub shared_stream: Option<Parameter<bool>>,
}

/// Which block the collector empties first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The one with the fewest valid units.
    Greedy,
    /// The one that was filled first.
    Fifo,
    /// The one with the best ratio of gain and age to cost.
    CostBenefit,
    /// The one with the fewest valid units among some drawn at random.
    DChoices,
}

/// Data that is written often goes into blocks of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStreams {
    /// How the drive knows which data is hot.
    pub rule: Parameter<StreamRule>,
    /// Known range: bytes from the start of the drive that are hot.
    pub hot_size: Option<Parameter<Bytes>>,
    /// Detected: bytes that the host writes within which a unit that is
    /// rewritten again and again is hot.
    pub window: Option<Parameter<Bytes>>,
}

/// How a drive knows which data is hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamRule {
    /// The host says so; here, a range from the start of the drive is hot.
    KnownRange,
    /// The drive watches what is rewritten soon; it takes a byte of memory for
    /// each mapping unit.
    Detected,
}

/// Bad blocks, endurance and wear levelling. Blocks count in each pool of dies
/// by itself, over the planes that work together (see
/// `translation.superblock_dies`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Share of the blocks that are bad from the factory, beyond those in
    /// `translation.reserved_share`; the same number in each pool. Absent:
    /// none.
    pub bad_block_share: Option<Parameter<Share>>,
    /// Erases that a block endures. Absent: without end.
    pub endurance: Option<Parameter<u32>>,
    /// How wear is evened out. Absent: blocks are written in the order in
    /// which they came free.
    pub levelling: Option<Parameter<Levelling>>,
    /// Static levelling: erases that a block may lag behind the most worn one
    /// of its pool.
    pub spread_max: Option<Parameter<u32>>,
}

/// How wear is evened out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levelling {
    /// Of the free blocks the host's data gets the least worn, collected data
    /// the most worn.
    Dynamic,
    /// Data that lies still is moved, too, when its block lags behind.
    Static,
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
    /// they are part of `translation.reserved_share`. Absent: none.
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

/// Compression before storing (SandForce).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compression {
    /// Smallest stored share of a mapping unit.
    pub smallest: Parameter<Share>,
}

/// Deduplication before storing: a mapping unit that repeats one that the drive
/// holds is stored as a reference to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deduplication {
    /// What a reference takes on flash.
    pub reference_size: Parameter<Bytes>,
}

impl Specification {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        self.link.check()?;
        let flash = &self.flash;
        for (name, count, most) in [
            ("flash.channels", flash.channels.value, 64),
            ("flash.dies", flash.dies.value, 4096),
            ("flash.planes", flash.planes.value, 16),
            ("flash.pages_per_block", flash.pages_per_block.value, 16_384),
            ("flash.blocks_per_plane", flash.blocks_per_plane.value, 65_536),
        ] {
            require((1..=most).contains(&count), &format!("{name}: use 1 to {most}"))?;
        }
        require(
            flash.dies.value.is_multiple_of(flash.channels.value),
            "flash.dies: use a multiple of flash.channels",
        )?;
        self.host.check()?;
        let controller = &self.controller;
        for (name, time) in [
            ("controller.read_overhead", Some(&controller.read_overhead)),
            ("controller.unmapped_read_overhead", controller.unmapped_read_overhead.as_ref()),
            ("controller.write_overhead", Some(&controller.write_overhead)),
            ("controller.modify_overhead", controller.modify_overhead.as_ref()),
            ("flash.suspend_time", flash.suspend_time.as_ref()),
            ("flash.resume_time", flash.resume_time.as_ref()),
        ] {
            time.map_or(Ok(()), |time| check_second(name, time))?;
        }
        // An operation's times must fit 32 bits of nanoseconds.
        check_bus_rate(&flash.bus_rate)?;
        require(flash.program_time.0 > 0, "flash.program_time: use a positive time")?;
        for (name, time) in [
            ("flash.read_time", &flash.read_time),
            ("flash.program_time", &flash.program_time),
            ("flash.erase_time", &flash.erase_time),
        ] {
            require(time.0 <= 20_000_000, &format!("{name}: use at most 20 ms"))?;
        }
        require(
            flash.resume_time.is_none() || flash.suspend_time.is_some(),
            "flash.resume_time: give flash.suspend_time too",
        )?;
        if let Some(times) = &flash.program_times {
            let count = times.value.len();
            require((1..=64).contains(&count), "flash.program_times: give 1 to 64 times")?;
            let sum: u64 = times.value.iter().map(|time| time.0).sum();
            let mean = sum as f64 / count as f64;
            require(
                (mean / flash.program_time.0 as f64 - 1.0).abs() <= 0.02,
                "flash.program_times: their mean must be flash.program_time within 2 %",
            )?;
        }
        let unit = self.translation.unit.0;
        require(
            unit >= 512 && unit.is_power_of_two(),
            "translation.unit: use a power of two from 512 B",
        )?;
        require(
            flash.page_size.0 > 0 && flash.page_size.0.is_multiple_of(unit)
                || self.row_bytes().is_multiple_of(unit) && unit > flash.page_size.0,
            "translation.unit: pages (or the pages of all planes) must hold whole units",
        )?;
        require(
            self.capacity.user.0 > 0 && self.capacity.user.0.is_multiple_of(unit),
            "capacity.user: use a multiple of translation.unit",
        )?;
        require(flash.page_size.0 <= 1 << 20, "flash.page_size: use at most 1 MiB")?;
        require(
            transfer_ns(self.row_bytes(), flash.bus_rate.0) <= 2_000_000_000,
            "flash.bus_rate: the transfer of a page for each plane must not take more than 2 s",
        )?;
        require(
            (0.0..0.5).contains(&self.translation.reserved_share.value.0),
            "translation.reserved_share: use 0 to 0.5",
        )?;
        require(
            self.garbage_collection.start_free_blocks.value >= self.free_blocks_min(),
            "garbage_collection.start_free_blocks: use at least 2 (one for the host's writes, one for the collector's), and 1 more with each of write_streams and wear.endurance",
        )?;
        let superblock = self.dies_per_pool();
        require(
            superblock >= 1 && flash.dies.value.is_multiple_of(superblock),
            "translation.superblock_dies: use a divisor of flash.dies",
        )?;
        if let Some(granularity) = &self.translation.trim_granularity {
            require(
                granularity.0.is_multiple_of(unit),
                "translation.trim_granularity: use a multiple of translation.unit, or 0",
            )?;
        }
        let collection = &self.garbage_collection;
        let draws = collection.policy.as_ref().is_some_and(|p| p.value == Policy::DChoices);
        let candidates = collection.candidates.as_ref().map(|c| c.value);
        require(
            draws == candidates.is_some() && candidates.is_none_or(|c| (1..=65_536).contains(&c)),
            "garbage_collection.candidates: give 1 to 65536 with the policy d-choices, and only with it",
        )?;
        for (name, blocks) in [
            ("start_free_blocks", Some(&collection.start_free_blocks)),
            ("burst_blocks", Some(&collection.burst_blocks)),
            ("background_free_blocks", collection.background_free_blocks.as_ref()),
            ("idle_free_blocks", collection.idle_free_blocks.as_ref()),
        ] {
            require(
                blocks.is_none_or(|blocks| blocks.value <= 65_536),
                &format!("garbage_collection.{name}: use at most 65536"),
            )?;
        }
        if let Some(pace) = &collection.burst_pace {
            require(
                pace.value > 1.0 && pace.value <= 100.0 && collection.burst_blocks.value > 0,
                "garbage_collection.burst_pace: use more than 1, up to 100, with burst_blocks of at least 1",
            )?;
        }
        let foreground = collection.start_free_blocks.value + collection.burst_blocks.value;
        let background = collection.background_free_blocks.as_ref().map(|blocks| blocks.value);
        require(
            background.is_none_or(|blocks| blocks > foreground),
            "garbage_collection.background_free_blocks: use more than start_free_blocks and burst_blocks together",
        )?;
        let idle = collection.idle_free_blocks.as_ref().map(|blocks| blocks.value);
        require(
            idle.is_none_or(|blocks| blocks > background.unwrap_or(foreground)),
            "garbage_collection.idle_free_blocks: use more than are kept free while the drive is in use",
        )?;
        require(
            idle.is_some() == collection.idle_delay.is_some(),
            "garbage_collection.idle_delay: give it together with garbage_collection.idle_free_blocks",
        )?;
        if let Some(streams) = &self.write_streams {
            let detects = streams.rule.value == StreamRule::Detected;
            require(
                streams.hot_size.is_none() == detects && streams.window.is_some() == detects,
                "write_streams: give hot_size with the rule known-range, window with the rule detected",
            )?;
            require(
                !collection.shared_stream.as_ref().is_some_and(|shared| shared.value),
                "garbage_collection.shared_stream: not together with write_streams, which keeps collected data apart",
            )?;
        }
        if let Some(wear) = &self.wear {
            let share = wear.bad_block_share.as_ref().map_or(0.0, |share| share.value.0);
            require((0.0..0.5).contains(&share), "wear.bad_block_share: use 0 to 0.5")?;
            let endurance = wear.endurance.as_ref().map_or(1, |erases| erases.value);
            require(endurance > 0, "wear.endurance: use at least 1")?;
            let levels = wear.levelling.as_ref().map(|levelling| levelling.value);
            let spread = wear.spread_max.as_ref().map(|spread| spread.value);
            require(
                (levels == Some(Levelling::Static)) == spread.is_some() && spread != Some(0),
                "wear.spread_max: give at least 1 with static levelling, and only with it",
            )?;
        }
        require(
            self.needed_blocks_per_pool() <= self.good_blocks_per_pool(),
            "capacity.user: the flash, less reserved_share, bad blocks and the free blocks that garbage collection keeps, does not hold it",
        )?;
        // An open row of each stream waits in the buffer for its last units.
        let open_rows = 2 * self.host_streams();
        require(
            self.write_buffer.size.0 >= u64::from(open_rows) * unit.max(self.row_bytes()),
            &format!(
                "write_buffer.size: use at least {open_rows} pages of all planes (and {open_rows} mapping units)"
            ),
        )?;
        require(self.write_buffer.size.0 <= 1 << 34, "write_buffer.size: use at most 16 GiB")?;
        if let Some(read_ahead) = &self.read_ahead {
            let streams = read_ahead.streams.value;
            require((1..=64).contains(&streams), "read_ahead.streams: use 1 to 64")?;
            require(
                (unit..=1 << 30).contains(&(read_ahead.size.0 / u64::from(streams))),
                "read_ahead.size: use at least a mapping unit and at most 1 GiB per stream",
            )?;
        }
        if let Some(cache) = &self.read_cache {
            require(
                (unit..=self.capacity.user.0).contains(&cache.size.0),
                "read_cache.size: use a mapping unit to capacity.user",
            )?;
        }
        if let Some(cache) = &self.map_cache {
            let page = cache.page_size.0;
            require(
                (1..=page).contains(&cache.entry_size.0),
                "map_cache.entry_size: use 1 B to map_cache.page_size",
            )?;
            require(
                (1..=flash.page_size.0).contains(&page),
                "map_cache.page_size: use at most flash.page_size",
            )?;
            require(
                (page..=1 << 40).contains(&cache.size.0),
                "map_cache.size: use at least map_cache.page_size, up to 1 TiB",
            )?;
        }
        if let Some(cache) = &self.slc_cache {
            require(
                cache.program_time.0 <= flash.program_time.0,
                "slc_cache.program_time: use at most flash.program_time",
            )?;
            require(
                cache.dynamic_share.is_some() == cache.bits_per_cell.is_some(),
                "slc_cache.dynamic_share: give it together with slc_cache.bits_per_cell",
            )?;
            let share = cache.dynamic_share.as_ref().map_or(0.0, |share| share.value.0);
            require((0.0..=1.0).contains(&share), "slc_cache.dynamic_share: use 0 to 1")?;
            let bits = cache.bits_per_cell.as_ref().map_or(2, |bits| bits.value);
            require((2..=5).contains(&bits), "slc_cache.bits_per_cell: use 2 to 5")?;
            let shared = self.garbage_collection.shared_stream.as_ref();
            require(
                !shared.is_some_and(|shared| shared.value),
                "garbage_collection.shared_stream: not together with slc_cache, which takes the host's writes alone",
            )?;
        }
        if let Some(rate) = &self.controller.write_data_rate {
            require(rate.0 >= 1_000_000, "controller.write_data_rate: use at least 1 MB/s")?;
        }
        if let Some(compression) = &self.compression {
            require(
                (0.1..=1.0).contains(&compression.smallest.value.0),
                "compression.smallest: use 0.1 to 1",
            )?;
        }
        if let Some(deduplication) = &self.deduplication {
            require(
                (unit.div_ceil(10)..=unit).contains(&deduplication.reference_size.0),
                "deduplication.reference_size: use a tenth of translation.unit to all of it",
            )?;
        }
        let stored_sizes = StoredSizes::new(self);
        let slots_per_row = self.row_bytes() / unit * (unit / u64::from(stored_sizes.least()));
        // A row's fill is kept in a byte.
        require(
            !stored_sizes.vary() || slots_per_row <= 255,
            "compression.smallest, deduplication.reference_size: a row (a page on each plane) may hold at most 255 of such units",
        )?;
        require(
            slots_per_row * flash.read_time.0 <= 2_000_000_000,
            "flash.read_time: reading a page for every unit of a row must not take more than 2 s",
        )?;
        let rows = u64::from(flash.dies.value)
            * u64::from(flash.blocks_per_plane.value)
            * u64::from(flash.pages_per_block.value);
        require(
            rows * slots_per_row < u64::from(u32::MAX),
            "translation.unit: the flash holds more than 2^32 of them, use a larger one",
        )?;
        check_memory(
            self.memory_bytes(),
            "it keeps a map of all of its flash (channels, dies, planes, blocks, pages and their size): have less flash, or raise translation.unit",
        )
    }

    /// See [`crate::specification::Specification::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        let unit = self.translation.unit.0;
        let sizes = StoredSizes::new(self);
        let units = self.capacity.user.0 / unit;
        let blocks = u64::from(self.flash.dies.value) * u64::from(self.blocks_per_die());
        let rows = blocks * u64::from(self.flash.pages_per_block.value);
        let slots = rows * (self.row_bytes() / unit) * (unit / u64::from(sizes.least()));
        // Map, owners and valid bits; what is known of blocks, and of rows that vary.
        let map = 4 * units + 4 * slots + slots / 8 + 21 * blocks;
        let fill = if sizes.vary() { rows } else { 0 };
        let streams = self.write_streams.as_ref();
        let detects = streams.is_some_and(|streams| streams.rule.value == StreamRule::Detected);
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

    /// Planes that a die programs and erases together.
    pub fn planes_together(&self) -> u32 {
        let together = self.flash.multi_plane.as_ref().is_none_or(|together| together.value);
        if together { self.flash.planes.value } else { 1 }
    }

    /// Bytes that one program operation writes: a page on each of the planes
    /// that it is for.
    pub fn row_bytes(&self) -> u64 {
        self.flash.page_size.0 * u64::from(self.planes_together())
    }

    /// Mapping units of an erase block, uncompressed.
    pub fn units_per_block(&self) -> u64 {
        self.row_bytes() / self.translation.unit.0 * u64::from(self.flash.pages_per_block.value)
    }

    /// Dies that collect together.
    pub fn dies_per_pool(&self) -> u32 {
        self.translation.superblock_dies.as_ref().map_or(1, |dies| dies.value)
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
        let blocks = self.blocks_per_die();
        blocks - (f64::from(blocks) * share.map_or(0.0, |share| share.value.0)) as u32
    }

    /// Blocks of a pool that its share of the user's data takes, with those
    /// that the collector keeps free and those that are being filled.
    pub fn needed_blocks_per_pool(&self) -> u32 {
        let units = self.capacity.user.0.div_ceil(self.translation.unit.0);
        let data = units.div_ceil(u64::from(self.flash.dies.value) * self.units_per_block());
        let collection = &self.garbage_collection;
        let kept = collection.start_free_blocks.value
            + collection.burst_blocks.value
            + 2 * self.host_streams();
        u32::try_from(data).unwrap_or(u32::MAX).saturating_add(kept)
    }

    /// Erase blocks of a die, over the planes that work together, that data may
    /// use.
    pub fn blocks_per_die(&self) -> u32 {
        let apart = self.flash.planes.value / self.planes_together();
        let raw = f64::from(self.flash.blocks_per_plane.value * apart);
        (raw * (1.0 - self.translation.reserved_share.value.0)).floor() as u32
    }
}
