//! Records in the order of time, in bounded memory.
//!
//! Most traces are nearly in order. Two windows of records are sorted in memory at a time; where a
//! record lies further back than that, everything is read again and sorted through temporary files.

use crate::error::{Error, Result};
use crate::reader::Reader;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

/// Records that are sorted in memory: some 20 MB.
const WINDOW: usize = 1 << 18;

/// Records of a run on disk that are in memory while runs are merged.
const RUN_BUFFER: usize = 1 << 10;

/// Bytes of a record on disk.
const SPILLED_BYTES: usize = 64;

/// Calls `use_them` with the records of `open` in the order of time; of equal times in the order in
/// which they were read. Where records lie far out of order `use_them` is called again, from the
/// start: what the first call made is void.
///
/// # Errors
/// What reading or `use_them` returned.
pub fn in_order<T>(
    mut open: impl FnMut() -> Result<Box<dyn Reader>>,
    mut use_them: impl FnMut(&mut dyn Reader) -> Result<T>,
) -> Result<T> {
    let mut reader = open()?;
    if reader.is_in_order() {
        return use_them(&mut *reader);
    }
    let mut windowed = Windowed {
        reader,
        held: Vec::new(),
        fresh: Vec::new(),
        next: 0,
        ready: 0,
        is_over: false,
        last_ns: 0,
    };
    match use_them(&mut windowed) {
        Err(Error::Disorder) => use_them(&mut Spilled::new(open()?)?),
        result => result,
    }
}

/// Sorted within windows.
struct Windowed {
    reader: Box<dyn Reader>,
    /// Sorted; those before `ready` come before everything that was not read yet, as far as
    /// can be told.
    held: Vec<Record>,
    fresh: Vec<Record>,
    next: usize,
    ready: usize,
    is_over: bool,
    last_ns: u64,
}

impl Windowed {
    fn advance(&mut self) -> Result<()> {
        self.held.drain(..self.next);
        self.next = 0;
        self.fresh.clear();
        while self.fresh.len() < WINDOW && !self.is_over {
            let before = self.fresh.len();
            self.reader.fill(&mut self.fresh)?;
            self.is_over = self.fresh.len() == before;
        }
        // A sort that keeps the order of equals, and is fast where runs are in order.
        if !self.fresh.is_sorted_by_key(|record| record.time_ns) {
            self.fresh.sort_by_key(|record| record.time_ns);
        }
        if self.fresh.first().is_some_and(|record| record.time_ns < self.last_ns) {
            return Err(Error::Disorder);
        }
        let held_last_ns = self.held.last().map_or(0, |record| record.time_ns);
        if self.held.is_empty() {
            std::mem::swap(&mut self.held, &mut self.fresh);
            self.ready = if self.is_over { self.held.len() } else { 0 };
        } else {
            let in_order = self.fresh.first().is_none_or(|record| record.time_ns >= held_last_ns);
            self.ready = self.held.len();
            self.held.append(&mut self.fresh);
            if !in_order {
                self.held.sort_by_key(|record| record.time_ns);
            }
            if self.is_over {
                self.ready = self.held.len();
            }
        }
        if self.ready > 0 {
            self.last_ns = self.held[self.ready - 1].time_ns;
        }
        Ok(())
    }
}

impl Reader for Windowed {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        while self.next == self.ready {
            if self.is_over {
                return Ok(());
            }
            self.advance()?;
        }
        let end = self.ready.min(self.next + crate::reader::BATCH);
        batch.extend_from_slice(&self.held[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.reader.volumes()
    }

    fn lost_events(&self) -> u64 {
        self.reader.lost_events()
    }
}

/// Sorted through runs in a temporary file, which has no name.
struct Spilled {
    file: File,
    runs: Vec<Run>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    volumes: Vec<String>,
    lost: u64,
}

struct Run {
    at_bytes: u64,
    end_bytes: u64,
    records: Vec<Record>,
    next: usize,
}

impl Spilled {
    fn new(mut reader: Box<dyn Reader>) -> Result<Spilled> {
        let spill = |error| Error::writing(&std::env::temp_dir(), error);
        let mut file = tempfile::tempfile().map_err(spill)?;
        let mut runs = Vec::new();
        let mut records = Vec::new();
        let mut at_bytes = 0;
        loop {
            let before = records.len();
            reader.fill(&mut records)?;
            let is_over = records.len() == before;
            if is_over || records.len() >= WINDOW {
                records.sort_by_key(|record| record.time_ns);
                let mut writer = BufWriter::with_capacity(1 << 20, &mut file);
                for record in &records {
                    writer.write_all(&packed(record)).map_err(spill)?;
                }
                writer.flush().map_err(spill)?;
                drop(writer);
                let end_bytes = at_bytes + (records.len() * SPILLED_BYTES) as u64;
                runs.push(Run { at_bytes, end_bytes, records: Vec::new(), next: 0 });
                at_bytes = end_bytes;
                records.clear();
            }
            if is_over {
                break;
            }
        }
        let mut spilled = Spilled {
            file,
            runs,
            heap: BinaryHeap::new(),
            volumes: reader.volumes().to_vec(),
            lost: reader.lost_events(),
        };
        for number in 0..spilled.runs.len() {
            spilled.announce(number)?;
        }
        Ok(spilled)
    }

    fn announce(&mut self, number: usize) -> Result<()> {
        let run = &mut self.runs[number];
        if run.next == run.records.len() {
            run.records.clear();
            run.next = 0;
            let left = (run.end_bytes - run.at_bytes).min((RUN_BUFFER * SPILLED_BYTES) as u64);
            let mut bytes = vec![0; left as usize];
            self.file
                .seek(SeekFrom::Start(run.at_bytes))
                .and_then(|_| self.file.read_exact(&mut bytes))
                .map_err(|error| Error::reading(&std::env::temp_dir(), error))?;
            run.at_bytes += left;
            run.records.extend(bytes.chunks_exact(SPILLED_BYTES).map(unpacked));
        }
        if let Some(record) = run.records.get(run.next) {
            self.heap.push(Reverse((record.time_ns, number)));
        }
        Ok(())
    }
}

impl Reader for Spilled {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        for _ in 0..crate::reader::BATCH {
            let Some(Reverse((_, number))) = self.heap.pop() else { break };
            let run = &mut self.runs[number];
            batch.push(run.records[run.next]);
            run.next += 1;
            self.announce(number)?;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }

    fn lost_events(&self) -> u64 {
        self.lost
    }
}

/// On disk: eight bytes for each of five numbers, four for each of four, and which are there.
fn packed(record: &Record) -> [u8; SPILLED_BYTES] {
    let mut bytes = [0; SPILLED_BYTES];
    let longs =
        [record.time_ns, record.offset_bytes, record.length_bytes, record.latency_ns.unwrap_or(0)];
    for (place, value) in bytes.chunks_exact_mut(8).zip(longs) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    let words = [
        record.volume,
        record.queue.unwrap_or(0),
        record.process.unwrap_or(0),
        record.stream.unwrap_or(0),
    ];
    for (place, value) in bytes[32..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes[48] = record.operation as u8;
    bytes[49] = u8::from(record.fua)
        | u8::from(record.latency_ns.is_some()) << 1
        | u8::from(record.queue.is_some()) << 2
        | u8::from(record.process.is_some()) << 3
        | u8::from(record.stream.is_some()) << 4;
    bytes
}

fn unpacked(bytes: &[u8]) -> Record {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let has = |bit: u8| bytes[49] >> bit & 1 == 1;
    Record {
        time_ns: long(0),
        offset_bytes: long(8),
        length_bytes: long(16),
        latency_ns: has(1).then(|| long(24)),
        volume: word(32),
        queue: has(2).then(|| word(36)),
        process: has(3).then(|| word(40)),
        stream: has(4).then(|| word(44)),
        operation: Operation::ALL[usize::from(bytes[48])],
        fua: has(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{InMemory, read_all};
    use proptest::prelude::*;

    fn shuffled(times: &[u64]) -> Vec<Record> {
        let record = |(number, time): (usize, &u64)| Record {
            latency_ns: number.is_multiple_of(3).then_some(7),
            stream: number.is_multiple_of(2).then_some(number as u32),
            fua: number.is_multiple_of(5),
            ..Record::new(*time, Operation::ALL[number % 5], number as u64 * 512, 4096)
        };
        times.iter().enumerate().map(record).collect()
    }

    fn sorted(records: &[Record]) -> Vec<Record> {
        let open = || Ok(Box::new(InMemory::new(records.to_vec(), vec![])) as Box<dyn Reader>);
        in_order(open, |reader| read_all(reader)).expect("it can be read").0
    }

    #[test]
    fn records_far_out_of_order_are_sorted_through_a_file() {
        // The last ones are earlier than all others, three windows before.
        let count = 3 * WINDOW as u64;
        let times: Vec<u64> = (0..count).map(|number| (number + 1000) % count).collect();
        let records = shuffled(&times);
        let mut expected = records.clone();
        expected.sort_by_key(|record| record.time_ns);
        assert!(sorted(&records) == expected);
    }

    #[test]
    fn windows_overlap() {
        let count = 3 * WINDOW as u64;
        let times: Vec<u64> = (0..count).map(|number| number ^ 0x1ff).collect();
        let records = shuffled(&times);
        let mut expected = records.clone();
        expected.sort_by_key(|record| record.time_ns);
        assert!(sorted(&records) == expected);
    }

    proptest! {
        #[test]
        fn short_traces_are_sorted_and_equals_keep_their_order(
            times in prop::collection::vec(0u64..20, 0..200)
        ) {
            let records = shuffled(&times);
            let mut expected = records.clone();
            expected.sort_by_key(|record| record.time_ns);
            prop_assert_eq!(sorted(&records), expected);
        }
    }
}
