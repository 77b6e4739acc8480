//! Block events as text: what blkparse prints, and lines of tracefs, `perf script` and trace-cmd.

use crate::formats::csv_traces::{SECTOR_BYTES, seconds};
use crate::lines::{LineFormat, Out, Wrong, integer, quoted};
use crate::pairing::{Event, Pairing, Step};
use crate::record::Record;
use crate::rwbs;
use fourcorners_workload::Operation;
use memchr::memmem;

/// `8,0 3 1 0.000000000 697 D W 223490 + 8 [name]`: device, processor, number, seconds, process,
/// action, letters, and where it has blocks sector and sectors (blkparse's manual, its default
/// output). Summaries and messages are other lines.
#[derive(Default)]
pub(crate) struct Blkparse {
    pairing: Pairing,
}

impl Blkparse {
    /// Whether a line is an event: it begins with a device, a processor and a number.
    pub(crate) fn is_event(line: &[u8]) -> bool {
        let mut words = words_of(line);
        let (Some(device), Some(processor), Some(number), Some(time)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return false;
        };
        is_device(device)
            && integer(processor).is_some()
            && integer(number).is_some()
            && time.contains(&b'.')
    }
}

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if !Self::is_event(line) {
            return Ok(());
        }
        let mut words = words_of(line);
        let mut next = |what: &str| words.next().ok_or_else(|| format!("it has no {what}"));
        let device = next("device")?;
        let processor = next("processor")?;
        next("number")?;
        let time = next("time")?;
        let process = next("process")?;
        let step = match next("action")? {
            b"Q" => Step::Queue,
            b"D" => Step::Issue,
            b"R" => Step::Requeue,
            b"C" => Step::Complete,
            _ => return Ok(()),
        };
        let letters = next("letters")?;
        let (sector, sectors) = match (words.next(), words.next(), words.next()) {
            (Some(sector), Some(b"+"), Some(sectors)) => (
                integer(sector)
                    .ok_or_else(|| format!("the sector {} is no number", quoted(sector)))?,
                integer(sectors)
                    .ok_or_else(|| format!("the length {} is no number", quoted(sectors)))?,
            ),
            // A flush has no place, and ends with a process or an error; a command of the driver
            // has bytes.
            (Some(end), ..) | (Some(_), Some(end), _) if matches!(end[0], b'[' | b'(') => (0, 0),
            _ => {
                return Err("it does not say where, as SECTOR + SECTORS: let blkparse print its \
                            default output, without -f"
                    .to_owned());
            }
        };
        let time_ns = seconds(time, "time")?;
        let Some((preflush, mut record)) = record(letters, time_ns, sector, sectors)? else {
            return Ok(());
        };
        record.volume = out.volume(device)?;
        record.queue = small(processor);
        record.process = small(process);
        self.pairing.event(Event { step, preflush, record }, out.records);
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.pairing.end(out.records);
    }
}

/// `name-123 [000] d..1. 12.345678: block_rq_issue: 8,0 WS 4096 () 2048 + 8 [name]` of tracefs and
/// trace-cmd, and `name 123 [000] 12.345678: block:block_rq_issue: ...` of `perf script` (Linux,
/// `include/trace/events/block.h`).
#[derive(Default)]
pub(crate) struct TraceEvents {
    pairing: Pairing,
    /// Whether what file systems queue was recorded: `block_io_start` then says it once more.
    has_bios: bool,
}

impl TraceEvents {
    /// Whether a line is an event of the block layer: its name and a colon, which texts about
    /// events do not have behind it.
    pub(crate) fn is_event(line: &[u8]) -> bool {
        let Some(place) = place_of_event(line) else { return false };
        let behind = |byte: &u8| !byte.is_ascii_lowercase() && *byte != b'_';
        line[place..].iter().copied().find(behind) == Some(b':')
    }
}

/// Where the name of the event begins.
fn place_of_event(line: &[u8]) -> Option<usize> {
    let colon = memmem::find(line, b": block_").map(|at| at + 2);
    let perf = || memmem::find(line, b" block:block_").map(|at| at + 7);
    colon.or_else(perf)
}

impl LineFormat for TraceEvents {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        if let Some(lost) = lost_events(line) {
            *out.lost += lost;
            return Ok(());
        }
        let Some(place) = place_of_event(line) else { return Ok(()) };
        let (before, event) = line.split_at(place);
        let Some(colon) = memmem::find(event, b":") else { return Ok(()) };
        let Some(step) = step_of(&event[..colon], &mut self.has_bios) else { return Ok(()) };
        let before = before.strip_suffix(b"block:").unwrap_or(before);
        let mut rest = words_of(&event[colon + 1..]);
        let device = rest.next().filter(|word| is_device(word)).ok_or("it names no device")?;
        let letters = rest.next().ok_or("it has no letters that say what it is")?;
        let mut last: &[u8] = b"";
        let mut found = None;
        while let Some(word) = rest.next() {
            if word == b"+" {
                found = integer(last).zip(rest.next().and_then(integer));
                break;
            }
            last = word;
        }
        let (sector, sectors) = found.ok_or("it does not say where: SECTOR + SECTORS")?;
        let time = words_of(before)
            .filter_map(|word| word.strip_suffix(b":"))
            .next_back()
            .ok_or("it has no time")?;
        let time_ns = seconds(time, "time")?;
        // What has no place is printed with the last of all numbers: commands, and flushes that
        // have completed.
        let sector = match sector {
            u64::MAX if letters.starts_with(b"F") => 0,
            u64::MAX => return Ok(()),
            sector => sector,
        };
        let Some((preflush, mut record)) = record(letters, time_ns, sector, sectors)? else {
            return Ok(());
        };
        record.volume = out.volume(device)?;
        (record.queue, record.process) = who(before);
        self.pairing.event(Event { step, preflush, record }, out.records);
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.pairing.end(out.records);
    }
}

/// What an event of the kernel says of an I/O, by its name; `has_bios` is whether there were events of
/// what file systems queue, which `block_io_start` says once more.
pub(crate) fn step_of(name: &[u8], has_bios: &mut bool) -> Option<Step> {
    let step = match name {
        b"block_bio_queue" => Step::Queue,
        b"block_bio_complete" => Step::QueuedComplete,
        b"block_io_start" if !*has_bios => Step::Queue,
        b"block_io_done" if !*has_bios => Step::QueuedComplete,
        b"block_rq_issue" => Step::Issue,
        b"block_rq_requeue" => Step::Requeue,
        b"block_rq_complete" => Step::Complete,
        _ => return None,
    };
    *has_bios |= name.starts_with(b"block_bio_");
    Some(step)
}

/// Processor and process, of what stands before the event.
fn who(before: &[u8]) -> (Option<u32>, Option<u32>) {
    let mut last: &[u8] = b"";
    for word in words_of(before) {
        let inside = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"));
        if let Some(processor) = inside.and_then(small) {
            let process = last.rsplit(|byte| *byte == b'-' || *byte == b'/').next();
            return (Some(processor), process.and_then(small));
        }
        // `(1234)` or `(   1234)` is the group of threads.
        if !word.starts_with(b"(") && !word.ends_with(b")") {
            last = word;
        }
    }
    (None, None)
}

/// `CPU:2 [LOST 123 EVENTS]`.
fn lost_events(line: &[u8]) -> Option<u64> {
    let rest = &line[memmem::find(line, b"[LOST ")? + 6..];
    integer(rest.split(|byte| *byte == b' ').next()?)
}

/// What the letters and the place say. `None` for what is no I/O.
fn record(
    letters: &[u8],
    time_ns: u64,
    sector: u64,
    sectors: u64,
) -> Result<Option<(bool, Record)>, Wrong> {
    io_of(letters, time_ns, sector, bytes_of(sectors, "number of sectors")?)
}

fn bytes_of(sectors: u64, what: &str) -> Result<u64, Wrong> {
    sectors
        .checked_mul(SECTOR_BYTES)
        .filter(|value| i64::try_from(*value).is_ok())
        .ok_or_else(|| format!("the {what} {sectors} is too large to be one"))
}

/// An I/O by its letters, and whether a flush comes before it. `None` for what is no I/O.
pub(crate) fn io_of(
    letters: &[u8],
    time_ns: u64,
    sector: u64,
    length_bytes: u64,
) -> Result<Option<(bool, Record)>, Wrong> {
    let said = rwbs::parse(letters, length_bytes)
        .ok_or_else(|| format!("the letters {} say no operation", quoted(letters)))?;
    let Some(operation) = said.operation else { return Ok(None) };
    if operation == Operation::Flush {
        return Ok(Some((false, Record::new(time_ns, operation, 0, 0))));
    }
    if length_bytes == 0 {
        // Of an empty write with a flush before it the flush is all there is.
        let flush = Record::new(time_ns, Operation::Flush, 0, 0);
        return Ok(said.preflush.then_some((false, flush)));
    }
    let record = Record::new(time_ns, operation, bytes_of(sector, "sector")?, length_bytes);
    Ok(Some((said.preflush, Record { fua: said.fua, ..record })))
}

pub(crate) fn words_of(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// `8,0`.
fn is_device(word: &[u8]) -> bool {
    let mut parts = word.splitn(2, |byte| *byte == b',');
    parts.next().and_then(integer).is_some() && parts.next().and_then(integer).is_some()
}

fn small(text: &[u8]) -> Option<u32> {
    integer(text).and_then(|value| u32::try_from(value).ok())
}
