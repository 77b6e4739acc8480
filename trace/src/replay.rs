//! A trace as requests for a target, and what has to be known of it before.

use crate::error::{Error, Result};
use crate::formats::Format;
use crate::input::{Header, Input};
use crate::reader::Reader;
use crate::record::Record;
use crate::statistics::{Quantiles, TimeStep};
use crate::transform::{GoOn, header_of, whole};
use fourcorners_recording::Latencies;
use fourcorners_workload::{Content, Operation, Recorded, Replay, Request, TimedRequest};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Longest request without a transfer: longer ones become several, since a request has
/// 32 bits for its length.
const PART_BYTES: u64 = 1 << 30;

/// Multiples of this are what targets take at least.
const SECTOR_BYTES: u64 = 512;

/// What has to be known of a trace before it is replayed.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// What it says about itself.
    pub header: Header,
    /// Names of the volumes that have I/Os: of others there may be names only, such as those of
    /// devices of which nothing but completions was recorded.
    pub volumes: Vec<String>,
    /// I/Os.
    pub ios: u64,
    /// I/Os of each operation that occurs.
    pub operations: BTreeMap<&'static str, u64>,
    /// Bytes that are read.
    pub read_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
    /// Whether anything changes what the target holds.
    pub writes: bool,
    /// The byte behind the last one that is touched.
    pub end_bytes: u64,
    /// From the first issue to the last one.
    pub length_ns: u64,
    /// What all times are multiples of: a second, a ms, a µs, 100 ns or a ns.
    pub time_step_ns: u64,
    /// The largest transfer.
    pub largest_bytes: u64,
    /// I/Os whose latency was recorded.
    pub with_latency: u64,
    /// Their latencies, by operation.
    pub latency_ns: BTreeMap<&'static str, Quantiles>,
    /// I/Os that do not begin and end at multiples of 512 bytes.
    pub unaligned_512: u64,
    /// I/Os that do not begin and end at multiples of 4096 bytes.
    pub unaligned_4096: u64,
    /// Transfers of no bytes, which are not replayed.
    pub empty: u64,
    /// It can only be sorted through a temporary file.
    pub is_far_out_of_order: bool,
}

/// Reads everything once.
///
/// # Errors
/// The inputs are no trace, or `go_on` said no.
pub fn survey(inputs: &[Input], go_on: GoOn<'_>) -> Result<Survey> {
    let mut tries = 0;
    whole(inputs, go_on, |mut reader| {
        tries += 1;
        let mut found = Survey {
            header: header_of(inputs),
            volumes: Vec::new(),
            ios: 0,
            operations: BTreeMap::new(),
            read_bytes: 0,
            written_bytes: 0,
            writes: false,
            end_bytes: 0,
            length_ns: 0,
            time_step_ns: 1,
            largest_bytes: 0,
            with_latency: 0,
            latency_ns: BTreeMap::new(),
            unaligned_512: 0,
            unaligned_4096: 0,
            empty: 0,
            is_far_out_of_order: tries > 1,
        };
        let mut counts = [0; Operation::COUNT];
        let mut is_used = Vec::new();
        let mut latencies: [Latencies; Operation::COUNT] = Default::default();
        let mut first_ns = None;
        let mut step = TimeStep::default();
        let mut batch = Vec::new();
        loop {
            batch.clear();
            reader.fill(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for record in &batch {
                found.length_ns = record.time_ns - *first_ns.get_or_insert(record.time_ns);
                step.count(record.time_ns);
                counts[record.operation.index()] += 1;
                let volume = record.volume as usize;
                if is_used.len() <= volume {
                    is_used.resize(volume + 1, false);
                }
                is_used[volume] = true;
                if let Some(latency_ns) = record.latency_ns {
                    found.with_latency += 1;
                    latencies[record.operation.index()].record(latency_ns);
                }
                found.count_place(record);
            }
        }
        found.time_step_ns = step.ns();
        let named = reader.volumes().iter().zip(is_used);
        found.volumes = named.filter(|(_, used)| *used).map(|(name, _)| name.clone()).collect();
        found.header.lost_events = reader.lost_events();
        for operation in Operation::ALL {
            let (ios, name) = (counts[operation.index()], operation.name());
            if ios > 0 {
                found.operations.insert(name, ios);
            }
            found.ios += ios;
            if let Some(quantiles) = Quantiles::of(&latencies[operation.index()]) {
                found.latency_ns.insert(name, quantiles);
            }
        }
        Ok(found)
    })
}

impl Survey {
    fn count_place(&mut self, record: &Record) {
        let bytes = record.length_bytes;
        match record.operation {
            Operation::Flush => return,
            Operation::Read => self.read_bytes += bytes,
            Operation::Write => self.written_bytes += bytes,
            Operation::Discard | Operation::WriteZeroes => {}
        }
        if bytes == 0 {
            self.empty += 1;
            return;
        }
        self.writes |= record.operation != Operation::Read;
        self.end_bytes = self.end_bytes.max(record.end_bytes());
        if record.operation.transfers() {
            self.largest_bytes = self.largest_bytes.max(bytes);
        }
        let both = record.offset_bytes | bytes;
        self.unaligned_512 += u64::from(!both.is_multiple_of(SECTOR_BYTES));
        self.unaligned_4096 += u64::from(!both.is_multiple_of(4096));
    }
}

/// Files as requests for a target.
pub struct Source {
    replay: Replay,
}

impl Source {
    /// What a workload says of them.
    pub fn new(replay: &Replay) -> Source {
        Source { replay: replay.clone() }
    }

    fn inputs(&self) -> Result<Vec<Input>> {
        let meant = match &self.replay.format {
            None => None,
            Some(name) => Some(
                Format::named(name)
                    .ok_or_else(|| Error::Malformed(format!("no format is called {name}")))?,
            ),
        };
        self.replay.files.iter().map(|file| Input::open(&PathBuf::from(file), meant)).collect()
    }

    /// Appends the requests of a record: none of an empty transfer.
    fn convert(
        &self,
        record: &Record,
        first_ns: u64,
        content: Content,
        into: &mut Vec<TimedRequest>,
    ) -> Result<()> {
        let operation = record.operation;
        let mut timed = TimedRequest {
            time_ns: record.time_ns - first_ns,
            request: Request { operation, content, fua: record.fua, ..Request::FLUSH },
            latency_ns: record.latency_ns,
        };
        if operation == Operation::Flush {
            into.push(timed);
            return Ok(());
        }
        if record.length_bytes == 0 {
            return Ok(());
        }
        let changes = operation != Operation::Read;
        if record.end_bytes() > self.replay.span_bytes || changes && !self.replay.writes {
            return Err(changed());
        }
        let alignment = u64::from(self.replay.alignment_bytes);
        let mut offset_bytes = record.offset_bytes / alignment * alignment;
        // A target that is no multiple of its own blocks does not exist, but a span may be.
        let end_bytes = record.end_bytes().next_multiple_of(alignment);
        if operation.transfers() {
            timed.request.offset_bytes = offset_bytes;
            timed.request.length_bytes = u32::try_from(end_bytes - offset_bytes)
                .map_err(|_| Error::Malformed("a transfer above 4 GiB".to_owned()))?;
            into.push(timed);
            return Ok(());
        }
        while offset_bytes < end_bytes {
            let bytes = (end_bytes - offset_bytes).min(PART_BYTES);
            timed.request.offset_bytes = offset_bytes;
            timed.request.length_bytes = bytes as u32;
            into.push(timed);
            offset_bytes += bytes;
        }
        Ok(())
    }

    fn read(
        &self,
        content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<()> {
        let inputs = self.inputs()?;
        let mut tries = 0;
        whole(&inputs, &mut |_| true, |mut reader| {
            tries += 1;
            match (self.replay.is_far_out_of_order, tries) {
                // Straight to the sort that can do it: what was taken cannot be taken back.
                (true, 1) => return Err(Error::Disorder),
                (false, 2) => return Err(changed()),
                _ => {}
            }
            let mut first_ns = None;
            let mut ios = 0;
            let (mut batch, mut requests) = (Vec::new(), Vec::new());
            loop {
                batch.clear();
                reader.fill(&mut batch)?;
                if batch.is_empty() {
                    break;
                }
                ios += batch.len() as u64;
                requests.reserve(batch.len());
                for record in &batch {
                    let first_ns = *first_ns.get_or_insert(record.time_ns);
                    self.convert(record, first_ns, content, &mut requests)?;
                }
                if !requests.is_empty() && !take(&mut requests) {
                    return Ok(());
                }
                requests.clear();
            }
            if ios == self.replay.ios { Ok(()) } else { Err(changed()) }
        })
    }
}

fn changed() -> Error {
    Error::Malformed("the trace is no longer what it was when it was looked at".to_owned())
}

impl Recorded for Source {
    fn pour(
        self: Box<Self>,
        content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String> {
        self.read(content, take).map_err(|error| error.to_string())
    }
}
