//! An I/O on its way through the drive's model.

use crate::injection::Effect;
use crate::io::{Command, Io};
use crate::undo::Epoch;
use fourcorners_workload::{Content, Operation, Request};

/// Most of a range of zeroes that the model is asked to write at a time.
const ZERO_PART_BYTES: u32 = 1 << 20;

/// An I/O in the drive.
pub(crate) struct Pending {
    pub io: Io,
    pub effect: Effect,
    /// In the order in which they were submitted.
    pub number: u64,
    pub submitted_ns: u64,
    /// When it would be answered but for a stall.
    pub ready_ns: u64,
    pub errno: i32,
    /// Of a flush.
    pub epoch: Epoch,
    /// Of zeroes: bytes that the model was given.
    pub given_bytes: u32,
}

impl Pending {
    /// What the model is asked for next: all of it, or of zeroes the next part.
    pub(crate) fn next_request(&mut self) -> Request {
        let left = self.io.length_bytes - self.given_bytes;
        let (content, length_bytes) = match &self.io.command {
            Command::Zero { .. } => (Content::Compressible(0), left.min(ZERO_PART_BYTES)),
            Command::Write(bytes) if is_zero(bytes) => (Content::Compressible(0), left),
            _ => (Content::Incompressible, left),
        };
        let offset_bytes = self.io.offset_bytes + u64::from(self.given_bytes);
        self.given_bytes += length_bytes;
        let operation = self.io.command.operation();
        let fua = operation == Operation::Write && (self.io.is_forced || self.effect.is_forced);
        Request { operation, offset_bytes, length_bytes, content, fua }
    }
}

/// Whether a drive that compresses would store next to nothing.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0) && bytes.windows(2).all(|pair| pair[0] == pair[1])
}
