//! Our own format (docs/traces.md).

use super::{Lost, Writer};
use crate::error::{Error, Result};
use crate::formats::parquet::{KEY, SCHEMA};
use crate::input::Header;
use crate::record::Record;
use fourcorners_workload::Operation;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a group, which are in memory while it is written: some 20 MB. A reader that wants a
/// part of the time passes over groups.
const GROUP_ROWS: usize = 1 << 18;

pub(super) struct ParquetWriter {
    file: SerializedFileWriter<File>,
    path: PathBuf,
    rows: Vec<Record>,
    operations: [ByteArray; Operation::COUNT],
}

impl ParquetWriter {
    pub(super) fn new(file: File, path: &Path) -> Result<ParquetWriter> {
        let schema =
            parquet::schema::parser::parse_message_type(SCHEMA).expect("the schema is well formed");
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("it is a level")));
        // Times rise, and addresses are many: differences are shorter, a dictionary would not be.
        for name in ["time_ns", "offset_bytes", "latency_ns"] {
            let column = ColumnPath::from(name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        // Packed to the bits that they need, compression would find nothing more.
        for name in ["offset_bytes", "latency_ns"] {
            properties = properties
                .set_column_compression(ColumnPath::from(name), Compression::UNCOMPRESSED);
        }
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
            .map_err(|error| failed(path, error))?;
        Ok(ParquetWriter {
            file,
            path: path.to_owned(),
            rows: Vec::with_capacity(GROUP_ROWS),
            operations: Operation::ALL.map(|one| ByteArray::from(one.name())),
        })
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = &self.rows;
        let operations = &self.operations;
        let mut group = self.file.next_row_group().map_err(|error| failed(&self.path, error))?;
        let mut write = || -> Result<(), ParquetError> {
            required::<Int64Type>(&mut group, rows, |row| row.time_ns as i64)?;
            required::<ByteArrayType>(&mut group, rows, |row| {
                operations[row.operation.index()].clone()
            })?;
            required::<BoolType>(&mut group, rows, |row| row.fua)?;
            required::<Int64Type>(&mut group, rows, |row| row.offset_bytes as i64)?;
            required::<Int64Type>(&mut group, rows, |row| row.length_bytes as i64)?;
            required::<Int32Type>(&mut group, rows, |row| row.volume as i32)?;
            // Three hundred years are no latency but a clock that was set.
            optional::<Int64Type>(&mut group, rows, |row| i64::try_from(row.latency_ns?).ok())?;
            optional::<Int32Type>(&mut group, rows, |row| row.queue.map(|it| it as i32))?;
            optional::<Int32Type>(&mut group, rows, |row| row.process.map(|it| it as i32))?;
            optional::<Int32Type>(&mut group, rows, |row| row.stream.map(|it| it as i32))
        };
        write().map_err(|error| failed(&self.path, error))?;
        group.close().map_err(|error| failed(&self.path, error))?;
        self.rows.clear();
        Ok(())
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::writing(path, std::io::Error::other(error))
}

fn required<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Record],
    value: impl Fn(&Record) -> T::T,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has it");
    let values: Vec<T::T> = rows.iter().map(value).collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Record],
    value: impl Fn(&Record) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has it");
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(value(row).is_some())).collect();
    let values: Vec<T::T> = rows.iter().filter_map(value).collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

impl Writer for ParquetWriter {
    fn write(&mut self, records: &[Record], _volumes: &[String]) -> Result<()> {
        for record in records {
            self.rows.push(*record);
            if self.rows.len() == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, header: &Header) -> Result<Lost> {
        self.flush()?;
        let text = serde_json::to_string(header).expect("a header is JSON");
        self.file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), text));
        let path = self.path;
        let file = self.file.into_inner().map_err(|error| failed(&path, error))?;
        file.sync_all().map_err(|error| Error::writing(&path, error))?;
        Ok(Lost::new())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Format, Header, Input, Operation, Record, read_all, write};

    #[test]
    fn a_latency_of_centuries_is_left_out_and_the_rest_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let of = |latency_ns| Record { latency_ns, ..Record::new(0, Operation::Read, 0, 512) };
        let most = i64::MAX as u64;
        let records = [Some(most + 1), Some(u64::MAX), Some(most), None].map(of);
        let mut writer = write::create(&path, Format::Parquet, None).unwrap();
        writer.write(&records, &["sda".to_owned()]).unwrap();
        let volumes = vec!["sda".to_owned()];
        writer.finish(&Header { schema_version: 1, volumes, ..Header::default() }).unwrap();
        let input = Input::open(&path, None).unwrap();
        let (read, _) = read_all(input.reader().unwrap().as_mut()).unwrap();
        let latencies: Vec<_> = read.iter().map(|record| record.latency_ns).collect();
        assert_eq!(latencies, [None, None, Some(most), None]);
    }
}
