//! Numbers of the NBD protocol, as its specification has them:
//! <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>

pub const GREETING: u64 = 0x4e42_444d_4147_4943;
pub const OPTION: u64 = 0x4948_4156_454f_5054;
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub const REQUEST: u32 = 0x2560_9513;
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
pub const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// Of the handshake, both ways.
pub const FIXED_NEWSTYLE: u16 = 1;
pub const NO_ZEROES: u16 = 2;

pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

pub mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub const UNSUPPORTED: u32 = ERROR | 1;
    pub const INVALID: u32 = ERROR | 3;
    pub const UNKNOWN: u32 = ERROR | 6;
    pub const TOO_BIG: u32 = ERROR | 9;
}

pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod ability {
    pub const HAS_FLAGS: u16 = 1;
    pub const READ_ONLY: u16 = 1 << 1;
    pub const FLUSH: u16 = 1 << 2;
    pub const FUA: u16 = 1 << 3;
    pub const TRIM: u16 = 1 << 5;
    pub const WRITE_ZEROES: u16 = 1 << 6;
    pub const DONT_FRAGMENT: u16 = 1 << 7;
    pub const MULTI_CONN: u16 = 1 << 8;
    pub const CACHE: u16 = 1 << 10;
    pub const FAST_ZERO: u16 = 1 << 11;
}

pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Of a request.
pub mod flag {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DONT_FRAGMENT: u16 = 1 << 2;
    pub const ONE_EXTENT: u16 = 1 << 3;
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Of a structured reply.
pub mod chunk {
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = 1 << 15 | 1;
}

pub mod error {
    pub const EPERM: u32 = 1;
    pub const EIO: u32 = 5;
    pub const ENOMEM: u32 = 12;
    pub const EINVAL: u32 = 22;
    pub const ENOSPC: u32 = 28;
    pub const ENOTSUP: u32 = 95;
}

/// Of an extent of `base:allocation`.
pub mod status {
    pub const HOLE: u32 = 1;
    pub const ZERO: u32 = 2;
}

/// The only metadata context that there is, and its number.
pub const ALLOCATION: &[u8] = b"base:allocation";
pub const ALLOCATION_ID: u32 = 1;

/// Reads numbers and bytes off the front of a message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.bytes(8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
    }

    /// A length and as many bytes.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }
}
