//! What is true of a log-block SSD.

use super::specification::Specification;
use crate::host_interface::host_truths;
use crate::truth::{Truth, Truths, Unit, seconds};

impl Specification {
    /// See [`crate::SimulatedDrive::truths`].
    pub fn truths(&self) -> Vec<Truth> {
        let mut truths = Truths::default();
        let flash = &self.flash;
        let count = |value: u32| f64::from(value);
        let row_bytes = flash.row_bytes() as f64;
        let block_bytes = f64::from(self.rows_per_block()) * row_bytes;
        host_truths(&mut truths, &self.link, self.host.overhead.0);
        truths.add_whether("log_blocks", true);
        // Of what logs hold, rows: until it is merged.
        truths.add("mapping_unit", block_bytes, Unit::Bytes);
        // Of a block on one die, the next die's turn comes with the next block.
        let one_die = self.translation.dies_per_block.value == 1;
        truths.add("stripe_bytes", if one_die { block_bytes } else { row_bytes }, Unit::Bytes);
        // A die reads from all of its planes at once.
        truths.add("page_bytes", row_bytes, Unit::Bytes);
        truths.add("dies", count(flash.dies.value), Unit::Count);
        truths.add("page_read_time", seconds(flash.read_time.0), Unit::Seconds);
        truths.add("program_time", seconds(flash.program_time.0), Unit::Seconds);
        truths.add("erase_time", seconds(flash.erase_time.0), Unit::Seconds);
        truths.add("pages_per_block", f64::from(flash.pages_per_block.value), Unit::Count);
        truths.add("channels", count(flash.channels.value), Unit::Count);
        let units = if self.link.queue_depth.value == 1 { 1 } else { flash.dies.value };
        truths.add("parallel_units", count(units), Unit::Count);
        truths.add("zones", 1.0, Unit::Count);
        truths.add("rotation_rpm", 0.0, Unit::RevolutionsPerMinute);
        truths.add_whether("read_ahead", false);
        truths.add("read_ahead_streams", 0.0, Unit::Count);
        truths.add("read_cache_bytes", 0.0, Unit::Bytes);
        // Banks take their turn of a sequence, and erase, after each other.
        truths.add("superblock_bytes", f64::from(self.banks()) * block_bytes, Unit::Bytes);
        truths.add("write_buffer_bytes", self.controller.buffer.0 as f64, Unit::Bytes);
        truths.add("slc_cache_bytes", 0.0, Unit::Bytes);
        // A write is complete when its data is in the buffer.
        truths.add_whether("volatile_write_cache", !self.controller.is_protected());
        truths.add_whether("power_loss_protection", self.controller.is_protected());
        truths.add_whether("compression", false);
        truths.add_whether("deduplication", false);
        truths.add("trim_granularity", 0.0, Unit::Bytes);
        truths.into_list()
    }
}
