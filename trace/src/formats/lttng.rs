//! Block events of LTTng, as babeltrace prints them.

use crate::formats::block_events::{io_of, step_of};
use crate::lines::{LineFormat, Out, Wrong, decimal, integer, quoted};
use crate::pairing::{Event, Pairing};
use crate::record::Record;
use memchr::memmem;

const DAY_NS: u64 = 86_400_000_000_000;

// What the number `rwbs` means (lttng-modules, `include/instrumentation/events/block.h`).
const WRITE: u64 = 1 << 0;
const DISCARD: u64 = 1 << 1;
const READ: u64 = 1 << 2;
const FLUSH: u64 = 1 << 8;
const FUA: u64 = 1 << 9;
const PREFLUSH: u64 = 1 << 10;

/// `[13:05:12.123456789] (+0.000000123) host block_rq_issue: { cpu_id = 1 }, { dev = 8388608,
/// sector = 2048, nr_sector = 8, bytes = 4096, tid = 97, rwbs = 33, comm = "fio" }`: the time of the
/// day, or seconds of Unix time with `--clock-seconds`. Write-zeroes have no mark of their own and
/// are left out.
#[derive(Default)]
pub(crate) struct Lttng {
    pairing: Pairing,
    has_bios: bool,
    /// Midnights that have passed.
    days: u64,
    last_ns: u64,
}

/// The name of the event and what it says.
fn event_of(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"[")?;
    let start = memmem::find(rest, b" block_")? + 1;
    let length = memmem::find(&rest[start..], b": { ")?;
    let name = &rest[start..start + length];
    let is_name = name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    is_name.then(|| (name, &rest[start + length..]))
}

impl Lttng {
    /// Whether a line is an event of the block layer.
    pub(crate) fn is_event(line: &[u8]) -> bool {
        event_of(line).is_some_and(|(_, said)| number(said, " rwbs = ").is_some())
    }

    /// Nanoseconds from the midnight before the first event, or since 1970.
    fn time(&mut self, line: &[u8]) -> Result<u64, Wrong> {
        let end = memchr::memchr(b']', line).unwrap_or(line.len());
        let text = &line[1..end];
        // A date comes first where it was asked for; what counts is the time from the first I/O.
        let clock = text.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let mut parts = clock.rsplit(|byte| *byte == b':');
        let seconds = parts.next().and_then(|text| decimal(text, 9));
        let mut units = [60_000_000_000, 3_600_000_000_000].into_iter();
        let time_ns = parts.try_fold(seconds, |sum, part| {
            let unit_ns = units.next()?;
            Some(sum?.checked_add(integer(part)?.checked_mul(unit_ns)?))
        });
        let time_ns = time_ns
            .flatten()
            .filter(|value| i64::try_from(*value).is_ok())
            .ok_or_else(|| format!("the time {} is none", quoted(text)))?;
        // babeltrace prints events in their order.
        if time_ns + DAY_NS / 2 < self.last_ns {
            self.days += 1;
        }
        self.last_ns = time_ns;
        Ok(time_ns + self.days * DAY_NS)
    }
}

impl LineFormat for Lttng {
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong> {
        let Some((name, said)) = event_of(line) else { return Ok(()) };
        let Some(step) = step_of(name, &mut self.has_bios) else { return Ok(()) };
        // The name of the program comes last, and can be anything.
        let said = &said[..memmem::find(said, b", comm = ").unwrap_or(said.len())];
        let field = |name: &str| {
            number(said, name)
                .ok_or_else(|| format!("it has no number for{name}").replace(" = ", ""))
        };
        let (device, sector) = (field(" dev = ")?, field(" sector = ")?);
        let (sectors, flags) = (field(" nr_sector = ")?, field(" rwbs = ")?);
        let is_flush = flags & FLUSH != 0 && flags & (WRITE | READ | DISCARD) == 0;
        let mut letters = Vec::with_capacity(3);
        // Before Linux 4.8 a write had FLUSH for a flush before it.
        if flags & (PREFLUSH | FLUSH) != 0 {
            letters.push(b'F');
        }
        letters.push(match flags {
            _ if is_flush => b'F',
            flags if flags & DISCARD != 0 => b'D',
            flags if flags & WRITE != 0 => b'W',
            flags if flags & READ != 0 => b'R',
            _ => return Ok(()),
        });
        if flags & FUA != 0 {
            letters.push(b'F');
        }
        let sector = match sector {
            _ if is_flush => 0,
            // A command of the driver has no place.
            u64::MAX => return Ok(()),
            sector => sector,
        };
        let length_bytes =
            sectors
                .checked_mul(512)
                .filter(|value| i64::try_from(*value).is_ok())
                .ok_or_else(|| format!("the number of sectors {sectors} is too large to be one"))?;
        let time_ns = self.time(line)?;
        let Some((preflush, io)) = io_of(&letters, time_ns, sector, length_bytes)? else {
            return Ok(());
        };
        let small = |name| number(said, name).and_then(|value| u32::try_from(value).ok());
        let record = Record {
            volume: out.volume(format!("{},{}", device >> 20, device & 0xf_ffff).as_bytes())?,
            queue: small(" cpu_id = "),
            process: small(" tid = "),
            ..io
        };
        self.pairing.event(Event { step, preflush, record }, out.records);
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.pairing.end(out.records);
    }
}

/// The number behind ` name = `; the last one, since contexts come first.
fn number(said: &[u8], name: &str) -> Option<u64> {
    let rest = &said[memmem::rfind(said, name.as_bytes())? + name.len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    integer(&rest[..digits])
}
