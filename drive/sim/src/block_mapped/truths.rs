//! What is true of a block-mapped SSD.

use super::specification::Specification;
use crate::host_interface::host_truths;
use crate::truth::{Truth, Truths, Unit, seconds};

impl Specification {
    /// See [`crate::SimulatedDrive::truths`].
    pub fn truths(&self) -> Vec<Truth> {
        let mut truths = Truths::default();
        host_truths(&mut truths, &self.link, self.host.overhead.0);
        truths.add_whether("log_blocks", false);
        truths.add("mapping_unit", self.flash.superblock_bytes() as f64, Unit::Bytes);
        truths.add("partial_unit_penalty", self.merge_s(), Unit::Seconds);
        truths.add("extended_model", self.merge_s(), Unit::Seconds);
        let flash = &self.flash;
        truths.add("page_read_time", seconds(flash.read_time.0), Unit::Seconds);
        truths.add("program_time", seconds(flash.program_time.0), Unit::Seconds);
        truths.add("erase_time", seconds(flash.erase_time.0), Unit::Seconds);
        truths.add("pages_per_block", f64::from(flash.pages_per_block.value), Unit::Count);
        truths.add("parallel_units", 1.0, Unit::Count);
        truths.add("zones", 1.0, Unit::Count);
        truths.add("rotation_rpm", 0.0, Unit::RevolutionsPerMinute);
        truths.add_whether("read_ahead", false);
        truths.add("read_ahead_streams", 0.0, Unit::Count);
        truths.add("read_cache_bytes", 0.0, Unit::Bytes);
        truths.add("slc_cache_bytes", 0.0, Unit::Bytes);
        // A write is complete when its data is in the buffer.
        truths.add_whether("volatile_write_cache", !self.controller.is_protected());
        truths.add_whether("power_loss_protection", self.controller.is_protected());
        truths.add_whether("compression", false);
        truths.add_whether("deduplication", false);
        truths.add("trim_granularity", 0.0, Unit::Bytes);
        truths.into_list()
    }

    /// A full merge: each row of a superblock is read, passes the channel both ways and
    /// is programmed, one after the other, and what was replaced is erased before the
    /// next one.
    fn merge_s(&self) -> f64 {
        let flash = &self.flash;
        let bytes = u64::from(flash.planes.value) * flash.page_size.0;
        let transfer_s = bytes as f64 / flash.bus_rate.0 as f64;
        let row_s = seconds(flash.read_time.0) + 2.0 * transfer_s + seconds(flash.program_time.0);
        f64::from(flash.pages_per_block.value) * row_s + seconds(flash.erase_time.0)
    }
}
