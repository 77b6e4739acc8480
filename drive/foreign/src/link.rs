//! Records and lines to and from the child, however they travel.

use crate::ForeignError;
use crate::hello::{Greeting, Identity, Reply, VERSION, Wish};
use crate::pipes::{Pipes, Silence};
use crate::process::{Command, Process};
use crate::record::{RECORD_BYTES, Record};
use crate::rings::Rings;
use std::time::Duration;

/// A child that has greeted.
#[derive(Debug)]
pub struct Link {
    pipes: Pipes,
    rings: Option<Rings>,
    process: Process,
    /// Records that were not sent yet, without rings.
    pending: Vec<u8>,
}

impl Link {
    /// Starts the child and greets it.
    ///
    /// # Errors
    /// Whatever keeps it from being a drive.
    pub fn open(
        command: &Command,
        seed: u64,
        limit: Duration,
    ) -> Result<(Self, Identity), ForeignError> {
        let (process, stdin, stdout) = Process::start(command)?;
        let rings = Rings::new().ok();
        let mut link =
            Self { pipes: Pipes::new(stdin, stdout, limit), rings, process, pending: Vec::new() };
        let greeting = Greeting {
            fourcorners_drive: VERSION,
            seed,
            rings: link.rings.as_ref().map(Rings::path),
        };
        let text = serde_json::to_string(&greeting).expect("a greeting is JSON");
        let line = link.exchange(&text, "say what it is")?;
        let identity = Identity::parse(&line, link.rings.is_some())?;
        if !identity.rings {
            link.rings = None;
        }
        Ok((link, identity))
    }

    /// Adds a record; [`Self::send`] sends it.
    ///
    /// # Errors
    /// A child that does not take what it is sent.
    pub fn push(&mut self, record: &Record) -> Result<(), ForeignError> {
        let Some(rings) = &mut self.rings else {
            self.pending.extend_from_slice(&record.to_bytes());
            return Ok(());
        };
        if rings.is_full() {
            let message = "it takes no requests, and its ring is full";
            return Err(ForeignError::Protocol(message.into()));
        }
        rings.push(record);
        Ok(())
    }

    /// Sends what was added.
    ///
    /// # Errors
    /// A child that is gone or does not read.
    pub fn send(&mut self, what: &str) -> Result<(), ForeignError> {
        let sent = match &mut self.rings {
            Some(rings) => rings.publish(&mut self.pipes),
            None => {
                let sent = self.pipes.write(&self.pending);
                self.pending.clear();
                sent
            }
        };
        sent.map_err(|silence| self.explained(silence, what))
    }

    /// The child's next record.
    ///
    /// # Errors
    /// A child that is gone or does not answer.
    pub fn take(&mut self, what: &str) -> Result<Record, ForeignError> {
        let taken = match &mut self.rings {
            Some(rings) => rings.take(&mut self.pipes),
            None => self.pipes.take::<RECORD_BYTES>().map(|bytes| Record::from_bytes(&bytes)),
        };
        taken.map_err(|silence| self.explained(silence, what))
    }

    /// Asks for something, and waits until it is done.
    ///
    /// # Errors
    /// What the child refuses, or does wrong.
    pub fn ask(&mut self, wish: &Wish<'_>, what: &str) -> Result<Reply, ForeignError> {
        let text = serde_json::to_string(wish).expect("a wish is JSON");
        Reply::parse(&self.exchange(&text, what)?)
    }

    /// Tells the child to end; whether it does in time.
    pub fn end(&mut self) -> bool {
        let text = serde_json::to_string(&Wish::End).expect("a wish is JSON");
        let _ = self.pipes.write(format!("{text}\n").as_bytes());
        self.pipes.close();
        self.process.wait().is_some()
    }

    /// Ends the child as it is.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    fn exchange(&mut self, text: &str, what: &str) -> Result<String, ForeignError> {
        let line = format!("{text}\n");
        let line = match self.pipes.write(line.as_bytes()) {
            // A program that is no drive may have said so before it ended.
            Ok(()) | Err(Silence::Closed) => self.pipes.line(),
            Err(silence) => Err(silence),
        };
        line.map_err(|silence| self.explained(silence, what))
    }

    fn explained(&mut self, silence: Silence, what: &str) -> ForeignError {
        match silence {
            Silence::Closed => self.process.ended(),
            Silence::Late => ForeignError::Hangs { limit: self.pipes.limit(), what: what.into() },
            Silence::Other(error) => error,
        }
    }
}
