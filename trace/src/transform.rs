//! From files through a step into a file.

use crate::error::{Error, Result};
use crate::file_system::LaidOut;
use crate::formats::{Clock, Format};
use crate::input::{Header, Input};
use crate::merge::Merge;
use crate::reader::Reader;
use crate::record::Record;
use crate::sorted::in_order;
use crate::steps::{Applied, Extents, Step};
use crate::write::{self, Lost};
use serde::Serialize;
use std::path::Path;

/// What became of a trace.
#[derive(Debug, Serialize)]
pub struct Transformed {
    /// I/Os that were written.
    pub ios: u64,
    /// What the new trace says about itself.
    pub header: Header,
    /// What its format could not carry, and how many I/Os had it.
    pub lost: Lost,
}

/// Told now and then how many I/Os were read; the work stops when it says no.
pub type GoOn<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Reads `inputs` as one trace in the order of time, takes it through `step` and writes it to
/// `out`, a new file; `processor` as for [`write::create`].
///
/// # Errors
/// The inputs are no trace, the file cannot be written, or `go_on` said no. What was written is of
/// no use then.
pub fn transform(
    inputs: &[Input],
    step: Option<&Step>,
    out: &Path,
    format: Format,
    processor: Option<u32>,
    go_on: GoOn<'_>,
) -> Result<Transformed> {
    let extents = match step {
        Some(Step::Fold { .. } | Step::Layout(_)) => {
            whole(inputs, go_on, |mut reader| Extents::of(&mut reader))?
        }
        _ => Extents::default(),
    };
    whole(inputs, go_on, |mut reader| {
        let mut header = header_of(inputs);
        if matches!(step, Some(Step::Anonymise {} | Step::Recorded { .. })) {
            header.origin.clear();
        }
        // A first try may have left one.
        match std::fs::remove_file(out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::writing(out, error));
            }
            _ => {}
        }
        let mut writer = write::create(out, format, processor)?;
        let ios;
        match step {
            Some(Step::Layout(layout)) => {
                let mut laid = LaidOut::new(&mut reader, layout, extents.end_bytes())?;
                ios = pour(&mut laid, &mut *writer)?;
                header.origin.push(laid.said());
                header.volumes = laid.volumes().to_vec();
            }
            Some(step) => {
                let mut applied = Applied::new(&mut reader, step, &extents);
                ios = pour(&mut applied, &mut *writer)?;
                header.origin.push(applied.said());
                header.volumes = applied.volumes().to_vec();
            }
            None => {
                ios = pour(&mut reader, &mut *writer)?;
                header.volumes = reader.volumes().to_vec();
            }
        }
        header.lost_events = reader.lost_events();
        let dated = inputs.iter().all(|input| input.zero_unix_ns().is_some());
        header.start_unix_ns = match step {
            Some(Step::Recorded { zero_unix_ns, .. }) => {
                Some(zero_unix_ns.saturating_add(reader.shifted_ns()))
            }
            _ if !dated => None,
            Some(Step::Cut { from_ns, .. }) => Some(reader.shifted_ns().saturating_add(*from_ns)),
            Some(Step::Anonymise {}) => None,
            _ => Some(reader.shifted_ns()),
        };
        let mut lost = writer.finish(&header)?;
        if header.start_unix_ns.is_some() && format != Format::Parquet && ios > 0 {
            lost.insert("the date", ios);
        }
        Ok(Transformed { ios, header, lost })
    })
}

/// Writes everything; how many records.
fn pour(reader: &mut dyn Reader, writer: &mut dyn write::Writer) -> Result<u64> {
    let mut batch = Vec::new();
    let mut ios = 0;
    loop {
        batch.clear();
        reader.fill(&mut batch)?;
        if batch.is_empty() {
            return Ok(ios);
        }
        ios += batch.len() as u64;
        writer.write(&batch, reader.volumes())?;
    }
}

/// Calls `use_them` with all records in the order of time, twice if need be.
///
/// # Errors
/// What reading or `use_them` returned.
pub(crate) fn whole<T>(
    inputs: &[Input],
    go_on: GoOn<'_>,
    mut use_them: impl FnMut(Timed<'_>) -> Result<T>,
) -> Result<T> {
    let dated = inputs.iter().all(|input| input.zero_unix_ns().is_some());
    let from_first = dated || inputs.iter().all(|input| input.format().clock() == Clock::Uptime);
    let open = || -> Result<Box<dyn Reader>> {
        let mut readers = Vec::new();
        for input in inputs {
            let shift = if dated { input.zero_unix_ns().unwrap_or(0) } else { 0 };
            readers.push((input.reader()?, shift));
        }
        match readers.len() {
            1 if readers[0].1 == 0 => Ok(readers.remove(0).0),
            _ => Ok(Box::new(Merge::new(readers))),
        }
    };
    in_order(open, |reader| {
        use_them(Timed { reader, from_first, first_ns: None, read: 0, go_on: &mut *go_on })
    })
}

/// The origin of several traces together.
pub(crate) fn header_of(inputs: &[Input]) -> Header {
    let mut header = inputs[0].header().clone();
    for input in &inputs[1..] {
        header.origin.extend_from_slice(&input.header().origin);
    }
    if inputs.len() > 1 {
        header.origin.push(match inputs.iter().all(|input| input.zero_unix_ns().is_some()) {
            true => "merged by their dates".to_owned(),
            false => "merged from the zeros of their clocks, since not all have a date".to_owned(),
        });
    }
    header
}

/// Records that count from the first one where the clock has no zero that means something.
pub(crate) struct Timed<'a> {
    reader: &'a mut dyn Reader,
    from_first: bool,
    first_ns: Option<u64>,
    read: u64,
    go_on: GoOn<'a>,
}

impl Timed<'_> {
    /// What was taken from each time.
    pub(crate) fn shifted_ns(&self) -> u64 {
        self.first_ns.unwrap_or(0)
    }
}

impl Reader for Timed<'_> {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let start = batch.len();
        self.reader.fill(batch)?;
        if self.from_first && batch.len() > start {
            let first_ns = *self.first_ns.get_or_insert(batch[start].time_ns);
            for record in &mut batch[start..] {
                record.time_ns -= first_ns;
            }
        }
        self.read += (batch.len() - start) as u64;
        if (self.go_on)(self.read) { Ok(()) } else { Err(Error::Stopped) }
    }

    fn volumes(&self) -> &[String] {
        self.reader.volumes()
    }

    fn lost_events(&self) -> u64 {
        self.reader.lost_events()
    }
}
