//! All who are connected: programs that use the drive, and those that command it.

use crate::control::{Lines, Wish};
use crate::injection::DeviceFault;
use crate::io::Finished;
use crate::listen::{Listener, Stream};
use crate::nbd::{Connection, Export, LARGE_BYTES, Use};
use crate::served::Served;
use mio::{Interest, Registry, Token};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// Bytes that are read from one client before it is another's turn.
const TURN_BYTES: usize = 128 << 10;
/// Memory that the data of writes may take. Beyond it, large writes are not taken in
/// until others are done; small ones always are.
const HELD_BYTES_MAX: u64 = 256 << 20;
/// How long a client may stop in mid-sentence.
const STOPPED: Duration = Duration::from_secs(30);
/// Most connections. Beyond it one goes that is not in use yet, or is least.
const CONNECTIONS_MAX: usize = 4096;

/// Who is connected.
pub struct Clients {
    export: Export,
    peers: HashMap<usize, Peer>,
    next: usize,
    input: Vec<u8>,
    wishes: Vec<(usize, Result<Wish, String>)>,
    held_bytes: u64,
    /// Somebody may be waiting to be let in.
    pub knocks: bool,
    /// The same, of those that command.
    pub control_knocks: bool,
}

struct Peer {
    stream: Stream,
    speaks: Speaks,
    can_read: bool,
    can_write: bool,
    /// It sends no more than has come.
    ends: bool,
    heard: Instant,
}

enum Speaks {
    Nbd(Connection),
    Control(Lines),
}

impl Clients {
    /// Nobody yet; the first client's token will be `first`, the next ones' follow.
    pub fn new(export: Export, first: Token) -> Self {
        Self {
            export,
            peers: HashMap::new(),
            next: first.0,
            input: vec![0; TURN_BYTES],
            wishes: Vec::new(),
            held_bytes: 0,
            knocks: false,
            control_knocks: false,
        }
    }

    /// Programs that are connected.
    pub fn count(&self) -> usize {
        self.peers.values().filter(|peer| matches!(peer.speaks, Speaks::Nbd(_))).count()
    }

    /// Lets in who waits; while the device is away, only those that command.
    pub fn accept(
        &mut self,
        nbd: Option<&Listener>,
        control: Option<&Listener>,
        registry: &Registry,
        is_away: bool,
    ) {
        if self.knocks
            && let Some(nbd) = nbd
        {
            self.knocks =
                self.let_in(nbd, registry, is_away, || Speaks::Nbd(Connection::default()));
        }
        if self.control_knocks
            && let Some(control) = control
        {
            self.control_knocks =
                self.let_in(control, registry, false, || Speaks::Control(Lines::default()));
        }
    }

    /// Whether somebody may still be waiting.
    fn let_in(
        &mut self,
        listener: &Listener,
        registry: &Registry,
        is_away: bool,
        speaks: impl Fn() -> Speaks,
    ) -> bool {
        // Some at a time, so that those who are in are served as well.
        for _ in 0..64 {
            let mut stream = match listener.accept() {
                Ok(stream) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // No more files can be opened.
                    self.make_room();
                    return true;
                }
            };
            if is_away {
                continue;
            }
            if self.peers.len() >= CONNECTIONS_MAX {
                self.make_room();
            }
            let token = Token(self.next);
            let both = Interest::READABLE | Interest::WRITABLE;
            if registry.register(stream.source(), token, both).is_err() {
                continue;
            }
            let heard = Instant::now();
            let peer = Peer {
                stream,
                speaks: speaks(),
                can_read: true,
                can_write: true,
                ends: false,
                heard,
            };
            self.peers.insert(self.next, peer);
            self.next += 1;
        }
        true
    }

    /// Who has not agreed on anything goes before those that use the drive, and of each
    /// the one that has said nothing for longest.
    fn make_room(&mut self) {
        let least = self.peers.iter().min_by_key(|(_, peer)| (peer.use_of_drive(), peer.heard));
        if let Some(id) = least.map(|(id, _)| *id) {
            self.peers.remove(&id);
        }
    }

    /// What the system says of a client's socket.
    pub fn ready(&mut self, client: usize, can_read: bool, can_write: bool, ends: bool) {
        if let Some(peer) = self.peers.get_mut(&client) {
            peer.can_read |= can_read;
            peer.can_write |= can_write;
            peer.ends |= ends;
        }
    }

    /// Whether there is something to do before the system says so.
    pub fn is_busy(&self) -> bool {
        self.knocks
            || self.peers.values().any(|peer| {
                peer.can_read && peer.is_welcome(self.held_bytes)
                    || peer.can_write && peer.has_output()
                    || peer.has_input()
            })
    }

    /// Takes from each client what it has sent, one turn of it.
    pub fn receive(&mut self, served: &mut Served<'_>, of_device: &mut Vec<DeviceFault>) {
        let mut over = Vec::new();
        for (&id, peer) in &mut self.peers {
            let mut bytes = 0;
            if peer.can_read && peer.is_welcome(self.held_bytes) {
                match peer.stream.read(&mut self.input) {
                    Ok(0) => over.push(id),
                    Ok(length) => {
                        bytes = length;
                        peer.heard = Instant::now();
                        // What is read next would block: the system says when not.
                        peer.can_read = length == self.input.len() || peer.ends;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => peer.can_read = false,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => over.push(id),
                }
            }
            let input = &self.input[..bytes];
            match &mut peer.speaks {
                Speaks::Nbd(connection) if bytes > 0 || connection.has_input() => {
                    connection.take(id, input, &self.export, served, of_device);
                }
                Speaks::Control(lines) if bytes > 0 => {
                    self.wishes.extend(lines.take(input).into_iter().map(|wish| (id, wish)));
                }
                _ => {}
            }
        }
        for id in over {
            self.peers.remove(&id);
        }
        self.held_bytes = self.peers.values().map(|peer| peer.held().0).sum();
    }

    /// An I/O has ended.
    pub fn finished(&mut self, finished: &Finished) {
        if let Some(Peer { speaks: Speaks::Nbd(connection), .. }) =
            self.peers.get_mut(&finished.client)
        {
            connection.finished(finished);
        }
    }

    /// Sends what each client takes.
    pub fn flush(&mut self, served: &mut Served<'_>) {
        self.peers.retain(|_, peer| {
            while peer.can_write && peer.has_output() {
                let output = match &mut peer.speaks {
                    Speaks::Nbd(connection) => match connection.output(served) {
                        Ok(output) => output,
                        Err(_) => return false,
                    },
                    Speaks::Control(lines) => lines.output(),
                };
                match peer.stream.write(output) {
                    Ok(0) => return false,
                    Ok(length) => match &mut peer.speaks {
                        Speaks::Nbd(connection) => connection.sent(length),
                        Speaks::Control(lines) => lines.sent(length),
                    },
                    Err(error) if error.kind() == ErrorKind::WouldBlock => peer.can_write = false,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
            !match &peer.speaks {
                Speaks::Nbd(connection) => connection.is_over(),
                Speaks::Control(lines) => lines.is_over(),
            }
        });
    }

    /// Commands that have come.
    pub fn wishes(&mut self) -> Vec<(usize, Result<Wish, String>)> {
        std::mem::take(&mut self.wishes)
    }

    /// Answers a command.
    pub fn tell(&mut self, client: usize, answer: &Value) {
        if let Some(Peer { speaks: Speaks::Control(lines), .. }) = self.peers.get_mut(&client) {
            lines.tell(answer);
        }
    }

    /// Ends connections that have stopped in mid-sentence, other than by being made to
    /// wait.
    pub fn look_around(&mut self) {
        let held_bytes = self.held_bytes;
        self.peers.retain(|_, peer| match &peer.speaks {
            Speaks::Nbd(connection) => {
                !(connection.waits_for_client()
                    && peer.is_welcome(held_bytes)
                    && peer.heard.elapsed() > STOPPED)
            }
            Speaks::Control(_) => true,
        });
    }

    /// The device is away: every program's connection ends.
    pub fn disconnect(&mut self) {
        self.peers.retain(|_, peer| matches!(peer.speaks, Speaks::Control(_)));
        self.held_bytes = 0;
    }
}

impl Peer {
    /// Whether more may be read from it.
    fn is_welcome(&self, held_bytes: u64) -> bool {
        match &self.speaks {
            Speaks::Nbd(connection) => {
                let (_, is_large) = connection.held();
                connection.has_room() && (held_bytes < HELD_BYTES_MAX || !is_large)
            }
            Speaks::Control(_) => true,
        }
    }

    /// How much of a loss its end would be.
    fn use_of_drive(&self) -> Use {
        match &self.speaks {
            Speaks::Nbd(connection) => connection.use_of_drive(),
            Speaks::Control(_) => Use::Agreed,
        }
    }

    fn held(&self) -> (u64, bool) {
        match &self.speaks {
            Speaks::Nbd(connection) => connection.held(),
            Speaks::Control(_) => (0, false),
        }
    }

    fn has_output(&self) -> bool {
        match &self.speaks {
            Speaks::Nbd(connection) => connection.has_output(),
            Speaks::Control(lines) => !lines.output().is_empty(),
        }
    }

    fn has_input(&self) -> bool {
        matches!(&self.speaks, Speaks::Nbd(connection) if connection.has_input())
    }
}

const _: () = assert!(TURN_BYTES >= LARGE_BYTES as usize);
