//! Traces whose lines are words between blanks: FIU, the Nexus 5 traces of SNIA, those of SSD
//! simulators, and what DiskMon saves.

use crate::formats::csv_traces::{SECTOR_BYTES, seconds};
use crate::lines::{LineFormat, Out, Wrong, decimal, integer, quoted, scaled, words};
use crate::record::Record;
use fourcorners_workload::Operation;

/// `time pid process address size W major minor md5`: ns, sectors (SNIA IOTTA, trace set 390, its
/// README).
#[derive(Default)]
pub(crate) struct Fiu {
    name: Vec<u8>,
}

impl LineFormat for Fiu {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [time, process, _, sector, length, operation, major, minor] =
            words::<8>(line).ok_or("it has fewer than 8 columns")?;
        let operation = match operation {
            b"R" | b"r" => Operation::Read,
            b"W" | b"w" => Operation::Write,
            other => {
                return Err(format!("the operation {} is neither R nor W", quoted(other)));
            }
        };
        self.name.clear();
        self.name.extend_from_slice(major);
        self.name.push(b',');
        self.name.extend_from_slice(minor);
        let record = Record {
            volume: out.volume(&self.name)?,
            process: integer(process).and_then(|value| u32::try_from(value).ok()),
            ..Record::new(
                scaled(time, 1, "time")?,
                operation,
                scaled(sector, SECTOR_BYTES, "address")?,
                scaled(length, SECTOR_BYTES, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `sector sectors bytes access generated processed submitted finished`: the access is odd for a
/// write, and times are seconds where they have a point, else ns (SNIA IOTTA, trace set of the
/// Nexus 5; Zhou et al., IISWC 2015). The I/O is issued when it was generated.
pub(crate) struct Nexus;

impl LineFormat for Nexus {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [sector, _, length, access, generated, _, _, finished] =
            words::<8>(line).ok_or("it has fewer than 8 columns")?;
        let access = integer(access)
            .ok_or_else(|| format!("the access type {} is not a number", quoted(access)))?;
        let time = |text: &[u8], what| {
            if text.contains(&b'.') { seconds(text, what) } else { scaled(text, 1, what) }
        };
        let generated = time(generated, "time")?;
        let finished = time(finished, "finish time")?;
        out.only_volume()?;
        let record = Record {
            latency_ns: finished.checked_sub(generated),
            ..Record::new(
                generated,
                if access % 2 == 1 { Operation::Write } else { Operation::Read },
                scaled(sector, SECTOR_BYTES, "address")?,
                scaled(length, 1, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `time device sector sectors read`: 1 for a read and 0 for a write. Times are ms where they have a
/// point, as DiskSim's are (its manual, ASCII traces), else ns, as those of MQSim and SSDsim.
pub(crate) struct DiskSim;

impl DiskSim {
    /// Whether a line is an I/O of such a trace.
    pub(crate) fn is_io(line: &[u8]) -> bool {
        let Some([time, device, sector, sectors, read]) = words::<5>(line) else { return false };
        words::<6>(line).is_none()
            && decimal(time, 6).is_some()
            && [device, sector].into_iter().all(|word| integer(word).is_some())
            && integer(sectors).is_some_and(|count| count > 0)
            && matches!(read, b"0" | b"1")
    }
}

impl LineFormat for DiskSim {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [time, device, sector, sectors, read] =
            words::<5>(line).ok_or("it has fewer than 5 columns")?;
        let operation = match read {
            b"0" => Operation::Write,
            b"1" => Operation::Read,
            other => {
                return Err(format!(
                    "the operation {} is neither 0 (write) nor 1 (read)",
                    quoted(other)
                ));
            }
        };
        let time_ns = if time.contains(&b'.') {
            decimal(time, 6)
                .filter(|value| i64::try_from(*value).is_ok())
                .ok_or_else(|| format!("the time {} is not a number of ms", quoted(time)))?
        } else {
            scaled(time, 1, "time")?
        };
        let record = Record {
            volume: out.volume(device)?,
            ..Record::new(
                time_ns,
                operation,
                scaled(sector, SECTOR_BYTES, "address")?,
                scaled(sectors, SECTOR_BYTES, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

/// `number time duration disk Write sector sectors`: seconds from the start (what DiskMon of
/// Sysinternals saves). Its help says that durations are µs and its window that they are seconds, so
/// that they are not taken for latencies.
pub(crate) struct DiskMon;

impl DiskMon {
    /// Whether a line is an I/O of such a trace.
    pub(crate) fn is_io(line: &[u8]) -> bool {
        let Some([number, time, duration, disk, operation, sector, sectors]) = words::<7>(line)
        else {
            return false;
        };
        words::<8>(line).is_none()
            && matches!(operation, b"Read" | b"Write")
            && [number, disk, sector, sectors].into_iter().all(|word| integer(word).is_some())
            && [time, duration].into_iter().all(|word| decimal(word, 9).is_some())
    }
}

impl LineFormat for DiskMon {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let [_, time, _, disk, operation, sector, sectors] =
            words::<7>(line).ok_or("it has fewer than 7 columns")?;
        let operation = match operation {
            b"Read" => Operation::Read,
            b"Write" => Operation::Write,
            // What is no I/O has another word.
            _ => return Ok(()),
        };
        let record = Record {
            volume: out.volume(disk)?,
            ..Record::new(
                seconds(time, "time")?,
                operation,
                scaled(sector, SECTOR_BYTES, "address")?,
                scaled(sectors, SECTOR_BYTES, "size")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}
