//! Requests that were recorded, and when they are due again.

use crate::stream::{WorkloadError, reject};
use crate::{Content, Request};
use serde::{Deserialize, Serialize};

/// What makes the requests of a trace due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Open loop: each at its recorded time, whatever the target does.
    Recorded,
    /// Each as soon as no more are outstanding than were when it was recorded.
    Depth,
    /// Closed loop: each follows the completion that it followed when it was
    /// recorded, after the same time, and waits for all that had completed by then.
    ThinkTimes,
}

/// A trace as a stream's requests, and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The files, which are one trace.
    pub files: Vec<String>,
    /// What they are said to be.
    #[serde(default)]
    pub format: Option<String>,
    /// What makes its requests due.
    pub pace: Pace,
    /// Recorded times, and times to think, are divided by this.
    #[serde(default = "as_recorded")]
    pub speed: f64,
    /// I/Os outstanding at [`Pace::Depth`]; `None`: as many as were when they were
    /// recorded.
    #[serde(default)]
    pub depth: Option<u32>,
    /// The byte behind the last one that it touches.
    pub span_bytes: u64,
    /// What offsets and lengths are widened to multiples of: what the target takes.
    pub alignment_bytes: u32,
    /// I/Os that it has.
    pub ios: u64,
    /// From the first of them to the last, as recorded; for estimates.
    #[serde(default)]
    pub length_ns: u64,
    /// What is written, for estimates.
    #[serde(default)]
    pub written_bytes: u64,
    /// It has more than reads and flushes.
    pub writes: bool,
    /// It can only be sorted through a temporary file.
    #[serde(default)]
    pub is_far_out_of_order: bool,
}

fn as_recorded() -> f64 {
    1.0
}

impl Replay {
    pub(crate) fn check(&self, capacity_bytes: u64) -> Result<(), WorkloadError> {
        if self.files.is_empty() || self.ios == 0 {
            return reject("a trace without I/Os would measure nothing");
        }
        if !(self.speed.is_finite() && self.speed > 0.0) {
            return reject(format!("speed {}: use a number above 0", self.speed));
        }
        if self.depth == Some(0) {
            return reject("a queue depth of 0 would issue nothing: use at least 1");
        }
        let alignment = u64::from(self.alignment_bytes);
        if alignment == 0 || !alignment.is_multiple_of(512) {
            return reject(format!("alignment of {alignment} bytes: use a multiple of 512"));
        }
        if self.span_bytes > capacity_bytes {
            return reject(format!(
                "the trace touches {} bytes and the target has {capacity_bytes}: lay it onto the \
                 target with fourcorners trace fold --span {capacity_bytes}B",
                self.span_bytes
            ));
        }
        Ok(())
    }
}

/// One I/O of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRequest {
    /// When it was issued, from the first one on.
    pub time_ns: u64,
    /// What it was.
    pub request: Request,
    /// From issue to completion, where it was recorded.
    pub latency_ns: Option<u64>,
}

/// I/Os of a trace in the order of time.
pub trait Recorded {
    /// Calls `take` with some I/Os after the other until it says no, or there are
    /// none left.
    ///
    /// # Errors
    /// The trace cannot be read on, in a sentence for the user.
    fn pour(
        self: Box<Self>,
        content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String>;
}
