//! NAND, the mapping onto it, and how much of it is spare area.

use super::Level;
use crate::host_interface::transfer_ns;
use crate::specification::{
    Bytes, BytesPerSecond, Nanoseconds, Parameter, Share, check_bus_rate, check_second, require,
};
use crate::truth::seconds;
use serde::Deserialize;

/// NAND geometry and times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Independent buses.
    pub channels: Parameter<u32>,
    /// Dies in all, as many on each channel; which is on which one,
    /// `translation.allocation_order` says.
    pub dies: Parameter<u32>,
    /// Planes of a die.
    pub planes: Parameter<u32>,
    /// Whether a die programs and erases its planes together, and reads them
    /// together to collect. If not, one operation is for one plane, and an erase
    /// block is on one. The host's reads are of one page each in either case.
    /// Absent: yes.
    pub multi_plane: Option<Parameter<bool>>,
    /// Whether reads of the host that wait at a die for different planes share one
    /// array operation; each is then transferred by itself. Absent: no.
    pub multi_plane_reads: Option<Parameter<bool>>,
    /// The same of programs, and of erases, where planes have blocks of their own:
    /// without `multi_plane`, and with `translation.allocation_order`. Absent: no.
    pub multi_plane_programs: Option<Parameter<bool>>,
    /// Dies of a way, which is a package on a channel. Only
    /// `translation.allocation_order` asks for it. Absent: 1.
    pub dies_per_way: Option<Parameter<u32>>,
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
    /// Over-provisioning: flash that data and garbage collection have beyond
    /// `capacity.user`, over `capacity.user`. What flash there is beyond it
    /// holds bad blocks, firmware, parity and tables. Absent: all of the flash.
    pub spare_area: Option<Parameter<Share>>,
    /// Dies whose blocks are erased and collected together as superblocks.
    /// Absent: each die collects by itself.
    pub superblock_dies: Option<Parameter<u32>>,
    /// TRIM forgets only whole parts of so many bytes; 0: it forgets nothing.
    /// Absent: whole mapping units.
    pub trim_granularity: Option<Parameter<Bytes>>,
    /// In which order written rows go to the parts of the flash, the first part the
    /// fastest: see [`Level`]. Planes that do not work together (`flash.multi_plane`)
    /// then have blocks of their own and collect by themselves; others come first.
    /// Absent: plane, channel, way, die; planes that do not work together share the
    /// blocks of their die.
    pub allocation_order: Option<Parameter<Vec<Level>>>,
}

impl Flash {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        for (name, count, most) in [
            ("flash.channels", self.channels.value, 64),
            ("flash.dies", self.dies.value, 4096),
            ("flash.planes", self.planes.value, 16),
            ("flash.pages_per_block", self.pages_per_block.value, 16_384),
            ("flash.blocks_per_plane", self.blocks_per_plane.value, 65_536),
        ] {
            require((1..=most).contains(&count), &format!("{name}: use 1 to {most}"))?;
        }
        require(
            self.dies.value.is_multiple_of(self.channels.value),
            "flash.dies: use a multiple of flash.channels",
        )?;
        for (name, time) in
            [("flash.suspend_time", &self.suspend_time), ("flash.resume_time", &self.resume_time)]
        {
            time.as_ref().map_or(Ok(()), |time| check_second(name, time))?;
        }
        // An operation's times must fit 32 bits of nanoseconds.
        check_bus_rate(&self.bus_rate)?;
        require(self.program_time.0 > 0, "flash.program_time: use a positive time")?;
        for (name, time) in [
            ("flash.read_time", &self.read_time),
            ("flash.program_time", &self.program_time),
            ("flash.erase_time", &self.erase_time),
        ] {
            require(time.0 <= 20_000_000, &format!("{name}: use at most 20 ms"))?;
        }
        require(
            self.resume_time.is_none() || self.suspend_time.is_some(),
            "flash.resume_time: give flash.suspend_time too",
        )?;
        if let Some(times) = &self.program_times {
            let count = times.value.len();
            require((1..=64).contains(&count), "flash.program_times: give 1 to 64 times")?;
            let sum: u64 = times.value.iter().map(|time| time.0).sum();
            let mean = sum as f64 / count as f64;
            require(
                (mean / self.program_time.0 as f64 - 1.0).abs() <= 0.02,
                "flash.program_times: their mean must be flash.program_time within 2 %",
            )?;
        }
        let per_way = self.dies_per_way.as_ref().map_or(1, |dies| dies.value);
        require(
            per_way > 0 && (self.dies.value / self.channels.value).is_multiple_of(per_way),
            "flash.dies_per_way: use a divisor of the dies of a channel",
        )?;
        require(self.page_size.0 <= 1 << 20, "flash.page_size: use at most 1 MiB")?;
        require(
            transfer_ns(self.row_bytes(), self.bus_rate.0) <= 2_000_000_000,
            "flash.bus_rate: the transfer of a page for each plane must not take more than 2 s",
        )
    }

    /// Mean time in seconds of a program, over the pages of a block: of times that do not go
    /// evenly into it, the first are there once more than the others.
    pub fn mean_program_s(&self) -> f64 {
        let pages = self.pages_per_block.value;
        let Some(times) = &self.program_times else { return seconds(self.program_time.0) };
        let of_pages = times.value.iter().cycle().take(pages as usize);
        of_pages.map(|time| seconds(time.0)).sum::<f64>() / f64::from(pages)
    }

    /// Planes that a die programs and erases together.
    pub fn planes_together(&self) -> u32 {
        let together = self.multi_plane.as_ref().is_none_or(|together| together.value);
        if together { self.planes.value } else { 1 }
    }

    /// Pages that a die reads for the host at a time.
    pub fn planes_read_together(&self) -> u32 {
        if is_on(self.multi_plane_reads.as_ref()) { self.planes.value } else { 1 }
    }

    /// Rows that a die programs at a time, each on planes of its own.
    pub fn rows_together(&self) -> u32 {
        if is_on(self.multi_plane_programs.as_ref()) { self.planes.value } else { 1 }
    }

    /// Bytes that one program operation writes: a page on each of the planes
    /// that it is for.
    pub fn row_bytes(&self) -> u64 {
        self.page_size.0 * u64::from(self.planes_together())
    }

    /// Bytes of an erase block, over the planes that work together.
    pub fn block_bytes(&self) -> u64 {
        self.row_bytes() * u64::from(self.pages_per_block.value)
    }
}

impl Translation {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self, flash: &Flash) -> Result<(), String> {
        let unit = self.unit.0;
        require(
            unit >= 512 && unit.is_power_of_two(),
            "translation.unit: use a power of two from 512 B",
        )?;
        require(
            flash.page_size.0 > 0 && flash.page_size.0.is_multiple_of(unit)
                || flash.row_bytes().is_multiple_of(unit) && unit > flash.page_size.0,
            "translation.unit: pages (or the pages of all planes) must hold whole units",
        )?;
        let spare_area = self.spare_area.as_ref().map_or(0.0, |share| share.value.0);
        require(
            (0.0..=SPARE_AREA_MAX).contains(&spare_area),
            "translation.spare_area: use 0 % to 10 times capacity.user",
        )?;
        let superblock_dies = self.dies_per_pool();
        require(
            superblock_dies >= 1 && flash.dies.value.is_multiple_of(superblock_dies),
            "translation.superblock_dies: use a divisor of flash.dies",
        )?;
        require(
            self.trim_granularity.as_ref().is_none_or(|part| part.0.is_multiple_of(unit)),
            "translation.trim_granularity: use a multiple of translation.unit, or 0",
        )?;
        self.check_order(flash)
    }

    /// Dies that collect together.
    pub fn dies_per_pool(&self) -> u32 {
        self.superblock_dies.as_ref().map_or(1, |dies| dies.value)
    }
}

/// Whether a parameter is there and says yes.
fn is_on(parameter: Option<&Parameter<bool>>) -> bool {
    parameter.is_some_and(|parameter| parameter.value)
}

/// Most spare area, over the user's: beyond what any drive is sold with.
const SPARE_AREA_MAX: f64 = 10.0;
