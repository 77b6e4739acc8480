//! What a file seems to be that is none of the formats that are read, and what to do with it.

use crate::formats::{LINES_TRIED, is_text, oracle_general};
use crate::lines::{BYTE_ORDER_MARK, integer, quoted};
use memchr::memmem;

/// Beginnings of binary files.
const BINARY: [(&[u8], &str); 13] = [
    (b"PK\x03\x04", "it is a zip archive: unpack it with unzip"),
    (b"7z\xbc\xaf\x27\x1c", "it is an archive of 7-Zip: unpack it"),
    (b"Rar!", "it is an archive of RAR: unpack it"),
    (b"\x04\x22\x4d\x18", "it is packed by lz4: unpack it with unlz4"),
    (
        b"\x78\x9c",
        "it is packed by zlib: a log of fio's (.fz) is unpacked by fio --inflate-log=FILE",
    ),
    (b"\x1f\x9d", "it is packed by compress: unpack it with uncompress"),
    (b"PERFILE2", "it is perf's own recording: print it with perf script, which is read"),
    (b"\x17\x08\x44tracing", "it is trace-cmd's own recording: print it with trace-cmd report"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"SQLite format 3", "it is a database of SQLite"),
    (
        b"\xf0\xde\xbc\x9a\x78\x56\x34\x12",
        "it is an lcs trace of libCacheSim: make oracleGeneral of it with its traceConv",
    ),
    (b"\x7fELF", "it is a program"),
];

const UTF_16: &str =
    "it is text in UTF-16, as PowerShell writes it: make UTF-8 of it with iconv -f UTF-16 -t UTF-8";

/// Words of texts, which stand together in one of the first lines of such a file.
const TEXT: [(&[&[u8]], &str); 22] = [
    (
        &[b"version https://git-lfs"],
        "it is a pointer of Git LFS: fetch the file itself with git lfs pull",
    ),
    (&[b"<html"], "it is a page of the web, such as one that says why a download failed"),
    (&[b"<!DOCTYPE"], "it is a page of the web, such as one that says why a download failed"),
    (
        &[b"\"fio version\""],
        "it is a result of fio as JSON: read it with fourcorners import; a trace is its iolog or a \
         log with log_offset=1",
    ),
    (
        &[b"COMM", b"PID", b"DISK"],
        "it is a table of biosnoop, which does not say where I/Os went: record with fourcorners \
         capture, blktrace or perf",
    ),
    (
        &[b"COMM", b"PID", b"TYPE", b"DEV"],
        "it is a table of iosnoop: record with fourcorners capture, blktrace or perf",
    ),
    (&[b"avg-cpu"], "it is what iostat prints, which tells rates and no I/Os"),
    (
        &[b"==================== All Devices"],
        "it is what btt makes of a trace: read what blktrace wrote",
    ),
    (
        &[b"version,", b"time,", b"op,", b"lbn"],
        "it is vscsi of CloudPhysics as libCacheSim prints it: read the .vscsi file itself",
    ),
    (&[b"time", b"obj"], "it is a trace of a cache, which has objects and no places on a drive"),
    (&[b"strace"], "it is what strace prints: calls of files, and no I/O of a device"),
    (&[b"R Hit "], DISKSIM_VALIDATION),
    (&[b"W Hit "], DISKSIM_VALIDATION),
    (&[b"R Miss "], DISKSIM_VALIDATION),
    (
        &[b"Time of Day", b"Process Name", b"Operation"],
        "it is what Process Monitor prints: calls of files, and no I/O of a drive; record with \
         xperf -on DISK_IO+DISK_IO_INIT, or save what DiskMon shows",
    ),
    (
        &[b"IO Type", b"Disk Service Time"],
        "it is xperf's table of disk I/O: print the events themselves with xperf -i FILE -a dumper",
    ),
    (&[b"nvme_setup_cmd:"], DRIVER_EVENTS),
    (&[b"scsi_dispatch_cmd_start:"], DRIVER_EVENTS),
    (&[b"|@@"], "it is a histogram that bpftrace prints, which tells no I/Os"),
    (
        &[b": count", b"distribution"],
        "it is a histogram that a tool of BCC prints, which tells no I/Os",
    ),
    (
        &[b"block_id", b"io_offset", b"io_size"],
        "it is a trace of Meta's Tectonic, whose places are in blocks of a file system and not on a \
         drive",
    ),
    (
        &[b"file_offset", b"request_io_size_bytes"],
        "it is a trace of Google's storage servers, whose places are in files and not on a drive",
    ),
];

const DISKSIM_VALIDATION: &str = "it is one with which DiskSim is validated, of service times and \
                                   none of issue; DiskSim's ASCII traces are read";

const DRIVER_EVENTS: &str = "it has events of a driver and none of the block layer: record those, \
                             block_rq_issue and block_rq_complete";

/// Bytes of a text in which its words are looked for.
const WORDS_WITHIN: usize = 2048;

/// What the content seems to be, as the end of a sentence.
pub(crate) fn what_it_is(head: &[u8]) -> String {
    if let Some((_, what)) = BINARY.iter().find(|(magic, _)| head.starts_with(magic)) {
        return (*what).to_owned();
    }
    if !is_text(head) {
        let unknown = "its content is that of no format that is known";
        if head.iter().all(|byte| *byte == 0) {
            return "it begins with zeros only, as a file that was never written".to_owned();
        }
        if oracle_general::has_hashes(head) {
            return format!(
                "{unknown}; if it is oracleGeneral, its objects are hashes, such as those of a web \
                 cache, and no sectors of a drive"
            );
        }
        // That would be told, but for its length.
        if oracle_general::OracleGeneral::can_be(head) {
            return format!(
                "{unknown}; if it is oracleGeneral, it ends within an I/O, of which each has {} \
                 bytes",
                oracle_general::RECORD_BYTES
            );
        }
        return format!("{unknown}: docs/traces.md lists them");
    }
    if let Some(what) = fio_log_without_places(head) {
        return what.to_owned();
    }
    let begin = &head[..head.len().min(WORDS_WITHIN)];
    let has_all = |words: &[&[u8]]| {
        let mut lines = begin.split(|byte| *byte == b'\n');
        lines.any(|line| words.iter().all(|word| memmem::find(line, word).is_some()))
    };
    if let Some((_, what)) = TEXT.iter().find(|(words, _)| has_all(words)) {
        return (*what).to_owned();
    }
    let lines = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if matches!(lines.trim_ascii_start().first(), Some(b'{')) {
        return "it is JSON, of which no trace is read".to_owned();
    }
    let mut lines = lines.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
    let Some(first) = lines.find(|line| !line.is_empty()) else {
        return "it has empty lines only".to_owned();
    };
    format!(
        "its content is that of no format that is known, beginning with {}: docs/traces.md lists \
         them, and the columns that a CSV of your own has to name",
        quoted(first)
    )
}

/// Why a log of fio tells no I/Os, if it is one that does not.
pub(crate) fn fio_log_without_places(head: &[u8]) -> Option<&'static str> {
    // The last line may be cut off.
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').take(LINES_TRIED).collect();
    lines.pop();
    let rows: Vec<Vec<&[u8]>> = lines
        .iter()
        .map(|line| line.split(|byte| *byte == b',').map(|field| field.trim_ascii()).collect())
        .collect();
    let is_row = |(row, line): (&Vec<&[u8]>, &&[u8])| {
        row.len() >= 4
            && memmem::find(line, b", ").is_some()
            && row[..4].iter().all(|field| integer(field).is_some())
    };
    if rows.is_empty() || !rows.iter().zip(&lines).all(is_row) {
        return None;
    }
    let all = |test: &dyn Fn(&[&[u8]]) -> bool| rows.iter().all(|row| test(row));
    let is_priority = |field: &[u8]| matches!(field, b"0" | b"1") || field.starts_with(b"0x");
    if all(&|row| row.len() > 100) {
        return Some("it is fio's log of histograms, which tells no I/Os");
    }
    if all(&|row| row.len() == 4 || (row.len() == 5 && is_priority(row[4]))) {
        return Some(
            "it is a log of fio's that does not say where I/Os went: let fio write it with \
             log_offset=1",
        );
    }
    if all(&|row| row[3] == b"0" && matches!(row[2], b"0" | b"1" | b"2")) {
        return Some(
            "it is a log of fio's averages: let fio write one line for each I/O, without \
             log_avg_msec, and with log_offset=1",
        );
    }
    None
}
