//! Who is told of every I/O, in the order in which the drive was given them.

use crate::io::Io;
use std::collections::BTreeMap;

/// What is known of an I/O when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it does.
    pub what: What,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 of a flush.
    pub length_bytes: u32,
    /// Whether it was to complete only when its effect was durable (FUA).
    pub is_forced: bool,
    /// Who asked.
    pub client: usize,
    /// When the drive was given it, after the session began, in the drive's time.
    pub submitted_ns: u64,
    /// How long it took; `None` of one that a loss of power left without an answer.
    pub latency_ns: Option<u64>,
}

/// What an I/O does, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// See [`crate::Command::Read`].
    Read,
    /// See [`crate::Command::Write`].
    Write,
    /// See [`crate::Command::Flush`].
    Flush,
    /// See [`crate::Command::Trim`].
    Trim,
    /// See [`crate::Command::Zero`].
    Zero,
}

/// Is told of I/Os.
pub type Witness = Box<dyn FnMut(Seen) + Send>;

/// Puts I/Os, which end in any order, into the order in which they began.
pub struct InOrder {
    witness: Witness,
    /// The number of the I/O that is told next.
    next: u64,
    over: BTreeMap<u64, Seen>,
}

impl InOrder {
    /// Numbers count from 1.
    pub fn new(witness: Witness) -> Self {
        Self { witness, next: 1, over: BTreeMap::new() }
    }

    /// I/O `number` is over.
    pub fn over(&mut self, number: u64, seen: Seen) {
        self.over.insert(number, seen);
        while let Some(seen) = self.over.remove(&self.next) {
            (self.witness)(seen);
            self.next += 1;
        }
    }
}

impl Seen {
    /// Of an I/O.
    pub fn new(io: &Io, submitted_ns: u64, latency_ns: Option<u64>) -> Self {
        let what = match io.command {
            crate::Command::Read => What::Read,
            crate::Command::Write(_) => What::Write,
            crate::Command::Flush => What::Flush,
            crate::Command::Trim => What::Trim,
            crate::Command::Zero { .. } => What::Zero,
        };
        Self {
            what,
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
            is_forced: io.is_forced,
            client: io.client,
            submitted_ns,
            latency_ns,
        }
    }
}
