//! libCacheSim's oracleGeneral: 24 bytes an I/O, little-endian and without gaps: seconds (u32),
//! object (u64), size in bytes (u32), and which request accesses the object next (i64; -1 for none).
//! (github.com/1a1a11a/libCacheSim, oracleGeneralBin.h; the format of its published traces.)
//!
//! It has no operation: every I/O is a read. Of block traces the object is the sector of 512 bytes
//! where the I/O begins.

use crate::error::{Error, Result};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::reader::{BATCH, Reader};
use crate::record::Record;
use fourcorners_workload::Operation;
use std::io::Read;
use std::path::PathBuf;

pub(crate) const RECORD_BYTES: usize = 24;

/// Above this no address of 512-byte sectors fits a signed number of bytes.
const SECTOR_MAX: u64 = i64::MAX as u64 / SECTOR_BYTES;

pub(crate) struct OracleGeneral {
    input: Box<dyn Read + Send>,
    path: PathBuf,
    buffer: Vec<u8>,
    read: u64,
    volumes: [String; 1],
}

impl OracleGeneral {
    pub(crate) fn new(input: Box<dyn Read + Send>, path: PathBuf, name: &str) -> OracleGeneral {
        OracleGeneral {
            input,
            path,
            buffer: vec![0; RECORD_BYTES * BATCH],
            read: 0,
            volumes: [name.to_owned()],
        }
    }

    /// Whether these bytes, the beginning of a file, can be such a trace: sizes and times of
    /// records are not random.
    pub(crate) fn can_be(head: &[u8]) -> bool {
        in_order(head, |object, length| object <= SECTOR_MAX && length <= 1 << 30)
    }
}

/// Whether these bytes can be such a trace whose objects are no sectors.
pub(crate) fn has_hashes(head: &[u8]) -> bool {
    in_order(head, |_, _| true) && !OracleGeneral::can_be(head)
}

fn in_order(head: &[u8], fits: impl Fn(u64, u32) -> bool) -> bool {
    let mut last = 0;
    // Zeros alone are a file that was never written.
    let mut has_length = false;
    for record in head.chunks_exact(RECORD_BYTES).take(64) {
        let (time, object, length, next) = parts(record);
        // -1 and -2 are written where no request comes again, or that is not known.
        if time < last || !fits(object, length) || next < -2 {
            return false;
        }
        last = time;
        has_length |= length > 0;
    }
    has_length
}

fn parts(record: &[u8]) -> (u32, u64, u32, i64) {
    let bytes: &[u8; RECORD_BYTES] = record.try_into().expect("it is of that length");
    (
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes")),
        u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")),
        i64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes")),
    )
}

impl Reader for OracleGeneral {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let length = read_full(&mut *self.input, &mut self.buffer)
            .map_err(|error| Error::reading(&self.path, error))?;
        let chunks = self.buffer[..length].chunks_exact(RECORD_BYTES);
        if !chunks.remainder().is_empty() {
            return Err(Error::Malformed(format!(
                "{} ends within an I/O: oracleGeneral has {RECORD_BYTES} bytes for each",
                self.path.display()
            )));
        }
        batch.reserve(chunks.len());
        for record in chunks {
            let (time, object, length, _) = parts(record);
            if object > SECTOR_MAX {
                return Err(Error::Malformed(format!(
                    "{}, I/O {}: the object {object} is no sector of a volume",
                    self.path.display(),
                    self.read
                )));
            }
            self.read += 1;
            batch.push(Record::new(
                u64::from(time) * 1_000_000_000,
                Operation::Read,
                object * SECTOR_BYTES,
                u64::from(length),
            ));
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }
}

/// Fills the buffer as far as there are bytes.
pub(crate) fn read_full(input: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
