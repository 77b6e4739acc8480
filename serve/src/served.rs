//! The served drive: its model, its data, and what goes wrong with it, in virtual
//! time. It reads no clock: the same requests at the same times give the same bytes.

mod ending;

use crate::contents::Contents;
use crate::data::Data;
use crate::fault::Fault;
use crate::injection::{DeviceFault, Effect, Injection};
use crate::io::{Command, EIO, Finished, Io, TRANSFER_BYTES_MAX};
use crate::pending::Pending;
use crate::tally::Tally;
use crate::witness::{InOrder, Seen, Witness};
use fourcorners_target::{Completion, VirtualDrive};
use fourcorners_workload::Operation;
use std::collections::{BTreeMap, VecDeque};

/// Requests that the drive's model is given at a time; more wait here, in order.
pub const OUTSTANDING_MAX: u32 = 1024;

/// A drive, what it holds, and what is on its way.
pub struct Served<'a> {
    drive: &'a mut dyn VirtualDrive,
    contents: Contents,
    injection: Injection,
    seed: u64,
    start_ns: u64,
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    outstanding: u32,
    /// What waits for a slot, or behind a TRIM.
    waiting: VecDeque<Io>,
    /// Completed by the drive and held back by a fault, by time and number.
    delayed: BTreeMap<(u64, u64), Pending>,
    hanging: Vec<Pending>,
    /// New requests wait until the drive has none.
    is_held: bool,
    /// A flush was acknowledged.
    has_flushed: bool,
    /// The host's disk keeps the data before a flush is acknowledged.
    syncs: bool,
    accepted: u64,
    done: Vec<Completion>,
    tally: Tally,
    witness: Option<InOrder>,
}

impl<'a> Served<'a> {
    /// A drive with its data. `seed` is what decides about faults.
    ///
    /// # Errors
    /// A drive that cannot be used.
    pub fn new(drive: &'a mut dyn VirtualDrive, data: Data, seed: u64) -> Result<Self, String> {
        drive.prepare(OUTSTANDING_MAX, TRANSFER_BYTES_MAX).map_err(|error| error.to_string())?;
        let start_ns = drive.now_ns();
        let can_lose = drive.can_lose_power().is_ok() && !drive.is_write_through();
        let contents = Contents::new(data, can_lose);
        Ok(Self {
            contents,
            injection: Injection::new(seed),
            seed,
            start_ns,
            slots: (0..OUTSTANDING_MAX).map(|_| None).collect(),
            free: (0..OUTSTANDING_MAX).rev().collect(),
            outstanding: 0,
            waiting: VecDeque::new(),
            delayed: BTreeMap::new(),
            hanging: Vec::new(),
            is_held: false,
            has_flushed: false,
            syncs: false,
            accepted: 0,
            done: Vec::new(),
            tally: Tally::new(start_ns),
            witness: None,
            drive,
        })
    }

    /// Tells somebody of every I/O from now on: before the first one.
    pub fn tell(&mut self, witness: Witness) {
        self.witness = Some(InOrder::new(witness));
    }

    /// Size of the drive.
    pub fn capacity_bytes(&self) -> u64 {
        self.contents.data().capacity_bytes()
    }

    /// Whether a TRIM does anything.
    pub fn has_trim(&self) -> bool {
        self.drive.has_trim()
    }

    /// Whether a write may be acknowledged before it is durable.
    pub fn has_volatile_cache(&self) -> bool {
        !self.drive.is_write_through()
    }

    /// When the session began, on the drive's clock.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What the drive holds.
    pub fn data(&self) -> &Data {
        self.contents.data()
    }

    /// From now on the host's disk keeps what a flush or a forced write makes durable before
    /// that is acknowledged.
    pub fn sync_with_flushes(&mut self) {
        self.syncs = true;
    }

    /// Whether a flush was acknowledged since this was asked last.
    pub(crate) fn has_flushed(&mut self) -> bool {
        std::mem::take(&mut self.has_flushed)
    }

    /// Lets new requests wait until the drive has none, or no longer.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether the drive has no request.
    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding == 0
    }

    /// The drive itself, to save its state.
    pub(crate) fn drive(&self) -> &dyn VirtualDrive {
        self.drive
    }

    /// Bytes that a loss of power would take now; `None` where nobody knows.
    pub fn volatile_bytes(&self) -> Option<u64> {
        let at_risk = self.drive.at_risk()?;
        Some(at_risk.iter().map(|range| range.end - range.start).sum())
    }

    /// What happened so far.
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// I/Os that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.outstanding as usize + self.waiting.len() + self.delayed.len() + self.hanging.len()
    }

    /// What the model counted.
    pub fn counters(&mut self) -> Vec<(String, f64)> {
        self.drive.counters()
    }

    /// What may go wrong.
    pub(crate) fn injection(&mut self) -> &mut Injection {
        &mut self.injection
    }

    /// Adds a fault whose time counts from when the session began.
    ///
    /// # Errors
    /// A fault that makes no sense.
    pub fn add_fault(&mut self, fault: Fault) -> Result<u64, String> {
        if fault.offset_bytes >= self.capacity_bytes() {
            return Err(format!("the fault {}: its range is beyond the drive", fault.name()));
        }
        if fault.distance_bytes >= self.capacity_bytes() {
            return Err(format!("the fault {}: its distance is beyond the drive", fault.name()));
        }
        if fault.kind == crate::fault::Kind::PowerCut {
            self.drive.can_lose_power()?;
        }
        self.injection.add(fault)
    }

    /// Ends a fault, or all; whether there was one. I/Os that hang because of it fail, and what a
    /// stall held back is answered; when all end, so is what was slowed down.
    pub fn clear_faults(&mut self, id: Option<u64>, now_ns: u64) -> bool {
        let cleared = self.injection.clear(id);
        let now_ns = now_ns.max(self.drive.now_ns());
        let ends = |effect: &Effect| effect.hangs_by.is_some_and(|by| id.is_none_or(|id| id == by));
        // The drive still has some of those that would hang.
        for pending in self.slots.iter_mut().flatten().filter(|one| ends(&one.effect)) {
            (pending.effect.hangs_by, pending.effect.errno) = (None, EIO);
        }
        let delayed = std::mem::take(&mut self.delayed);
        for ((due_ns, number), pending) in delayed {
            let held_ns = self.stalled_until_ns().max(pending.ready_ns);
            let least_ns = if id.is_none() { now_ns } else { held_ns.max(now_ns) };
            self.delayed.insert((due_ns.min(least_ns), number), pending);
        }
        let (over, hanging) =
            std::mem::take(&mut self.hanging).into_iter().partition(|one| ends(&one.effect));
        self.hanging = hanging;
        let over: Vec<Pending> = over;
        for pending in over {
            self.delayed.insert((now_ns, pending.number), Pending { errno: EIO, ..pending });
        }
        cleared
    }

    /// Nothing completes before, because of a fault.
    fn stalled_until_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.injection.stalled_until_ns())
    }

    /// Takes an I/O at the drive's present time. What happens to the device with it
    /// is returned.
    pub fn submit(&mut self, io: Io) -> Option<DeviceFault> {
        let waits = self.is_held || self.free.is_empty() || !self.waiting.is_empty();
        if waits || self.is_trim(&io) {
            self.waiting.push_back(io);
            return None;
        }
        self.start(io)
    }

    /// Whether an I/O is a TRIM to the drive, which needs one without other commands.
    fn is_trim(&self, io: &Io) -> bool {
        match io.command {
            Command::Trim => true,
            Command::Zero { may_discard } => may_discard && self.drive.has_trim(),
            _ => false,
        }
    }

    fn start(&mut self, io: Io) -> Option<DeviceFault> {
        let slot = self.free.pop().expect("the caller looked");
        let operation = io.command.operation();
        let now_ns = self.drive.now_ns();
        let (effect, of_device) = self.meet(&io, now_ns);
        let epoch = match operation {
            Operation::Flush => self.contents.begin_epoch(),
            _ => 0,
        };
        self.accepted += 1;
        let mut pending = Pending {
            io,
            effect,
            number: self.accepted,
            submitted_ns: now_ns,
            ready_ns: 0,
            errno: 0,
            epoch,
            given_bytes: 0,
        };
        let request = pending.next_request();
        pending.submitted_ns = self.drive.submit(slot, &request);
        self.slots[slot as usize] = Some(pending);
        self.outstanding += 1;
        of_device
    }

    /// What an I/O meets that is submitted now.
    fn meet(&mut self, io: &Io, now_ns: u64) -> (Effect, Option<DeviceFault>) {
        let (since_ns, length_bytes) = (now_ns - self.start_ns, u64::from(io.length_bytes));
        let brings_data = matches!(io.command, Command::Write(_));
        let operation = io.command.operation();
        self.injection.meet(since_ns, operation, io.offset_bytes, length_bytes, brings_data)
    }

    /// Lets the drive work until `now_ns` and says what is to be answered, and what
    /// happens to the device.
    ///
    /// # Errors
    /// A drive that can serve nothing more.
    pub fn advance(
        &mut self,
        now_ns: u64,
        finished: &mut Vec<Finished>,
    ) -> Result<Option<DeviceFault>, String> {
        let now_ns = now_ns.max(self.drive.now_ns());
        let mut done = std::mem::take(&mut self.done);
        loop {
            done.clear();
            self.drive.wait(now_ns, &mut done).map_err(|error| error.to_string())?;
            for completion in &done {
                self.completed(completion, finished);
            }
            if done.is_empty() {
                break;
            }
        }
        self.done = done;
        while let Some(entry) = self.delayed.first_entry() {
            let (due_ns, _) = *entry.key();
            if due_ns > now_ns {
                break;
            }
            let pending = entry.remove();
            self.answer(pending, due_ns, finished);
        }
        let mut of_device = self.injection.due(now_ns - self.start_ns);
        while of_device.is_none() && !self.is_held && !self.waiting.is_empty() {
            if self.is_trim(&self.waiting[0]) {
                if self.outstanding > 0 {
                    break;
                }
                let io = self.waiting.pop_front().expect("it was looked at");
                of_device = self.trim(io, finished)?;
            } else if self.free.is_empty() {
                break;
            } else {
                let io = self.waiting.pop_front().expect("it was looked at");
                of_device = self.start(io);
            }
        }
        Ok(of_device)
    }

    /// No answer is due before this time; `None` where nobody knows.
    pub fn next_ns(&self) -> Option<u64> {
        // A TRIM, or what waited while the state was saved.
        if self.outstanding == 0 && !self.waiting.is_empty() {
            return Some(0);
        }
        let drive_ns = if self.outstanding > 0 { self.drive.next_event_ns()? } else { u64::MAX };
        let delayed_ns =
            self.delayed.first_key_value().map_or(u64::MAX, |((due_ns, _), _)| *due_ns);
        let fault_ns = self.injection.next_ns().saturating_add(self.start_ns);
        Some(drive_ns.min(delayed_ns).min(fault_ns))
    }

    fn trim(
        &mut self,
        io: Io,
        finished: &mut Vec<Finished>,
    ) -> Result<Option<DeviceFault>, String> {
        let submitted_ns = self.drive.now_ns();
        let (offset_bytes, length_bytes) = (io.offset_bytes, u64::from(io.length_bytes));
        let (effect, of_device) = self.meet(&io, submitted_ns);
        if effect.errno == 0 {
            self.drive.trim(offset_bytes, length_bytes)?;
        }
        self.accepted += 1;
        let number = self.accepted;
        let pending = Pending {
            errno: effect.errno,
            io,
            effect,
            number,
            submitted_ns,
            ready_ns: 0,
            epoch: 0,
            given_bytes: 0,
        };
        let completed_ns = self.drive.now_ns();
        self.settle(pending, completed_ns, finished);
        Ok(of_device)
    }

    /// The model has served a request.
    fn completed(&mut self, completion: &Completion, finished: &mut Vec<Finished>) {
        let slot = completion.slot;
        let pending = self.slots[slot as usize].as_mut().expect("it was submitted");
        if pending.errno == 0 {
            pending.errno = completion.errno;
        }
        if pending.given_bytes < pending.io.length_bytes {
            let request = pending.next_request();
            self.drive.submit(slot, &request);
            return;
        }
        let mut pending = self.slots[slot as usize].take().expect("it was looked at");
        self.free.push(slot);
        self.outstanding -= 1;
        if pending.effect.errno != 0 {
            pending.errno = pending.effect.errno;
        }
        self.settle(pending, completion.completed_ns, finished);
    }

    /// Answers an I/O, or holds the answer back as its fault wants it.
    fn settle(&mut self, mut pending: Pending, completed_ns: u64, finished: &mut Vec<Finished>) {
        if pending.effect.hangs_by.is_some() {
            self.hanging.push(pending);
            return;
        }
        pending.ready_ns = completed_ns.saturating_add(pending.effect.delay_ns);
        let due_ns = pending.ready_ns.max(self.stalled_until_ns());
        if due_ns > completed_ns {
            self.delayed.insert((due_ns, pending.number), pending);
        } else {
            self.answer(pending, completed_ns, finished);
        }
    }

    /// Does to the data what the I/O says, and answers it.
    fn answer(&mut self, mut pending: Pending, completed_ns: u64, finished: &mut Vec<Finished>) {
        if pending.errno == 0
            && let Err(error) = self.apply(&mut pending)
        {
            pending.errno = error.raw_os_error().unwrap_or(EIO);
        }
        let latency_ns = completed_ns - pending.submitted_ns;
        self.tally.answered(&pending.io, pending.errno, pending.submitted_ns, completed_ns);
        self.seen(&pending, Some(latency_ns));
        let Io { client, cookie, .. } = pending.io;
        finished.push(Finished { client, cookie, errno: pending.errno, completed_ns, latency_ns });
    }

    /// An I/O is over, or will never be.
    fn seen(&mut self, pending: &Pending, latency_ns: Option<u64>) {
        if let Some(witness) = &mut self.witness {
            let since_ns = pending.submitted_ns - self.start_ns;
            witness.over(pending.number, Seen::new(&pending.io, since_ns, latency_ns));
        }
    }

    fn apply(&mut self, pending: &mut Pending) -> std::io::Result<()> {
        let io = &mut pending.io;
        let range = io.offset_bytes..io.offset_bytes + u64::from(io.length_bytes);
        let is_durable = io.is_forced && self.drive.honours_flush();
        let is_trim = matches!(io.command, Command::Zero { may_discard: true } | Command::Trim);
        match &mut io.command {
            Command::Read => return Ok(()),
            Command::Flush => {
                self.has_flushed = true;
                if self.drive.honours_flush() {
                    self.contents.durable_before(pending.epoch);
                }
                return if self.syncs { self.contents.data().sync() } else { Ok(()) };
            }
            _ if is_trim && self.drive.has_trim() => self.contents.discard(range.clone())?,
            // A drive without TRIM takes no notice.
            Command::Trim => return Ok(()),
            Command::Zero { .. } => self.contents.zero(self.drive, range.clone(), is_durable)?,
            Command::Write(bytes) => {
                let fault = pending.effect.data;
                if let Some(fault) = fault {
                    self.tally.corrupted(range.start, bytes.len() as u64, fault);
                }
                self.contents.write(self.drive, range.start, bytes, fault, is_durable)?;
            }
        }
        self.injection.written(range);
        if self.syncs && io.is_forced { self.contents.data().sync() } else { Ok(()) }
    }

    /// The data of a read that was answered without an error, in `buffer` unless it need not
    /// be copied.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn view<'b>(
        &'b mut self,
        offset_bytes: u64,
        length_bytes: usize,
        buffer: &'b mut Vec<u8>,
    ) -> std::io::Result<&'b [u8]> {
        if self.contents.lent(offset_bytes, length_bytes).is_none() {
            buffer.resize(length_bytes, 0);
            self.contents.read(offset_bytes, buffer)?;
            return Ok(buffer);
        }
        Ok(self.contents.lent(offset_bytes, length_bytes).expect("it was"))
    }

    /// The same into a place of the caller's.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.contents.read(offset_bytes, into)
    }

    /// What happened.
    pub fn finish(self) -> Tally {
        self.tally
    }
}
