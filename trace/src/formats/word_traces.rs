//! Published traces whose lines are words between blanks: FIU, and the Nexus 5 traces of SNIA.

use crate::formats::csv_traces::{SECTOR_BYTES, seconds};
use crate::lines::{LineFormat, Out, Wrong, integer, quoted, scaled, words};
use crate::record::{Operation, Record};

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
