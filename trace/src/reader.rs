//! The seam of all formats: a stream of records in batches, in bounded memory.

use crate::error::Result;
use crate::record::Record;
use crate::visible::visible;
use std::collections::HashMap;

/// Records of a batch: some hundred KiB, which stay in a processor's second cache.
pub const BATCH: usize = 4096;

/// Volumes that a trace may have: names are kept in memory, and published traces have up to some
/// thousands.
pub const VOLUMES_MAX: usize = 1 << 20;

/// A stream of records.
pub trait Reader {
    /// Appends some records to `batch`: about [`BATCH`], none at the end.
    ///
    /// # Errors
    /// The trace cannot be read on.
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()>;

    /// Names of the volumes that were seen so far; a record's `volume` is a position among them.
    fn volumes(&self) -> &[String];

    /// Events that the recorder says it lost, so far.
    fn lost_events(&self) -> u64 {
        0
    }

    /// Whether records come in the order of time, or with an error where they do not: those of
    /// others are sorted.
    fn is_in_order(&self) -> bool {
        false
    }
}

/// Names of volumes as they turn up.
#[derive(Debug, Default)]
pub struct Volumes {
    names: Vec<String>,
    numbers: HashMap<Vec<u8>, u32>,
    last: Option<(Vec<u8>, u32)>,
}

impl Volumes {
    /// The number of a name. `None` where there are more than [`VOLUMES_MAX`].
    pub fn number(&mut self, name: &[u8]) -> Option<u32> {
        if let Some((last, number)) = &self.last
            && last == name
        {
            return Some(*number);
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                if self.names.len() >= VOLUMES_MAX {
                    return None;
                }
                let number = self.names.len() as u32;
                self.names.push(visible(&String::from_utf8_lossy(name)));
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        self.last = Some((name.to_owned(), number));
        Some(number)
    }

    /// All names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Records that are in memory.
#[derive(Debug)]
pub struct InMemory {
    records: Vec<Record>,
    next: usize,
    volumes: Vec<String>,
}

impl InMemory {
    /// A stream of these records.
    pub fn new(records: Vec<Record>, volumes: Vec<String>) -> InMemory {
        InMemory { records, next: 0, volumes }
    }
}

impl Reader for InMemory {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let end = (self.next + BATCH).min(self.records.len());
        batch.extend_from_slice(&self.records[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }
}

/// All records that are left, with the names of the volumes: for tests and short traces.
///
/// # Errors
/// As [`Reader::fill`].
pub fn read_all(reader: &mut dyn Reader) -> Result<(Vec<Record>, Vec<String>)> {
    let mut records = Vec::new();
    loop {
        let before = records.len();
        reader.fill(&mut records)?;
        if records.len() == before {
            return Ok((records, reader.volumes().to_vec()));
        }
    }
}
