//! Where I/Os begin: behind another one, and at multiples of what.

use crate::record::Record;
use fourcorners_workload::Operation;
use serde::Serialize;

/// Ends of I/Os that are remembered of each operation: as many streams may go on side by side.
const STREAMS: usize = 32;

/// Alignments that are told, up to a MiB.
const ALIGNMENTS: [u64; 6] = [512, 4096, 8192, 16384, 131_072, 1 << 20];

/// Where I/Os begin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlaceFigures {
    /// Reads that begin where one of the last 32 reads of the volume ended, of all reads.
    pub sequential_read_share: Option<f64>,
    /// Writes, likewise.
    pub sequential_write_share: Option<f64>,
    /// Share of the reads and writes whose place and length are multiples of so many bytes.
    pub aligned: Vec<(u64, f64)>,
}

#[derive(Default)]
struct Ends {
    ends: [(u32, u64); STREAMS],
    next: usize,
    ios: u64,
    sequential: u64,
}

impl Ends {
    fn count(&mut self, record: &Record) {
        let begin = (record.volume, record.offset_bytes);
        let end = (record.volume, record.end_bytes());
        let known =
            self.ends[..STREAMS.min(self.ios as usize)].iter_mut().find(|one| **one == begin);
        self.ios += 1;
        if let Some(place) = known {
            self.sequential += 1;
            *place = end;
            return;
        }
        self.ends[self.next] = end;
        self.next = (self.next + 1) % STREAMS;
    }

    fn share(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.sequential as f64 / self.ios as f64)
    }
}

#[derive(Default)]
pub(super) struct Places {
    reads: Ends,
    writes: Ends,
    aligned: [u64; ALIGNMENTS.len()],
}

impl Places {
    pub(super) fn count(&mut self, record: &Record) {
        match record.operation {
            Operation::Read => self.reads.count(record),
            Operation::Write => self.writes.count(record),
            _ => return,
        }
        for (count, alignment) in self.aligned.iter_mut().zip(ALIGNMENTS) {
            *count +=
                u64::from((record.offset_bytes | record.length_bytes).is_multiple_of(alignment));
        }
    }

    pub(super) fn finish(self) -> PlaceFigures {
        let ios = self.reads.ios + self.writes.ios;
        PlaceFigures {
            sequential_read_share: self.reads.share(),
            sequential_write_share: self.writes.share(),
            aligned: match ios {
                0 => Vec::new(),
                ios => ALIGNMENTS
                    .into_iter()
                    .zip(self.aligned)
                    .map(|(alignment, count)| (alignment, count as f64 / ios as f64))
                    .collect(),
            },
        }
    }
}
