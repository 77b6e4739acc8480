//! What a page-mapped SSD counts.

use super::PageMapped;
use super::map_cache::MapCache;
use super::slc_cache::SlcCache;
use fourcorners_target::Condition;

impl PageMapped {
    /// Bytes programmed into flash, whole rows.
    pub(super) fn programmed_bytes(&self) -> u64 {
        let folded_bytes = self.slc_cache.as_ref().map_or(0, SlcCache::folded_bytes);
        let map_rows = self.map_cache.as_ref().map_or(0, MapCache::rows_programmed);
        // Programming a row takes all of it, whatever it holds.
        let rows = self.translation.counters().programmed_rows + map_rows;
        rows * self.specification.flash.row_bytes() + folded_bytes
    }

    /// See [`crate::Device::counters`].
    pub(super) fn counts(&self) -> Vec<(&'static str, f64)> {
        let counters = self.translation.counters();
        let host = counters.host_units as f64;
        let folded_bytes = self.slc_cache.as_ref().map_or(0, SlcCache::folded_bytes);
        let folded = (folded_bytes / self.units.unit_bytes) as f64;
        let moved = counters.moved_units as f64;
        let erases = self.translation.erase_counts();
        let padded = counters.padded_bytes as f64 / self.units.unit_bytes as f64;
        let map_rows = self.map_cache.as_ref().map_or(0, MapCache::rows_programmed);
        let row_bytes = self.specification.flash.row_bytes();
        let map_units = (map_rows * (row_bytes / self.units.unit_bytes)) as f64;
        let programmed_bytes = self.programmed_bytes() as f64;
        let host_bytes = self.host_bytes as f64;
        vec![
            ("host_units_written", host),
            ("units_moved", moved),
            ("units_folded", folded),
            ("units_padded", padded),
            ("units_of_map", map_units),
            ("host_bytes_written", host_bytes),
            ("bytes_programmed", programmed_bytes),
            ("blocks_erased", counters.erased_blocks as f64),
            ("erase_count_min", f64::from(erases.min)),
            ("erase_count_mean", erases.mean),
            ("erase_count_max", f64::from(erases.max)),
            ("free_blocks_min", f64::from(self.translation.free_blocks_min())),
            ("bad_blocks", f64::from(self.translation.bad_blocks())),
            ("write_amplification", programmed_bytes / host_bytes.max(1.0)),
        ]
    }

    /// [`Target::condition`](fourcorners_target::Target::condition).
    pub(super) fn condition_now(&self) -> Condition {
        let erases = self.translation.erase_counts();
        let buffer_bytes = self.specification.write_buffer.size.0;
        let mut told = vec![
            ("free_blocks_min", f64::from(self.translation.free_blocks_min())),
            ("erase_count_mean", erases.mean),
            ("erase_count_max", f64::from(erases.max)),
            ("bad_blocks", f64::from(self.translation.bad_blocks())),
            ("write_buffer_bytes", (buffer_bytes - self.buffer_free_bytes) as f64),
        ];
        let slc_cache = self.slc_cache.as_ref();
        told.extend(slc_cache.map(|cache| ("slc_cache_bytes", cache.level_bytes() as f64)));
        told.extend(slc_cache.map(|cache| ("slc_folded_bytes", cache.folded_bytes() as f64)));
        told.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }
}
