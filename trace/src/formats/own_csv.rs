//! Our own columns as CSV: every field of a record, for spreadsheets and scripts. A file that others
//! wrote names the columns that it has in its first line, in any order.

use crate::lines::{LineFormat, Out, Wrong, integer, quoted, scaled};
use crate::record::Record;
use fourcorners_workload::Operation;
use memchr::memchr_iter;

/// The first line, as it is written.
pub(crate) const HEADER: &str =
    "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream";

const COLUMNS: usize = 10;

/// Those without which a record says too little.
const NEEDED: [&str; 4] = ["time_ns", "operation", "offset_bytes", "length_bytes"];

#[derive(Default)]
pub(crate) struct OwnCsv {
    /// For each column of the file which of [`HEADER`]'s it is, `None` of others; empty before the
    /// first line.
    columns: Vec<Option<usize>>,
    /// The first line, which files that were joined have again.
    header: Vec<u8>,
}

impl OwnCsv {
    /// Whether a first line names two of the needed columns: of what it lacks, the reader tells.
    pub(crate) fn is_header(line: &[u8]) -> bool {
        let is_needed = |name: &&[u8]| NEEDED.iter().any(|needed| needed.as_bytes() == *name);
        line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(is_needed).count() >= 2
    }

    fn read_header(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let names: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
        if let Some(missing) = NEEDED.iter().find(|needed| !names.contains(&needed.as_bytes())) {
            return Err(format!("it names no column {missing}"));
        }
        let place = |name: &[u8]| HEADER.split(',').position(|own| own.as_bytes() == name);
        self.columns = names.iter().map(|name| place(name)).collect();
        for (number, column) in self.columns.iter().enumerate() {
            if column.is_some() && self.columns[..number].contains(column) {
                return Err(format!("it names the column {} twice", quoted(names[number])));
            }
        }
        Ok(())
    }

    /// The fields of a line, in the order of [`HEADER`]; empty where the file has no such column.
    fn fields<'a>(&self, line: &'a [u8]) -> Result<[&'a [u8]; COLUMNS], Wrong> {
        let mut found: [&[u8]; COLUMNS] = [&[]; COLUMNS];
        let (mut start, mut count) = (0, 0);
        for (end, column) in memchr_iter(b',', line).chain([line.len()]).zip(&self.columns) {
            if let Some(column) = column {
                found[*column] = line[start..end].trim_ascii();
            }
            start = end + 1;
            count += 1;
        }
        if count < self.columns.len() {
            return Err(format!("it has fewer than {} columns", self.columns.len()));
        }
        Ok(found)
    }
}

impl LineFormat for OwnCsv {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if self.columns.is_empty() {
            self.header = line.to_vec();
            return self.read_header(line);
        }
        if line == self.header {
            return Ok(());
        }
        let [time, operation, fua, offset, length, volume, latency, queue, process, stream] =
            self.fields(line)?;
        let fua = match fua {
            b"0" | b"false" | b"" => false,
            b"1" | b"true" => true,
            other => return Err(format!("fua is {}, which is neither 0 nor 1", quoted(other))),
        };
        let volume = if volume.is_empty() { out.only_volume() } else { out.volume(volume) }?;
        let record = Record {
            latency_ns: match latency {
                [] => None,
                latency => Some(scaled(latency, 1, "latency")?),
            },
            volume,
            queue: small(queue, "queue")?,
            process: small(process, "process")?,
            stream: small(stream, "stream")?,
            fua,
            ..Record::new(
                scaled(time, 1, "time")?,
                Operation::named(operation)
                    .ok_or_else(|| format!("{} is none of {}", quoted(operation), names()))?,
                scaled(offset, 1, "offset")?,
                scaled(length, 1, "length")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
}

fn names() -> String {
    Operation::ALL.map(Operation::name).join(", ")
}

fn small(text: &[u8], what: &str) -> Result<Option<u32>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    integer(text)
        .and_then(|value| u32::try_from(value).ok())
        .map(Some)
        .ok_or_else(|| format!("the {what} {} is not a number below 2^32", quoted(text)))
}
