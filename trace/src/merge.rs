//! Several traces as one, by time.

use crate::error::Result;
use crate::reader::{BATCH, Reader, Volumes};
use crate::record::Record;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records of several readers; of equal times those of the earlier reader come first. A volume is
/// one of the whole by its name. Readers in the order of time give records in that order.
pub struct Merge {
    parts: Vec<Part>,
    /// Time and part of each next record.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    volumes: Volumes,
    has_begun: bool,
}

struct Part {
    reader: Box<dyn Reader>,
    /// Added to each time.
    shift_ns: u64,
    batch: Vec<Record>,
    next: usize,
    /// Its volumes' numbers in the whole.
    numbers: Vec<u32>,
}

impl Merge {
    /// The records of all readers, each with what is added to its times.
    pub fn new(readers: Vec<(Box<dyn Reader>, u64)>) -> Merge {
        let parts = readers.into_iter().map(|(reader, shift_ns)| Part {
            reader,
            shift_ns,
            batch: Vec::new(),
            next: 0,
            numbers: Vec::new(),
        });
        Merge {
            parts: parts.collect(),
            heap: BinaryHeap::new(),
            volumes: Volumes::default(),
            has_begun: false,
        }
    }

    /// Names the next record of a part, if there is one.
    fn announce(&mut self, number: usize) -> Result<()> {
        let part = &mut self.parts[number];
        if part.next == part.batch.len() {
            part.batch.clear();
            part.next = 0;
            part.reader.fill(&mut part.batch)?;
            for record in &mut part.batch {
                record.time_ns = record.time_ns.saturating_add(part.shift_ns);
            }
            for name in &part.reader.volumes()[part.numbers.len()..] {
                let number = self.volumes.number(name.as_bytes()).ok_or_else(|| {
                    crate::Error::Malformed("the traces have more than a million volumes".into())
                })?;
                part.numbers.push(number);
            }
        }
        if let Some(record) = part.batch.get(part.next) {
            self.heap.push(Reverse((record.time_ns, number)));
        }
        Ok(())
    }
}

impl Reader for Merge {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            for number in 0..self.parts.len() {
                self.announce(number)?;
            }
        }
        for _ in 0..BATCH {
            let Some(Reverse((_, number))) = self.heap.pop() else { break };
            let part = &mut self.parts[number];
            let mut record = part.batch[part.next];
            part.next += 1;
            record.volume = part.numbers[record.volume as usize];
            batch.push(record);
            self.announce(number)?;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.volumes.names()
    }

    fn lost_events(&self) -> u64 {
        self.parts.iter().map(|part| part.reader.lost_events()).sum()
    }
}
