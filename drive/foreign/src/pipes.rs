//! Standard input and output of the child, with a limit on how long it may be silent.

use crate::ForeignError;
use crate::record::{printed, prints};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

/// A line of the child is at most so long: the truths of a drive are a few kB.
const LINE_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 1 << 16;

/// Both pipes; what was read and not used yet waits in `buffer[used..]`.
#[derive(Debug)]
pub struct Pipes {
    /// `None` once it is closed.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    used: usize,
    limit: Duration,
}

/// Why a pipe gives nothing; the owner of the process can say more.
#[derive(Debug)]
pub enum Silence {
    /// The other end is closed.
    Closed,
    /// The time is over.
    Late,
    /// Something else.
    Other(ForeignError),
}

impl Pipes {
    /// Over the child's ends; it may be silent for `limit`.
    pub fn new(stdin: ChildStdin, stdout: ChildStdout, limit: Duration) -> Self {
        Self { stdin: Some(stdin), stdout, buffer: Vec::new(), used: 0, limit }
    }

    /// How long the child may be silent.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Writes everything. A child that does not read is waited for as one that does not answer.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Silence> {
        // A pipe takes up to PIPE_BUF bytes as a whole where poll says that it is writable.
        const CHUNK_BYTES: usize = 4096;
        let until = Instant::now() + self.limit;
        let Some(stdin) = &mut self.stdin else {
            return Err(Silence::Closed);
        };
        while !bytes.is_empty() {
            if !wait_for(stdin, PollFlags::OUT, until)? {
                return Err(Silence::Late);
            }
            match stdin.write(&bytes[..bytes.len().min(CHUNK_BYTES)]) {
                Ok(0) => return Err(Silence::Closed),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(Silence::Closed),
                Err(error) => return Err(other(&error)),
            }
        }
        Ok(())
    }

    /// Closes the child's standard input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Exactly `N` bytes.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], Silence> {
        while self.buffer.len() - self.used < N {
            self.fill()?;
        }
        let bytes = self.buffer[self.used..self.used + N].try_into().expect("as many as asked for");
        self.used += N;
        Ok(bytes)
    }

    /// The next line that is not empty: empty ones only wake a sleeper.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn line(&mut self) -> Result<String, Silence> {
        let mut seen = 0;
        loop {
            let rest = &self.buffer[self.used..];
            if let Some(end) = rest[seen..].iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..seen + end]).into_owned();
                self.used += seen + end + 1;
                seen = 0;
                if !line.trim().is_empty() {
                    return Ok(line);
                }
                continue;
            }
            seen = rest.len();
            if seen > LINE_BYTES_MAX {
                let message = format!("a line is longer than {LINE_BYTES_MAX} bytes");
                return Err(Silence::Other(ForeignError::Protocol(message)));
            }
            self.fill()?;
        }
    }

    /// Waits for anything, and forgets it: a sleeper is woken by an empty line.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn sleep(&mut self) -> Result<(), Silence> {
        if self.used == self.buffer.len() {
            self.fill()?;
        }
        let woken = self.buffer[self.used..].iter().take_while(|byte| **byte == b'\n').count();
        if woken == 0 {
            let records = "it writes records to its output although it has mapped the rings";
            let message = printed(&self.buffer[self.used..])
                .map_or_else(|| records.to_string(), |words| prints(&words));
            return Err(Silence::Other(ForeignError::Protocol(message)));
        }
        self.used += woken;
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Silence> {
        if !wait_for(&self.stdout, PollFlags::IN, Instant::now() + self.limit)? {
            return Err(Silence::Late);
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        let held = self.buffer.len();
        self.buffer.resize(held + READ_BYTES, 0);
        let read = self.stdout.read(&mut self.buffer[held..]);
        self.buffer.truncate(held + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(Silence::Closed),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(other(&error)),
        }
    }
}

fn other(error: &std::io::Error) -> Silence {
    Silence::Other(ForeignError::Local(error.to_string()))
}

fn wait_for(
    pipe: &impl std::os::fd::AsFd,
    flags: PollFlags,
    until: Instant,
) -> Result<bool, Silence> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(pipe, flags)], Some(&time)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Silence::Other(ForeignError::Local(error.to_string()))),
        }
    }
}
