//! The formats that can be read, each told by its content.

mod biosnoop;
pub(crate) mod blktrace;
mod block_events;
pub(crate) mod csv_traces;
mod fio;
pub(crate) mod foreign;
mod lttng;
pub(crate) mod oracle_general;
pub(crate) mod own_csv;
pub(crate) mod parquet;
mod vscsi;
mod word_traces;

use crate::lines::{BYTE_ORDER_MARK, LineFormat, Lines, decimal, fields, integer, words};
use crate::reader::Reader;
use biosnoop::Biosnoop;
use block_events::{Blkparse, TraceEvents};
use csv_traces::{Alibaba, Etw, Msr, Spc, Systor, Tencent};
use fio::{Iolog, WriteLog};
use lttng::Lttng;
use oracle_general::OracleGeneral;
use own_csv::OwnCsv;
use std::io::Read;
use std::path::PathBuf;
use vscsi::Vscsi;
use word_traces::{DiskMon, DiskSim, Fiu, Nexus};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own.
    Parquet,
    /// Our own columns as text.
    Csv,
    /// fio's iolog, versions 1 to 3.
    FioIolog,
    /// fio's latency, bandwidth or IOPS log with offsets.
    FioLog,
    /// MSR Cambridge.
    Msr,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent's block traces.
    Tencent,
    /// SYSTOR '17.
    Systor,
    /// SPC, as UMass publishes it.
    Spc,
    /// FIU.
    Fiu,
    /// Nexus 5, of SNIA.
    Nexus,
    /// Events of Windows as text.
    Etw,
    /// libCacheSim's oracleGeneral.
    OracleGeneral,
    /// blktrace's binary events.
    Blktrace,
    /// What blkparse prints.
    Blkparse,
    /// Lines of tracefs, trace-cmd and `perf script`.
    TraceEvents,
    /// Block events of LTTng as babeltrace prints them.
    Lttng,
    /// Tables of biosnoop.
    Biosnoop,
    /// The ASCII traces of DiskSim, MQSim and SSDsim.
    DiskSim,
    /// What DiskMon of Sysinternals saves.
    DiskMon,
    /// CloudPhysics' own.
    Vscsi,
}

/// What the zero of a format's clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The first of January 1970.
    Unix,
    /// The start of the recording.
    Start,
    /// The start of the machine, or not said: times mean something from the first I/O on only.
    Uptime,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 21] = [
        Format::Parquet,
        Format::Csv,
        Format::FioIolog,
        Format::FioLog,
        Format::Msr,
        Format::Alibaba,
        Format::Tencent,
        Format::Systor,
        Format::Spc,
        Format::Fiu,
        Format::Nexus,
        Format::Etw,
        Format::OracleGeneral,
        Format::Blktrace,
        Format::Blkparse,
        Format::TraceEvents,
        Format::Lttng,
        Format::Biosnoop,
        Format::DiskSim,
        Format::DiskMon,
        Format::Vscsi,
    ];

    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::FioIolog => "fio-iolog",
            Format::FioLog => "fio-log",
            Format::Msr => "msr",
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::Systor => "systor",
            Format::Spc => "spc",
            Format::Fiu => "fiu",
            Format::Nexus => "nexus",
            Format::Etw => "etw",
            Format::OracleGeneral => "oracle-general",
            Format::Blktrace => "blktrace",
            Format::Blkparse => "blkparse",
            Format::TraceEvents => "trace-events",
            Format::Lttng => "lttng",
            Format::Biosnoop => "biosnoop",
            Format::DiskSim => "disksim",
            Format::DiskMon => "diskmon",
            Format::Vscsi => "vscsi",
        }
    }

    /// The format of a name.
    pub fn named(name: &str) -> Option<Format> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    pub(crate) const fn clock(self) -> Clock {
        match self {
            Format::Msr | Format::Alibaba | Format::Tencent | Format::Systor => Clock::Unix,
            Format::Fiu
            | Format::Nexus
            | Format::Etw
            | Format::TraceEvents
            | Format::Lttng
            | Format::Biosnoop
            | Format::Vscsi => Clock::Uptime,
            _ => Clock::Start,
        }
    }

    /// The unit of its times, as a sentence names it.
    pub(crate) const fn time_unit(self) -> &'static str {
        match self {
            Format::Msr => "100 ns since 1601",
            Format::Alibaba => "µs since 1970",
            Format::Tencent | Format::Systor => "seconds since 1970",
            Format::Spc
            | Format::OracleGeneral
            | Format::Blkparse
            | Format::TraceEvents
            | Format::Lttng
            | Format::Biosnoop
            | Format::DiskMon => "seconds",
            Format::FioIolog | Format::Etw | Format::Vscsi => "µs",
            Format::FioLog => "ms",
            Format::DiskSim => "ms where times have a point and ns where not",
            _ => "ns",
        }
    }

    /// The unit of its lengths, of formats in which the other one is often meant.
    pub(crate) const fn length_unit(self) -> Option<&'static str> {
        match self {
            Format::Msr | Format::Alibaba | Format::Systor | Format::Spc => Some("bytes"),
            Format::Tencent | Format::Fiu | Format::DiskSim | Format::DiskMon => Some("sectors"),
            _ => None,
        }
    }

    /// What it is called in a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Format::Parquet => "a trace of fourcorners",
            Format::Csv => "a trace of fourcorners as CSV",
            Format::FioIolog => "an iolog of fio",
            Format::FioLog => "a write log of fio",
            Format::Msr => "a trace of MSR Cambridge",
            Format::Alibaba => "a block trace of Alibaba",
            Format::Tencent => "a block trace of Tencent",
            Format::Systor => "a trace of SYSTOR '17",
            Format::Spc => "an SPC trace",
            Format::Fiu => "a trace of FIU",
            Format::Nexus => "a trace of the Nexus 5",
            Format::Etw => "events of Windows (ETW)",
            Format::OracleGeneral => "oracleGeneral of libCacheSim",
            Format::Blktrace => "binary events of blktrace",
            Format::Blkparse => "the output of blkparse",
            Format::TraceEvents => "block events of tracefs or perf",
            Format::Lttng => "block events of LTTng",
            Format::Biosnoop => "a table of biosnoop",
            Format::DiskSim => "an ASCII trace of DiskSim, MQSim or SSDsim",
            Format::DiskMon => "a log of DiskMon",
            Format::Vscsi => "vscsi of CloudPhysics",
        }
    }
}

/// The format of a content, by its first bytes, of which `is_whole` says whether they are all.
pub(crate) fn told_by(head: &[u8], is_whole: bool) -> Option<Format> {
    if head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    if blktrace::version_of(head).is_some() {
        return Some(Format::Blktrace);
    }
    if is_text(head) {
        return told_by_lines(head);
    }
    if Vscsi::can_be(head) {
        return Some(Format::Vscsi);
    }
    let length_fits = !is_whole || head.len().is_multiple_of(oracle_general::RECORD_BYTES);
    (length_fits && OracleGeneral::can_be(head)).then_some(Format::OracleGeneral)
}

fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| *byte >= b' ' || byte.is_ascii_whitespace() || *byte == 0x1b)
}

/// Lines that are looked at before a text is none of ours: blkparse and tracefs begin with headers.
const LINES_TRIED: usize = 200;

fn told_by_lines(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if foreign::fio_log_without_places(head).is_some() {
        return None;
    }
    let lines = head.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
    let mut lines = lines.filter(|line| !line.is_empty()).take(LINES_TRIED).peekable();
    let first = *lines.peek()?;
    if Iolog::version_of(first).is_some() {
        return Some(Format::FioIolog);
    }
    if OwnCsv::is_header(first) {
        return Some(Format::Csv);
    }
    if first == b"BeginHeader" {
        return Some(Format::Etw);
    }
    // The first line may name the columns, or be of what was going on before.
    lines.find_map(told_by_line)
}

fn told_by_line(line: &[u8]) -> Option<Format> {
    if TraceEvents::is_event(line) {
        return Some(Format::TraceEvents);
    }
    if Blkparse::is_event(line) {
        return Some(Format::Blkparse);
    }
    if Lttng::is_event(line) {
        return Some(Format::Lttng);
    }
    if Biosnoop::is_header(line) {
        return Some(Format::Biosnoop);
    }
    let is_number = |text: &[u8]| integer(text).is_some();
    let is_time = |text: &[u8]| text.contains(&b'.') && decimal(text, 9).is_some();
    let is_direction = |text: &[u8]| matches!(text, b"R" | b"W" | b"r" | b"w");
    if let Some([time, _, disk, operation, offset, _, response]) = fields::<7>(line, b',')
        && (operation.eq_ignore_ascii_case(b"Read") || operation.eq_ignore_ascii_case(b"Write"))
        && [time, disk, offset].into_iter().all(is_number)
        && is_number(response.strip_prefix(b"-").unwrap_or(response))
    {
        return Some(Format::Msr);
    }
    let columns = line.iter().filter(|byte| **byte == b',').count() + 1;
    if let Some([time, _, operation, volume, offset, length]) = fields::<6>(line, b',')
        && columns == 6
        && is_time(time)
        && is_direction(operation)
        && [volume, offset, length].into_iter().all(is_number)
    {
        return Some(Format::Systor);
    }
    if let Some(five @ [a, b, c, d, e]) = fields::<5>(line, b',') {
        if columns == 5 && is_number(a) && is_direction(b) && [c, d, e].into_iter().all(is_number) {
            return Some(Format::Alibaba);
        }
        if [a, b, c].into_iter().all(is_number) && is_direction(d) && decimal(e, 9).is_some() {
            return Some(Format::Spc);
        }
        // fio puts a blank behind each comma, Tencent none.
        if five.into_iter().all(is_number) {
            if columns == 5 && matches!(d, b"0" | b"1") && !line.contains(&b' ') {
                return Some(Format::Tencent);
            }
            return (columns >= 5 && c.len() == 1).then_some(Format::FioLog);
        }
    }
    if let Some([operation, offset, length]) = fields::<3>(line, b',')
        && columns == 3
        && matches!(operation, b"0" | b"1" | b"2")
        && is_number(offset)
        && is_number(length)
    {
        return Some(Format::FioIolog);
    }
    if let Some([time, process, _, sector, length, operation, major, minor]) = words::<8>(line) {
        let numbers = [process, sector, length, major, minor];
        if is_number(time) && numbers.into_iter().all(is_number) && is_direction(operation) {
            return Some(Format::Fiu);
        }
    }
    if let Some([sector, sectors, length, access, a, b, c, d]) = words::<8>(line)
        && [sector, sectors, length, access].into_iter().all(is_number)
        && [a, b, c, d].into_iter().all(|time| decimal(time, 9).is_some())
        && integer(sectors).and_then(|count| count.checked_mul(512)) == integer(length)
    {
        return Some(Format::Nexus);
    }
    if DiskMon::is_io(line) {
        return Some(Format::DiskMon);
    }
    DiskSim::is_io(line).then_some(Format::DiskSim)
}

/// A reader of one text, or of oracleGeneral.
///
/// # Panics
/// `format` is our Parquet, which needs a file, or blktrace, which merges several.
pub(crate) fn reader(
    format: Format,
    input: Box<dyn Read + Send>,
    path: PathBuf,
    name: &str,
) -> Box<dyn Reader> {
    fn lines<F: LineFormat + 'static>(
        input: Box<dyn Read + Send>,
        path: PathBuf,
        name: (&str, &'static str),
        format: F,
    ) -> Box<dyn Reader> {
        Box::new(Lines::new(input, path, name.0, name.1, format))
    }
    let told = (name, format.title());
    match format {
        Format::Csv => lines(input, path, told, OwnCsv::default()),
        Format::FioIolog => lines(input, path, told, Iolog::default()),
        Format::FioLog => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            // What fio calls slat is the time until the kernel had the I/O.
            let others = ["_bw.", "_iops.", "_slat."];
            let has_latencies = !others.iter().any(|one| file.contains(one));
            lines(input, path, told, WriteLog { has_latencies })
        }
        Format::Msr => lines(input, path, told, Msr::default()),
        Format::Alibaba => lines(input, path, told, Alibaba),
        Format::Tencent => lines(input, path, told, Tencent),
        Format::Systor => lines(input, path, told, Systor),
        Format::Spc => lines(input, path, told, Spc),
        Format::Fiu => lines(input, path, told, Fiu::default()),
        Format::Nexus => lines(input, path, told, Nexus),
        Format::Etw => lines(input, path, told, Etw::default()),
        Format::Blkparse => lines(input, path, told, Blkparse::default()),
        Format::TraceEvents => lines(input, path, told, TraceEvents::default()),
        Format::Lttng => lines(input, path, told, Lttng::default()),
        Format::Biosnoop => lines(input, path, told, Biosnoop::default()),
        Format::DiskSim => lines(input, path, told, DiskSim),
        Format::DiskMon => lines(input, path, told, DiskMon),
        Format::OracleGeneral => Box::new(OracleGeneral::new(input, path, name)),
        Format::Vscsi => Box::new(Vscsi::new(input, path, name)),
        Format::Parquet | Format::Blktrace => unreachable!("they are opened from files"),
    }
}
