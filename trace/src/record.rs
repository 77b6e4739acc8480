//! One I/O of a trace.

use fourcorners_workload::Operation;

/// One I/O. A value that the trace does not have is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, from the zero of the trace's clock.
    pub time_ns: u64,
    /// First byte, counted from the start of the volume; 0 of a flush.
    pub offset_bytes: u64,
    /// Length; 0 of a flush.
    pub length_bytes: u64,
    /// From issue to completion.
    pub latency_ns: Option<u64>,
    /// Number of the volume among the names that the reader knows.
    pub volume: u32,
    /// Queue or processor that issued it.
    pub queue: Option<u32>,
    /// Process that issued it.
    pub process: Option<u32>,
    /// Stream or write hint.
    pub stream: Option<u32>,
    /// What it does.
    pub operation: Operation,
    /// The write completes when its data are durable (force unit access).
    pub fua: bool,
}

impl Record {
    /// An I/O of which no more is known.
    pub const fn new(
        time_ns: u64,
        operation: Operation,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Record {
        Record {
            time_ns,
            offset_bytes,
            length_bytes,
            latency_ns: None,
            volume: 0,
            queue: None,
            process: None,
            stream: None,
            operation,
            fua: false,
        }
    }

    /// The flush that is issued before this I/O where one belongs to it.
    pub const fn flush_before(&self) -> Record {
        Record {
            offset_bytes: 0,
            length_bytes: 0,
            fua: false,
            operation: Operation::Flush,
            latency_ns: None,
            ..*self
        }
    }

    /// The byte behind the last one.
    pub const fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }
}
