//! Published traces whose lines are fields between commas: MSR Cambridge, Alibaba, Tencent, SYSTOR
//! '17, SPC (UMass). Each line format names where its columns are described.

use crate::lines::{LineFormat, Out, Wrong, decimal, fields, number, quoted, scaled};
use crate::record::Record;
use fourcorners_workload::Operation;

pub(crate) const SECTOR_BYTES: u64 = 512;

/// From the first of January 1601, where Windows counts from, to that of 1970.
const WINDOWS_TO_UNIX_100NS: u64 = 116_444_736_000_000_000;

/// A read or a write by what a column says of it, in upper or lower case.
fn direction(text: &[u8]) -> Result<Operation, Wrong> {
    if text.eq_ignore_ascii_case(b"R") || text.eq_ignore_ascii_case(b"Read") {
        Ok(Operation::Read)
    } else if text.eq_ignore_ascii_case(b"W") || text.eq_ignore_ascii_case(b"Write") {
        Ok(Operation::Write)
    } else {
        Err(format!("the operation {} is neither a read nor a write", quoted(text)))
    }
}

/// A response time. One that is not there, or is below zero, as a clock that was set back makes it,
/// is not known.
fn response_of(
    text: &[u8],
    read: impl Fn(&[u8]) -> Result<u64, Wrong>,
) -> Result<Option<u64>, Wrong> {
    match text.strip_prefix(b"-") {
        Some(size) => read(size).map(|_| None),
        None if text.is_empty() => Ok(None),
        None => read(text).map(Some),
    }
}

fn columns<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], Wrong> {
    fields::<N>(line, b',').ok_or_else(|| format!("it has fewer than {N} columns"))
}

/// A first line that names the columns.
fn is_header(line: &[u8]) -> bool {
    !line.iter().any(u8::is_ascii_digit)
}

/// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: Windows file times and response
/// times in 100 ns, the others in bytes (SNIA IOTTA, trace set 388, its README).
#[derive(Default)]
pub(crate) struct Msr {
    name: Vec<u8>,
}

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if is_header(line) {
            return Ok(());
        }
        let [time, host, disk, operation, offset, length, response] = columns::<7>(line)?;
        let time = number(time, "time")?
            .checked_sub(WINDOWS_TO_UNIX_100NS)
            .and_then(|time| time.checked_mul(100))
            .ok_or_else(|| {
                format!("the time {} is no Windows file time (100 ns since 1601)", quoted(time))
            })?;
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.push(b'.');
        self.name.extend_from_slice(disk);
        let record = Record {
            latency_ns: response_of(response, |text| scaled(text, 100, "response time"))?,
            volume: out.volumes.number(&self.name).ok_or("there are too many volumes")?,
            ..Record::new(
                time,
                direction(operation)?,
                scaled(offset, 1, "offset")?,
                scaled(length, 1, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `device_id,opcode,offset,length,timestamp`: bytes and µs of Unix time
/// (github.com/alibaba/block-traces).
pub(crate) struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if is_header(line) {
            return Ok(());
        }
        let [volume, operation, offset, length, time] = columns::<5>(line)?;
        let record = Record {
            volume: out.volume(volume)?,
            ..Record::new(
                scaled(time, 1_000, "time")?,
                direction(operation)?,
                scaled(offset, 1, "offset")?,
                scaled(length, 1, "length")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `Timestamp,Offset,Size,IOType,VolumeID`: seconds of Unix time, sectors, 0 for a read and 1 for a
/// write (SNIA IOTTA, trace set 27917, its README).
pub(crate) struct Tencent;

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if is_header(line) {
            return Ok(());
        }
        let [time, offset, length, operation, volume] = columns::<5>(line)?;
        let operation = match operation {
            b"0" => Operation::Read,
            b"1" => Operation::Write,
            other => return Err(format!("the operation {} is neither 0 nor 1", quoted(other))),
        };
        let record = Record {
            volume: out.volume(volume)?,
            ..Record::new(
                scaled(time, 1_000_000_000, "time")?,
                operation,
                scaled(offset, SECTOR_BYTES, "offset")?,
                scaled(length, SECTOR_BYTES, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `Timestamp,Response,IOType,LUN,Offset,Size`: seconds of Unix time, seconds, bytes. The time is
/// that of the request (SNIA IOTTA, trace set 4964, its README).
pub(crate) struct Systor;

impl LineFormat for Systor {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if is_header(line) {
            return Ok(());
        }
        let [time, response, operation, volume, offset, length] = columns::<6>(line)?;
        // Some requests of the published files have neither an operation nor a place.
        if operation.is_empty() && offset.is_empty() {
            return Ok(());
        }
        let record = Record {
            latency_ns: response_of(response, |text| seconds(text, "response"))?,
            volume: out.volume(volume)?,
            ..Record::new(
                seconds(time, "time")?,
                direction(operation)?,
                scaled(offset, 1, "offset")?,
                scaled(length, 1, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `ASU,LBA,Size,Opcode,Timestamp`, and columns that a writer may add: sectors, bytes, seconds from
/// the start (SPC-1 trace format, revision 1.0.1; the traces of UMass).
pub(crate) struct Spc;

impl LineFormat for Spc {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [volume, sector, length, operation, time] = columns::<5>(line)?;
        let record = Record {
            volume: out.volume(volume)?,
            ..Record::new(
                seconds(time, "time")?,
                direction(operation)?,
                scaled(sector, SECTOR_BYTES, "address")?,
                scaled(length, 1, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

pub(crate) fn seconds(text: &[u8], what: &str) -> Result<u64, Wrong> {
    decimal(text, 9)
        .filter(|value| i64::try_from(*value).is_ok())
        .ok_or_else(|| format!("the {what} {} is not a number of seconds", quoted(text)))
}

/// Windows' own events as `DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset,
/// IOSize, ElapsedTime, DiskNum, ...`: µs from the start of the trace, hexadecimal bytes (Event
/// Tracing for Windows as text, which SNIA's trace sets of Microsoft's production servers are).
/// Newer versions of xperf put the processor before `IrpPtr`, and the header says so. The time is
/// that of the completion, and `ElapsedTime` leads back to the issue.
#[derive(Default)]
pub(crate) struct Etw {
    is_past_header: bool,
    has_processor: bool,
}

impl LineFormat for Etw {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let mut fields = line.split(|byte| *byte == b',').map(|field| field.trim_ascii());
        let kind = fields.next().unwrap_or_default();
        let operation = match kind {
            b"DiskRead" => Operation::Read,
            b"DiskWrite" => Operation::Write,
            b"DiskFlush" => Operation::Flush,
            _ => {
                self.is_past_header |= kind == b"EndHeader";
                return Ok(());
            }
        };
        if !self.is_past_header {
            self.has_processor |= fields.any(|name| name == b"CPU");
            return Ok(());
        }
        let mut next = || fields.next().ok_or("it has too few columns");
        let time = next()?;
        let process = next()?;
        next()?;
        let processor = if self.has_processor { Some(next()?) } else { None };
        next()?;
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => (hexadecimal(next()?, "offset")?, hexadecimal(next()?, "size")?),
        };
        let elapsed = scaled(next()?, 1_000, "elapsed time")?;
        let disk = next()?;
        let time = scaled(time, 1_000, "time")?.saturating_sub(elapsed);
        let record = Record {
            latency_ns: Some(elapsed),
            volume: out.volume(disk)?,
            process: process_of(process),
            queue: processor.and_then(small),
            ..Record::new(time, operation, offset, length)
        };
        out.records.push(record);
        Ok(())
    }
}

fn small(text: &[u8]) -> Option<u32> {
    crate::lines::integer(text).and_then(|value| u32::try_from(value).ok())
}

/// The number in `name ( 1234)`.
fn process_of(text: &[u8]) -> Option<u32> {
    let start = text.iter().rposition(|byte| *byte == b'(')?;
    small(text[start + 1..].strip_suffix(b")")?.trim_ascii())
}

fn hexadecimal(text: &[u8], what: &str) -> Result<u64, Wrong> {
    text.strip_prefix(b"0x")
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .filter(|value| i64::try_from(*value).is_ok())
        .ok_or_else(|| format!("the {what} {} is not a hexadecimal number", quoted(text)))
}
