//! What is in a trace, in one pass and bounded memory.

mod arrivals;
mod blocks;
mod outstanding;
mod over_time;
mod places;

use crate::error::Result;
use crate::input::{Header, Input};
use crate::reader::Reader;
use crate::record::Record;
use crate::transform::{GoOn, whole};
pub use arrivals::{ArrivalFigures, Dispersion, DurabilityFigures};
use arrivals::{Arrivals, Durability};
pub use blocks::BlockFigures;
use blocks::Blocks;
use fourcorners_recording::Latencies;
use fourcorners_workload::Operation;
use outstanding::Outstanding;
pub use outstanding::QueueFigures;
use over_time::OverTime;
pub use over_time::{Interval, TimeFigures};
pub use places::PlaceFigures;
use places::Places;
use serde::Serialize;
use std::collections::BTreeMap;

/// Lengths that are counted one by one; of more, the others are counted together.
const LENGTHS_MAX: usize = 4096;

/// Volumes that have figures of their own.
const VOLUMES_SHOWN: usize = 1000;

/// Shares of a distribution and the values there.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Quantiles {
    /// Values that were counted.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// 90 of 100 are not above it.
    pub p90: u64,
    /// 99 of 100 are not above it.
    pub p99: u64,
    /// 999 of 1000 are not above it.
    pub p999: u64,
    /// The largest.
    pub max: u64,
}

impl Quantiles {
    /// Of a histogram, whose buckets are 0.1 % wide; `None` of an empty one.
    pub(crate) fn of(values: &Latencies) -> Option<Quantiles> {
        let max = values.max_ns()?;
        let buckets: Vec<(u64, u64)> =
            values.buckets().map(|(_, high, count)| (high, count)).collect();
        let count: u64 = buckets.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let wanted = (share * count as f64).ceil().max(1.0) as u64;
            let mut seen = 0;
            for (high, count) in &buckets {
                seen += count;
                if seen >= wanted {
                    return (*high).min(max);
                }
            }
            max
        };
        Some(Quantiles {
            count,
            mean: values.sum_ns() as f64 / count as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max,
        })
    }
}

/// What an operation does in a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OperationFigures {
    /// I/Os.
    pub ios: u64,
    /// What they are long together.
    pub bytes: u64,
    /// Those with FUA.
    pub fua_ios: u64,
    /// From issue to completion, of those where it was recorded, in ns.
    pub latency_ns: Option<Quantiles>,
    /// I/Os of each length, at most some thousands of lengths; the longest of more are counted
    /// at 0.
    pub lengths: BTreeMap<u64, u64>,
}

/// What a volume does in a trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VolumeFigures {
    /// Its name.
    pub name: String,
    /// I/Os of each operation.
    pub ios: BTreeMap<&'static str, u64>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// The byte behind the last one that was used.
    pub end_bytes: u64,
}

/// What is in a trace.
#[derive(Debug, Serialize)]
pub struct Information {
    /// What it says about itself.
    pub header: Header,
    /// I/Os.
    pub ios: u64,
    /// The first one's time, on the clock of the trace.
    pub first_ns: u64,
    /// From the first issue to the last one.
    pub length_ns: u64,
    /// What all times are multiples of: a second, a ms, a µs, 100 ns or a ns.
    pub time_step_ns: u64,
    /// By name.
    pub operations: BTreeMap<&'static str, OperationFigures>,
    /// The byte behind the last one that was used, of the volume where it is largest.
    pub end_bytes: u64,
    /// The blocks that were used, and how often.
    pub blocks: BlockFigures,
    /// Where I/Os begin.
    pub places: PlaceFigures,
    /// When they come.
    pub arrivals: ArrivalFigures,
    /// I/Os outstanding, where latencies were recorded.
    pub queue: Option<QueueFigures>,
    /// What is made durable, and when.
    pub durability: DurabilityFigures,
    /// The trace in equal intervals.
    pub over_time: TimeFigures,
    /// By number; the first thousand.
    pub volumes: Vec<VolumeFigures>,
}

/// Reads `inputs` as one trace.
///
/// # Errors
/// They are no trace, or `go_on` said no.
pub fn inform(inputs: &[Input], go_on: GoOn<'_>) -> Result<Information> {
    whole(inputs, go_on, |mut reader| {
        let mut counting = Counting::default();
        let mut batch = Vec::new();
        loop {
            batch.clear();
            reader.fill(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for record in &batch {
                counting.count(record);
            }
        }
        let mut header = crate::transform::header_of(inputs);
        header.volumes = reader.volumes().to_vec();
        header.lost_events = reader.lost_events();
        let dated = inputs.iter().all(|input| input.zero_unix_ns().is_some());
        header.start_unix_ns = dated.then(|| reader.shifted_ns());
        Ok(counting.finish(header))
    })
}

#[derive(Default)]
struct Counted {
    ios: u64,
    bytes: u64,
    fua_ios: u64,
    latencies: Latencies,
    lengths: BTreeMap<u64, u64>,
}

#[derive(Clone, Default)]
struct Volume {
    ios: [u64; Operation::COUNT],
    read_bytes: u64,
    written_bytes: u64,
    end_bytes: u64,
}

/// The pass under way.
#[derive(Default)]
struct Counting {
    ios: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    /// Of all times, the greatest common step.
    step: TimeStep,
    operations: [Counted; Operation::COUNT],
    end_bytes: u64,
    blocks: Blocks,
    places: Places,
    arrivals: Arrivals,
    outstanding: Outstanding,
    durability: Durability,
    over_time: OverTime,
    volumes: Vec<Volume>,
}

/// The steps that clocks of traces go in.
const STEPS_NS: [u64; 5] = [1_000_000_000, 1_000_000, 1_000, 100, 1];

/// What all times are multiples of.
#[derive(Default)]
pub(crate) struct TimeStep(usize);

impl TimeStep {
    pub(crate) fn count(&mut self, time_ns: u64) {
        while !time_ns.is_multiple_of(STEPS_NS[self.0]) {
            self.0 += 1;
        }
    }

    pub(crate) fn ns(&self) -> u64 {
        STEPS_NS[self.0]
    }
}

impl Counting {
    fn count(&mut self, record: &Record) {
        self.ios += 1;
        let first_ns = *self.first_ns.get_or_insert(record.time_ns);
        self.last_ns = self.last_ns.max(record.time_ns);
        self.step.count(record.time_ns);
        let counted = &mut self.operations[record.operation.index()];
        counted.ios += 1;
        counted.bytes = counted.bytes.saturating_add(record.length_bytes);
        counted.fua_ios += u64::from(record.fua);
        if let Some(latency_ns) = record.latency_ns {
            counted.latencies.record(latency_ns);
        }
        if counted.lengths.len() < LENGTHS_MAX || counted.lengths.contains_key(&record.length_bytes)
        {
            *counted.lengths.entry(record.length_bytes).or_default() += 1;
        } else {
            *counted.lengths.entry(0).or_default() += 1;
        }
        self.end_bytes = self.end_bytes.max(record.end_bytes());
        let number = record.volume as usize;
        if number < VOLUMES_SHOWN {
            if self.volumes.len() <= number {
                self.volumes.resize(number + 1, Volume::default());
            }
            let volume = &mut self.volumes[number];
            volume.ios[record.operation.index()] += 1;
            match record.operation {
                Operation::Read => volume.read_bytes += record.length_bytes,
                Operation::Write => volume.written_bytes += record.length_bytes,
                _ => {}
            }
            volume.end_bytes = volume.end_bytes.max(record.end_bytes());
        }
        self.places.count(record);
        self.arrivals.count(record.time_ns);
        self.outstanding.count(record);
        self.durability.count(record);
        self.over_time.count(record, record.time_ns - first_ns);
        let Counting { blocks, over_time, .. } = self;
        blocks.count(record, &mut |hash, sampled| over_time.block(hash, sampled));
    }

    fn finish(self, header: Header) -> Information {
        let named = |(operation, counted): (Operation, Counted)| {
            let figures = OperationFigures {
                ios: counted.ios,
                bytes: counted.bytes,
                fua_ios: counted.fua_ios,
                latency_ns: Quantiles::of(&counted.latencies),
                lengths: counted.lengths,
            };
            (counted.ios > 0).then_some((operation.name(), figures))
        };
        let volume = |(volume, name): (Volume, &String)| VolumeFigures {
            name: name.clone(),
            ios: Operation::ALL
                .into_iter()
                .filter(|one| volume.ios[one.index()] > 0)
                .map(|one| (one.name(), volume.ios[one.index()]))
                .collect(),
            read_bytes: volume.read_bytes,
            written_bytes: volume.written_bytes,
            end_bytes: volume.end_bytes,
        };
        let first_ns = self.first_ns.unwrap_or(0);
        Information {
            ios: self.ios,
            first_ns,
            length_ns: self.last_ns - first_ns,
            time_step_ns: self.step.ns(),
            operations: Operation::ALL.into_iter().zip(self.operations).filter_map(named).collect(),
            end_bytes: self.end_bytes,
            blocks: self.blocks.finish(),
            places: self.places.finish(),
            arrivals: self.arrivals.finish(self.step.ns()),
            queue: self.outstanding.finish(),
            durability: self.durability.finish(),
            over_time: self.over_time.finish(),
            volumes: self.volumes.into_iter().zip(&header.volumes).map(volume).collect(),
            header,
        }
    }
}
