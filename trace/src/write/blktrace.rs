//! blktrace's binary events, for its tools: an issue of each I/O, and a completion where the
//! latency is known. Version 7, which blkparse and fio read.

use super::{Lost, Writer, count};
use crate::error::{Error, Result};
use crate::formats::blktrace::{
    ACT_COMPLETE, ACT_ISSUE, COMPLETE, DISCARD, EVENT_BYTES, FLUSH, FUA, ISSUE, MAGIC,
    NOTE_MESSAGE, NOTIFY, READ, WRITE,
};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::input::Header;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Completions that wait for their time: I/Os outstanding of any trace are fewer. With more, the
/// earliest are left out.
const COMPLETIONS_MAX: usize = 1 << 20;

pub(super) struct BlktraceWriter {
    file: BufWriter<File>,
    path: PathBuf,
    lost: Lost,
    /// That all events are said to be of.
    processor: Option<u32>,
    sequence: u32,
    /// By their time, and in the order of issue.
    completions: BinaryHeap<Reverse<(u64, u64, [u8; EVENT_BYTES])>>,
    issued: u64,
}

impl BlktraceWriter {
    /// `processor`: blkparse takes a file for that of one processor, by its name, and leaves out
    /// the events of others; what `blkparse -d` makes, and fio reads, has them all.
    pub(super) fn new(
        file: BufWriter<File>,
        path: PathBuf,
        processor: Option<u32>,
    ) -> BlktraceWriter {
        BlktraceWriter {
            file,
            path,
            lost: Lost::new(),
            processor,
            sequence: 0,
            completions: BinaryHeap::new(),
            issued: 0,
        }
    }

    fn put(&mut self, mut event: [u8; EVENT_BYTES]) -> Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        event[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        self.file.write_all(&event).map_err(|error| Error::writing(&self.path, error))
    }

    /// Puts the completions that come before a time.
    fn complete(&mut self, before_ns: u64) -> Result<()> {
        while let Some(Reverse((time_ns, _, event))) = self.completions.peek() {
            // Of equal times the issue comes first: the drive is not idle between.
            if *time_ns >= before_ns {
                break;
            }
            let event = *event;
            self.completions.pop();
            self.put(event)?;
        }
        Ok(())
    }
}

/// A note at the zero of the clock, for traces that begin later: times count from the first event.
fn note_of_zero(first: &Record, device: u32) -> ([u8; EVENT_BYTES], &'static [u8]) {
    let text = b"the clock begins here";
    let zero = Record { queue: first.queue, ..Record::new(0, Operation::Read, 0, 0) };
    let mut bytes = event(&zero, 0, NOTIFY | NOTE_MESSAGE, device, 0);
    bytes[46..48].copy_from_slice(&(text.len() as u16).to_le_bytes());
    (bytes, text)
}

/// `8,0` as it is, which our CSV has as `8:0`.
fn own_device(name: &str) -> Option<u32> {
    let (major, minor) = name.split_once([',', ':'])?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

fn event(one: &Record, time_ns: u64, action: u64, device: u32, length: u32) -> [u8; EVENT_BYTES] {
    let mut bytes = [0; EVENT_BYTES];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &(MAGIC | 7).to_le_bytes());
    put(8, &time_ns.to_le_bytes());
    put(16, &(one.offset_bytes / SECTOR_BYTES).to_le_bytes());
    put(24, &length.to_le_bytes());
    put(28, &(action as u32).to_le_bytes());
    put(32, &one.process.unwrap_or(0).to_le_bytes());
    put(36, &device.to_le_bytes());
    put(40, &one.queue.unwrap_or(0).to_le_bytes());
    bytes
}

impl Writer for BlktraceWriter {
    fn write(&mut self, records: &[Record], volumes: &[String]) -> Result<()> {
        for one in records {
            if one.operation == Operation::WriteZeroes {
                count(&mut self.lost, "write-zeroes, which are left out", true);
                continue;
            }
            let Ok(length) = u32::try_from(one.length_bytes) else {
                count(&mut self.lost, "I/Os of 4 GiB or more, which are left out", true);
                continue;
            };
            if length == 0 && one.operation != Operation::Flush {
                count(&mut self.lost, "I/Os of no length, which are left out", true);
                continue;
            }
            count(
                &mut self.lost,
                "addresses finer than 512 bytes",
                !one.offset_bytes.is_multiple_of(SECTOR_BYTES),
            );
            count(&mut self.lost, "streams", one.stream.is_some());
            count(
                &mut self.lost,
                "processors other than that of the file's name",
                self.processor.is_some()
                    && one.queue.is_some_and(|own| Some(own) != self.processor),
            );
            let one = &Record { queue: self.processor.or(one.queue), ..*one };
            self.complete(one.time_ns)?;
            let own = own_device(&volumes[one.volume as usize]);
            count(&mut self.lost, "names of volumes, which become numbers", own.is_none());
            // Other volumes are numbered as devices of a driver that nobody has.
            let device = own.unwrap_or(240 << 20 | one.volume);
            if self.issued == 0 && one.time_ns > 0 {
                let (note, text) = note_of_zero(one, device);
                self.put(note)?;
                self.file.write_all(text).map_err(|error| Error::writing(&self.path, error))?;
            }
            let mut what = match one.operation {
                Operation::Read => READ,
                Operation::Write | Operation::WriteZeroes => WRITE,
                Operation::Flush => READ | FLUSH,
                Operation::Discard => WRITE | DISCARD,
            };
            if one.fua {
                what |= FUA;
            }
            self.put(event(one, one.time_ns, what | ISSUE | ACT_ISSUE, device, length))?;
            self.issued += 1;
            let Some(latency_ns) = one.latency_ns else { continue };
            let time_ns = one.time_ns.saturating_add(latency_ns);
            if self.completions.len() == COMPLETIONS_MAX {
                self.completions.pop();
                count(&mut self.lost, "completions, for want of memory", true);
            }
            let completion = event(one, time_ns, what | COMPLETE | ACT_COMPLETE, device, length);
            self.completions.push(Reverse((time_ns, self.issued, completion)));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _header: &Header) -> Result<Lost> {
        self.complete(u64::MAX)?;
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(|error| Error::writing(&self.path, error))?;
        Ok(self.lost)
    }
}
