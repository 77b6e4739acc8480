//! One client: what it sends becomes I/Os, and what they end with becomes bytes.
//! It knows no socket.

use super::handshake::{Agreed, Export, Handshake, Progress};
use super::replies::{Replies, Reply};
use super::requests::{Meaning, REQUEST_BYTES, Request};
use super::wire::error;
use crate::injection::DeviceFault;
use crate::io::{Command, Finished, Io};
use crate::served::Served;
use slab::Slab;
use std::io;

/// Requests of a client that are taken before their answers are sent: deeper than any
/// client's queue, and few enough that none keeps the drive from others.
const REQUESTS_MAX: usize = 256;

/// Bytes that a client's requests may transfer before another one is taken: as much as
/// the largest of them, so that the drive's queue is not one client's for seconds.
const IN_FLIGHT_BYTES_MAX: u64 = 32 << 20;

/// A client.
#[derive(Debug)]
pub struct Connection {
    phase: Phase,
    /// What came and is not used yet.
    input: Vec<u8>,
    receiving: Option<Receiving>,
    /// Data of a refused write, still to be passed over.
    skip_bytes: u64,
    in_flight: Slab<InFlight>,
    in_flight_bytes: u64,
    written_bytes: u64,
    replies: Replies,
    is_closing: bool,
}

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Transmission(Agreed),
}

/// What a client does with the drive, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// It has not agreed with the server on how to speak.
    None,
    /// It may ask for something.
    Agreed,
    /// It waits for an answer.
    Waits,
}

/// A write whose data comes in.
#[derive(Debug)]
struct Receiving {
    request: Request,
    data: Vec<u8>,
}

/// A request in the drive.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    cookie: u64,
    data: Option<(u64, u32)>,
    written_bytes: u32,
}

impl Default for Connection {
    fn default() -> Self {
        let mut replies = Replies::default();
        Handshake::greeting(replies.bytes());
        Self {
            phase: Phase::Handshake(Handshake::default()),
            input: Vec::new(),
            receiving: None,
            skip_bytes: 0,
            in_flight: Slab::new(),
            in_flight_bytes: 0,
            written_bytes: 0,
            replies,
            is_closing: false,
        }
    }
}

impl Connection {
    /// Takes what the client sent, as far as there is room for its requests; what
    /// happens to the device with them is appended.
    pub fn take(
        &mut self,
        client: usize,
        bytes: &[u8],
        export: &Export,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) {
        // Mostly all that came before is used, and what comes now need not be copied.
        let mut before = std::mem::take(&mut self.input);
        let input = if before.is_empty() {
            bytes
        } else {
            before.extend_from_slice(bytes);
            &before
        };
        let mut used = 0;
        while !self.is_closing {
            let rest = &input[used..];
            let taken = match &mut self.phase {
                Phase::Handshake(handshake) => {
                    let (taken, progress) = handshake.take(export, rest, self.replies.bytes());
                    match progress {
                        Progress::More => {}
                        Progress::Transmission(agreed) => self.phase = Phase::Transmission(agreed),
                        Progress::Close => self.is_closing = true,
                    }
                    taken
                }
                Phase::Transmission(agreed) => {
                    let agreed = *agreed;
                    self.transmission(client, rest, agreed, export, served, of_device)
                }
            };
            if taken == 0 {
                break;
            }
            used += taken;
        }
        self.input = input[used..].to_vec();
    }

    /// Takes the next part of what came; returns how many bytes that was.
    fn transmission(
        &mut self,
        client: usize,
        rest: &[u8],
        agreed: Agreed,
        export: &Export,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) -> usize {
        if self.skip_bytes > 0 {
            let skipped = self.skip_bytes.min(rest.len() as u64);
            self.skip_bytes -= skipped;
            return skipped as usize;
        }
        if let Some(receiving) = &mut self.receiving {
            let missing = receiving.request.length_bytes as usize - receiving.data.len();
            let taken = missing.min(rest.len());
            if receiving.data.is_empty() {
                // All of its room at once, except of a large one, which may never come.
                receiving.data.reserve_exact(missing.min(LARGE_BYTES as usize).max(taken));
            }
            receiving.data.extend_from_slice(&rest[..taken]);
            if taken == missing
                && let Some(Receiving { request, data }) = self.receiving.take()
            {
                of_device.extend(self.submit(client, &request, Command::Write(data), served));
            }
            return taken;
        }
        if rest.len() < REQUEST_BYTES || !self.has_room() {
            return 0;
        }
        let Some(request) = Request::parse(rest) else {
            self.is_closing = true;
            return REQUEST_BYTES;
        };
        let Request { cookie, offset_bytes, length_bytes, .. } = request;
        match request.meaning(export, agreed) {
            Meaning::Disconnect => self.is_closing = true,
            Meaning::Io(Command::Write(_)) => {
                self.receiving = Some(Receiving { request, data: Vec::new() });
            }
            Meaning::Io(command) => {
                of_device.extend(self.submit(client, &request, command, served));
            }
            Meaning::BlockStatus => {
                let one = request.flags & super::wire::flag::ONE_EXTENT != 0;
                self.replies.push(Reply::Extents { cookie, offset_bytes, length_bytes, one });
            }
            Meaning::Refused { errno, why } => {
                self.skip_bytes = u64::from(request.data_bytes());
                self.replies.push(Reply::Failed { cookie, errno, why });
            }
        }
        REQUEST_BYTES
    }

    fn submit(
        &mut self,
        client: usize,
        request: &Request,
        command: Command,
        served: &mut Served<'_>,
    ) -> Option<DeviceFault> {
        let is_read = request.command == super::wire::command::READ;
        let written_bytes = request.data_bytes();
        self.written_bytes += u64::from(written_bytes);
        let data = is_read.then_some((request.offset_bytes, request.length_bytes));
        self.in_flight_bytes += u64::from(data.map_or(written_bytes, |(_, length)| length));
        let key = self.in_flight.insert(InFlight { cookie: request.cookie, data, written_bytes });
        served.submit(Io {
            client,
            cookie: key as u64,
            command,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            is_forced: request.is_forced(),
        })
    }

    /// An I/O of this client has ended.
    pub fn finished(&mut self, finished: &Finished) {
        let Some(request) = self.in_flight.try_remove(finished.cookie as usize) else {
            return;
        };
        self.written_bytes -= u64::from(request.written_bytes);
        self.in_flight_bytes -=
            u64::from(request.data.map_or(request.written_bytes, |(_, length)| length));
        let cookie = request.cookie;
        self.replies.push(match (finished.errno, request.data) {
            (0, Some((offset_bytes, length_bytes))) => {
                Reply::Data { cookie, offset_bytes, length_bytes }
            }
            (0, None) => Reply::Done { cookie },
            (errno, _) => {
                let (errno, why) = told(errno);
                Reply::Failed { cookie, errno, why }
            }
        });
    }

    /// The bytes that go to the client next.
    ///
    /// # Errors
    /// A data file that cannot be read: the connection is to be closed.
    pub fn output(&mut self, served: &mut Served<'_>) -> io::Result<&[u8]> {
        let agreed = match self.phase {
            Phase::Transmission(agreed) => agreed,
            Phase::Handshake(_) => Agreed::default(),
        };
        self.replies.next(served, agreed)
    }

    /// So many of them are gone.
    pub fn sent(&mut self, bytes: usize) {
        self.replies.sent(bytes);
    }

    /// Whether there is something to send.
    pub fn has_output(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Whether the connection is to be closed now.
    pub fn is_over(&self) -> bool {
        self.is_closing && self.replies.is_empty()
    }

    /// Whether it is in the midst of something that only the client can bring to an end.
    pub fn waits_for_client(&self) -> bool {
        matches!(self.phase, Phase::Handshake(_)) || self.receiving.is_some()
    }

    /// What it does with the drive.
    pub(crate) fn use_of_drive(&self) -> Use {
        match self.phase {
            Phase::Handshake(_) => Use::None,
            Phase::Transmission(_) if self.in_flight.is_empty() => Use::Agreed,
            Phase::Transmission(_) => Use::Waits,
        }
    }

    /// Whether there is room for another request.
    pub fn has_room(&self) -> bool {
        !self.is_closing
            && self.in_flight.len() + self.replies.count() < REQUESTS_MAX
            && self.in_flight_bytes < IN_FLIGHT_BYTES_MAX
    }

    /// Whether requests came for which there was no room.
    pub fn has_input(&self) -> bool {
        let transmits = matches!(self.phase, Phase::Transmission(_));
        transmits && self.input.len() >= REQUEST_BYTES && self.has_room()
    }

    /// Memory that its data takes, and whether the write that comes in is a large one.
    pub fn held(&self) -> (u64, bool) {
        let receiving = self.receiving.as_ref();
        let bytes = self.written_bytes + receiving.map_or(0, |r| r.data.len() as u64);
        (bytes, receiving.is_some_and(|r| r.request.length_bytes > LARGE_BYTES))
    }
}

/// Writes that have to wait where memory is short: larger than those of programs that
/// wait for each, and small enough for 1,000 clients at a time.
pub const LARGE_BYTES: u32 = 128 << 10;

/// An errno in the protocol's own numbers.
fn told(errno: i32) -> (u32, &'static str) {
    match errno {
        1 => (error::EPERM, "the drive does not take writes any more"),
        12 => (error::ENOMEM, "the host has no memory for it"),
        28 => (error::ENOSPC, "the host has no room for it"),
        _ => (error::EIO, "the drive has failed it"),
    }
}
