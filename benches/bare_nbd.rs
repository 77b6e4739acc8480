//! As little as an NBD server of a drive can be: one client at a time, no data, and every request answered
//! so long after it came. What a program measures on it beyond that is the program's, the
//! protocol's, and the machine's (`benches/serve_fidelity.py`).
//!
//! `bare_nbd SOCKET CAPACITY_BYTES LATENCY_NS`, until it is killed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Sleeping ends late by up to so much; the rest is spent looking, as our server does.
const WAKE_LATE: Duration = Duration::from_micros(50);

const REQUEST_BYTES: usize = 28;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, socket, capacity, latency] = &words[..] else {
        panic!("bare_nbd SOCKET CAPACITY_BYTES LATENCY_NS");
    };
    let number = |word: &String| word.parse().expect("digits");
    let listener = UnixListener::bind(socket).expect("a place of its own");
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)).expect("Linux");
    let (capacity_bytes, latency) = (number(capacity), Duration::from_nanos(number(latency)));
    loop {
        let (mut client, _) = listener.accept().expect("a client");
        // It may go without a word.
        let _ = greet(&mut client, capacity_bytes).and_then(|()| serve(&mut client, latency));
    }
}

/// The handshake: every option is refused but the one of the oldest clients.
fn greet(client: &mut UnixStream, capacity_bytes: u64) -> Result<()> {
    client.write_all(b"NBDMAGICIHAVEOPT\x00\x03")?;
    let mut flags = [0; 4];
    client.read_exact(&mut flags)?;
    loop {
        let mut option = [0; 16];
        client.read_exact(&mut option)?;
        let word = |at| u32::from_be_bytes(option[at..at + 4].try_into().expect("four bytes"));
        let (number, length) = (word(8), word(12));
        client.read_exact(&mut vec![0; length as usize])?;
        if number == 1 {
            client.write_all(&capacity_bytes.to_be_bytes())?;
            return client.write_all(&1_u16.to_be_bytes());
        }
        client.write_all(&0x0003_e889_0455_65a9_u64.to_be_bytes())?;
        client.write_all(&number.to_be_bytes())?;
        client.write_all(&0x8000_0001_u32.to_be_bytes())?;
        client.write_all(&[0; 4])?;
    }
}

/// A request that is to be answered.
struct Waiting {
    due: Instant,
    cookie: [u8; 8],
    data_bytes: usize,
}

fn serve(client: &mut UnixStream, latency: Duration) -> Result<()> {
    client.set_nonblocking(true)?;
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    let (mut input, mut part) = (Vec::new(), vec![0; 1 << 18]);
    let (mut output, mut sent, mut skip) = (Vec::new(), 0, 0);
    let mut written = None;
    loop {
        match client.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(length) => input.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut used = 0;
        loop {
            let skipped = input.len().saturating_sub(used).min(skip);
            (used, skip) = (used + skipped, skip - skipped);
            if skip > 0 {
                break;
            }
            // A write came when its data has: no client expects an answer before.
            if let Some(cookie) = written.take() {
                waiting.push_back(Waiting { due: Instant::now() + latency, cookie, data_bytes: 0 });
            }
            let Some(request) = input.get(used..used + REQUEST_BYTES) else { break };
            used += REQUEST_BYTES;
            let length = u32::from_be_bytes(request[24..].try_into().expect("four bytes")) as usize;
            let cookie = request[8..16].try_into().expect("eight bytes");
            let data_bytes = match u16::from_be_bytes([request[6], request[7]]) {
                DISCONNECT => return Ok(()),
                WRITE => {
                    (skip, written) = (length, Some(cookie));
                    continue;
                }
                READ => length,
                _ => 0,
            };
            waiting.push_back(Waiting { due: Instant::now() + latency, cookie, data_bytes });
        }
        input.drain(..used);
        while waiting.front().is_some_and(|first| first.due <= Instant::now()) {
            let Waiting { cookie, data_bytes, .. } = waiting.pop_front().expect("it was looked at");
            output.extend_from_slice(b"\x67\x44\x66\x98\x00\x00\x00\x00");
            output.extend_from_slice(&cookie);
            output.resize(output.len() + data_bytes, 0);
        }
        let mut is_full = false;
        while sent < output.len() && !is_full {
            match client.write(&output[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => is_full = true,
                Err(error) => return Err(error),
            }
        }
        if sent == output.len() {
            output.clear();
            sent = 0;
        }
        let due = waiting.front().map(|first| first.due.saturating_duration_since(Instant::now()));
        let rest = due.unwrap_or(Duration::from_secs(1)).saturating_sub(WAKE_LATE);
        if !rest.is_zero() {
            let timeout =
                Timespec { tv_sec: rest.as_secs() as _, tv_nsec: rest.subsec_nanos().into() };
            let wanted = if is_full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            poll(&mut [PollFd::new(&*client, wanted)], Some(&timeout))?;
        }
    }
}
