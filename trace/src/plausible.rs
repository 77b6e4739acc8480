//! Whether a trace can be what it is said to be: units of times and lengths.

use crate::error::{Error, Result};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::formats::{Clock, Format};
use crate::reader::Reader;
use crate::record::Record;
use std::path::PathBuf;

/// The longest transfer: Linux issues less than 2 GiB, and drives take far less.
const TRANSFER_BYTES_MAX: u64 = 1 << 30;

/// 1 EiB: no volume is as large.
const ADDRESS_BYTES_MAX: u64 = 1 << 60;

/// The years 1990 and 2100, between which traces are recorded.
const UNIX_NS_MIN: u64 = 631_152_000_000_000_000;
const UNIX_NS_MAX: u64 = 4_102_444_800_000_000_000;

/// Ten years: no trace is as long, and no machine runs as long.
const SPAN_NS_MAX: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// I/Os whose lengths tell their unit: a length in sectors is a multiple of 512 by chance once in
/// some tens, so that so many tell it surely.
const LENGTHS: u32 = 64;

/// Sectors that a single transfer has at most in most traces: 1 MiB. Bytes are mostly more than so
/// many, so that lengths up to this are no bytes that were taken for sectors.
const SECTORS_USUAL_MAX: u64 = 2048;

/// Refuses records that no such trace has.
pub(crate) struct Plausible {
    reader: Box<dyn Reader>,
    format: Format,
    path: PathBuf,
    read: u64,
    first_ns: Option<u64>,
    lengths: u32,
    /// Of the lengths, those that are multiples of a sector, in the unit of the format.
    in_sectors: u32,
    /// The longest of them, in the unit of the format.
    longest: u64,
}

impl Plausible {
    pub(crate) fn new(reader: Box<dyn Reader>, format: Format, path: PathBuf) -> Plausible {
        Plausible {
            reader,
            format,
            path,
            read: 0,
            first_ns: None,
            lengths: 0,
            in_sectors: 0,
            longest: 0,
        }
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Malformed(format!(
            "{} cannot be {}, or not in these units: {what}",
            self.path.display(),
            self.format.title()
        ))
    }

    fn check(&mut self, record: &Record) -> Result<()> {
        let number = self.read;
        let unit = self.format.time_unit();
        if record.operation.transfers() && record.length_bytes > TRANSFER_BYTES_MAX {
            let gib = record.length_bytes >> 30;
            return Err(self.wrong(&format!("I/O {number} would transfer {gib} GiB at once")));
        }
        if record.end_bytes() > ADDRESS_BYTES_MAX {
            return Err(self.wrong(&format!("I/O {number} would lie beyond 1 EiB from the start")));
        }
        let outside = !(UNIX_NS_MIN..UNIX_NS_MAX).contains(&record.time_ns);
        if self.format.clock() == Clock::Unix && outside {
            let year = 1970 + record.time_ns / (365_2425 * 86_400 * 100_000);
            return Err(self.wrong(&format!(
                "in {unit}, the time of I/O {number} would lie in the year {year}"
            )));
        }
        let first_ns = *self.first_ns.get_or_insert(record.time_ns);
        if record.time_ns.abs_diff(first_ns) > SPAN_NS_MAX {
            let years = record.time_ns.abs_diff(first_ns) / (SPAN_NS_MAX / 10);
            return Err(self.wrong(&format!(
                "in {unit}, I/O {number} would lie {years} years from the first one"
            )));
        }
        Ok(())
    }

    /// Whether the first lengths can be in the unit of the format.
    fn check_length(&mut self, record: &Record) -> Result<()> {
        let Some(unit) = self.format.length_unit() else { return Ok(()) };
        if !record.operation.transfers() || record.length_bytes == 0 {
            return Ok(());
        }
        let counted = match unit {
            "sectors" => record.length_bytes / SECTOR_BYTES,
            _ => record.length_bytes,
        };
        self.longest = self.longest.max(counted);
        self.lengths += 1;
        self.in_sectors += u32::from(counted.is_multiple_of(SECTOR_BYTES));
        if self.lengths < LENGTHS {
            return Ok(());
        }
        let are_long = self.longest > SECTORS_USUAL_MAX;
        if unit == "sectors" && self.in_sectors == LENGTHS && are_long {
            return Err(self.wrong(
                "all of the first lengths are multiples of 512, which lengths in bytes are and \
                 those in sectors are not",
            ));
        }
        if unit == "bytes" && self.in_sectors == 0 {
            return Err(self.wrong(
                "none of the first lengths is a multiple of 512, which lengths in bytes are",
            ));
        }
        Ok(())
    }
}

impl Reader for Plausible {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let first = batch.len();
        self.reader.fill(batch)?;
        for record in &batch[first..] {
            self.check(record)?;
            if self.lengths < LENGTHS {
                self.check_length(record)?;
            }
            self.read += 1;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.reader.volumes()
    }

    fn lost_events(&self) -> u64 {
        self.reader.lost_events()
    }

    fn is_in_order(&self) -> bool {
        self.reader.is_in_order()
    }
}
