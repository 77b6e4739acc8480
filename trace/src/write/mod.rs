//! What a trace can become: a file of each format that is written.

mod blktrace;
mod oracle_general;
mod parquet;
mod text;

use crate::error::{Error, Result};
use crate::formats::Format;
use crate::input::Header;
use crate::record::Record;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// What a format could not carry: how many records had it.
pub type Lost = BTreeMap<&'static str, u64>;

/// Puts records into a file. They come in the order of time.
pub trait Writer: Send {
    /// Appends records; `volumes` has the names of all that turned up so far.
    ///
    /// # Errors
    /// The file cannot be written, or the format has no place for a record.
    fn write(&mut self, records: &[Record], volumes: &[String]) -> Result<()>;

    /// Ends the file. The header's volumes are those of the whole.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>, header: &Header) -> Result<Lost>;
}

/// Formats that can be written.
pub const WRITTEN: [Format; 5] =
    [Format::Parquet, Format::Csv, Format::FioIolog, Format::OracleGeneral, Format::Blktrace];

/// A writer of a new file. `processor` is the one that all events of blktrace's are said to be of.
///
/// # Errors
/// The file cannot be made, or `format` cannot be written.
pub fn create(path: &Path, format: Format, processor: Option<u32>) -> Result<Box<dyn Writer>> {
    if !WRITTEN.contains(&format) {
        return Err(Error::Malformed(format!(
            "{} cannot be written: name parquet, csv, fio-iolog, oracle-general or blktrace",
            format.title()
        )));
    }
    let file = File::create_new(path).map_err(|error| Error::writing(path, error))?;
    if format == Format::Parquet {
        return Ok(Box::new(parquet::ParquetWriter::new(file, path)?));
    }
    let file = BufWriter::with_capacity(1 << 20, file);
    let path = path.to_owned();
    Ok(match format {
        Format::Csv => Box::new(text::CsvWriter::new(file, path)?),
        Format::FioIolog => Box::new(text::IologWriter::new(file, path)?),
        Format::OracleGeneral => Box::new(oracle_general::OracleGeneralWriter::new(file, path)),
        _ => Box::new(blktrace::BlktraceWriter::new(file, path, processor)),
    })
}

/// Counts what a record has and a format lacks.
fn count(lost: &mut Lost, what: &'static str, is_lost: bool) {
    if is_lost {
        *lost.entry(what).or_default() += 1;
    }
}
