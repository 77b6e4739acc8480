//! fio's own traces: iolog versions 1 to 3, and write logs with offsets (fio HOWTO, sections Trace
//! file format and Log File Formats).

use crate::lines::{LineFormat, Out, Wrong, fields, integer, number, quoted, scaled, words};
use crate::record::Record;
use fourcorners_workload::Operation;

/// An iolog, its version by its first line.
///
/// Version 3 begins each line with a time in µs. Version 2 has no times but waits: each is, as fio
/// replays it, the µs since the I/O before; what has no wait before it follows at once.
#[derive(Default)]
pub(crate) struct Iolog {
    version: u8,
    time_ns: u64,
}

impl Iolog {
    /// What every iolog of these versions begins with.
    pub(crate) fn version_of(line: &[u8]) -> Option<u8> {
        match line.strip_prefix(b"fio version ")?.strip_suffix(b" iolog")? {
            b"1" => Some(1),
            b"2" => Some(2),
            b"3" => Some(3),
            _ => None,
        }
    }
}

impl LineFormat for Iolog {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if self.version == 0 && !line.starts_with(b"fio version ") {
            // The first version has no line that says so.
            self.version = 1;
        }
        if line.starts_with(b"fio version ") {
            let version = Self::version_of(line)
                .ok_or_else(|| format!("{} is no version of an iolog", quoted(line)))?;
            if self.version != 0 && version != self.version {
                return Err("it begins an iolog of another version".to_owned());
            }
            self.version = version;
            return Ok(());
        }
        if self.version == 1 {
            return old_line(line, out);
        }
        let mut rest = line;
        if self.version == 3 {
            let [time] = words::<1>(line).ok_or("it has no time")?;
            self.time_ns = scaled(time, 1_000, "time")?;
            let at = line.windows(time.len()).position(|part| part == time).unwrap_or(0);
            rest = &line[at + time.len()..];
        }
        let [name, action] = words::<2>(rest).ok_or("it has no file and action")?;
        let operation = match action {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"sync" | b"datasync" => Operation::Flush,
            b"trim" => Operation::Discard,
            b"add" | b"open" | b"close" => return Ok(()),
            b"wait" if self.version == 2 => {
                let [_, _, wait] = words::<3>(rest).ok_or("the wait has no time")?;
                let wait_ns = scaled(wait, 1_000, "wait")?;
                self.time_ns =
                    self.time_ns.checked_add(wait_ns).ok_or("the waits are too long to add up")?;
                return Ok(());
            }
            other => return Err(format!("{} is no action of an iolog", quoted(other))),
        };
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => {
                let [_, _, offset, length] =
                    words::<4>(rest).ok_or("it has no offset and length")?;
                (scaled(offset, 1, "offset")?, scaled(length, 1, "length")?)
            }
        };
        let volume = out.volume(name)?;
        let record = Record { volume, ..Record::new(self.time_ns, operation, offset, length) };
        out.records.push(record);
        Ok(())
    }
}

/// `rw, offset, length` of version 1, which has no times.
fn old_line(line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
    let [operation, offset, length] =
        fields::<3>(line, b',').ok_or("it has fewer than 3 columns")?;
    let operation = match operation {
        b"0" => Operation::Read,
        b"1" => Operation::Write,
        b"2" => Operation::Flush,
        other => return Err(format!("the operation {} is not 0, 1 or 2", quoted(other))),
    };
    out.only_volume()?;
    let (offset, length) = match operation {
        Operation::Flush => (0, 0),
        _ => (scaled(offset, 1, "offset")?, scaled(length, 1, "length")?),
    };
    out.records.push(Record::new(0, operation, offset, length));
    Ok(())
}

/// `time, value, direction, size, offset[, priority]` with `log_offset=1`: ms at the completion,
/// and of a latency log ns. The time leads back to the issue by the latency, no finer than a ms.
pub(crate) struct WriteLog {
    /// Whether the values are latencies; those of bandwidths and IOPS are not.
    pub(crate) has_latencies: bool,
}

impl LineFormat for WriteLog {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [time, value, direction, length, offset] = fields::<5>(line, b',')
            .ok_or("it has fewer than 5 columns: let fio write it with --log_offset=1")?;
        let operation = match integer(direction) {
            Some(0) => Operation::Read,
            Some(1) => Operation::Write,
            Some(2) => Operation::Discard,
            Some(3..=5) => Operation::Flush,
            _ => return Err(format!("the direction {} is none", quoted(direction))),
        };
        let latency = if self.has_latencies { Some(number(value, "latency")?) } else { None };
        let completed_ns = scaled(time, 1_000_000, "time")?;
        out.only_volume()?;
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => (scaled(offset, 1, "offset")?, scaled(length, 1, "size")?),
        };
        let record = Record {
            latency_ns: latency,
            ..Record::new(
                completed_ns.saturating_sub(latency.unwrap_or(0)),
                operation,
                offset,
                length,
            )
        };
        out.records.push(record);
        Ok(())
    }
}
