//! The fixed newstyle handshake: what a client asks for before it reads and writes.

use super::wire::{self, Reader, ability, info, option, reply};
use crate::io::TRANSFER_BYTES_MAX;

/// Smallest range that a request may have, and the multiple of all.
pub const BLOCK_BYTES_MIN: u32 = 512;
/// What a client had better use at least: the mapping unit of most drives.
const BLOCK_BYTES_PREFERRED: u32 = 4096;

/// Most bytes of an option that are read; no option needs more than a name (4096) and
/// some queries.
const OPTION_BYTES_MAX: u32 = 64 << 10;
/// Most options of one client: it asks for each once or twice.
const OPTIONS_MAX: u32 = 256;

/// What is served.
#[derive(Clone, Debug)]
pub struct Export {
    /// Its size.
    pub capacity_bytes: u64,
    /// For people.
    pub description: String,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Whether TRIM does anything.
    pub has_trim: bool,
}

impl Export {
    /// What it can do, as the protocol says it.
    pub fn abilities(&self) -> u16 {
        let mut abilities = ability::HAS_FLAGS
            | ability::FLUSH
            | ability::FUA
            | ability::DONT_FRAGMENT
            | ability::MULTI_CONN
            | ability::CACHE;
        if self.is_read_only {
            return abilities | ability::READ_ONLY;
        }
        abilities |= ability::WRITE_ZEROES | ability::FAST_ZERO;
        if self.has_trim {
            abilities |= ability::TRIM;
        }
        abilities
    }
}

/// What client and server have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Replies are structured.
    pub is_structured: bool,
    /// The client may ask what is allocated.
    pub has_allocation: bool,
}

/// How the handshake goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is to come from the client.
    More,
    /// Requests come next.
    Transmission(Agreed),
    /// The connection is to be closed once what was said is sent.
    Close,
}

/// A handshake under way.
#[derive(Debug, Default)]
pub struct Handshake {
    has_flags: bool,
    no_zeroes: bool,
    options: u32,
    /// Bytes of an option that is too large, still to be passed over.
    skip_bytes: u64,
    agreed: Agreed,
}

impl Handshake {
    /// What the server says first.
    pub fn greeting(out: &mut Vec<u8>) {
        out.extend(wire::GREETING.to_be_bytes());
        out.extend(wire::OPTION.to_be_bytes());
        out.extend((wire::FIXED_NEWSTYLE | wire::NO_ZEROES).to_be_bytes());
    }

    /// Takes as much of what the client sent as is complete, appends what it is
    /// answered, and returns how many bytes were taken.
    pub fn take(&mut self, export: &Export, input: &[u8], out: &mut Vec<u8>) -> (usize, Progress) {
        let mut taken = 0;
        loop {
            let skipped = self.skip_bytes.min((input.len() - taken) as u64);
            self.skip_bytes -= skipped;
            taken += skipped as usize;
            if self.skip_bytes > 0 {
                return (taken, Progress::More);
            }
            let mut message = Reader(&input[taken..]);
            let progress = if self.has_flags {
                self.option(export, &mut message, out)
            } else {
                self.flags(&mut message)
            };
            let Some(progress) = progress else {
                return (taken, Progress::More);
            };
            taken = input.len() - message.0.len();
            if progress != Progress::More {
                return (taken, progress);
            }
        }
    }

    fn flags(&mut self, message: &mut Reader<'_>) -> Option<Progress> {
        let flags = message.u32()?;
        self.has_flags = true;
        self.no_zeroes = flags & u32::from(wire::NO_ZEROES) != 0;
        let known = u32::from(wire::FIXED_NEWSTYLE | wire::NO_ZEROES);
        let is_new = flags & u32::from(wire::FIXED_NEWSTYLE) != 0;
        Some(if flags & !known == 0 && is_new { Progress::More } else { Progress::Close })
    }

    fn option(
        &mut self,
        export: &Export,
        message: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Progress> {
        let (magic, number, length) = (message.u64()?, message.u32()?, message.u32()?);
        self.options += 1;
        if magic != wire::OPTION || self.options > OPTIONS_MAX {
            return Some(Progress::Close);
        }
        if length > OPTION_BYTES_MAX {
            self.skip_bytes = u64::from(length);
            answer(out, number, reply::TOO_BIG, b"this option has too much data");
            return Some(Progress::More);
        }
        let Some(data) = message.bytes(length as usize) else {
            self.options -= 1;
            return None;
        };
        let mut data = Reader(data);
        Some(match number {
            option::EXPORT_NAME if is_default(data.0) => {
                out.extend(export.capacity_bytes.to_be_bytes());
                out.extend(export.abilities().to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; 124]);
                }
                Progress::Transmission(self.agreed)
            }
            // This option alone cannot be answered with an error.
            option::EXPORT_NAME => Progress::Close,
            option::ABORT => {
                answer(out, number, reply::ACK, b"");
                Progress::Close
            }
            option::LIST if data.0.is_empty() => {
                answer(out, number, reply::SERVER, &0u32.to_be_bytes());
                answer(out, number, reply::ACK, b"");
                Progress::More
            }
            option::STRUCTURED_REPLY if data.0.is_empty() && !self.agreed.is_structured => {
                self.agreed.is_structured = true;
                answer(out, number, reply::ACK, b"");
                Progress::More
            }
            option::INFO | option::GO => self.go(export, number, &mut data, out),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.contexts(number, &mut data, out);
                Progress::More
            }
            option::LIST | option::STRUCTURED_REPLY => {
                answer(out, number, reply::INVALID, b"this option has no data and comes once");
                Progress::More
            }
            _ => {
                answer(out, number, reply::UNSUPPORTED, b"this server has no such option");
                Progress::More
            }
        })
    }

    fn go(
        &mut self,
        export: &Export,
        number: u32,
        data: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Progress {
        let name = data.text();
        let wanted = data.u16().and_then(|count| data.bytes(usize::from(count) * 2));
        let (Some(name), Some(wanted), true) = (name, wanted, data.0.is_empty()) else {
            answer(out, number, reply::INVALID, b"this option is not whole");
            return Progress::More;
        };
        if !is_default(name) {
            answer(out, number, reply::UNKNOWN, b"there is one export, and it has no name");
            return Progress::More;
        }
        let wants = |what: u16| wanted.chunks_exact(2).any(|pair| pair == what.to_be_bytes());
        let mut about = info::EXPORT.to_be_bytes().to_vec();
        about.extend(export.capacity_bytes.to_be_bytes());
        about.extend(export.abilities().to_be_bytes());
        answer(out, number, reply::INFO, &about);
        let mut about = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for bytes in [BLOCK_BYTES_MIN, BLOCK_BYTES_PREFERRED, TRANSFER_BYTES_MAX] {
            about.extend(bytes.to_be_bytes());
        }
        answer(out, number, reply::INFO, &about);
        if wants(info::NAME) {
            answer(out, number, reply::INFO, &info::NAME.to_be_bytes());
        }
        if wants(info::DESCRIPTION) {
            let mut about = info::DESCRIPTION.to_be_bytes().to_vec();
            about.extend(export.description.as_bytes());
            answer(out, number, reply::INFO, &about);
        }
        answer(out, number, reply::ACK, b"");
        if number == option::GO { Progress::Transmission(self.agreed) } else { Progress::More }
    }

    fn contexts(&mut self, number: u32, data: &mut Reader<'_>, out: &mut Vec<u8>) {
        let sets = number == option::SET_META_CONTEXT;
        if sets {
            self.agreed.has_allocation = false;
        }
        let (Some(name), Some(count)) = (data.text(), data.u32()) else {
            return answer(out, number, reply::INVALID, b"this option is not whole");
        };
        // A query has a length at least: the data ends a count that is made up.
        let mut matches = !sets && count == 0;
        for _ in 0..count {
            let Some(query) = data.text() else {
                return answer(out, number, reply::INVALID, b"this option is not whole");
            };
            matches |= query == wire::ALLOCATION || !sets && query == b"base:";
        }
        if !data.0.is_empty() {
            return answer(out, number, reply::INVALID, b"this option has more than its queries");
        }
        if !self.agreed.is_structured {
            return answer(out, number, reply::INVALID, b"ask for structured replies first");
        }
        if !is_default(name) {
            return answer(out, number, reply::UNKNOWN, b"there is one export, and it has no name");
        }
        if matches {
            let id = if sets { wire::ALLOCATION_ID } else { 0 };
            let context = [&id.to_be_bytes(), wire::ALLOCATION].concat();
            answer(out, number, reply::META_CONTEXT, &context);
            self.agreed.has_allocation |= sets;
        }
        answer(out, number, reply::ACK, b"");
    }
}

/// There is one export; a client that knows no name gets it.
fn is_default(name: &[u8]) -> bool {
    name.is_empty()
}

fn answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(wire::OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}
