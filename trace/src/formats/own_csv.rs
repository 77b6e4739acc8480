//! Our own columns as CSV: every field of a record, for spreadsheets and scripts.

use crate::lines::{LineFormat, Out, Wrong, fields, integer, quoted, scaled};
use crate::record::Record;
use fourcorners_workload::Operation;

/// The first line.
pub(crate) const HEADER: &str =
    "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream";

pub(crate) struct OwnCsv;

impl LineFormat for OwnCsv {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if line == HEADER.as_bytes() {
            return Ok(());
        }
        let [time, operation, fua, offset, length, volume, latency, queue, process, stream] =
            fields::<10>(line, b',').ok_or("it has fewer than 10 columns")?;
        let fua = match fua {
            b"0" | b"false" => false,
            b"1" | b"true" => true,
            other => return Err(format!("fua is {}, which is neither 0 nor 1", quoted(other))),
        };
        let record = Record {
            latency_ns: match latency {
                [] => None,
                latency => Some(scaled(latency, 1, "latency")?),
            },
            volume: out.volume(volume)?,
            queue: small(queue, "queue")?,
            process: small(process, "process")?,
            stream: small(stream, "stream")?,
            fua,
            ..Record::new(
                scaled(time, 1, "time")?,
                Operation::named(operation)
                    .ok_or_else(|| format!("{} is no operation", quoted(operation)))?,
                scaled(offset, 1, "offset")?,
                scaled(length, 1, "length")?,
            )
        };
        out.records.push(record);
        Ok(())
    }
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
