//! The same I/O as another file system would issue it: in whole clusters, beside a journal, or as a
//! log, from another place on.
//!
//! What is modelled and what is not is in docs/file-systems.md; each part has its own file.

mod clusters;
mod journal;
mod log;

use crate::error::{Error, Result};
use crate::reader::Reader;
use crate::record::Record;
use clusters::Clusters;
use fourcorners_workload::Operation;
use journal::Journal;
use log::Log;
use serde::Deserialize;

/// Of what data are aligned to that a layout puts beside the trace's own, as partitions do.
const REGION_ALIGNMENT_BYTES: u64 = 1 << 20;

/// The most that one I/O transfers: what the block layer of Linux merges to by default is between
/// 512 KiB and 1280 KiB, by the device.
const TRANSFER_MAX_BYTES: u64 = 1 << 20;

/// A journal, and what goes through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Metadata; data are in place before the transaction that needs them (`data=ordered`).
    Ordered,
    /// Data as well (`data=journal`).
    Data,
}

/// How a file system lays out what it writes.
#[derive(Clone, Debug, Deserialize)]
pub struct Layout {
    /// What is read and written whole.
    pub cluster_bytes: u64,
    /// By how much everything lies further behind: the offset of a partition.
    pub shift_bytes: u64,
    /// What memory holds of clusters that were read or written in part.
    pub cache_bytes: u64,
    /// A journal; none unless given.
    pub journal: Option<Mode>,
    /// Its size.
    pub journal_bytes: u64,
    /// Blocks of metadata that a transaction changes for each group of blocks that it writes to.
    pub metadata_blocks: u64,
    /// First byte and length of a journal that the trace has: its I/Os are left out.
    pub without: Option<(u64, u64)>,
    /// Everything is written where a log ends; space of this share of what is used is spare.
    pub log_spare_share: Option<f64>,
}

impl Layout {
    /// # Errors
    /// It contradicts itself, or has sizes that no file system has.
    fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::Malformed(text));
        if !self.cluster_bytes.is_power_of_two() || !(512..=1 << 21).contains(&self.cluster_bytes) {
            return wrong(format!(
                "a cluster of {} bytes is none: name a power of two of 512 B to 2 MiB",
                self.cluster_bytes
            ));
        }
        if !self.shift_bytes.is_multiple_of(512) {
            return wrong(format!(
                "a shift of {} bytes is no whole number of sectors: name a multiple of 512",
                self.shift_bytes
            ));
        }
        if self.journal.is_some() && self.log_spare_share.is_some() {
            return wrong("a log-structured layout has no journal: name one of them".to_owned());
        }
        if self.journal.is_some() && self.journal_bytes < 64 * self.cluster_bytes {
            return wrong(format!(
                "a journal of {} bytes is too small: name 64 clusters or more",
                self.journal_bytes
            ));
        }
        Ok(())
    }
}

/// What became more or less by a layout.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    filling_reads: u64,
    spared_reads: u64,
    joined_writes: u64,
    left_out: u64,
    commits: u64,
    journal_bytes: u64,
    checkpoint_bytes: u64,
    moved_bytes: u64,
    discards: u64,
}

/// Where records go, what may come of them and when.
trait Stage {
    /// Takes a record, in the order of time.
    ///
    /// # Errors
    /// It has no place.
    fn take(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()>;

    /// No more records come.
    ///
    /// # Errors
    /// As [`Stage::take`].
    fn end(&mut self, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()>;
}

/// A trace under way into another layout.
pub(crate) struct LaidOut<'a> {
    reader: &'a mut dyn Reader,
    layout: Layout,
    clusters: Clusters,
    second: Option<Box<dyn Stage>>,
    counts: Counts,
    is_over: bool,
}

impl<'a> LaidOut<'a> {
    /// `end_bytes` is how far the trace's volume is used.
    ///
    /// # Errors
    /// The layout contradicts itself.
    pub(crate) fn new(
        reader: &'a mut dyn Reader,
        layout: &Layout,
        end_bytes: u64,
    ) -> Result<LaidOut<'a>> {
        layout.check()?;
        let end_bytes = end_bytes
            .next_multiple_of(layout.cluster_bytes)
            .next_multiple_of(REGION_ALIGNMENT_BYTES);
        let second: Option<Box<dyn Stage>> = match (layout.journal, layout.log_spare_share) {
            (Some(mode), _) => Some(Box::new(Journal::new(mode, layout, end_bytes))),
            (None, Some(share)) => {
                Some(Box::new(Log::new(layout.cluster_bytes, share, end_bytes)?))
            }
            (None, None) => None,
        };
        Ok(LaidOut {
            reader,
            layout: layout.clone(),
            clusters: Clusters::new(layout.cluster_bytes, layout.cache_bytes),
            second,
            counts: Counts::default(),
            is_over: false,
        })
    }

    /// What was done, in a sentence.
    pub(crate) fn said(&self) -> String {
        let Counts { filling_reads, spared_reads, joined_writes, left_out, .. } = self.counts;
        let mut said = format!(
            "laid out in clusters of {} bytes: {filling_reads} reads to fill clusters, \
             {spared_reads} reads of clusters in memory left out, {joined_writes} writes joined",
            self.layout.cluster_bytes
        );
        if left_out > 0 {
            said += &format!("; {left_out} I/Os of the old journal left out");
        }
        let Counts { commits, journal_bytes, checkpoint_bytes, moved_bytes, discards, .. } =
            self.counts;
        match (self.layout.journal, self.layout.log_spare_share) {
            (Some(mode), _) => {
                let what = match mode {
                    Mode::Ordered => "metadata",
                    Mode::Data => "data and metadata",
                };
                said += &format!(
                    "; {what} through a journal: {commits} transactions, {journal_bytes} bytes in \
                     the journal, {checkpoint_bytes} bytes of them later in place"
                );
            }
            (None, Some(share)) => {
                said += &format!(
                    "; as a log with {share} of the space spare: {moved_bytes} bytes moved to free \
                     segments, {discards} segments discarded"
                );
            }
            (None, None) => {}
        }
        if self.layout.shift_bytes > 0 {
            said += &format!("; {} bytes further behind", self.layout.shift_bytes);
        }
        said
    }

    fn of_old_journal(&self, record: &Record) -> bool {
        record.operation != Operation::Flush
            && self.layout.without.is_some_and(|(start, length)| {
                (start..start.saturating_add(length)).contains(&record.offset_bytes)
            })
    }
}

impl Reader for LaidOut<'_> {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let first = batch.len();
        let (mut taken, mut whole) = (Vec::new(), Vec::new());
        while batch.len() == first && !self.is_over {
            taken.clear();
            whole.clear();
            self.reader.fill(&mut taken)?;
            self.is_over = taken.is_empty();
            for record in &taken {
                if record.volume != 0 {
                    return Err(Error::Malformed(
                        "a file system lies on one volume, and the trace has several: keep one \
                         with \"trace cut --volume\""
                            .to_owned(),
                    ));
                }
                if self.of_old_journal(record) {
                    self.counts.left_out += 1;
                    continue;
                }
                self.clusters.take(*record, &mut whole, &mut self.counts)?;
            }
            if self.is_over {
                self.clusters.end(&mut whole, &mut self.counts)?;
            }
            match &mut self.second {
                None => batch.append(&mut whole),
                Some(stage) => {
                    for record in whole.drain(..) {
                        stage.take(record, batch, &mut self.counts)?;
                    }
                    if self.is_over {
                        stage.end(batch, &mut self.counts)?;
                    }
                }
            }
            for record in &mut batch[first..] {
                if record.operation != Operation::Flush {
                    record.offset_bytes += self.layout.shift_bytes;
                }
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.reader.volumes()
    }

    fn lost_events(&self) -> u64 {
        self.reader.lost_events()
    }
}

/// Transfers of a range, none longer than what one I/O carries.
fn transfers(like: Record, mut offset_bytes: u64, length_bytes: u64, out: &mut Vec<Record>) {
    let end_bytes = offset_bytes + length_bytes;
    while offset_bytes < end_bytes {
        let length_bytes = (end_bytes - offset_bytes).min(TRANSFER_MAX_BYTES);
        out.push(Record { offset_bytes, length_bytes, latency_ns: None, ..like });
        offset_bytes += length_bytes;
    }
}
