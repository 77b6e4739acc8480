//! What the kernel asks, on its way to the server's thread.

use fuser::{ReplyData, ReplyEmpty, ReplyLseek, ReplyWrite};

/// One request of the kernel, with whom to answer.
#[derive(Debug)]
pub enum Asked {
    /// A transfer from the drive. The range lies within it, in bytes.
    Read { offset_bytes: u64, length_bytes: u32, reply: ReplyData },
    /// A transfer to the drive, in bytes as well.
    Write { offset_bytes: u64, data: Vec<u8>, is_forced: bool, reply: ReplyWrite },
    /// The range, whole sectors, is no longer needed.
    Trim { offset_bytes: u64, length_bytes: u64, reply: ReplyEmpty },
    /// The range, whole sectors, is to be zeroes.
    Zero { offset_bytes: u64, length_bytes: u64, reply: ReplyEmpty },
    /// What was acknowledged is to be durable.
    Flush { reply: ReplyEmpty },
    /// Where the next byte is that is stored, or is not.
    Seek { offset_bytes: u64, to_stored: bool, reply: ReplyLseek },
}
