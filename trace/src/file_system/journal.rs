//! A journal as ext4's: a transaction ends at each flush, or when it is five seconds old.

use super::{Counts, Layout, Mode, Stage, transfers};
use crate::error::Result;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// A transaction is as old at most: ext4's `commit=5`.
const COMMIT_NS: u64 = 5_000_000_000;

/// What was changed is written in place after so long: Linux's `dirty_expire_centisecs`.
const IN_PLACE_NS: u64 = 30_000_000_000;

/// Of the journal may wait to be written in place: jbd2 begins at a quarter.
const FULL_SHARE: u64 = 4;

pub(super) struct Journal {
    mode: Mode,
    block_bytes: u64,
    /// Bytes that one bitmap describes: a block of bits.
    group_bytes: u64,
    metadata_blocks: u64,
    start_bytes: u64,
    length_bytes: u64,
    head_bytes: u64,
    /// Since the last transaction.
    began_ns: Option<u64>,
    groups: BTreeSet<u64>,
    data: Ranges,
    /// What is in the journal and not in place, and since when.
    waiting: Ranges,
    waiting_since_ns: Option<u64>,
    /// I/Os that come of it are like the last record.
    like: Record,
}

impl Journal {
    pub(super) fn new(mode: Mode, layout: &Layout, end_bytes: u64) -> Journal {
        let block_bytes = layout.cluster_bytes;
        Journal {
            mode,
            block_bytes,
            group_bytes: 8 * block_bytes * block_bytes,
            metadata_blocks: layout.metadata_blocks,
            start_bytes: end_bytes,
            length_bytes: layout.journal_bytes - layout.journal_bytes % block_bytes,
            head_bytes: 0,
            began_ns: None,
            groups: BTreeSet::new(),
            data: Ranges::default(),
            waiting: Ranges::default(),
            waiting_since_ns: None,
            like: Record::new(0, Operation::Write, 0, 0),
        }
    }

    /// What is due before a time.
    fn due(&mut self, now_ns: u64, out: &mut Vec<Record>, counts: &mut Counts) {
        loop {
            let commit = self.began_ns.map(|began| began + COMMIT_NS);
            let in_place = self.waiting_since_ns.map(|since| since + IN_PLACE_NS);
            match (commit, in_place) {
                (Some(at), other) if at <= now_ns && other.is_none_or(|other| at <= other) => {
                    self.commit(at, true, out, counts);
                }
                (_, Some(at)) if at <= now_ns => self.put_in_place(at, out, counts),
                _ => return,
            }
        }
    }

    /// Ends the transaction: its blocks, and when these are durable the block that says so.
    fn commit(&mut self, now_ns: u64, flushes: bool, out: &mut Vec<Record>, counts: &mut Counts) {
        let like = Record { time_ns: now_ns, ..self.like };
        let metadata = self.groups.len() as u64 * self.metadata_blocks * self.block_bytes;
        let data = self.data.bytes();
        // A block says where the others belong: 16 bytes for each of them.
        let tags = (16 * (metadata + data) / self.block_bytes).div_ceil(self.block_bytes).max(1);
        let length_bytes = tags * self.block_bytes + metadata + data;
        self.append(like, length_bytes, out);
        if flushes {
            out.push(Record {
                operation: Operation::Flush,
                offset_bytes: 0,
                length_bytes: 0,
                ..like
            });
        }
        self.append(Record { fua: true, ..like }, self.block_bytes, out);
        counts.commits += 1;
        counts.journal_bytes += length_bytes + self.block_bytes;
        // Metadata lie behind the journal, those of a group together.
        let behind = self.start_bytes + self.length_bytes;
        let each = self.metadata_blocks * self.block_bytes;
        for group in std::mem::take(&mut self.groups) {
            self.waiting.add(behind + group * each, each);
        }
        for (offset, length) in std::mem::take(&mut self.data).each() {
            self.waiting.add(offset, length);
        }
        self.began_ns = None;
        self.waiting_since_ns.get_or_insert(now_ns);
        if self.waiting.bytes() > self.length_bytes / FULL_SHARE {
            self.put_in_place(now_ns, out, counts);
        }
    }

    /// Writes to the end of the journal, which begins again at its start.
    fn append(&mut self, like: Record, length_bytes: u64, out: &mut Vec<Record>) {
        let mut left = length_bytes;
        while left > 0 {
            let here = left.min(self.length_bytes - self.head_bytes);
            transfers(like, self.start_bytes + self.head_bytes, here, out);
            self.head_bytes = (self.head_bytes + here) % self.length_bytes;
            left -= here;
        }
    }

    fn put_in_place(&mut self, now_ns: u64, out: &mut Vec<Record>, counts: &mut Counts) {
        let like = Record { time_ns: now_ns, ..self.like };
        for (offset, length) in std::mem::take(&mut self.waiting).each() {
            counts.checkpoint_bytes += length;
            transfers(like, offset, length, out);
        }
        self.waiting_since_ns = None;
    }
}

impl Stage for Journal {
    fn take(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()> {
        self.due(record.time_ns, out, counts);
        let Record { volume, queue, process, .. } = record;
        let write = Record::new(record.time_ns, Operation::Write, 0, 0);
        self.like = Record { volume, queue, process, ..write };
        match record.operation {
            Operation::Write => {
                self.began_ns.get_or_insert(record.time_ns);
                self.groups.insert(record.offset_bytes / self.group_bytes);
                if self.mode == Mode::Ordered {
                    out.push(record);
                } else {
                    self.data.add(record.offset_bytes, record.length_bytes);
                }
                // The journal holds no more; a write that must be durable is a transaction.
                if self.data.bytes() > self.length_bytes / FULL_SHARE
                    || (record.fua && self.mode == Mode::Data)
                {
                    self.commit(record.time_ns, true, out, counts);
                }
            }
            Operation::Flush if self.began_ns.is_some() => {
                self.commit(record.time_ns, true, out, counts);
            }
            _ => out.push(record),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()> {
        let now_ns = self.like.time_ns;
        if self.began_ns.is_some() {
            self.commit(now_ns, true, out, counts);
        }
        self.put_in_place(now_ns, out, counts);
        Ok(())
    }
}

/// Ranges of bytes that do not overlap, in their order.
#[derive(Default)]
struct Ranges {
    /// Starts with ends.
    ends: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Ranges {
    fn add(&mut self, start: u64, length: u64) {
        let (mut start, mut end) = (start, start + length);
        while let Some((&other, &other_end)) = self.ends.range(..=end).next_back()
            && other_end >= start
        {
            self.ends.remove(&other);
            self.bytes -= other_end - other;
            start = start.min(other);
            end = end.max(other_end);
        }
        self.bytes += end - start;
        self.ends.insert(start, end);
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Starts with lengths.
    fn each(self) -> impl Iterator<Item = (u64, u64)> {
        self.ends.into_iter().map(|(start, end)| (start, end - start))
    }
}
