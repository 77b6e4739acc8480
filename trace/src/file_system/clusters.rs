//! Everything is read and written in whole clusters, as by a page cache that keeps whole ones.

use super::{Counts, Stage};
use crate::error::Result;
use crate::record::Record;
use fourcorners_workload::Operation;
use std::collections::{HashMap, VecDeque};

/// Writes of one pass of writing back follow one another this closely, on a slow drive as well.
const WRITTEN_BACK_NS: u64 = 100_000_000;

pub(super) struct Clusters {
    cluster_bytes: u64,
    known: Recent,
    /// A write that others may join, and whether it was made larger.
    held: Option<(Record, bool)>,
}

impl Clusters {
    pub(super) fn new(cluster_bytes: u64, cache_bytes: u64) -> Clusters {
        let count = (cache_bytes / cluster_bytes) as usize;
        Clusters { cluster_bytes, known: Recent::new(count), held: None }
    }

    /// The record in whole clusters.
    fn rounded(&self, record: Record) -> Record {
        let offset_bytes = record.offset_bytes - record.offset_bytes % self.cluster_bytes;
        let end_bytes = record.end_bytes().next_multiple_of(self.cluster_bytes);
        let length_bytes = end_bytes - offset_bytes;
        let unchanged = length_bytes == record.length_bytes;
        let latency_ns = record.latency_ns.filter(|_| unchanged);
        Record { offset_bytes, length_bytes, latency_ns, ..record }
    }

    /// The first and the last cluster, where the record has only a part of it.
    fn partial(&self, record: &Record) -> impl Iterator<Item = u64> + use<> {
        let (start, end) = (record.offset_bytes, record.end_bytes());
        let first = start / self.cluster_bytes;
        let last = (end - 1) / self.cluster_bytes;
        let first_is = !start.is_multiple_of(self.cluster_bytes)
            || (first == last && !end.is_multiple_of(self.cluster_bytes));
        let last_is = first != last && !end.is_multiple_of(self.cluster_bytes);
        let first = first_is.then_some(first);
        first.into_iter().chain(last_is.then_some(last))
    }

    /// Reads what is not in memory. Where a cluster is because a smaller part of it was asked for,
    /// the trace does not know it; what the trace itself reads again was not in memory.
    fn read(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) {
        let rounded = self.rounded(record);
        let each = self.cluster_bytes;
        let mut partial = self.partial(&record).peekable();
        let mut missing: Option<Record> = None;
        let before = out.len();
        for cluster in rounded.offset_bytes / each..rounded.end_bytes() / each {
            let is_partial = partial.next_if_eq(&cluster).is_some();
            if self.known.has(cluster) == Some(true) {
                out.extend(missing.take());
                continue;
            }
            self.known.add(cluster, is_partial);
            let read = missing.get_or_insert(Record {
                offset_bytes: cluster * each,
                length_bytes: 0,
                latency_ns: None,
                ..record
            });
            read.length_bytes += each;
            if *read == (Record { latency_ns: None, ..record }) {
                read.latency_ns = record.latency_ns;
            } else {
                read.latency_ns = None;
            }
        }
        if missing.is_none() && out.len() == before {
            counts.spared_reads += 1;
        }
        out.extend(missing);
    }

    fn write(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) {
        let rounded = self.rounded(record);
        let is_larger = rounded.length_bytes > record.length_bytes;
        let joins = self.held.is_some_and(|(held, held_is_larger)| {
            (is_larger || held_is_larger)
                && !held.fua
                && !record.fua
                && rounded.offset_bytes < held.end_bytes()
                && held.offset_bytes < rounded.end_bytes()
                && record.time_ns - held.time_ns < WRITTEN_BACK_NS
        });
        if !joins {
            self.let_go(out);
        }
        for cluster in self.partial(&record) {
            if self.known.has(cluster).is_none() {
                counts.filling_reads += 1;
                let offset_bytes = cluster * self.cluster_bytes;
                let read =
                    Record::new(record.time_ns, Operation::Read, offset_bytes, self.cluster_bytes);
                let Record { volume, queue, process, .. } = record;
                out.push(Record { volume, queue, process, ..read });
            }
            self.known.add(cluster, true);
        }
        let each = self.cluster_bytes;
        for cluster in record.offset_bytes.div_ceil(each)..record.end_bytes() / each {
            self.known.add(cluster, false);
        }
        match &mut self.held {
            Some((held, held_is_larger)) => {
                counts.joined_writes += 1;
                let end_bytes = held.end_bytes().max(rounded.end_bytes());
                held.offset_bytes = held.offset_bytes.min(rounded.offset_bytes);
                held.length_bytes = end_bytes - held.offset_bytes;
                // It is written when the last part of it is there.
                held.time_ns = record.time_ns;
                held.latency_ns = None;
                *held_is_larger = true;
            }
            None => self.held = Some((rounded, is_larger)),
        }
    }

    fn let_go(&mut self, out: &mut Vec<Record>) {
        if let Some((held, _)) = self.held.take() {
            // Reads that fill a cluster may lie behind it, at the same time or later.
            let place = out.iter().rposition(|one| one.time_ns <= held.time_ns);
            out.insert(place.map_or(0, |place| place + 1), held);
        }
    }
}

impl Stage for Clusters {
    fn take(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()> {
        if record.length_bytes > 0 && record.operation == Operation::Write {
            self.write(record, out, counts);
            return Ok(());
        }
        self.let_go(out);
        match record.operation {
            Operation::Read if record.length_bytes > 0 => self.read(record, out, counts),
            // Only whole clusters become free.
            Operation::Discard => {
                let start = record.offset_bytes.next_multiple_of(self.cluster_bytes);
                let end = record.end_bytes() - record.end_bytes() % self.cluster_bytes;
                if start < end {
                    out.push(Record { offset_bytes: start, length_bytes: end - start, ..record });
                }
            }
            _ => out.push(record),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Record>, _: &mut Counts) -> Result<()> {
        self.let_go(out);
        Ok(())
    }
}

/// The clusters that were used last, at most so many, and whether more of them was transferred than
/// the trace has.
struct Recent {
    most: usize,
    used: u64,
    when: HashMap<u64, (u64, bool)>,
    order: VecDeque<(u64, u64)>,
}

impl Recent {
    fn new(most: usize) -> Recent {
        Recent { most, used: 0, when: HashMap::new(), order: VecDeque::new() }
    }

    fn has(&mut self, cluster: u64) -> Option<bool> {
        let (_, is_larger) = *self.when.get(&cluster)?;
        self.add(cluster, is_larger);
        Some(is_larger)
    }

    fn add(&mut self, cluster: u64, is_larger: bool) {
        if self.most == 0 {
            return;
        }
        self.used += 1;
        self.when.insert(cluster, (self.used, is_larger));
        self.order.push_back((cluster, self.used));
        // An entry of one that was used again since counts for nothing.
        while self.when.len() > self.most || self.order.len() > 2 * self.most + 16 {
            let Some((oldest, used)) = self.order.pop_front() else { break };
            if self.when.get(&oldest).is_none_or(|(when, _)| *when != used) {
                continue;
            }
            if self.when.len() > self.most {
                self.when.remove(&oldest);
            } else {
                self.order.push_back((oldest, used));
            }
        }
    }
}
