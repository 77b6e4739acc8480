//! What is true of a page-mapped SSD.

use super::specification::{Specification, WhenFull};
use crate::host_interface::host_truths;
use crate::specification::{Nanoseconds, Parameter, Share};
use crate::truth::{Treatment, Truth, Truths, Unit, seconds};

/// Rate of all dies over the link's up to which the link does not limit what they
/// collect, and hide some of it.
const OF_LINK_MAX: f64 = 0.7;
/// What the transfers of a channel's dies take over the time of a row, up to which
/// the channel does not limit it.
const OF_ROW_MAX: f64 = 0.5;
/// Rows of a write buffer for each die from which on it does not run out while some
/// dies fold.
const ROWS_PER_DIE_MIN: f64 = 4.0;

impl Specification {
    /// See [`crate::SimulatedDrive::truths`].
    pub fn truths(&self, treatment: &Treatment) -> Vec<Truth> {
        let mut truths = Truths::default();
        let count = |value: u32| f64::from(value);
        let row_bytes = self.row_bytes();
        host_truths(&mut truths, &self.link, self.host.overhead.0);
        truths.add_whether("log_blocks", false);
        truths.add("mapping_unit", self.translation.unit.0 as f64, Unit::Bytes);
        truths.add_whether("placement_by_address", false);
        truths.add("stripe_bytes", row_bytes, Unit::Bytes);
        // A die that stores compressed data reads from all of its planes at once.
        let page_bytes = match &self.compression {
            Some(_) => row_bytes,
            None => self.flash.page_size.0 as f64,
        };
        truths.add("page_bytes", page_bytes, Unit::Bytes);
        truths.add("planes_per_die", count(self.flash.planes.value), Unit::Count);
        truths.add("dies", count(self.flash.dies.value), Unit::Count);
        truths.add("channels", count(self.flash.channels.value), Unit::Count);
        let planes = self.flash.dies.value * self.flash.planes_read_together();
        let units = if self.link.queue_depth.value == 1 { 1 } else { planes };
        truths.add("parallel_units", count(units), Unit::Count);
        truths.add("zones", 1.0, Unit::Count);
        truths.add("rotation_rpm", 0.0, Unit::RevolutionsPerMinute);
        truths.add_whether("read_ahead", self.read_ahead.is_some());
        let streams = self.read_ahead.as_ref().map_or(0, |ahead| ahead.streams.value);
        truths.add("read_ahead_streams", count(streams), Unit::Count);
        let read_cache = self.read_cache.as_ref().map_or(0, |cache| cache.size.0);
        truths.add("read_cache_bytes", read_cache as f64, Unit::Bytes);
        self.flash_truths(&mut truths);
        self.collection_truths(treatment, &mut truths);
        self.write_truths(treatment, &mut truths);
        self.content_truths(&mut truths);
        self.variation_truths(&mut truths);
        truths.into_list()
    }

    fn flash_truths(&self, truths: &mut Truths) {
        let flash = &self.flash;
        truths.add("page_read_time", seconds(flash.read_time.0), Unit::Seconds);
        truths.add("program_time", flash.mean_program_s(), Unit::Seconds);
        truths.add("erase_time", seconds(flash.erase_time.0), Unit::Seconds);
        truths.add("pages_per_block", f64::from(flash.pages_per_block.value), Unit::Count);
        let mut kinds: Vec<u64> =
            flash.program_times.iter().flat_map(|times| &times.value).map(|time| time.0).collect();
        kinds.sort_unstable();
        kinds.dedup();
        // Pages of one kind say nothing about the bits of a cell.
        if kinds.len() < 2 {
            return;
        }
        truths.add("bits_per_cell", kinds.len() as f64, Unit::Count);
        let names = ["program_time_lower", "program_time_upper", "program_time_extra"];
        for (number, name) in names.into_iter().enumerate() {
            let time = kinds.get(number).map_or(0.0, |&time| seconds(time));
            truths.add(name, time, Unit::Seconds);
        }
    }

    fn collection_truths(&self, treatment: &Treatment, truths: &mut Truths) {
        let collection = &self.garbage_collection;
        let kept = f64::from(collection.start_free_blocks.value);
        let burst = f64::from(collection.burst_blocks.value);
        let shared = collection.shares_stream();
        // What a full drive takes before it collects: one block of each pool is open,
        // one takes what is collected, and a pool begins when fewer are free than it
        // keeps.
        let until_cliff = self.spare_area_without(kept + 1.0);
        truths.add("over_provisioning", until_cliff, Unit::Share);
        truths.add("op_by_cliff", until_cliff, Unit::Share);
        // What holds data in the steady state: open blocks are half full in the mean,
        // and so many are free as collection lets there be. The open block for what is
        // collected stays empty where that goes into the host's.
        let empty = 0.5 * burst + if shared { 0.5 } else { 0.0 };
        let steady = self.spare_area_without(kept + 0.5 + empty);
        truths.add("op_by_amplification", steady, Unit::Share);
        let block_bytes = (u64::from(self.lanes_per_pool()) * self.flash.block_bytes()) as f64;
        truths.add("block_bytes", block_bytes, Unit::Bytes);
        // A burst begins one block below where it ends.
        let reclaimed = self.bytes_per_block_of_lanes() * (burst + 1.0);
        truths.add("superblock_bytes", reclaimed, Unit::Bytes);
        // With a pace, writes go on during a burst; and what a burst collects into the
        // host's blocks takes some of the one that the host goes on with.
        let known = collection.burst_pace.is_none() && !(burst > 0.0 && shared);
        let spacing = known.then_some(if burst == 0.0 { 0.0 } else { reclaimed });
        truths.add_some("collection_stall_spacing", spacing, Unit::Bytes);
        let stalls = spacing.is_some_and(|bytes| bytes > 0.0) && self.stalls_as_one();
        truths.add_whether("stalls_as_one", stalls);
        let valid = treatment.collected_valid_share.filter(|&valid| stalls && valid > 0.0);
        let length = match valid {
            _ if burst == 0.0 => Some(0.0),
            // How many planes' rows a die then has to program together is not known.
            _ if self.flash.rows_together() > 1 => None,
            // All wait for the die that takes the longest.
            _ if self.programs_vary() => None,
            Some(valid) => Some((burst + 1.0) * self.reclaiming_s(treatment, valid)),
            None => None,
        };
        truths.add_some("collection_stall_length", length, Unit::Seconds);
    }

    /// Whether a burst stops all writes for as long as the dies take for it. Dies
    /// that collect by themselves do not end at the same time, and writes go on. A
    /// link that is slower than flash lets a buffer hide some of it; so do channels
    /// that others wait for.
    fn stalls_as_one(&self) -> bool {
        let dies = f64::from(self.flash.dies.value);
        let program_s = self.flash.mean_program_s();
        let row_s = self.transfer_s() + program_s;
        self.translation.dies_per_pool() == self.flash.dies.value
            && dies * self.row_bytes() / row_s <= OF_LINK_MAX * self.link.interface.payload_rate()
            && self.channel_use(1.0, program_s) <= OF_ROW_MAX
    }

    /// What so many transfers of a row for each die of a channel take, over the time that
    /// a die needs for them and in the array.
    fn channel_use(&self, transfers: f64, array_s: f64) -> f64 {
        let dies_per_channel =
            f64::from(self.flash.dies.value) / f64::from(self.flash.channels.value);
        let transfer_s = transfers * self.transfer_s();
        dies_per_channel * transfer_s / (transfer_s + array_s)
    }

    /// How long all dies take to reclaim a block of each, of which so much is valid:
    /// to read and program what is moved, and to erase.
    fn reclaiming_s(&self, treatment: &Treatment, valid: f64) -> f64 {
        let flash = &self.flash;
        let moved = valid / (1.0 - valid);
        // A row is read once for all of it that is valid; what was written together is
        // valid together.
        let written = self.translation.unit.0.max(treatment.overwrite_block_bytes);
        let together = (flash.row_bytes() / written).max(1) as i32;
        let reads = (1.0 - (1.0 - valid).powi(together)) / valid;
        let row_s =
            reads * seconds(flash.read_time.0) + 2.0 * self.transfer_s() + flash.mean_program_s();
        row_s * f64::from(flash.pages_per_block.value) * moved
            + (1.0 + moved) * seconds(flash.erase_time.0)
    }

    fn write_truths(&self, treatment: &Treatment, truths: &mut Truths) {
        let buffer = &self.write_buffer;
        let protected = buffer.is_protected();
        let write_back = buffer.write_back.as_ref().is_none_or(|write_back| write_back.value);
        // Capacitors make it complete writes even where it is said to write through.
        let buffered = (write_back || protected).then_some(buffer.size.0 as f64);
        let volatile = write_back && !protected;
        truths.add_some("write_buffer_bytes", buffered, Unit::Bytes);
        truths.add_whether("volatile_write_cache", volatile);
        truths.add_whether("power_loss_protection", protected);
        let waits = volatile && !buffer.lies();
        truths.add("flush_cost", self.flush_cost_s(treatment, waits), Unit::Seconds);

        let slc_cache = self.slc_cache_bytes();
        let (gain, folds) = (self.dynamic_gain(), self.folds());
        truths.add("slc_cache_bytes", slc_cache, Unit::Bytes);
        let fills_cache = slc_cache <= treatment.burst_bytes as f64;
        // Some rows pass a cache made of free space that is emptied for each row.
        let drain = (buffered.is_some() && fills_cache && !(folds && gain > 0.0))
            .then(|| self.written_rate(0.0))
            .flatten();
        truths.add_some("write_drain_rate", drain, Unit::BytesPerSecond);
        if slc_cache == 0.0 {
            return;
        }
        // Not where it depends on how rows meet: of a cache that is emptied for each row
        // and becomes smaller too, or for writes that wait until they are on flash; nor
        // where a buffer of few rows for each die runs out while some of them fold.
        let rows = buffer.size.0 as f64 / self.row_bytes();
        let few = gain > 0.0 && rows < ROWS_PER_DIE_MIN * f64::from(self.flash.dies.value);
        let direct = (!(folds && (gain > 0.0 || buffered.is_none())) && !few)
            .then(|| self.written_rate(gain))
            .flatten();
        truths.add_some("slc_direct_rate", direct, Unit::BytesPerSecond);
        let drain = self.written_rate(0.0).filter(|_| fills_cache);
        let recovered =
            drain.map(|drain| self.recovered_share(treatment, slc_cache, drain, buffered));
        truths.add_some("slc_recovered_share", recovered, Unit::Share);
    }

    fn content_truths(&self, truths: &mut Truths) {
        truths.add_whether("compression", self.compression.is_some());
        truths.add_whether("deduplication", self.deduplication.is_some());
        // Room that the smallest units take, as many of which share a row as fit.
        let floor = self.compression.as_ref().map(|compression| {
            let unit = self.translation.unit.0;
            let stored = (unit as f64 * compression.smallest.value.0).ceil() as u64;
            let reference = self.deduplication.as_ref().map_or(stored, |d| d.reference_size.0);
            let row = self.flash.row_bytes();
            let together = (row / unit * (unit / stored.min(reference))).min(row / stored);
            row as f64 / unit as f64 / together as f64
        });
        truths.add_some("compression_floor", floor, Unit::Share);
        let granularity = self.translation.trim_granularity.as_ref();
        let granularity = granularity.map_or(self.translation.unit.0, |part| part.0);
        truths.add("trim_granularity", granularity as f64, Unit::Bytes);
        truths.add_whether("trim_effect", granularity > 0);
        // An SLC cache that a pause empties makes the first writes after it fast.
        if self.slc_cache_bytes() == 0.0 {
            let idle = self.garbage_collection.idle_free_blocks.is_some();
            truths.add_whether("idle_recovery", idle);
        }
    }

    /// What differs from one operation to the next: 0 where nothing does.
    fn variation_truths(&self, truths: &mut Truths) {
        let variation = self.variation.as_ref();
        let share = |share: Option<&Parameter<Share>>| share.map_or(0.0, |share| share.value.0);
        let time = |time: Option<&Parameter<Nanoseconds>>| time.map_or(0.0, |time| seconds(time.0));
        for (name, value) in [
            ("program_spread", variation.and_then(|v| v.program_spread.as_ref())),
            ("erase_spread", variation.and_then(|v| v.erase_spread.as_ref())),
            ("read_retry_share", variation.and_then(|v| v.read_retry_share.as_ref())),
        ] {
            truths.add(name, share(value), Unit::Share);
        }
        for (name, value) in [
            ("read_retry_time", variation.and_then(|v| v.read_retry_time.as_ref())),
            ("housekeeping_time", variation.and_then(|v| v.housekeeping_time.as_ref())),
            ("housekeeping_interval", variation.and_then(|v| v.housekeeping_interval.as_ref())),
            ("link_jitter", variation.and_then(|v| v.link_jitter.as_ref())),
            ("thermal_time_constant", self.thermal.as_ref().map(|heat| &heat.time_constant)),
        ] {
            truths.add(name, time(value), Unit::Seconds);
        }
        let volume = variation.and_then(|v| v.housekeeping_volume.as_ref());
        let volume = volume.map_or(0.0, |volume| volume.0 as f64);
        truths.add("housekeeping_volume", volume, Unit::Bytes);
        for (name, rate) in [
            ("thermal_limit_rate", self.thermal.as_ref().map(|heat| &heat.limit_rate)),
            ("throttled_rate", self.thermal.as_ref().map(|heat| &heat.throttled_rate)),
        ] {
            truths.add(name, rate.map_or(0.0, |rate| rate.0 as f64), Unit::BytesPerSecond);
        }
    }

    /// Whether programs or erases take different times.
    fn programs_vary(&self) -> bool {
        self.variation
            .as_ref()
            .is_some_and(|v| v.program_spread.is_some() || v.erase_spread.is_some())
    }

    /// The spare area, over the user area, without so many blocks of each pool.
    fn spare_area_without(&self, blocks: f64) -> f64 {
        let bytes =
            (f64::from(self.good_blocks_per_pool()) - blocks) * self.bytes_per_block_of_lanes();
        bytes / self.capacity.user.0 as f64 - 1.0
    }

    /// A row over the channel's bus.
    fn transfer_s(&self) -> f64 {
        self.row_bytes() / self.flash.bus_rate.0 as f64
    }

    fn row_bytes(&self) -> f64 {
        self.flash.row_bytes() as f64
    }

    /// Rows of all dies over the time that each takes, of so many transfers and in
    /// the array: the channel serves its dies in turn, and each of them works
    /// meanwhile. Rows that a die programs together are transferred one by one.
    fn dies_rate(&self, transfers: f64, array_s: f64) -> f64 {
        let dies = f64::from(self.flash.dies.value);
        let together = f64::from(self.flash.rows_together());
        let transfer_s = together * transfers * self.transfer_s();
        let round_s =
            (transfer_s + array_s).max(dies / f64::from(self.flash.channels.value) * transfer_s);
        dies * together * self.row_bytes() / round_s
    }

    /// What all dies program, of an SLC cache that is full if there is one, or what
    /// the data path carries to them. Not of a buffer that holds no more than a row
    /// of each, so that some of them have to wait.
    ///
    /// A row that is folded is read and programmed, and passes the channel both ways.
    /// So is one before each row that waits for room in the cache; else so much of
    /// one for each row as the cache becomes smaller by (`shrinking`). Dies that share
    /// a busy channel then wait for each other's transfers between their own, by how
    /// much follows from no parameter.
    fn written_rate(&self, shrinking: f64) -> Option<f64> {
        let lanes = f64::from(self.lanes());
        // Rows that are programmed together have to wait for each other besides.
        let rows = if self.flash.rows_together() > 1 { ROWS_PER_DIE_MIN } else { 1.0 };
        // Nor where dies wait for others that take longer.
        let small = self.write_buffer.size.0 as f64 <= rows * lanes * self.row_bytes();
        if small || self.programs_vary() {
            return None;
        }
        let program_s = self.flash.mean_program_s();
        let fold_s = seconds(self.flash.read_time.0) + program_s;
        let rate = match self.slc_cache.as_ref().filter(|_| self.folds()) {
            Some(cache) => {
                let array_s = fold_s + seconds(cache.program_time.0);
                let shared = self.flash.dies.value > self.flash.channels.value;
                if shared && self.channel_use(3.0, array_s) > OF_ROW_MAX {
                    return None;
                }
                self.dies_rate(3.0, array_s)
            }
            None => self.dies_rate(1.0 + 2.0 * shrinking, program_s + shrinking * fold_s),
        };
        let data_path = self.controller.write_data_rate.as_ref().map(|rate| rate.0 as f64);
        Some(data_path.map_or(rate, |data_path| rate.min(data_path)))
    }

    /// Whether a write that finds the SLC cache full waits until a row is folded.
    fn folds(&self) -> bool {
        self.slc_cache.as_ref().is_some_and(|cache| cache.when_full.value == WhenFull::Fold)
    }

    /// SLC cache for each byte of free space.
    fn dynamic_gain(&self) -> f64 {
        let cache = self.slc_cache.as_ref();
        let dynamic =
            cache.and_then(|cache| cache.dynamic_share.as_ref().zip(cache.bits_per_cell.as_ref()));
        dynamic.map_or(0.0, |(share, bits)| share.value.0 / f64::from(bits.value))
    }

    fn static_cache_bytes(&self) -> f64 {
        let size = self.slc_cache.as_ref().and_then(|cache| cache.static_size.as_ref());
        size.map_or(0.0, |size| size.0 as f64)
    }

    /// What the SLC cache of an erased drive takes: free space, of which cache is
    /// made, becomes less meanwhile.
    fn slc_cache_bytes(&self) -> f64 {
        let gain = self.dynamic_gain();
        (self.static_cache_bytes() + self.capacity.user.0 as f64 * gain) / (1.0 + gain)
    }

    /// Share of the SLC cache that the rest after the burst empties. The dies fold
    /// when they have programmed what the buffer held, and the drive has been idle
    /// for a while. A cache made of free space is smaller by then.
    fn recovered_share(
        &self,
        treatment: &Treatment,
        slc_cache: f64,
        drain: f64,
        buffered: Option<f64>,
    ) -> f64 {
        let idle_delay_s = self.slc_cache.as_ref().map_or(0.0, |cache| seconds(cache.idle_delay.0));
        let begin_s = idle_delay_s.max(buffered.unwrap_or(0.0) / drain);
        let fold_s = seconds(self.flash.read_time.0) + self.flash.mean_program_s();
        let folded = self.dies_rate(2.0, fold_s) * (seconds(treatment.rest_ns) - begin_s);
        let free = self.capacity.user.0 as f64 - treatment.burst_bytes as f64;
        let left = self.static_cache_bytes() + free * self.dynamic_gain();
        left.min(folded) / slc_cache
    }

    /// Mean of a flush after a small write: what is open is programmed, unless
    /// nothing has to be. A unit that is larger than the write is read first, and a
    /// flush that needs that die, or its channel, waits for it.
    fn flush_cost_s(&self, treatment: &Treatment, volatile: bool) -> f64 {
        let flash = &self.flash;
        let taken_up_s = seconds(
            self.host.overhead.0
                + self.link.interface.command_latency_ns()
                + self.controller.write_overhead.0,
        );
        if !volatile {
            return taken_up_s;
        }
        let unit = self.translation.unit.0;
        let feeding_s = unit as f64 / flash.bus_rate.0 as f64;
        let program = self.slc_cache.as_ref().map_or(&flash.program_time, |slc| &slc.program_time);
        // A row of a single unit is full, and programmed before the flush comes.
        let start_s = if flash.row_bytes() == unit { 0.0 } else { taken_up_s };
        let mut read_first_s = 0.0;
        if unit > treatment.flushed_bytes {
            let same = 1.0 / f64::from(flash.dies.value);
            let others = 1.0 / f64::from(flash.channels.value) - same;
            read_first_s += same * (feeding_s + seconds(flash.read_time.0) - start_s).max(0.0);
            read_first_s += others * (feeding_s - start_s).max(0.0);
        }
        (start_s + read_first_s + feeding_s + seconds(program.0)).max(taken_up_s)
    }
}
