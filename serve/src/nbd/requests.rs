//! Requests, and what becomes of each: an I/O, or the protocol's own error.

use super::handshake::{Agreed, BLOCK_BYTES_MIN, Export};
use super::wire::{self, Reader, command, error, flag};
use crate::io::{Command, TRANSFER_BYTES_MAX};

/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;

/// A request as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it wants besides.
    pub flags: u16,
    /// What it wants.
    pub command: u16,
    /// By which the client knows it.
    pub cookie: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u32,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An I/O; a write's data is still to come.
    Io(Command),
    /// It asks what is stored.
    BlockStatus,
    /// It is refused, after its data where there is any.
    Refused {
        /// The protocol's number.
        errno: u32,
        /// For people.
        why: &'static str,
    },
    /// The client leaves.
    Disconnect,
}

impl Request {
    /// The request at the front of what came; `None` for what is none, which ends the
    /// connection.
    ///
    /// # Panics
    /// With less than [`REQUEST_BYTES`].
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut message = Reader(&bytes[..REQUEST_BYTES]);
        if message.u32()? != wire::REQUEST {
            return None;
        }
        Some(Self {
            flags: message.u16()?,
            command: message.u16()?,
            cookie: message.u64()?,
            offset_bytes: message.u64()?,
            length_bytes: message.u32()?,
        })
    }

    /// Bytes that follow it.
    pub fn data_bytes(&self) -> u32 {
        if self.command == command::WRITE { self.length_bytes } else { 0 }
    }

    /// Whether it wants to be durable when it is answered.
    pub fn is_forced(&self) -> bool {
        self.flags & flag::FUA != 0
    }

    /// What it means for this export and client.
    pub fn meaning(&self, export: &Export, agreed: Agreed) -> Meaning {
        match self.check(export, agreed) {
            Err((errno, why)) => Meaning::Refused { errno, why },
            Ok(meaning) => meaning,
        }
    }

    fn check(&self, export: &Export, agreed: Agreed) -> Result<Meaning, (u32, &'static str)> {
        let allowed = match self.command {
            command::DISCONNECT => return Ok(Meaning::Disconnect),
            command::READ => flag::DONT_FRAGMENT,
            command::BLOCK_STATUS => flag::ONE_EXTENT,
            command::WRITE_ZEROES => flag::NO_HOLE | flag::FAST_ZERO,
            command::WRITE | command::FLUSH | command::TRIM | command::CACHE => 0,
            _ => return Err((error::EINVAL, "this server has no such command")),
        };
        // FUA goes with every command.
        if self.flags & !(allowed | flag::FUA) != 0 {
            return Err((error::EINVAL, "the command has no such flag"));
        }
        if self.command == command::FLUSH {
            return match (self.offset_bytes, self.length_bytes) {
                (0, 0) => Ok(Meaning::Io(Command::Flush)),
                _ => Err((error::EINVAL, "a flush has no range")),
            };
        }
        let writes = matches!(self.command, command::WRITE | command::WRITE_ZEROES | command::TRIM);
        if writes && export.is_read_only {
            return Err((error::EPERM, "the export is read-only"));
        }
        let end = self.offset_bytes.checked_add(u64::from(self.length_bytes));
        if end.is_none_or(|end| end > export.capacity_bytes) {
            // The protocol asks for this of what needs room, and a TRIM needs none.
            let needs_room = writes && self.command != command::TRIM;
            let errno = if needs_room { error::ENOSPC } else { error::EINVAL };
            return Err((errno, "the range is beyond the end"));
        }
        let transfers = matches!(self.command, command::READ | command::WRITE);
        if transfers && self.length_bytes > TRANSFER_BYTES_MAX {
            return Err((error::EINVAL, "the transfer is larger than the largest block size"));
        }
        if self.length_bytes == 0 {
            return Err((error::EINVAL, "the range is empty"));
        }
        let block = u64::from(BLOCK_BYTES_MIN);
        if !(self.offset_bytes | u64::from(self.length_bytes)).is_multiple_of(block) {
            return Err((error::EINVAL, "the range is not whole blocks of 512 bytes"));
        }
        match self.command {
            command::READ | command::CACHE => Ok(Meaning::Io(Command::Read)),
            command::WRITE => Ok(Meaning::Io(Command::Write(Vec::new()))),
            command::TRIM if export.has_trim => Ok(Meaning::Io(Command::Trim)),
            command::TRIM => Err((error::EINVAL, "the drive has no TRIM")),
            command::BLOCK_STATUS if agreed.has_allocation => Ok(Meaning::BlockStatus),
            command::BLOCK_STATUS => Err((error::EINVAL, "no metadata context was agreed on")),
            _ => {
                let may_discard = export.has_trim && self.flags & flag::NO_HOLE == 0;
                if self.flags & flag::FAST_ZERO != 0 && !may_discard {
                    return Err((error::ENOTSUP, "zeroes would not be faster than a write"));
                }
                Ok(Meaning::Io(Command::Zero { may_discard }))
            }
        }
    }
}
