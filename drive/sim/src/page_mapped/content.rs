//! What data takes on flash: compression and deduplication.
//!
//! Compression shrinks each unit by itself. Deduplication finds that a unit
//! repeats one that the drive holds, and stores a reference in its place: the
//! map leads to the reference, which is written, collected and read like data.
//! The one copy that all references lead to is not counted: it is as large as
//! one request. Data that repeats is random within a request, so that a drive
//! that compresses and does not deduplicate stores all of it.

use fourcorners_workload::Content;
use serde::{Deserialize, Serialize};

/// Bytes that a mapping unit takes on flash, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSizes {
    unit_bytes: u32,
    /// A unit that repeats another one.
    repeated_bytes: u32,
    /// Least that compression makes of a unit; the unit where there is none.
    compressed_bytes_min: u32,
}

impl StoredSizes {
    /// Of a mapping unit that compression makes `smallest` of at the least, where
    /// there is compression, and that a reference of so many bytes stands for,
    /// where there is deduplication.
    pub fn new(unit_bytes: u32, smallest: Option<f64>, reference_bytes: Option<u32>) -> Self {
        let compressed = |share: f64| (f64::from(unit_bytes) * share).ceil() as u32;
        Self {
            unit_bytes,
            repeated_bytes: reference_bytes.unwrap_or(unit_bytes),
            compressed_bytes_min: smallest.map_or(unit_bytes, compressed),
        }
    }

    /// What a unit of such content takes.
    #[inline]
    pub fn of(&self, content: Content) -> u32 {
        match content {
            Content::Incompressible => self.unit_bytes,
            Content::Repeated => self.repeated_bytes,
            // Each unit takes the mean of copies and others.
            Content::Duplicated(percent) => {
                let saved = (self.unit_bytes - self.repeated_bytes) * u32::from(percent) / 100;
                self.unit_bytes - saved
            }
            Content::Compressible(percent) => {
                (self.unit_bytes * u32::from(percent)).div_ceil(100).max(self.compressed_bytes_min)
            }
        }
    }

    /// The least that any unit takes.
    pub fn least(&self) -> u32 {
        self.repeated_bytes.min(self.compressed_bytes_min)
    }

    /// Whether it depends on the content.
    pub fn vary(&self) -> bool {
        self.least() < self.unit_bytes
    }
}
