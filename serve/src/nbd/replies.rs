//! Answers, made into bytes only as fast as a client takes them, so that a client
//! that reads nothing costs next to no memory.

use super::handshake::Agreed;
use super::wire::{self, chunk, status};
use crate::served::Served;
use std::collections::VecDeque;
use std::io;

/// Bytes that are made before the client has taken them.
const READY_BYTES: usize = 256 << 10;

/// Most extents of one answer: 32 KiB of it.
const EXTENTS_MAX: usize = 4096;

/// An answer that is not sent yet.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Done, without data.
    Done {
        /// Of the request.
        cookie: u64,
    },
    /// Done: so much of the drive.
    Data {
        /// Of the request.
        cookie: u64,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u32,
    },
    /// What is stored of a range.
    Extents {
        /// Of the request.
        cookie: u64,
        /// First byte.
        offset_bytes: u64,
        /// Length.
        length_bytes: u32,
        /// Only the first one.
        one: bool,
    },
    /// It failed.
    Failed {
        /// Of the request.
        cookie: u64,
        /// The protocol's number.
        errno: u32,
        /// For people.
        why: &'static str,
    },
}

/// Answers on their way to one client.
#[derive(Debug, Default)]
pub struct Replies {
    waiting: VecDeque<Reply>,
    /// Of the answer that is being sent: what is left of its data.
    sending: Option<(u64, u32)>,
    ready: Vec<u8>,
    sent: usize,
}

impl Replies {
    /// Adds an answer.
    pub fn push(&mut self, reply: Reply) {
        self.waiting.push_back(reply);
    }

    /// Adds bytes as they are.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.ready
    }

    /// Answers that are not sent.
    pub fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Whether everything is sent.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sending.is_none() && self.sent == self.ready.len()
    }

    /// The bytes that go next.
    ///
    /// # Errors
    /// A data file that cannot be read in the midst of an answer: only the end of the
    /// connection can say that.
    pub fn next(&mut self, served: &mut Served<'_>, agreed: Agreed) -> io::Result<&[u8]> {
        if self.sent == self.ready.len() {
            self.ready.clear();
            self.sent = 0;
        }
        while self.ready.len() < READY_BYTES {
            if let Some((offset_bytes, left)) = &mut self.sending {
                let length = (*left as usize).min(READY_BYTES);
                let start = self.ready.len();
                self.ready.resize(start + length, 0);
                served.read(*offset_bytes, &mut self.ready[start..])?;
                *offset_bytes += length as u64;
                *left -= length as u32;
                if *left == 0 {
                    self.sending = None;
                }
            } else if let Some(reply) = self.waiting.pop_front() {
                self.begin(&reply, served, agreed);
            } else {
                break;
            }
        }
        Ok(&self.ready[self.sent..])
    }

    /// So many of the bytes are gone.
    pub fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.ready.len()
            && self.ready.capacity() > READY_BYTES
            && self.waiting.is_empty()
        {
            self.ready = Vec::new();
            self.sent = 0;
        }
    }

    fn begin(&mut self, reply: &Reply, served: &Served<'_>, agreed: Agreed) {
        let out = &mut self.ready;
        match *reply {
            Reply::Done { cookie } if agreed.is_structured => {
                structured(out, chunk::NONE, cookie, 0);
            }
            Reply::Done { cookie } => simple(out, 0, cookie),
            Reply::Data { cookie, offset_bytes, length_bytes } => {
                if agreed.is_structured {
                    structured(out, chunk::DATA, cookie, 8 + length_bytes);
                    out.extend(offset_bytes.to_be_bytes());
                } else {
                    simple(out, 0, cookie);
                }
                self.sending = Some((offset_bytes, length_bytes));
            }
            Reply::Failed { cookie, errno, why } if agreed.is_structured => {
                structured(out, chunk::ERROR, cookie, 6 + why.len() as u32);
                out.extend(errno.to_be_bytes());
                out.extend((why.len() as u16).to_be_bytes());
                out.extend(why.as_bytes());
            }
            Reply::Failed { cookie, errno, .. } => simple(out, errno, cookie),
            Reply::Extents { cookie, offset_bytes, length_bytes, one } => {
                let extents = extents(served, offset_bytes, u64::from(length_bytes), one);
                structured(out, chunk::BLOCK_STATUS, cookie, 4 + 8 * extents.len() as u32);
                out.extend(wire::ALLOCATION_ID.to_be_bytes());
                for (length, flags) in extents {
                    out.extend(length.to_be_bytes());
                    out.extend(flags.to_be_bytes());
                }
            }
        }
    }
}

fn extents(
    served: &Served<'_>,
    offset_bytes: u64,
    length_bytes: u64,
    one: bool,
) -> Vec<(u32, u32)> {
    let mut extents = Vec::new();
    let mut done = 0;
    while done < length_bytes && extents.len() < if one { 1 } else { EXTENTS_MAX } {
        let extent = served.data().extent(offset_bytes + done, length_bytes - done);
        let flags = if extent.is_stored { 0 } else { status::HOLE | status::ZERO };
        extents.push((extent.length_bytes as u32, flags));
        done += extent.length_bytes;
    }
    extents
}

fn simple(out: &mut Vec<u8>, errno: u32, cookie: u64) {
    out.extend(wire::SIMPLE_REPLY.to_be_bytes());
    out.extend(errno.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

/// The head of an answer of one chunk.
fn structured(out: &mut Vec<u8>, kind: u16, cookie: u64, length_bytes: u32) {
    out.extend(wire::STRUCTURED_REPLY.to_be_bytes());
    out.extend(chunk::DONE.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(length_bytes.to_be_bytes());
}
