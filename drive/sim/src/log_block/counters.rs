//! What an SSD with log blocks counts.

use super::LogBlock;
use crate::Device;
use fourcorners_target::Condition;

impl LogBlock {
    /// See [`crate::Device::counters`].
    pub(super) fn counts(&self) -> Vec<(&'static str, f64)> {
        let counts = self.translation.counts();
        let (host, copied) = (counts.host_rows as f64, counts.copied_rows as f64);
        let programmed_bytes = self.flash_programmed_bytes().unwrap_or(0) as f64;
        let host_bytes = self.host_bytes as f64;
        vec![
            ("host_bytes_written", host_bytes),
            ("bytes_programmed", programmed_bytes),
            ("host_rows_written", host),
            ("rows_copied", copied),
            ("switch_merges", counts.switch_merges as f64),
            ("partial_merges", counts.partial_merges as f64),
            ("full_merges", counts.full_merges as f64),
            ("blocks_erased", counts.erased_blocks as f64),
            ("write_amplification", programmed_bytes / host_bytes.max(1.0)),
        ]
    }

    /// [`Target::condition`](fourcorners_target::Target::condition).
    pub(super) fn condition_now(&self) -> Condition {
        let counts = self.translation.counts();
        let rows = self.specification.controller.buffer.0 / self.row_bytes;
        vec![
            ("free_log_blocks".into(), self.translation.free_logs() as f64),
            (
                "erase_count_mean".into(),
                counts.erased_blocks as f64 / self.specification.blocks() as f64,
            ),
            ("switch_merges".into(), counts.switch_merges as f64),
            ("partial_merges".into(), counts.partial_merges as f64),
            ("full_merges".into(), counts.full_merges as f64),
            ("write_buffer_bytes".into(), ((rows - self.buffer_free_rows) * self.row_bytes) as f64),
        ]
    }
}
