//! blktrace's binary events, one file for each processor, merged by time (Linux,
//! `include/uapi/linux/blktrace_api.h`, versions 7 and 8).

use crate::error::{Error, Result};
use crate::formats::csv_traces::SECTOR_BYTES;
use crate::formats::oracle_general::read_full;
use crate::pairing::{Event, Pairing, Step};
use crate::reader::{BATCH, Reader, Volumes};
use crate::record::Record;
use fourcorners_workload::Operation;
use std::io::{BufReader, Read};
use std::path::PathBuf;

/// The upper three bytes of the magic number; the lowest is the version.
pub(crate) const MAGIC: u32 = 0x6561_7400;
/// Events of version 7 have so many bytes before what follows them; version 8 has more.
pub(crate) const EVENT_BYTES: usize = 48;
const EVENT_2_BYTES: usize = 64;

// Categories, in the upper bits of an action.
pub(crate) const READ: u64 = 1 << 16;
pub(crate) const WRITE: u64 = 1 << 17;
pub(crate) const FLUSH: u64 = 1 << 18;
pub(crate) const ISSUE: u64 = 1 << 22;
pub(crate) const COMPLETE: u64 = 1 << 23;
const COMMAND: u64 = 1 << 25;
pub(crate) const NOTIFY: u64 = 1 << 26;
pub(crate) const DISCARD: u64 = 1 << 29;
const DRIVER_DATA: u64 = 1 << 30;
pub(crate) const FUA: u64 = 1 << 31;
/// Operations on zones; no bit of version 7.
const ZONES: u64 = 0b11_1110 << 32;
pub(crate) const WRITE_ZEROES: u64 = 1 << 38;

// Actions, in the lower bits.
const ACT_QUEUE: u64 = 1;
const ACT_REQUEUE: u64 = 6;
pub(crate) const ACT_ISSUE: u64 = 7;
pub(crate) const ACT_COMPLETE: u64 = 8;
/// Of a note: a text follows.
pub(crate) const NOTE_MESSAGE: u64 = 2;
/// A bit beside the action: the number of a control group comes first in what follows.
const ACT_OF_GROUP: u64 = 1 << 8;

/// The version and whether bytes are swapped, of what may be the first four bytes of an event.
pub(crate) fn version_of(head: &[u8]) -> Option<(u8, bool)> {
    let magic = u32::from_le_bytes(head.get(..4)?.try_into().ok()?);
    for (magic, swapped) in [(magic, false), (magic.swap_bytes(), true)] {
        if magic & 0xffff_ff00 == MAGIC && matches!(magic & 0xff, 7 | 8) {
            return Some(((magic & 0xff) as u8, swapped));
        }
    }
    None
}

/// An input and what was read of it last.
struct Part {
    input: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    read_bytes: u64,
    /// The time of its first event, of whatever kind.
    first_ns: Option<u64>,
    next: Option<Found>,
}

/// An event of interest.
struct Found {
    step: Step,
    action: u64,
    device: u32,
    record: Record,
}

pub(crate) struct Blktrace {
    parts: Vec<Part>,
    pairing: Pairing,
    volumes: Volumes,
    /// The device of the last event, and its number.
    last: Option<(u32, u32)>,
    /// Of all events, from which times count: the kernel counts from the start of the machine.
    zero_ns: u64,
    has_begun: bool,
    is_over: bool,
}

impl Blktrace {
    fn volume_of(&mut self, device: u32) -> Result<u32> {
        if let Some((last, number)) = self.last
            && last == device
        {
            return Ok(number);
        }
        let name = format!("{},{}", device >> 20, device & 0xf_ffff);
        let number = self.volumes.number(name.as_bytes()).ok_or_else(|| {
            Error::Malformed("the trace has more than a million devices".to_owned())
        })?;
        self.last = Some((device, number));
        Ok(number)
    }

    pub(crate) fn new(inputs: Vec<(Box<dyn Read + Send>, PathBuf)>) -> Blktrace {
        let parts = inputs
            .into_iter()
            .map(|(input, path)| Part {
                input: BufReader::with_capacity(64 << 10, input),
                path,
                read_bytes: 0,
                first_ns: None,
                next: None,
            })
            .collect();
        Blktrace {
            parts,
            pairing: Pairing::default(),
            volumes: Volumes::default(),
            last: None,
            zero_ns: 0,
            has_begun: false,
            is_over: false,
        }
    }

    /// The earliest event of all parts.
    fn next(&mut self) -> Result<Option<Found>> {
        if !self.has_begun {
            self.has_begun = true;
            for part in &mut self.parts {
                part.next = part.advance()?;
            }
            let firsts = self.parts.iter().filter_map(|part| part.first_ns);
            self.zero_ns = firsts.min().unwrap_or(0);
        }
        let first = self
            .parts
            .iter_mut()
            .filter(|part| part.next.is_some())
            .min_by_key(|part| part.next.as_ref().map(|found| found.record.time_ns));
        let Some(part) = first else { return Ok(None) };
        let found = part.next.take();
        part.next = part.advance()?;
        Ok(found)
    }
}

impl Reader for Blktrace {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let goal = batch.len() + BATCH;
        while batch.len() < goal && !self.is_over {
            let Some(mut found) = self.next()? else {
                self.pairing.end(batch);
                self.is_over = true;
                break;
            };
            found.record.volume = self.volume_of(found.device)?;
            found.record.time_ns = found.record.time_ns.saturating_sub(self.zero_ns);
            let preflush = found.action & FLUSH != 0 && found.record.operation != Operation::Flush;
            let event = Event { step: found.step, preflush, record: found.record };
            self.pairing.event(event, batch);
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.volumes.names()
    }
}

impl Part {
    /// The next event of interest, over all that are of none.
    fn advance(&mut self) -> Result<Option<Found>> {
        loop {
            let mut bytes = [0; EVENT_2_BYTES];
            let read = self.read(&mut bytes[..EVENT_BYTES])?;
            if read == 0 {
                return Ok(None);
            }
            let Some((version, swapped)) = version_of(&bytes) else {
                return Err(self.wrong("there is no event, which begins with a magic number"));
            };
            let length = if version == 8 { EVENT_2_BYTES } else { EVENT_BYTES };
            if read == EVENT_BYTES && length > read {
                let more = self.read(&mut bytes[EVENT_BYTES..])?;
                if more < length - EVENT_BYTES {
                    return Err(self.wrong("the file ends within an event"));
                }
            } else if read < EVENT_BYTES {
                return Err(self.wrong("the file ends within an event"));
            }
            let word = |at: usize| {
                let value = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                if swapped { value.swap_bytes() } else { value }
            };
            let long = |at: usize| {
                let value = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
                if swapped { value.swap_bytes() } else { value }
            };
            let (action, pid, device, cpu, tail) = if version == 8 {
                (long(32), word(28), word(40), word(44), 50)
            } else {
                (u64::from(word(28)), word(32), word(36), word(40), 46)
            };
            self.first_ns.get_or_insert(long(8));
            let payload = u16::from_le_bytes([bytes[tail], bytes[tail + 1]]);
            self.skip(if swapped { payload.swap_bytes() } else { payload })?;
            let Some(step) = step_of(action) else { continue };
            let sector = long(16);
            let length_bytes = u64::from(word(24));
            let Some(operation) = operation_of(action, length_bytes) else { continue };
            let offset_bytes = match operation {
                Operation::Flush => 0,
                _ => sector
                    .checked_mul(SECTOR_BYTES)
                    .filter(|offset| i64::try_from(*offset).is_ok())
                    .ok_or_else(|| self.wrong("the sector is no address"))?,
            };
            let record = Record {
                process: Some(pid),
                queue: Some(cpu),
                fua: action & FUA != 0
                    && matches!(operation, Operation::Write | Operation::WriteZeroes),
                ..Record::new(long(8), operation, offset_bytes, length_bytes)
            };
            return Ok(Some(Found { step, action, device, record }));
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let read =
            read_full(&mut self.input, bytes).map_err(|error| Error::reading(&self.path, error))?;
        self.read_bytes += read as u64;
        Ok(read)
    }

    fn skip(&mut self, length: u16) -> Result<()> {
        let mut waste = [0; 256];
        let mut left = usize::from(length);
        while left > 0 {
            let wanted = left.min(waste.len());
            if self.read(&mut waste[..wanted])? < wanted {
                return Err(self.wrong("the file ends within an event"));
            }
            left -= wanted;
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> Error {
        let path = self.path.display();
        Error::Malformed(format!("{path}, before byte {}: {what}", self.read_bytes))
    }
}

/// `None` of events that are no I/O of their own.
fn step_of(action: u64) -> Option<Step> {
    if action & (COMMAND | NOTIFY | DRIVER_DATA | ZONES) != 0 {
        return None;
    }
    match action & 0xffff & !ACT_OF_GROUP {
        ACT_QUEUE => Some(Step::Queue),
        ACT_REQUEUE => Some(Step::Requeue),
        ACT_ISSUE => Some(Step::Issue),
        ACT_COMPLETE => Some(Step::Complete),
        _ => None,
    }
}

fn operation_of(action: u64, length_bytes: u64) -> Option<Operation> {
    if action & DISCARD != 0 {
        Some(Operation::Discard)
    } else if action & WRITE_ZEROES != 0 {
        Some(Operation::WriteZeroes)
    } else if length_bytes == 0 {
        (action & FLUSH != 0).then_some(Operation::Flush)
    } else if action & WRITE != 0 {
        Some(Operation::Write)
    } else {
        Some(Operation::Read)
    }
}
