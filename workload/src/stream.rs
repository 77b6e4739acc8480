//! Streams and workloads: the access specification, and its checks.

use crate::skew::{Class, HotCold, Scatter, Zipf};
use crate::uneven::Zones;
use crate::{Arrival, Content, Pattern, Replay, Sizes};
use serde::{Deserialize, Serialize};

/// Smallest unit a stream may address: one 512-byte sector.
pub const SECTOR_BYTES: u64 = 512;
/// Largest request: 1 GiB, twice the largest transfer of the reviews.
pub const BLOCK_BYTES_MAX: u32 = 1 << 30;
/// Deepest queue of one worker.
pub const QUEUE_DEPTH_MAX: u32 = 4096;
/// Most workers in one workload.
pub const WORKERS_MAX: u32 = 256;

/// One access specification (Iometer) or job (fio).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Share of operations that are reads, 0 to 1.
    pub read_fraction: f64,
    /// Bytes per request, a multiple of 512.
    pub block_bytes: u32,
    /// Order of addresses.
    pub pattern: Pattern,
    /// First byte of the span.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Length of the span; `None` reaches to the end of the target.
    #[serde(default)]
    pub span_bytes: Option<u64>,
    /// Random and strided addresses are multiples of this, plus `misalignment_bytes`.
    /// `None` means the block size; of several sizes what all of the operation's
    /// are multiples of.
    #[serde(default)]
    pub alignment_bytes: Option<u32>,
    /// Shift of every address, as a partition that begins at sector 63 shifts
    /// them (63 * 512 = 32256). A multiple of 512.
    #[serde(default)]
    pub misalignment_bytes: u32,
    /// I/Os that each worker keeps outstanding; at a given rate, the most that
    /// it has outstanding.
    #[serde(rename = "queue_depth")]
    pub queue_depth_per_worker: u32,
    /// What makes requests due.
    #[serde(default)]
    pub arrival: Arrival,
    /// Workers that run the stream side by side.
    #[serde(default = "one")]
    pub workers: u32,
    /// Content of writes.
    #[serde(default = "incompressible")]
    pub content: Content,
    /// Each worker flushes after so many of its writes, as fio's `fsync` does:
    /// the flush takes a place in its queue, waits for no write, and is not
    /// counted by a stop. `None`: never.
    #[serde(default)]
    pub flush_every_writes: Option<u32>,
    /// Writes complete when they are durable (force unit access).
    #[serde(default)]
    pub fua: bool,
    /// Requests of several sizes; the largest is `block_bytes`. `None`: all have that.
    #[serde(default)]
    pub sizes: Option<Sizes>,
    /// Reads and writes each go on where the latest of their own kind ended, as
    /// fio's do. For sequential and partly random patterns.
    #[serde(default)]
    pub separate_cursors: bool,
    /// The span is gone through in zones, with gaps between them (fio's
    /// `zonemode=strided`).
    #[serde(default)]
    pub strided_zones: Option<StridedZones>,
    /// Closed loop: completions are answered when so many places of a worker's
    /// queue are free, and then all of them (fio's `iodepth_low` and
    /// `iodepth_batch_complete_min`). 1 answers each at once.
    #[serde(default = "one")]
    pub answer_batch: u32,
    /// Closed loop: each worker pauses between its requests.
    #[serde(default)]
    pub think: Option<Think>,
    /// When the stream begins, from the start of the run, ramp included, in
    /// nanoseconds.
    #[serde(default)]
    pub start_ns: u64,
    /// When it issues its last request at the latest, counted in the same way.
    #[serde(default)]
    pub end_ns: Option<u64>,
    /// I/Os of each worker, at most.
    #[serde(default)]
    pub ios_per_worker: Option<u64>,
    /// Bytes that each worker transfers; its last request may pass them.
    #[serde(default)]
    pub bytes_per_worker: Option<u64>,
    /// I/Os of streams of one name are also counted by themselves, as fio does it for
    /// its jobs.
    #[serde(default)]
    pub job: Option<String>,
    /// The requests are those of a trace, and so are their order and times: of the
    /// other fields the queue depth, the content and, as the largest transfer, the
    /// block count.
    #[serde(default)]
    pub trace: Option<Replay>,
}

/// Pauses of a worker: after every `ios` requests it waits until all of them have
/// completed, and then `time_ns` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Requests between two pauses, from 1.
    pub ios: u32,
    /// Length of a pause, in nanoseconds.
    pub time_ns: u64,
}

/// Zones in which a span is gone through: `transferred_bytes` go to the first
/// `range_bytes`, by the stream's pattern, the next ones to as much after a gap of
/// `skip_bytes`, and so on; from the start again where the next would pass the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StridedZones {
    /// Length of a zone.
    pub range_bytes: u64,
    /// Bytes that go to it before the next.
    pub transferred_bytes: u64,
    /// Gap between two zones.
    pub skip_bytes: u64,
}

fn one() -> u32 {
    1
}

fn incompressible() -> Content {
    Content::Incompressible
}

/// What ends a workload: the first limit that is reached. Time counts from the
/// end of the ramp; I/Os and bytes are shared evenly by all workers, and count
/// from the start. The limits of one I/O and of errors end it as a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Measured time, in nanoseconds.
    #[serde(default)]
    pub time_ns: Option<u64>,
    /// Number of I/Os.
    #[serde(default)]
    pub ios: Option<u64>,
    /// Bytes transferred.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Longest that one I/O may take, in nanoseconds. One that takes longer ends
    /// the run, and what is still outstanding then is given up.
    #[serde(default)]
    pub io_ns: Option<u64>,
    /// Failed I/Os that are counted and passed over. The next one ends the run.
    #[serde(default)]
    pub tolerated_errors: u64,
}

/// Streams that run together, and what ends them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// At least one stream.
    pub streams: Vec<Stream>,
    /// At least one limit.
    pub stop: Stop,
    /// Time before measuring starts, in nanoseconds.
    #[serde(default)]
    pub ramp_ns: u64,
    /// Root of all randomness in the workload.
    #[serde(default)]
    pub seed: u64,
    /// Measured I/Os of which each is kept, at most; 0 keeps none.
    #[serde(default)]
    pub log_ios: u64,
}

/// Why a workload cannot run. Each message says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub String);

pub(crate) fn reject<T>(message: impl Into<String>) -> Result<T, WorkloadError> {
    Err(WorkloadError(message.into()))
}

impl Workload {
    /// Parses a workload from JSON; the field names are those of the structs.
    ///
    /// # Errors
    /// Malformed JSON, unknown or missing fields.
    pub fn from_json(text: &str) -> Result<Self, WorkloadError> {
        serde_json::from_str(text).map_err(|error| WorkloadError(format!("workload: {error}")))
    }

    /// Checks the workload against a target of `capacity_bytes`.
    ///
    /// # Errors
    /// The first rule that is broken, in one sentence.
    pub fn check(&self, capacity_bytes: u64) -> Result<(), WorkloadError> {
        if self.streams.is_empty() {
            return reject("a workload needs at least one stream");
        }
        let stop = self.stop;
        let ends = |s: &Stream| {
            s.end_ns.is_some()
                || s.ios_per_worker.is_some()
                || s.bytes_per_worker.is_some()
                || s.trace.is_some()
        };
        if stop.time_ns.is_none()
            && stop.ios.is_none()
            && stop.bytes.is_none()
            && !self.streams.iter().all(ends)
        {
            return reject("a workload needs a stop: time, a number of I/Os, or bytes");
        }
        if stop.io_ns == Some(0) {
            return reject("a limit of zero for one I/O ends every run; give a positive limit");
        }
        if stop.time_ns == Some(0) || stop.ios == Some(0) || stop.bytes == Some(0) {
            return reject("a stop of zero would measure nothing; give a positive limit");
        }
        let workers: u64 = self.streams.iter().map(|s| u64::from(s.workers)).sum();
        if workers > u64::from(WORKERS_MAX) {
            return reject(format!("{workers} workers are more than the limit of {WORKERS_MAX}"));
        }
        let traces = self.streams.iter().filter(|s| s.trace.is_some()).count();
        if traces > 0 && (self.streams.len() > 1 || workers > 1) {
            return reject("a trace is replayed alone: by one worker, and beside no other stream");
        }
        for (index, stream) in self.streams.iter().enumerate() {
            stream
                .check(capacity_bytes)
                .map_err(|error| WorkloadError(format!("stream {}: {error}", index + 1)))?;
        }
        Ok(())
    }

    /// Requests that each worker of `stream` gets from its start to its end or that
    /// of the workload, ramp included; without a limit in time there is no such number.
    pub(crate) fn arrivals_in_time(&self, stream: &Stream) -> u64 {
        let per_worker_s = stream.arrival.rate_per_s().unwrap_or(0.0) / f64::from(stream.workers);
        let whole_ns = self.stop.time_ns.map(|time_ns| time_ns.saturating_add(self.ramp_ns));
        whole_ns.into_iter().chain(stream.end_ns).min().map_or(u64::MAX, |end_ns| {
            (end_ns.saturating_sub(stream.start_ns) as f64 / 1e9 * per_worker_s).ceil() as u64
        })
    }

    /// Whether any stream writes.
    pub fn writes(&self) -> bool {
        let of_trace = |s: &Stream| s.trace.as_ref().is_some_and(|trace| trace.writes);
        self.streams.iter().any(|s| s.read_fraction < 1.0 || of_trace(s))
    }
}

/// Where the requests of a stream may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The first of them.
    pub base_bytes: u64,
    /// From one to the next.
    pub grid_bytes: u64,
    /// How many there are.
    pub count: u64,
}

impl Stream {
    /// Parses a stream from JSON; the field names are those of the struct.
    ///
    /// # Errors
    /// Malformed JSON, unknown or missing fields.
    pub fn from_json(text: &str) -> Result<Self, WorkloadError> {
        serde_json::from_str(text).map_err(|error| WorkloadError(format!("stream: {error}")))
    }

    /// A closed loop of one worker at queue depth 1 over the whole target, with
    /// incompressible writes.
    pub fn new(read_fraction: f64, pattern: Pattern, block_bytes: u32) -> Self {
        Self {
            read_fraction,
            block_bytes,
            pattern,
            offset_bytes: 0,
            span_bytes: None,
            alignment_bytes: None,
            misalignment_bytes: 0,
            queue_depth_per_worker: 1,
            arrival: Arrival::Closed,
            workers: one(),
            content: incompressible(),
            flush_every_writes: None,
            fua: false,
            sizes: None,
            separate_cursors: false,
            strided_zones: None,
            answer_batch: one(),
            think: None,
            start_ns: 0,
            end_ns: None,
            ios_per_worker: None,
            bytes_per_worker: None,
            job: None,
            trace: None,
        }
    }

    /// Where its requests may begin on a target of `capacity_bytes` on which it
    /// may run.
    pub fn places(&self, capacity_bytes: u64) -> Places {
        let block = u64::from(self.block_bytes);
        let span = self.strided_zones.map(|zones| zones.range_bytes);
        let span = span.unwrap_or_else(|| self.span_bytes(capacity_bytes));
        let usable = span - u64::from(self.misalignment_bytes);
        let (grid_bytes, count) = match &self.sizes {
            None if self.pattern.walks() => (block, usable / block),
            Some(sizes) if self.pattern.walks() => {
                let grid = u64::from(sizes.grid_bytes());
                (grid, (usable - block) / grid + 1)
            }
            _ => (self.alignment_bytes(), (usable - block) / self.alignment_bytes() + 1),
        };
        let base_bytes = self.offset_bytes + u64::from(self.misalignment_bytes);
        Places { base_bytes, grid_bytes, count }
    }

    /// Which of `count` places are asked for how often: classes of ranks, and
    /// how ranks lie scattered over the places; `None` where the rank is the
    /// place. Normal and self-similar patterns are
    /// not told apart by class: they count as uniform.
    pub fn popularity(&self, count: u64) -> (Vec<Class>, Option<Scatter>) {
        match self.pattern {
            Pattern::Sequential
            | Pattern::PartlyRandom { .. }
            | Pattern::Runs { .. }
            | Pattern::Strided { .. }
            | Pattern::Permuted
            | Pattern::Normal { .. }
            | Pattern::Pareto { .. }
            | Pattern::Random => (vec![Class { ranks: 0..count, accesses: 1.0 }], None),
            Pattern::Zoned { ref zones } => (Zones::new(count, zones).classes(), None),
            Pattern::Zipf { exponent } => {
                (Zipf::new(count, exponent).classes(), Some(Scatter::fixed(count)))
            }
            Pattern::HotCold { data, accesses } => {
                (HotCold::new(count, data, accesses).classes(), Some(Scatter::fixed(count)))
            }
        }
    }

    /// The aligned grid that random addresses fall on, in bytes: by default the
    /// block size, of several sizes what all are multiples of.
    pub fn alignment_bytes(&self) -> u64 {
        let natural = || self.sizes.as_ref().map_or(self.block_bytes, Sizes::grid_bytes);
        u64::from(self.alignment_bytes.unwrap_or_else(natural))
    }

    /// Length of the span on a target of `capacity_bytes`.
    pub fn span_bytes(&self, capacity_bytes: u64) -> u64 {
        self.span_bytes.unwrap_or_else(|| capacity_bytes.saturating_sub(self.offset_bytes))
    }

    /// Checks the stream against a target of `capacity_bytes`.
    ///
    /// # Errors
    /// The first rule that is broken, in one sentence.
    pub fn check(&self, capacity_bytes: u64) -> Result<(), WorkloadError> {
        let block = u64::from(self.block_bytes);
        if block == 0 || !block.is_multiple_of(SECTOR_BYTES) || self.block_bytes > BLOCK_BYTES_MAX {
            return reject(format!(
                "block size of {block} bytes: use a multiple of 512 up to {BLOCK_BYTES_MAX}"
            ));
        }
        if !(0.0..=1.0).contains(&self.read_fraction) {
            return reject(format!(
                "read fraction {}: use a number from 0 to 1",
                self.read_fraction
            ));
        }
        let depth = self.queue_depth_per_worker;
        if depth == 0 || depth > QUEUE_DEPTH_MAX {
            return reject(format!("queue depth {depth}: use 1 to {QUEUE_DEPTH_MAX}"));
        }
        if self.workers == 0 {
            return reject("0 workers: use at least 1");
        }
        self.arrival.check()?;
        if let Content::Compressible(percent) = self.content
            && (percent == 0 || percent > 100)
        {
            return reject(format!("compressible to {percent} %: use 1 to 100"));
        }
        if let Content::Duplicated(percent) = self.content
            && (percent == 0 || percent > 99)
        {
            return reject(format!("duplicated by {percent} %: use 1 to 99, or repeated content"));
        }
        if self.flush_every_writes == Some(0) {
            return reject("a flush every 0 writes: use at least 1, or leave it out");
        }
        if self.read_fraction >= 1.0 && (self.fua || self.flush_every_writes.is_some()) {
            return reject("flushes and forced unit access are for streams that write");
        }
        let alignment = self.alignment_bytes();
        if alignment == 0 || !alignment.is_multiple_of(SECTOR_BYTES) {
            return reject(format!("alignment of {alignment} bytes: use a multiple of 512"));
        }
        if !u64::from(self.misalignment_bytes).is_multiple_of(SECTOR_BYTES) {
            return reject(format!(
                "misalignment of {} bytes: use a multiple of 512",
                self.misalignment_bytes
            ));
        }
        if !self.offset_bytes.is_multiple_of(SECTOR_BYTES)
            || self.span_bytes.is_some_and(|s| !s.is_multiple_of(SECTOR_BYTES))
        {
            return reject("offset and span: use multiples of 512 bytes");
        }
        if let Some(replay) = &self.trace {
            return replay.check(capacity_bytes);
        }
        self.pattern.check(alignment)?;
        self.check_course()?;
        let span = self.span_bytes(capacity_bytes);
        let end = self.offset_bytes.checked_add(span);
        if end.is_none_or(|end| end > capacity_bytes) {
            return reject(format!(
                "span of {span} bytes at offset {} passes the end of the target ({capacity_bytes} bytes)",
                self.offset_bytes
            ));
        }
        let room = self.strided_zones.map_or(span, |zones| zones.range_bytes);
        if room > span {
            return reject(format!(
                "a zone of {room} bytes does not fit in a span of {span} bytes"
            ));
        }
        if room < block + u64::from(self.misalignment_bytes) {
            return reject(format!(
                "a block of {block} bytes does not fit in a span of {room} bytes"
            ));
        }
        Ok(())
    }

    /// Checks how its requests follow one another.
    fn check_course(&self) -> Result<(), WorkloadError> {
        if let Some(sizes) = &self.sizes {
            sizes.check(self.block_bytes)?;
            if matches!(self.pattern, Pattern::Permuted | Pattern::Strided { .. }) {
                return reject(
                    "a pattern that visits every place once, or in strides, is for one size",
                );
            }
        }
        if self.separate_cursors && !self.pattern.walks() {
            return reject("places of their own for reads and writes are for sequential access");
        }
        if let Some(zones) = self.strided_zones {
            let whole = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
            if zones.range_bytes == 0
                || zones.transferred_bytes == 0
                || !whole(zones.range_bytes)
                || !whole(zones.skip_bytes)
            {
                return reject("zones: use multiples of 512 bytes, and more than 0 to transfer");
            }
            if self.workers > 1 && matches!(self.pattern, Pattern::Strided { .. }) {
                return reject("zones: strides of several workers cannot be kept apart");
            }
        }
        let open = self.arrival != Arrival::Closed;
        if self.answer_batch == 0 || self.answer_batch > self.queue_depth_per_worker {
            return reject(format!(
                "answers in batches of {}: use 1 to the queue depth, {}",
                self.answer_batch, self.queue_depth_per_worker
            ));
        }
        if open && (self.answer_batch > 1 || self.think.is_some()) {
            return reject("pauses and batches are for closed loops, not for a given rate");
        }
        if self.think.is_some_and(|think| think.ios == 0) {
            return reject("a pause after every 0 I/Os: use at least 1");
        }
        if self.end_ns.is_some_and(|end_ns| end_ns <= self.start_ns) {
            return reject("a stream that ends before it begins would measure nothing");
        }
        if self.ios_per_worker == Some(0) || self.bytes_per_worker == Some(0) {
            return reject("a limit of zero for a stream would measure nothing");
        }
        Ok(())
    }
}
