//! libCacheSim's oracleGeneral, for its cache simulators: requests of reads and writes alike.

use super::{Lost, Writer, count};
use crate::error::{Error, Result};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::formats::oracle_general::RECORD_BYTES;
use crate::input::Header;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Objects whose next access is remembered: some 100 MB. A request whose next access lies behind
/// that of so many other objects has -1, as if there were none, and is counted.
const OBJECTS_MAX: usize = 1 << 22;

/// Requests of a step backwards through the file.
const STEP: u64 = 1 << 14;

pub(super) struct OracleGeneralWriter {
    file: BufWriter<File>,
    path: PathBuf,
    lost: Lost,
    written: u64,
}

impl OracleGeneralWriter {
    pub(super) fn new(file: BufWriter<File>, path: PathBuf) -> OracleGeneralWriter {
        OracleGeneralWriter { file, path, lost: Lost::new(), written: 0 }
    }

    /// Fills in which request accesses the same object next, from the end to the start.
    fn fill_in(&mut self) -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let mut next: HashMap<u64, i64> = HashMap::new();
        let mut end = self.written;
        while end > 0 {
            let start = end.saturating_sub(STEP);
            let mut bytes = vec![0; (end - start) as usize * RECORD_BYTES];
            file.seek(SeekFrom::Start(start * RECORD_BYTES as u64))?;
            file.read_exact(&mut bytes)?;
            for number in (start..end).rev() {
                let at = (number - start) as usize * RECORD_BYTES;
                let object = u64::from_le_bytes(bytes[at + 4..at + 12].try_into().expect("eight"));
                let is_full = next.len() >= OBJECTS_MAX;
                let known = match next.get_mut(&object) {
                    Some(place) => Some(std::mem::replace(place, number as i64)),
                    None if is_full => {
                        count(&mut self.lost, "next accesses, for want of memory", true);
                        None
                    }
                    None => next.insert(object, number as i64),
                };
                bytes[at + 16..at + 24].copy_from_slice(&known.unwrap_or(-1).to_le_bytes());
            }
            file.seek(SeekFrom::Start(start * RECORD_BYTES as u64))?;
            file.write_all(&bytes)?;
            end = start;
        }
        file.sync_all()
    }
}

impl Writer for OracleGeneralWriter {
    fn write(&mut self, records: &[Record], _volumes: &[String]) -> Result<()> {
        for one in records {
            if !one.operation.transfers() {
                let what = match one.operation {
                    Operation::Flush => "flushes, which are left out",
                    Operation::Discard => "discards, which are left out",
                    _ => "write-zeroes, which are left out",
                };
                count(&mut self.lost, what, true);
                continue;
            }
            count(
                &mut self.lost,
                "writes, which become requests",
                one.operation == Operation::Write,
            );
            count(&mut self.lost, "FUA flags", one.fua);
            count(&mut self.lost, "times finer than 1 s", one.time_ns % 1_000_000_000 != 0);
            count(
                &mut self.lost,
                "addresses finer than 512 bytes",
                !one.offset_bytes.is_multiple_of(SECTOR_BYTES),
            );
            count(&mut self.lost, "latencies", one.latency_ns.is_some());
            count(&mut self.lost, "volumes, which lie over each other", one.volume != 0);
            let seconds = u32::try_from(one.time_ns / 1_000_000_000).map_err(|_| {
                Error::Malformed("oracleGeneral has no times beyond 2^32 seconds".to_owned())
            })?;
            let length = u32::try_from(one.length_bytes).map_err(|_| {
                Error::Malformed("oracleGeneral has no lengths of 4 GiB or more".to_owned())
            })?;
            let mut bytes = [0; RECORD_BYTES];
            bytes[..4].copy_from_slice(&seconds.to_le_bytes());
            bytes[4..12].copy_from_slice(&(one.offset_bytes / SECTOR_BYTES).to_le_bytes());
            bytes[12..16].copy_from_slice(&length.to_le_bytes());
            bytes[16..].copy_from_slice(&(-1i64).to_le_bytes());
            self.file.write_all(&bytes).map_err(|error| Error::writing(&self.path, error))?;
            self.written += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _header: &Header) -> Result<Lost> {
        self.file.flush().map_err(|error| Error::writing(&self.path, error))?;
        self.fill_in().map_err(|error| Error::writing(&self.path, error))?;
        Ok(self.lost)
    }
}
