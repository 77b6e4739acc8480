//! Tables of biosnoop, as BCC and libbpf-tools print them.

use crate::formats::block_events::{io_of, words_of};
use crate::lines::{LineFormat, Out, Wrong, decimal, integer, quoted};
use crate::record::Record;

/// Added to all times, which count from the completion of the first I/O: those that completed next
/// were issued before that. More than I/Os take; times mean something from the first I/O on only.
const BEFORE_FIRST_NS: u64 = 3_600_000_000_000;

/// `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`, and with options more columns (`P`, `QUE(ms)`):
/// the time of the completion in seconds, bytes, and the latency in ms, which leads back to the issue.
/// `T` is `R` or `W`, or the letters of block events. BCC's has no others, so that its flushes, of no
/// bytes, cannot be told from what is no I/O, and its discards look like reads.
#[derive(Default)]
pub(crate) struct Biosnoop {
    columns: Option<Columns>,
}

/// Where columns are, counted from the last one: the second one, a program, may be several words.
#[derive(Clone, Copy)]
struct Columns {
    process: usize,
    disk: usize,
    letters: usize,
    sector: usize,
    bytes: usize,
    latency: usize,
}

impl Biosnoop {
    /// Whether a line names the columns of such a table.
    pub(crate) fn is_header(line: &[u8]) -> bool {
        Columns::of(line).is_some()
    }
}

impl Columns {
    fn of(line: &[u8]) -> Option<Columns> {
        let mut first = words_of(line);
        if (first.next(), first.next()) != (Some(b"TIME(s)"), Some(b"COMM")) {
            return None;
        }
        let place = |name: &[u8]| words_of(line).rev().position(|word| word == name);
        Some(Columns {
            process: place(b"PID")?,
            disk: place(b"DISK")?,
            letters: place(b"T")?,
            sector: place(b"SECTOR")?,
            bytes: place(b"BYTES")?,
            latency: place(b"LAT(ms)")?,
        })
    }
}

impl LineFormat for Biosnoop {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if let Some(columns) = Columns::of(line) {
            self.columns = Some(columns);
            return Ok(());
        }
        // What a program said before its table.
        let Some(columns) = self.columns else { return Ok(()) };
        let column = |place: usize, what: &str| {
            words_of(line).nth_back(place).ok_or_else(|| format!("it has no column for the {what}"))
        };
        let first = words_of(line).next().unwrap_or_default();
        let time_ns = decimal(first, 9)
            .filter(|value| i64::try_from(*value).is_ok())
            .ok_or_else(|| format!("the time {} is not a number of seconds", quoted(first)))?;
        let latency = column(columns.latency, "latency")?;
        let latency_ns = decimal(latency, 6)
            .filter(|value| i64::try_from(*value).is_ok())
            .ok_or_else(|| format!("the latency {} is not a number of ms", quoted(latency)))?;
        let bytes = column(columns.bytes, "bytes")?;
        let length_bytes = integer(bytes)
            .ok_or_else(|| format!("the bytes {} are not a whole number", quoted(bytes)))?;
        let sector = column(columns.sector, "sector")?;
        // What has no place has all ones, which some print as -1.
        let sector = match (integer(sector), length_bytes) {
            (_, 0) => 0,
            (Some(sector), _) => sector,
            (None, _) => return Err(format!("the sector {} is not a number", quoted(sector))),
        };
        let issued_ns = (time_ns + BEFORE_FIRST_NS).saturating_sub(latency_ns);
        let letters = column(columns.letters, "operation")?;
        let Some((preflush, io)) = io_of(letters, issued_ns, sector, length_bytes)? else {
            return Ok(());
        };
        let process = integer(column(columns.process, "process")?);
        let io = Record {
            volume: out.volume(column(columns.disk, "disk")?)?,
            process: process.and_then(|value| u32::try_from(value).ok()),
            latency_ns: Some(latency_ns),
            ..io
        };
        if preflush {
            out.records.push(io.flush_before());
        }
        out.records.push(io);
        Ok(())
    }
}
