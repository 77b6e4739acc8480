//! One I/O as every target understands it.

use serde::{Deserialize, Serialize};

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Transfer from the target.
    Read,
    /// Transfer to the target.
    Write,
}

impl Operation {
    /// Both operations, in the order in which tables list them.
    pub const ALL: [Operation; 2] = [Operation::Read, Operation::Write];

    /// Position in [`Operation::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name as written in files and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
        }
    }
}

/// What written bytes look like to a drive that compresses or deduplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Fresh random bytes in every write: neither compresses nor repeats.
    Incompressible,
    /// One random block written again and again: random within a write,
    /// duplicated between writes (the reviews' "standard pseudo-random" data,
    /// AnandTech 4020 p. 2).
    Repeated,
    /// Fresh bytes that a general compressor shrinks to this many percent.
    Compressible(u8),
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub operation: Operation,
    /// First byte, counted from the start of the target.
    pub offset_bytes: u64,
    /// Length; never zero.
    pub length_bytes: u32,
    /// Content of a write; ignored by reads.
    pub content: Content,
}
