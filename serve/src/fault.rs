//! What may go wrong with a served drive on purpose, and when.

use fourcorners_workload::Operation;
use serde::{Deserialize, Serialize};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The I/O fails (EIO) and does nothing.
    IoError,
    /// Reads of the range fail (EIO) until it is written again: latent sector errors.
    LatentError,
    /// One bit of what a write brings is stored flipped.
    BitFlip,
    /// The next read of what was written returns what was there before, once.
    StaleRead,
    /// What a write brings is stored `distance_bytes` away.
    MisplacedWrite,
    /// Only the first part of what a write brings is stored.
    TornWrite,
    /// A write is acknowledged and nothing of it is stored.
    LostWrite,
    /// The I/O takes `delay_ns` more.
    Slow,
    /// Nothing completes for `for_ns`.
    Stall,
    /// The I/O never completes, until the fault is cleared.
    Hang,
    /// The device is away for `for_ns`: connections end, and none are taken.
    Gone,
    /// The cache has no room: every write goes through to the medium.
    FullCache,
    /// Data passes at `rate_bytes_per_s` at most.
    Throttle,
    /// Writes are refused (EPERM): the drive only reads any more.
    EndOfLife,
    /// Power fails, and comes back after `for_ns`; never without it.
    PowerCut,
}

/// One fault: what, to which I/Os, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What goes wrong.
    pub kind: Kind,
    /// Only to I/Os of this operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Operation>,
    /// Only to I/Os that touch the range from here on.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Length of that range; to the end of the drive without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_bytes: Option<u64>,
    /// Not before so long after the session began, in the drive's time.
    #[serde(default)]
    pub at_ns: u64,
    /// For so long; for good without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ns: Option<u64>,
    /// From this I/O on, of those that it concerns, counted from 1; the first of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_io: Option<u64>,
    /// To so many I/Os; to all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// To this share of them, drawn from the seed.
    #[serde(default = "always")]
    pub probability: f64,
    /// See [`Kind::Slow`].
    #[serde(default)]
    pub delay_ns: u64,
    /// See [`Kind::Throttle`].
    #[serde(default)]
    pub rate_bytes_per_s: u64,
    /// See [`Kind::MisplacedWrite`].
    #[serde(default = "block")]
    pub distance_bytes: u64,
}

/// Longest delay, and latest time, of a fault: 31 years, to which clocks can be added.
pub(crate) const LONGEST_NS: u64 = 1_000_000_000_000_000_000;

fn always() -> f64 {
    1.0
}

/// A mapping unit of most drives away.
fn block() -> u64 {
    4096
}

impl Kind {
    /// Whether it happens to the device at a time or an I/O, and not to I/Os.
    pub fn is_of_device(self) -> bool {
        matches!(self, Kind::Stall | Kind::Gone | Kind::PowerCut)
    }

    fn is_of_writes(self) -> bool {
        self.is_of_data() || matches!(self, Kind::FullCache | Kind::EndOfLife)
    }

    /// Whether it changes what a write brings, which TRIM and zeroes bring none of.
    pub fn is_of_data(self) -> bool {
        use Kind::{BitFlip, LostWrite, MisplacedWrite, StaleRead, TornWrite};
        matches!(self, BitFlip | StaleRead | MisplacedWrite | TornWrite | LostWrite)
    }
}

impl Fault {
    /// # Errors
    /// What makes no sense, or could never happen, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        let why = self.wrong_range().or_else(|| self.never()).or_else(|| self.missing());
        why.map_or(Ok(()), |why| Err(format!("the fault {}: {why}", self.name())))
    }

    fn wrong_range(&self) -> Option<&'static str> {
        let is_whole = self.offset_bytes.is_multiple_of(512)
            && self.length_bytes.unwrap_or(512).is_multiple_of(512);
        (!is_whole).then_some("its range must be whole sectors of 512 bytes")
    }

    /// Why it could never happen, or why what it is given could change nothing.
    fn never(&self) -> Option<&'static str> {
        let has_range = self.offset_bytes > 0 || self.length_bytes.is_some();
        // These two end something at once, and come back at once.
        let comes_back = matches!(self.kind, Kind::Gone | Kind::PowerCut);
        let ends_at_once = self.for_ns == Some(0) && !comes_back;
        let latest_ns = self.at_ns.max(self.delay_ns).max(self.for_ns.unwrap_or(0));
        let on = self.on;
        Some(match self.kind {
            _ if !(self.probability > 0.0 && self.probability <= 1.0) => {
                "its probability must be above 0, and 1 at most"
            }
            _ if self.times == Some(0) => "0 times is never: say 1 at least, or leave times out",
            _ if self.from_io == Some(0) => "I/Os are counted from 1",
            _ if self.length_bytes == Some(0) => "its range is empty: give it a length above 0",
            _ if latest_ns > LONGEST_NS => "its times must be 1e9 s at most",
            _ if ends_at_once => "a time of 0 is over before anything happens (for)",
            _ if on == Some(Operation::Flush) && has_range => "a flush has no range",
            _ if self.kind.is_of_writes() && !matches!(on, None | Some(Operation::Write)) => {
                "it is about writes"
            }
            Kind::LatentError if !matches!(on, None | Some(Operation::Read)) => "it is about reads",
            Kind::Throttle if on == Some(Operation::Flush) => "a flush has no data",
            _ if self.is_timed() && self.times.is_some_and(|times| times > 1) => {
                "it happens once at its time: with on, from-io or probability it is one of I/Os, \
                 and can happen more often"
            }
            _ => return self.meaningless(),
        })
    }

    /// What is given and belongs to another kind.
    fn meaningless(&self) -> Option<&'static str> {
        if self.delay_ns > 0 && self.kind != Kind::Slow {
            return Some("only slow has a delay");
        }
        if self.rate_bytes_per_s > 0 && self.kind != Kind::Throttle {
            return Some("only throttle has a rate");
        }
        (self.distance_bytes != block() && self.kind != Kind::MisplacedWrite)
            .then_some("only misplaced-write has a distance")
    }

    fn missing(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Slow if self.delay_ns == 0 => Some("say how much more time I/Os take (delay)"),
            Kind::Throttle if self.rate_bytes_per_s == 0 => Some("say which rate is left (rate)"),
            Kind::Stall | Kind::Gone if self.for_ns.is_none() => Some("say for how long (for)"),
            Kind::MisplacedWrite
                if self.distance_bytes == 0 || !self.distance_bytes.is_multiple_of(512) =>
            {
                Some("its distance must be whole sectors of 512 bytes, one at least")
            }
            _ => None,
        }
    }

    /// Whether it waits for a time, and not for an I/O.
    pub(crate) fn is_timed(&self) -> bool {
        let by_io = self.on.is_some()
            || self.from_io.is_some()
            || self.length_bytes.is_some()
            || self.offset_bytes > 0
            || self.probability < 1.0;
        self.kind.is_of_device() && !by_io
    }

    /// Its kind, as it is written.
    pub fn name(&self) -> String {
        let value = serde_json::to_value(self.kind).unwrap_or_default();
        value.as_str().unwrap_or_default().to_string()
    }

    /// Whether it concerns an I/O of this operation and range.
    pub fn concerns(&self, operation: Operation, offset_bytes: u64, length_bytes: u64) -> bool {
        let of_operation = match self.on {
            Some(on) => on == operation,
            None if self.kind.is_of_writes() => operation == Operation::Write,
            None if self.kind == Kind::LatentError => operation == Operation::Read,
            None => true,
        };
        if !of_operation {
            return false;
        }
        if operation == Operation::Flush {
            return self.length_bytes.is_none() && self.offset_bytes == 0;
        }
        let end = self.length_bytes.map_or(u64::MAX, |l| self.offset_bytes.saturating_add(l));
        offset_bytes < end && self.offset_bytes < offset_bytes.saturating_add(length_bytes)
    }
}
