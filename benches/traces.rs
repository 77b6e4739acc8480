//! How fast traces are read, on one core.
//!
//! `cargo bench -p fourcorners-trace [-- --write docs/performance.md]` prints records read per
//! second of a file of each kind, or writes them between the marks of that file; half a minute.
//! The I/Os are random: 4 KiB at any place of 1 TB, every 100 µs in the mean, a third of them
//! writes. Files lie in memory as far as the system keeps them there. The figures are in processor
//! time of the one thread that reads; each is the median of the repeats.

mod tables;

use fourcorners_trace::{Format, Input, Operation, Record, write};
use std::path::{Path, PathBuf};

const RECORDS: u64 = 4_000_000;
const REPEATS: usize = 5;

fn main() {
    let folder = std::env::temp_dir().join(format!("fourcorners-traces-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("there is room");
    let mut table = "| trace | million records per second |\n| --- | ---: |\n".to_owned();
    for (title, path) in files(&folder) {
        let mut rates: Vec<f64> = (0..REPEATS).map(|_| rate(&path)).collect();
        rates.sort_by(f64::total_cmp);
        table += &format!("| {title} | {:.1} |\n", rates[REPEATS / 2] / 1e6);
    }
    let _ = std::fs::remove_dir_all(&folder);
    tables::give("traces.rs", &table);
}

fn rate(path: &Path) -> f64 {
    let input = Input::open(path, None).expect("it is a trace");
    let mut reader = input.reader().expect("it opens");
    let mut batch = Vec::new();
    let mut read = 0;
    let start = processor_time();
    loop {
        batch.clear();
        reader.fill(&mut batch).expect("it is whole");
        if batch.is_empty() {
            break;
        }
        read += batch.len();
    }
    assert_eq!(read as u64, RECORDS);
    RECORDS as f64 / (processor_time() - start)
}

fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn records() -> Vec<Record> {
    let mut state: u64 = 1;
    // xorshift64: no more than different numbers are needed.
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut time_ns = 0;
    let record = |_| {
        time_ns += random() % 200_000;
        let write = random() % 3 == 0;
        let operation = if write { Operation::Write } else { Operation::Read };
        let place = random() % 244_140_625 * 4096;
        Record {
            latency_ns: Some(10_000 + random() % 100_000),
            ..Record::new(time_ns, operation, place, 4096)
        }
    };
    (0..RECORDS).map(record).collect()
}

fn files(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let records = records();
    let volumes = ["8,0".to_owned()];
    let mut found = Vec::new();
    for (title, name, format) in [
        ("oracleGeneral", "a.bin", Format::OracleGeneral),
        ("our own Parquet", "a.parquet", Format::Parquet),
        ("our own CSV", "a.csv", Format::Csv),
        ("blktrace", "a.blktrace", Format::Blktrace),
        ("fio's iolog", "a.iolog", Format::FioIolog),
    ] {
        let path = folder.join(name);
        let input_header = fourcorners_trace::Header {
            schema_version: 1,
            volumes: volumes.to_vec(),
            ..Default::default()
        };
        let mut writer = write::create(&path, format, None).expect("there is room");
        for batch in records.chunks(4096) {
            writer.write(batch, &volumes).expect("there is room");
        }
        writer.finish(&input_header).expect("there is room");
        found.push((title, path));
    }
    let alibaba: String = records
        .iter()
        .map(|one| {
            let letter = if one.operation == Operation::Write { 'W' } else { 'R' };
            let time_us = 1_577_808_144_000_000 + one.time_ns / 1000;
            format!("1,{letter},{},{},{time_us}\n", one.offset_bytes, one.length_bytes)
        })
        .collect();
    let msr: String = records
        .iter()
        .map(|one| {
            let word = if one.operation == Operation::Write { "Write" } else { "Read" };
            let time = 128_166_372_000_000_000 + one.time_ns / 100;
            format!("{time},usr,0,{word},{},{},41286\n", one.offset_bytes, one.length_bytes)
        })
        .collect();
    for (title, name, text) in [("Alibaba's CSV", "b.csv", alibaba), ("MSR's CSV", "m.csv", msr)] {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("there is room");
        found.push((title, path));
    }
    let packed = folder.join("a.bin.zst");
    let whole = std::fs::File::open(folder.join("a.bin")).expect("it was written");
    let file = std::fs::File::create(&packed).expect("there is room");
    zstd::stream::copy_encode(whole, file, 3).expect("there is room");
    found.push(("oracleGeneral in zstd", packed));
    found
}
