//! One record of the binary half of the protocol: 32 bytes, little endian.

use fourcorners_workload::{Content, Operation, Request};

/// Length of a record, in bytes.
pub const RECORD_BYTES: usize = 32;

/// What a record is. Values below 16 are requests, those from 16 on commands of the
/// host, those from 32 on answers of the drive.
pub mod kind {
    /// Transfer from the drive.
    pub const READ: u8 = 1;
    /// Transfer to the drive.
    pub const WRITE: u8 = 2;
    /// Everything whose write has completed becomes durable.
    pub const FLUSH: u8 = 3;
    /// The host no longer needs a range.
    pub const TRIM: u8 = 4;
    /// A range becomes zeroes without a transfer of data.
    pub const WRITE_ZEROES: u8 = 5;
    /// Go on to the next completion, or to the deadline.
    pub const ADVANCE: u8 = 16;
    /// The drive has gone on, to this time.
    pub const ADVANCED: u8 = 32;
    /// A request has completed.
    pub const COMPLETED: u8 = 33;
}

/// The write completes when its data are durable.
pub const FUA: u8 = 1;
/// The drive has no such number.
pub const UNKNOWN: u64 = u64::MAX;

/// The text at the beginning of what a child sent, up to the end of its line; `None` where these
/// are no words: the second to fourth byte of an answer are zero.
pub fn printed(bytes: &[u8]) -> Option<String> {
    const WORD_BYTES: usize = 4;
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let length = bytes.iter().take_while(|byte| is_text(byte)).count();
    let text = str::from_utf8(&bytes[..length]).expect("ASCII").trim();
    (length >= WORD_BYTES).then(|| text.lines().next().unwrap_or_default().to_string())
}

/// What is wrong with a child that sends such words.
pub fn prints(words: &str) -> String {
    format!("it prints to its standard output, which belongs to the protocol: {words:?}")
}

/// A request, a command or an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// One of [`kind`].
    pub kind: u8,
    /// [`FUA`] of a write.
    pub flags: u8,
    /// Of a write: 0 incompressible, 1 repeated, 2 compressible, 3 duplicated.
    pub content: u8,
    /// Of compressible data what is left of them, of duplicated ones the copies.
    pub percent: u8,
    /// Which request, from 0.
    pub slot: u32,
    /// When: submission, deadline, completion.
    pub time_ns: u64,
    /// Where a request begins; errno of a completion; of `ADVANCED` the bytes
    /// programmed into flash since the drive was made, or [`UNKNOWN`].
    pub offset_bytes: u64,
    /// How long a request is.
    pub length_bytes: u64,
}

impl Record {
    /// The record of a request.
    pub fn request(slot: u32, time_ns: u64, request: &Request) -> Self {
        let (content, percent) = match request.content {
            Content::Incompressible => (0, 0),
            Content::Repeated => (1, 0),
            Content::Compressible(percent) => (2, percent),
            Content::Duplicated(percent) => (3, percent),
        };
        let kind = match request.operation {
            Operation::Read => kind::READ,
            Operation::Write => kind::WRITE,
            Operation::Flush => kind::FLUSH,
            Operation::Discard => kind::TRIM,
            Operation::WriteZeroes => kind::WRITE_ZEROES,
        };
        Self {
            kind,
            flags: if request.fua { FUA } else { 0 },
            content,
            percent,
            slot,
            time_ns,
            offset_bytes: request.offset_bytes,
            length_bytes: u64::from(request.length_bytes),
        }
    }

    /// As it travels.
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&[self.kind, self.flags, self.content, self.percent]);
        bytes[4..8].copy_from_slice(&self.slot.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset_bytes.to_le_bytes());
        bytes[24..].copy_from_slice(&self.length_bytes.to_le_bytes());
        bytes
    }

    /// What has travelled.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        let number = |from: usize| {
            u64::from_le_bytes(bytes[from..from + 8].try_into().expect("eight bytes"))
        };
        Self {
            kind: bytes[0],
            flags: bytes[1],
            content: bytes[2],
            percent: bytes[3],
            slot: u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes")),
            time_ns: number(8),
            offset_bytes: number(16),
            length_bytes: number(24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_answers() {
        let answer = Record { kind: kind::ADVANCED, time_ns: 0x2020_2020, ..Record::default() };
        assert_eq!(printed(&answer.to_bytes()), None);
        assert_eq!(printed(b"gc run\n\x20\0\0\0").as_deref(), Some("gc run"));
        assert_eq!(
            printed(b" 12 % done, 34 blocks are free\n").as_deref(),
            Some("12 % done, 34 blocks are free")
        );
        assert_eq!(printed(b"\n\n"), None);
    }

    #[test]
    fn a_record_travels_unchanged() {
        let request = Request {
            operation: Operation::Write,
            offset_bytes: 0x0102_0304_0506_0708,
            length_bytes: 0x1122_3344,
            content: Content::Duplicated(30),
            fua: true,
        };
        let record = Record::request(7, 99, &request);
        let bytes = record.to_bytes();
        assert_eq!(bytes[..8], [kind::WRITE, FUA, 3, 30, 7, 0, 0, 0]);
        assert_eq!(bytes[16..24], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(Record::from_bytes(&bytes), record);
    }
}
