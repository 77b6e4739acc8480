//! CloudPhysics' vscsi: SCSI commands of virtual machines as VMware's recorder has them, little-endian
//! records of 32 bytes (version 1) or 40 bytes (version 2): number, length in bytes, segments, command,
//! version, sector, µs; version 2 begins with command and version and ends with the response time.
//! (Waldspurger et al., FAST '15; the layout that libCacheSim's reader `vscsi.h` has.)

use crate::error::{Error, Result};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::formats::oracle_general::read_full;
use crate::reader::{BATCH, Reader};
use crate::record::Record;
use fourcorners_workload::Operation;
use std::io::Read;
use std::path::PathBuf;

/// Records by which a file is told: those of no other format have the version in all of them.
const RECORDS_TRIED: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    const fn record_bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// Where command and version stand.
    const fn command_at(self) -> usize {
        match self {
            Version::One => 12,
            Version::Two => 0,
        }
    }

    /// The version of a file by its first bytes.
    fn of(head: &[u8]) -> Option<Version> {
        [Version::One, Version::Two].into_iter().find(|version| {
            let records = head.chunks_exact(version.record_bytes()).take(RECORDS_TRIED);
            records.len() > 0 && records.into_iter().all(|record| version.is_of(record))
        })
    }

    fn is_of(self, record: &[u8]) -> bool {
        let at = self.command_at();
        let number = if self == Version::One { 1 } else { 2 };
        record[at + 3] == number && record[at + 1] == 0 && operation(record[at]).is_some()
    }
}

/// What a SCSI command does; `Some(None)` of one that moves no block (SCSI Block Commands).
fn operation(command: u8) -> Option<Option<Operation>> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Some(Operation::Read)),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Some(Operation::Write)),
        0x35 | 0x91 => Some(Some(Operation::Flush)),
        0x41 | 0x93 => Some(Some(Operation::WriteZeroes)),
        // Of UNMAP the place is in the data, which are not recorded; others are about the device.
        0x42 | 0x00 | 0x03 | 0x12 | 0x15 | 0x1a | 0x1b | 0x25 | 0x2f | 0x4d | 0x55 | 0x5a
        | 0x9e | 0xa0 => Some(None),
        _ => None,
    }
}

pub(crate) struct Vscsi {
    input: Box<dyn Read + Send>,
    path: PathBuf,
    version: Option<Version>,
    buffer: Vec<u8>,
    read: u64,
    volumes: [String; 1],
}

impl Vscsi {
    pub(crate) fn new(input: Box<dyn Read + Send>, path: PathBuf, name: &str) -> Vscsi {
        Vscsi {
            input,
            path,
            version: None,
            // A multiple of both lengths of records.
            buffer: vec![0; 160 * BATCH],
            read: 0,
            volumes: [name.to_owned()],
        }
    }

    /// Whether these bytes, the beginning of a file, are such a trace.
    pub(crate) fn can_be(head: &[u8]) -> bool {
        Version::of(head).is_some()
    }
}

impl Reader for Vscsi {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        // What moves no block gives no record: one batch may be read for none.
        let before = batch.len();
        while batch.len() == before {
            let length = read_full(&mut *self.input, &mut self.buffer)
                .map_err(|error| Error::reading(&self.path, error))?;
            if length == 0 {
                break;
            }
            let head = &self.buffer[..length];
            let Some(version) = self.version.or_else(|| Version::of(head)) else {
                return Err(Error::Malformed(format!(
                    "{} is of no version of vscsi that is known",
                    self.path.display()
                )));
            };
            self.version = Some(version);
            let chunks = head.chunks_exact(version.record_bytes());
            if !chunks.remainder().is_empty() {
                return Err(Error::Malformed(format!(
                    "{} ends within an I/O: vscsi has {} bytes for each",
                    self.path.display(),
                    version.record_bytes()
                )));
            }
            for record in chunks {
                let found = parse(version, record).map_err(|what| {
                    Error::Malformed(format!("{}, I/O {}: {what}", self.path.display(), self.read))
                })?;
                batch.extend(found);
                self.read += 1;
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }
}

fn parse(version: Version, record: &[u8]) -> std::result::Result<Option<Record>, &'static str> {
    if !version.is_of(record) {
        return Err("it is no command of vscsi");
    }
    let four = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let eight = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let length_at = match version {
        Version::One => 4,
        Version::Two => 8,
    };
    let (sector, time) = (eight(16), eight(24));
    let scaled = |value: u64, unit: u64, what| {
        value.checked_mul(unit).filter(|found| i64::try_from(*found).is_ok()).ok_or(what)
    };
    let time_ns = scaled(time, 1_000, "its time is too large to be one")?;
    let latency_ns = match version {
        Version::One => None,
        Version::Two => Some(scaled(eight(32), 1_000, "its response time is too large to be one")?),
    };
    let Some(Some(operation)) = operation(record[version.command_at()]) else { return Ok(None) };
    if operation == Operation::Flush {
        return Ok(Some(Record { latency_ns, ..Record::new(time_ns, operation, 0, 0) }));
    }
    let offset = scaled(sector, SECTOR_BYTES, "its sector is too large to be one")?;
    let length = u64::from(four(length_at));
    Ok(Some(Record { latency_ns, ..Record::new(time_ns, operation, offset, length) }))
}
