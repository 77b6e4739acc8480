//! One I/O as every target understands it.

use serde::{Deserialize, Serialize};

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Transfer from the target.
    Read,
    /// Transfer to the target.
    Write,
    /// Everything whose write has completed becomes durable. No transfer.
    Flush,
    /// The blocks hold nothing any more (TRIM, UNMAP, deallocate). No transfer.
    Discard,
    /// The blocks hold zeroes. No transfer.
    WriteZeroes,
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = 5;
    /// All operations, in the order in which tables list them.
    pub const ALL: [Operation; Self::COUNT] = [
        Operation::Read,
        Operation::Write,
        Operation::Flush,
        Operation::Discard,
        Operation::WriteZeroes,
    ];

    /// Position in [`Operation::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name as written in files and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Flush => "flush",
            Operation::Discard => "discard",
            Operation::WriteZeroes => "write-zeroes",
        }
    }

    /// The operation of a name.
    pub fn named(name: &[u8]) -> Option<Operation> {
        Self::ALL.into_iter().find(|one| one.name().as_bytes() == name)
    }

    /// Whether data move between host and target.
    pub const fn transfers(self) -> bool {
        matches!(self, Operation::Read | Operation::Write)
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
    /// AnandTech 4020 p. 2). A drive that deduplicates stores it once.
    Repeated,
    /// Fresh bytes that a general compressor shrinks to this many percent, in
    /// every 4 KiB; nothing repeats.
    Compressible(u8),
    /// Random bytes of which this many percent, in blocks of 4 KiB, are copies
    /// of earlier ones, too far apart for a compressor to see.
    Duplicated(u8),
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What it does.
    pub operation: Operation,
    /// First byte, counted from the start of the target; 0 of a flush.
    pub offset_bytes: u64,
    /// Length; zero of a flush and never else.
    pub length_bytes: u32,
    /// Content of a write; ignored by others.
    pub content: Content,
    /// The write completes when its data is durable (force unit access);
    /// ignored by others.
    pub fua: bool,
}

impl Request {
    /// A flush.
    pub const FLUSH: Request = Request {
        operation: Operation::Flush,
        offset_bytes: 0,
        length_bytes: 0,
        content: Content::Incompressible,
        fua: false,
    };
}
