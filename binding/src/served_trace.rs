//! The trace of a served session. Another thread writes it: packing a group of records takes
//! longer than an answer may be late.

use fourcorners_serve::{Seen, What, Witness};
use fourcorners_trace::{Format, Header, Operation, Record, Result, write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};

/// Records that are written at a time.
const BATCH: usize = 4096;

/// A trace that is being written.
pub struct ServedTrace {
    path: PathBuf,
    records: Sender<Record>,
    writing: JoinHandle<Result<()>>,
}

impl ServedTrace {
    /// Begins a new file in the format of our own, for a session of `drive`.
    ///
    /// # Errors
    /// In one sentence.
    pub fn new(path: &Path, drive: &str) -> std::result::Result<Self, String> {
        let writer =
            write::create(path, Format::Parquet, None).map_err(|error| error.to_string())?;
        let (records, received) = channel();
        let header = Header::of_program("a served session".into(), drive.into());
        let writing = spawn(move || written(writer, &received, &header));
        Ok(Self { path: path.to_owned(), records, writing })
    }

    /// Who hands over the I/Os.
    pub fn witness(&self) -> Witness {
        let records = self.records.clone();
        Box::new(move |seen| {
            // Where writing has failed, the end of the session says so.
            let _ = records.send(record(&seen));
        })
    }

    /// Ends the file, once whoever hands over I/Os is gone.
    ///
    /// # Errors
    /// In one sentence.
    pub fn finish(self) -> std::result::Result<(), String> {
        let Self { path, records, writing } = self;
        drop(records);
        let written = writing.join().map_err(|_| "the trace cannot be written".to_string())?;
        written.map_err(|error| format!("the trace {}: {error}", path.display()))
    }
}

fn written(
    mut writer: Box<dyn write::Writer>,
    received: &Receiver<Record>,
    header: &Header,
) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    while let Ok(record) = received.recv() {
        batch.push(record);
        if batch.len() == BATCH {
            writer.write(&batch, &header.volumes)?;
            batch.clear();
        }
    }
    writer.write(&batch, &header.volumes)?;
    writer.finish(header)?;
    Ok(())
}

fn record(seen: &Seen) -> Record {
    let operation = match seen.what {
        What::Read => Operation::Read,
        What::Write => Operation::Write,
        What::Flush => Operation::Flush,
        What::Trim => Operation::Discard,
        What::Zero => Operation::WriteZeroes,
    };
    let length_bytes = u64::from(seen.length_bytes);
    Record {
        latency_ns: seen.latency_ns,
        queue: u32::try_from(seen.client).ok(),
        fua: seen.is_forced,
        ..Record::new(seen.submitted_ns, operation, seen.offset_bytes, length_bytes)
    }
}
