//! Text formats: our columns as CSV, and fio's iolog.

use super::{Lost, Writer, count};
use crate::error::{Error, Result};
use crate::formats::own_csv::HEADER;
use crate::input::Header;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

pub(super) struct CsvWriter {
    file: BufWriter<File>,
    path: PathBuf,
}

impl CsvWriter {
    pub(super) fn new(mut file: BufWriter<File>, path: PathBuf) -> Result<CsvWriter> {
        writeln!(file, "{HEADER}").map_err(|error| Error::writing(&path, error))?;
        Ok(CsvWriter { file, path })
    }
}

/// A number, or nothing.
struct Cell<T>(Option<T>);

impl<T: std::fmt::Display> std::fmt::Display for Cell<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

impl Writer for CsvWriter {
    fn write(&mut self, records: &[Record], volumes: &[String]) -> Result<()> {
        for one in records {
            writeln!(
                self.file,
                "{},{},{},{},{},{},{},{},{},{}",
                one.time_ns,
                one.operation.name(),
                u8::from(one.fua),
                one.offset_bytes,
                one.length_bytes,
                plain(&volumes[one.volume as usize], ','),
                Cell(one.latency_ns),
                Cell(one.queue),
                Cell(one.process),
                Cell(one.stream),
            )
            .map_err(|error| Error::writing(&self.path, error))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _header: &Header) -> Result<Lost> {
        finish(&mut self.file, &self.path)?;
        Ok(Lost::new())
    }
}

/// A name without what divides fields or lines: a colon stands for it.
fn plain(name: &str, separator: char) -> String {
    let divides = |letter: char| letter == separator || letter.is_control();
    name.trim().replace(divides, ":")
}

fn finish(file: &mut BufWriter<File>, path: &std::path::Path) -> Result<()> {
    file.flush()
        .and_then(|()| file.get_ref().sync_all())
        .map_err(|error| Error::writing(path, error))
}

/// fio's iolog, version 3: times in µs, no FUA, no write-zeroes, no latencies.
pub(super) struct IologWriter {
    file: BufWriter<File>,
    path: PathBuf,
    known: usize,
    lost: Lost,
    last_us: u64,
}

impl IologWriter {
    pub(super) fn new(mut file: BufWriter<File>, path: PathBuf) -> Result<IologWriter> {
        writeln!(file, "fio version 3 iolog").map_err(|error| Error::writing(&path, error))?;
        Ok(IologWriter { file, path, known: 0, lost: Lost::new(), last_us: 0 })
    }

    fn lines(&mut self, records: &[Record], volumes: &[String]) -> std::io::Result<()> {
        let names: Vec<String> = volumes.iter().map(|name| blankless(name)).collect();
        let first_us = records.first().map_or(0, |one| one.time_ns / 1_000);
        for name in &names[self.known..] {
            writeln!(self.file, "{first_us} {name} add\n{first_us} {name} open")?;
        }
        self.known = names.len();
        for one in records {
            let name = &names[one.volume as usize];
            let us = one.time_ns / 1_000;
            self.last_us = us;
            if one.operation == Operation::WriteZeroes {
                count(&mut self.lost, "write-zeroes, which are left out", true);
                continue;
            }
            count(&mut self.lost, "times finer than 1 µs", one.time_ns % 1_000 != 0);
            count(&mut self.lost, "FUA flags", one.fua);
            count(&mut self.lost, "latencies", one.latency_ns.is_some());
            count(&mut self.lost, "queues or processors", one.queue.is_some());
            count(&mut self.lost, "processes", one.process.is_some());
            count(&mut self.lost, "streams", one.stream.is_some());
            let action = match one.operation {
                Operation::Read => "read",
                Operation::Write => "write",
                Operation::Flush => {
                    writeln!(self.file, "{us} {name} sync 0 0")?;
                    continue;
                }
                Operation::Discard | Operation::WriteZeroes => "trim",
            };
            writeln!(self.file, "{us} {name} {action} {} {}", one.offset_bytes, one.length_bytes)?;
        }
        Ok(())
    }
}

fn blankless(name: &str) -> String {
    let name = plain(name, ' ');
    if name.is_empty() { "volume".to_owned() } else { name }
}

impl Writer for IologWriter {
    fn write(&mut self, records: &[Record], volumes: &[String]) -> Result<()> {
        self.lines(records, volumes).map_err(|error| Error::writing(&self.path, error))
    }

    fn finish(mut self: Box<Self>, header: &Header) -> Result<Lost> {
        for name in &header.volumes[..self.known] {
            writeln!(self.file, "{} {} close", self.last_us, blankless(name))
                .map_err(|error| Error::writing(&self.path, error))?;
        }
        finish(&mut self.file, &self.path)?;
        Ok(self.lost)
    }
}
