//! Our own format: Parquet, one row for each I/O, in the order of time (docs/traces.md).

use crate::error::{Error, Result};
use crate::formats::Format;
use crate::reader::{BATCH, Reader};
use crate::record::Record;
use crate::visible::visible;
use fourcorners_workload::Operation;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The key of the metadata.
pub(crate) const KEY: &str = "fourcorners.trace";

/// Raised when readers must change.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The columns, in the words of Parquet.
pub(crate) const SCHEMA: &str = "message trace {
    required int64 time_ns;
    required binary operation (STRING);
    required boolean fua;
    required int64 offset_bytes;
    required int64 length_bytes;
    required int32 volume (INTEGER(32,false));
    optional int64 latency_ns;
    optional int32 queue (INTEGER(32,false));
    optional int32 process (INTEGER(32,false));
    optional int32 stream (INTEGER(32,false));
}";

/// What a trace of ours says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the layout.
    pub schema_version: u32,
    /// Where the records come from: files, and what was done to them since, in sentences.
    pub origin: Vec<String>,
    /// The format that they were first read from.
    pub format: String,
    /// Names of the volumes, by number.
    pub volumes: Vec<String>,
    /// Unix time of the zero of the clock, where it is known.
    pub start_unix_ns: Option<u64>,
    /// Events that the recorder lost.
    pub lost_events: u64,
}

impl Header {
    /// The same with nothing in its texts that a terminal or a page would obey.
    fn visible(self) -> Header {
        let all = |texts: Vec<String>| texts.iter().map(|text| visible(text)).collect();
        Header {
            origin: all(self.origin),
            format: visible(&self.format),
            volumes: all(self.volumes),
            ..self
        }
    }

    /// Of records that this program made of one volume, whose clock begins with them.
    pub fn of_program(origin: String, volume: String) -> Header {
        Header {
            schema_version: SCHEMA_VERSION,
            origin: vec![origin],
            format: Format::Parquet.name().to_owned(),
            volumes: vec![volume],
            ..Header::default()
        }
    }
}

pub(crate) struct Parquet {
    file: SerializedFileReader<File>,
    path: PathBuf,
    header: Header,
    next_group: usize,
    group: Option<Group>,
    last_ns: u64,
}

/// The columns of a group of rows.
struct Group {
    left: usize,
    time: Column<Int64Type>,
    operation: Column<ByteArrayType>,
    fua: Column<BoolType>,
    offset: Column<Int64Type>,
    length: Column<Int64Type>,
    volume: Column<Int32Type>,
    latency: Column<Int64Type>,
    queue: Column<Int32Type>,
    process: Column<Int32Type>,
    stream: Column<Int32Type>,
}

struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    is_optional: bool,
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Column<T> {
    fn read(&mut self, count: usize) -> Result<(), ParquetError> {
        self.levels.clear();
        self.values.clear();
        let mut read = 0;
        while read < count {
            let levels = self.is_optional.then_some(&mut self.levels);
            let (rows, _, _) =
                self.reader.read_records(count - read, levels, None, &mut self.values)?;
            if rows == 0 {
                return Err(ParquetError::General("a column is too short".to_owned()));
            }
            read += rows;
        }
        let values = match self.is_optional {
            true => self.levels.iter().filter(|level| **level == 1).count(),
            false => count,
        };
        if values != self.values.len() || (self.is_optional && self.levels.len() != count) {
            return Err(ParquetError::General("a column has too few values".to_owned()));
        }
        Ok(())
    }
}

fn malformed(path: &Path, what: impl std::fmt::Display) -> Error {
    let what = match what.to_string() {
        text if text.contains("Disabled feature") => {
            "its columns are packed by another method than zstd, which is all that is read"
                .to_owned()
        }
        text => text,
    };
    Error::Malformed(format!("{} is not a trace of fourcorners: {what}", path.display()))
}

/// Whatever the bytes are, reading them ends in a sentence: the library asserts some of what a
/// damaged file breaks.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(malformed(path, "its Parquet is damaged")))
}

impl Parquet {
    pub(crate) fn open(file: File, path: &Path) -> Result<Parquet> {
        guarded(path, || {
            let file = SerializedFileReader::new(file).map_err(|error| malformed(path, error))?;
            let metadata = file.metadata().file_metadata();
            let own = metadata.key_value_metadata().into_iter().flatten();
            let text = own
                .filter(|pair| pair.key == KEY)
                .find_map(|pair| pair.value.as_deref())
                .ok_or_else(|| malformed(path, "it is Parquet without what we write into it"))?;
            let told: Header =
                serde_json::from_str(text).map_err(|error| malformed(path, error))?;
            let header = told.visible();
            if header.schema_version > SCHEMA_VERSION {
                return Err(malformed(
                    path,
                    format!("version {} was made by a later fourcorners", header.schema_version),
                ));
            }
            let expected = parquet::schema::parser::parse_message_type(SCHEMA)
                .expect("the schema is well formed");
            let schema = metadata.schema();
            let columns = |of: &parquet::schema::types::Type| {
                of.get_fields()
                    .iter()
                    .map(|one| {
                        let optional = one.is_optional();
                        let physical = one.is_primitive().then(|| one.get_physical_type());
                        (one.name().to_owned(), optional, physical)
                    })
                    .collect::<Vec<_>>()
            };
            if columns(schema) != columns(&expected) {
                return Err(malformed(path, "its columns are others"));
            }
            Ok(Parquet {
                file,
                path: path.to_owned(),
                header,
                next_group: 0,
                group: None,
                last_ns: 0,
            })
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    fn open_group(&mut self) -> Result<Option<Group>, ParquetError> {
        if self.next_group == self.file.num_row_groups() {
            return Ok(None);
        }
        let rows = self.file.get_row_group(self.next_group)?;
        self.next_group += 1;
        let left = usize::try_from(rows.metadata().num_rows())
            .map_err(|_| ParquetError::General("a group has a negative length".to_owned()))?;
        macro_rules! column {
            ($index:expr, $optional:expr) => {
                Column {
                    reader: get_typed_column_reader(rows.get_column_reader($index)?),
                    is_optional: $optional,
                    levels: Vec::with_capacity(BATCH),
                    values: Vec::with_capacity(BATCH),
                }
            };
        }
        Ok(Some(Group {
            left,
            time: column!(0, false),
            operation: column!(1, false),
            fua: column!(2, false),
            offset: column!(3, false),
            length: column!(4, false),
            volume: column!(5, false),
            latency: column!(6, true),
            queue: column!(7, true),
            process: column!(8, true),
            stream: column!(9, true),
        }))
    }

    fn fill_guarded(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let path = self.path.clone();
        let damaged = |error: ParquetError| malformed(&path, error);
        while self.group.as_ref().is_none_or(|group| group.left == 0) {
            self.group = self.open_group().map_err(damaged)?;
            if self.group.is_none() {
                return Ok(());
            }
        }
        let group = self.group.as_mut().expect("it was opened");
        let count = group.left.min(BATCH);
        group.read(count).map_err(damaged)?;
        group.left -= count;
        let first = batch.len();
        group.append(count, batch).map_err(|what| malformed(&path, what))?;
        let volumes = self.header.volumes.len();
        for record in &batch[first..] {
            if record.time_ns < self.last_ns {
                return Err(malformed(&path, "its rows are not in the order of time"));
            }
            self.last_ns = record.time_ns;
            if record.volume as usize >= volumes {
                return Err(malformed(&path, "an I/O is of a volume without a name"));
            }
        }
        Ok(())
    }
}

impl Group {
    fn read(&mut self, count: usize) -> Result<(), ParquetError> {
        self.time.read(count)?;
        self.operation.read(count)?;
        self.fua.read(count)?;
        self.offset.read(count)?;
        self.length.read(count)?;
        self.volume.read(count)?;
        self.latency.read(count)?;
        self.queue.read(count)?;
        self.process.read(count)?;
        self.stream.read(count)
    }

    fn append(&self, count: usize, batch: &mut Vec<Record>) -> Result<(), &'static str> {
        let first = batch.len();
        let unsigned = |value: i64| u64::try_from(value).map_err(|_| "a number is negative");
        let mut names = Names::default();
        for row in 0..count {
            let operation = names.operation(self.operation.values[row].data())?;
            batch.push(Record {
                volume: self.volume.values[row] as u32,
                fua: self.fua.values[row],
                ..Record::new(
                    unsigned(self.time.values[row])?,
                    operation,
                    unsigned(self.offset.values[row])?,
                    unsigned(self.length.values[row])?,
                )
            });
        }
        let rows = &mut batch[first..];
        present(&self.latency, rows, |record, value| {
            record.latency_ns = Some(u64::try_from(value).map_err(|_| "a latency is negative")?);
            Ok(())
        })?;
        let mut small = |column: &Column<Int32Type>, set: fn(&mut Record, u32)| {
            present(column, rows, |record, value| {
                set(record, value as u32);
                Ok(())
            })
        };
        small(&self.queue, |record, value| record.queue = Some(value))?;
        small(&self.process, |record, value| record.process = Some(value))?;
        small(&self.stream, |record, value| record.stream = Some(value))
    }
}

/// Names that were compared before: those of a dictionary lie at the same place each time.
#[derive(Default)]
struct Names<'a> {
    known: [Option<(&'a [u8], Operation)>; Operation::COUNT],
}

impl<'a> Names<'a> {
    fn operation(&mut self, name: &'a [u8]) -> Result<Operation, &'static str> {
        for (known, operation) in self.known.iter().flatten() {
            if std::ptr::eq(*known, name) {
                return Ok(*operation);
            }
        }
        let operation = Operation::named(name).ok_or("an operation has another name than ours")?;
        self.known[operation.index()] = Some((name, operation));
        Ok(operation)
    }
}

/// Gives the values of an optional column to the rows that have one.
fn present<T: DataType>(
    column: &Column<T>,
    rows: &mut [Record],
    mut set: impl FnMut(&mut Record, T::T) -> Result<(), &'static str>,
) -> Result<(), &'static str>
where
    T::T: Copy,
{
    if column.values.is_empty() {
        return Ok(());
    }
    let mut values = column.values.iter();
    for (record, level) in rows.iter_mut().zip(&column.levels) {
        if *level == 1
            && let Some(value) = values.next()
        {
            set(record, *value)?;
        }
    }
    Ok(())
}

impl Reader for Parquet {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let path = self.path.clone();
        guarded(&path, || self.fill_guarded(batch))
    }

    fn volumes(&self) -> &[String] {
        &self.header.volumes
    }

    fn lost_events(&self) -> u64 {
        self.header.lost_events
    }

    fn is_in_order(&self) -> bool {
        true
    }
}
