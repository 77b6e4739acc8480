//! A log-structured layout as F2FS has it: all that is written goes behind what was written last,
//! and segments with little in them are emptied when there is no free one.

use super::{Counts, Stage, transfers};
use crate::error::{Error, Result};
use crate::record::Record;
use fourcorners_workload::Operation;
use std::collections::{HashMap, VecDeque};

/// F2FS's segment.
const SEGMENT_BYTES: u64 = 2 << 20;

/// Clusters that a map may have: 64 GiB of those of 4 KiB, and some 2 GB of memory.
const CLUSTERS_MAX: u64 = 1 << 24;

/// Free segments that are left when emptying begins: one to write to, one to move to.
const FREE_MIN: usize = 2;

pub(super) struct Log {
    cluster_bytes: u64,
    per_segment: u64,
    /// Places of clusters in the log, and back.
    place_of: HashMap<u64, u64>,
    cluster_at: HashMap<u64, u64>,
    /// Clusters that count, of each segment.
    valid: Vec<u64>,
    free: VecDeque<u64>,
    is_free: Vec<bool>,
    /// The next place, and how many the segment has left.
    next: u64,
    left: u64,
}

impl Log {
    /// # Errors
    /// There are too many clusters.
    pub(super) fn new(cluster_bytes: u64, spare_share: f64, used_bytes: u64) -> Result<Log> {
        if !(spare_share > 0.0 && spare_share <= 10.0) {
            return Err(Error::Malformed(format!(
                "a log cannot have {spare_share} of its space spare: name a share above 0, such as 0.1"
            )));
        }
        if used_bytes / cluster_bytes > CLUSTERS_MAX {
            return Err(Error::Malformed(format!(
                "a log of {} clusters is too large to keep in memory: fold the trace onto {} bytes \
                 or name larger clusters",
                used_bytes / cluster_bytes,
                CLUSTERS_MAX * cluster_bytes
            )));
        }
        let segment_bytes = SEGMENT_BYTES.max(cluster_bytes);
        let used = used_bytes.div_ceil(segment_bytes);
        let count = used + ((used as f64 * spare_share).ceil() as u64).max(2 * FREE_MIN as u64);
        Ok(Log {
            cluster_bytes,
            per_segment: segment_bytes / cluster_bytes,
            place_of: HashMap::new(),
            cluster_at: HashMap::new(),
            valid: vec![0; count as usize],
            free: (1..count).collect(),
            is_free: (0..count).map(|segment| segment > 0).collect(),
            next: 0,
            left: segment_bytes / cluster_bytes,
        })
    }

    fn forget(&mut self, cluster: u64) {
        if let Some(place) = self.place_of.remove(&cluster) {
            self.cluster_at.remove(&place);
            self.valid[(place / self.per_segment) as usize] -= 1;
        }
    }

    /// The next place of the log.
    fn place(&mut self, cluster: u64) -> u64 {
        self.forget(cluster);
        if self.left == 0 {
            self.next_segment();
        }
        let place = self.next;
        self.next += 1;
        self.left -= 1;
        self.place_of.insert(cluster, place);
        self.cluster_at.insert(place, cluster);
        self.valid[(place / self.per_segment) as usize] += 1;
        place
    }

    /// Goes to another segment at the end of one.
    fn go_on(&mut self, like: Record, out: &mut Vec<Record>, counts: &mut Counts) {
        if self.left > 0 {
            return;
        }
        self.next_segment();
        while self.free.len() < FREE_MIN {
            self.empty_one(like, out, counts);
        }
    }

    fn next_segment(&mut self) {
        let next = self.free.pop_front().expect("one is kept to move to");
        self.is_free[next as usize] = false;
        self.next = next * self.per_segment;
        self.left = self.per_segment;
    }

    /// Moves what counts out of the segment that has least of it.
    fn empty_one(&mut self, like: Record, out: &mut Vec<Record>, counts: &mut Counts) {
        let current = (self.next - u64::from(self.left == 0)) / self.per_segment;
        let victim = (0..self.valid.len() as u64)
            .filter(|segment| *segment != current && !self.is_free[*segment as usize])
            .min_by_key(|segment| self.valid[*segment as usize])
            .expect("there are more segments than free ones");
        let places = victim * self.per_segment..(victim + 1) * self.per_segment;
        let found: Vec<(u64, u64)> = places
            .filter_map(|place| self.cluster_at.get(&place).map(|cluster| (place, *cluster)))
            .collect();
        let runs = runs(found.iter().map(|(place, _)| *place));
        for (place, count) in runs {
            let read = Record { operation: Operation::Read, fua: false, ..like };
            transfers(read, place * self.cluster_bytes, count * self.cluster_bytes, out);
        }
        let clusters: Vec<u64> = found.iter().map(|(_, cluster)| *cluster).collect();
        counts.moved_bytes += clusters.len() as u64 * self.cluster_bytes;
        self.append(Record { operation: Operation::Write, fua: false, ..like }, &clusters, out);
        self.free.push_back(victim);
        self.is_free[victim as usize] = true;
        counts.discards += 1;
        out.push(Record {
            operation: Operation::Discard,
            fua: false,
            latency_ns: None,
            offset_bytes: victim * self.per_segment * self.cluster_bytes,
            length_bytes: self.per_segment * self.cluster_bytes,
            ..like
        });
    }

    /// Writes clusters to the end of the log, without emptying segments for it.
    fn append(&mut self, like: Record, clusters: &[u64], out: &mut Vec<Record>) {
        let places: Vec<u64> = clusters.iter().map(|cluster| self.place(*cluster)).collect();
        for (place, count) in runs(places.into_iter()) {
            transfers(like, place * self.cluster_bytes, count * self.cluster_bytes, out);
        }
    }

    /// The clusters that a record has whole or in part.
    fn clusters(&self, record: &Record) -> std::ops::Range<u64> {
        record.offset_bytes / self.cluster_bytes..record.end_bytes().div_ceil(self.cluster_bytes)
    }
}

impl Stage for Log {
    fn take(&mut self, record: Record, out: &mut Vec<Record>, counts: &mut Counts) -> Result<()> {
        match record.operation {
            Operation::Flush => out.push(record),
            Operation::Read => {
                // What was written before the trace began is read where it was.
                let places: Vec<u64> = self
                    .clusters(&record)
                    .map(|one| self.place_of.get(&one).copied().unwrap_or(one))
                    .collect();
                for (place, count) in runs(places.into_iter()) {
                    transfers(record, place * self.cluster_bytes, count * self.cluster_bytes, out);
                }
            }
            Operation::Write | Operation::WriteZeroes => {
                let like = Record { operation: Operation::Write, ..record };
                let mut clusters: Vec<u64> = self.clusters(&record).collect();
                // No more at a time than what is left of the segment.
                while !clusters.is_empty() {
                    self.go_on(like, out, counts);
                    let here = clusters.len().min(self.left as usize);
                    let now: Vec<u64> = clusters.drain(..here).collect();
                    self.append(like, &now, out);
                }
            }
            Operation::Discard => self.clusters(&record).for_each(|cluster| self.forget(cluster)),
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Record>, _: &mut Counts) -> Result<()> {
        Ok(())
    }
}

/// Numbers that follow one another, as first ones with counts.
fn runs(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => found.push((number, 1)),
        }
    }
    found
}
