//! What programs ask of a served drive, and what they are answered.

use fourcorners_workload::Operation;

/// Most bytes that an I/O transfers; zeroes and TRIM have no data and no such limit.
pub const TRANSFER_BYTES_MAX: u32 = 32 << 20;

/// The drive has failed the I/O.
pub const EIO: i32 = 5;

/// What an I/O does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Transfer from the drive; the data is fetched when the answer is sent.
    Read,
    /// Transfer of these bytes to the drive.
    Write(Vec<u8>),
    /// Zeroes without a transfer.
    Zero {
        /// Whether the drive may give the room back.
        may_discard: bool,
    },
    /// The range is no longer needed.
    Trim,
    /// What was acknowledged becomes durable.
    Flush,
}

impl Command {
    /// What the drive is asked for; a TRIM has no operation of its own.
    pub fn operation(&self) -> Operation {
        match self {
            Command::Read => Operation::Read,
            Command::Write(_) | Command::Zero { .. } | Command::Trim => Operation::Write,
            Command::Flush => Operation::Flush,
        }
    }
}

/// One I/O of a program. Offset and length are whole sectors within the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Io {
    /// Who is answered.
    pub client: usize,
    /// By which the client knows it.
    pub cookie: u64,
    /// What it does.
    pub command: Command,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 of a flush.
    pub length_bytes: u32,
    /// It completes when its effect is durable (FUA).
    pub is_forced: bool,
}

/// An I/O that is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Who is answered.
    pub client: usize,
    /// By which the client knows it.
    pub cookie: u64,
    /// 0, or the errno of the failure.
    pub errno: i32,
    /// When the drive completed it, on its clock.
    pub completed_ns: u64,
    /// How long the drive took.
    pub latency_ns: u64,
}
