//! The child as a target.

use crate::ForeignError;
use crate::hello::{Identity, Wish};
use crate::link::Link;
use crate::process::Command;
use crate::record::{Record, UNKNOWN, kind, printed, prints};
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError, VirtualDrive};
use fourcorners_workload::Request;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// How long a child may take for one step: longer than any that computes one.
pub const SILENCE_S_MAX: u64 = 60;

/// How long a drive may complete nothing of what is outstanding, in its own time: longer than
/// hosts wait (Linux gives up a SCSI command after 30 s, and tries five times).
const STANDSTILL_NS_MAX: u64 = 600_000_000_000;

/// A drive that another program simulates, and its virtual clock.
///
/// Nothing that the program says is believed: a clock that goes back, completions of
/// requests that were never made, or made twice, and everything else that the
/// protocol does not permit end the run with one sentence.
#[derive(Debug)]
pub struct ForeignDrive {
    link: Link,
    identity: Identity,
    now_ns: u64,
    /// By slot.
    outstanding: Vec<bool>,
    outstanding_count: usize,
    /// When the latest request completed, or the first of those that are outstanding was made.
    stirred_ns: u64,
    flash_programmed_bytes: Option<u64>,
    broken: Option<ForeignError>,
}

impl ForeignDrive {
    /// Starts the program. `seed` is the root of the drive's own randomness.
    ///
    /// # Errors
    /// A program that cannot be started or does not greet as the protocol wants.
    pub fn start(command: &Command, seed: u64) -> Result<Self, ForeignError> {
        Self::start_within(command, seed, Duration::from_secs(SILENCE_S_MAX))
    }

    /// The same, with another limit on how long the program may be silent.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_within(
        command: &Command,
        seed: u64,
        limit: Duration,
    ) -> Result<Self, ForeignError> {
        let (link, identity) = Link::open(command, seed, limit)?;
        let mut drive = Self {
            link,
            identity,
            now_ns: 0,
            outstanding: Vec::new(),
            outstanding_count: 0,
            stirred_ns: 0,
            flash_programmed_bytes: None,
            broken: None,
        };
        drive.read_meters()?;
        Ok(drive)
    }

    /// What the program says of its drive.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Lets time pass without I/O.
    ///
    /// # Errors
    /// A program that breaks the protocol.
    pub fn idle(&mut self, idle_ns: u64) -> Result<(), ForeignError> {
        let until_ns = self.now_ns.saturating_add(idle_ns);
        self.advance(until_ns, &mut Vec::new())
    }

    /// Secure erase.
    ///
    /// # Errors
    /// A drive without it, and a program that refuses.
    pub fn purge(&mut self) -> Result<(), ForeignError> {
        if !self.identity.abilities.purge {
            return Err(ForeignError::Unable("erase its drive"));
        }
        self.ask(&Wish::Purge, "erase the drive")?;
        self.read_meters()
    }

    /// Tells the drive that a range is no longer needed. Drives without TRIM take no notice.
    ///
    /// # Errors
    /// A program that breaks the protocol, and a TRIM that fails.
    pub fn trim(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), ForeignError> {
        if !self.identity.abilities.trim {
            return Ok(());
        }
        self.serve(kind::TRIM, offset_bytes, length_bytes)
    }

    /// Makes a range zeroes without sending any.
    ///
    /// # Errors
    /// A drive without it, a program that breaks the protocol, and zeroes that fail.
    pub fn write_zeroes(
        &mut self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<(), ForeignError> {
        if !self.identity.abilities.write_zeroes {
            return Err(ForeignError::Unable("write zeroes"));
        }
        self.serve(kind::WRITE_ZEROES, offset_bytes, length_bytes)
    }

    /// One request that no workload has, alone and to its end.
    fn serve(
        &mut self,
        kind: u8,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<(), ForeignError> {
        self.outstanding.resize(self.outstanding.len().max(1), false);
        let time_ns = self.now_ns;
        let record = Record { kind, time_ns, offset_bytes, length_bytes, ..Record::default() };
        self.checked(|drive| drive.link.push(&record))?;
        self.made(0);
        let mut done = Vec::new();
        while done.is_empty() {
            self.advance(u64::MAX, &mut done)?;
        }
        match done[0].errno {
            0 => Ok(()),
            errno => Err(ForeignError::Refused(format!("a request failed with errno {errno}"))),
        }
    }

    /// Power fails and comes back; gives the ranges whose latest write was lost.
    ///
    /// # Errors
    /// A drive that cannot say it, and a program that refuses.
    pub fn power_cut(&mut self) -> Result<Vec<Range<u64>>, ForeignError> {
        if !self.identity.abilities.power_cut {
            return Err(ForeignError::Unable("say what a loss of power takes"));
        }
        let reply = self.ask(&Wish::PowerCut, "lose power")?;
        let mut end_bytes = 0;
        for &(offset_bytes, length_bytes) in &reply.lost {
            let next_bytes = offset_bytes.checked_add(length_bytes);
            if offset_bytes < end_bytes
                || next_bytes.is_none_or(|next| next > self.identity.capacity_bytes)
            {
                let message = "what was lost does not ascend, or lies beyond the drive";
                return Err(self.broken_by(ForeignError::Protocol(message.into())));
            }
            end_bytes = next_bytes.unwrap_or(end_bytes);
        }
        Ok(reply.lost.into_iter().map(|(offset, length)| offset..offset + length).collect())
    }

    /// Has the program write its state to a file that is not there yet.
    ///
    /// # Errors
    /// A drive without states, and a program that refuses.
    pub fn save(&mut self, path: &str) -> Result<(), ForeignError> {
        if !self.identity.abilities.save {
            return Err(ForeignError::Unable("save its state"));
        }
        self.ask(&Wish::Save { path }, "save its state").map(drop)
    }

    /// Has the program take over a state. Its clock goes on.
    ///
    /// # Errors
    /// A drive without states, and a program that refuses.
    pub fn load(&mut self, path: &str) -> Result<(), ForeignError> {
        if !self.identity.abilities.save {
            return Err(ForeignError::Unable("load a state"));
        }
        self.ask(&Wish::Load { path }, "load its state")?;
        self.read_meters()
    }

    /// What the model counted; empty where it counts nothing.
    ///
    /// # Errors
    /// A program that breaks the protocol.
    pub fn counters(&mut self) -> Result<BTreeMap<String, f64>, ForeignError> {
        if !self.identity.abilities.counters {
            return Ok(BTreeMap::new());
        }
        Ok(self.ask(&Wish::Counters, "say what it has counted")?.counters)
    }

    /// Learns what was programmed until now, which another state may count anew.
    fn read_meters(&mut self) -> Result<(), ForeignError> {
        self.flash_programmed_bytes = None;
        self.advance(self.now_ns, &mut Vec::new())
    }

    /// Tells the program to end; whether it did so in time. It is killed otherwise.
    pub fn close(&mut self) -> bool {
        let ended = self.broken.is_none() && self.link.end();
        self.broken.get_or_insert(ForeignError::Closed);
        self.link.kill();
        ended
    }

    fn ask(&mut self, wish: &Wish<'_>, what: &str) -> Result<crate::hello::Reply, ForeignError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        match self.link.ask(wish, what) {
            Err(error @ ForeignError::Refused(_)) => Err(error),
            Err(error) => Err(self.broken_by(error)),
            Ok(reply) => Ok(reply),
        }
    }

    fn checked<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, ForeignError>,
    ) -> Result<T, ForeignError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        act(self).map_err(|error| self.broken_by(error))
    }

    fn broken_by(&mut self, error: ForeignError) -> ForeignError {
        self.broken.get_or_insert(error).clone()
    }

    /// The request of this slot is outstanding from now on.
    #[inline]
    fn made(&mut self, slot: u32) {
        if self.outstanding_count == 0 {
            self.stirred_ns = self.now_ns;
        }
        self.outstanding[slot as usize] = true;
        self.outstanding_count += 1;
    }

    fn advance(
        &mut self,
        deadline_ns: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), ForeignError> {
        self.checked(|drive| drive.advance_unchecked(deadline_ns, done))
    }

    fn advance_unchecked(
        &mut self,
        deadline_ns: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), ForeignError> {
        const WHAT: &str = "go on to the next completion";
        let wrong = |why: String| Err(ForeignError::Protocol(why));
        let deadline_ns = deadline_ns.max(self.now_ns);
        self.link.push(&Record {
            kind: kind::ADVANCE,
            time_ns: deadline_ns,
            ..Record::default()
        })?;
        self.link.send(WHAT)?;
        let before = done.len();
        let mut last_ns = self.now_ns;
        loop {
            let record = self.link.take(WHAT)?;
            let Record { slot, time_ns, .. } = record;
            // Words have any times, so that these are no clock.
            if let Some(words) = printed(&record.to_bytes()) {
                return wrong(prints(&words));
            }
            if !matches!(record.kind, kind::COMPLETED | kind::ADVANCED) {
                return wrong(format!("it sends a record of kind {}", record.kind));
            }
            if time_ns < last_ns {
                return wrong(format!("its clock goes back, from {last_ns} to {time_ns} ns"));
            }
            if done.len() > before && time_ns > last_ns {
                return wrong(format!(
                    "it goes on to {time_ns} ns, and a request completed at {last_ns} ns"
                ));
            }
            if time_ns > deadline_ns {
                return wrong(format!(
                    "it goes on to {time_ns} ns, and it was to stop at {deadline_ns} ns"
                ));
            }
            last_ns = time_ns;
            match record.kind {
                kind::COMPLETED => {
                    match self.outstanding.get_mut(slot as usize) {
                        Some(waits) if *waits => *waits = false,
                        _ => return wrong(format!("nothing is outstanding under slot {slot}")),
                    }
                    self.outstanding_count -= 1;
                    self.stirred_ns = time_ns;
                    let errno = i32::try_from(record.offset_bytes).unwrap_or(i32::MAX);
                    done.push(Completion { slot, completed_ns: time_ns, errno });
                }
                _ => {
                    if done.len() == before && time_ns < deadline_ns {
                        return wrong(format!(
                            "it stops at {time_ns} ns with nothing completed, before {deadline_ns} ns"
                        ));
                    }
                    let still_ns = time_ns - self.stirred_ns;
                    if self.outstanding_count > 0 && still_ns > STANDSTILL_NS_MAX {
                        let waited = if time_ns == u64::MAX {
                            "and it was asked to go on until one is done".to_string()
                        } else {
                            format!(
                                "and none was done in {} s of its time",
                                still_ns / 1_000_000_000
                            )
                        };
                        return wrong(format!(
                            "it completes nothing: {} outstanding, {waited}",
                            self.outstanding_count
                        ));
                    }
                    self.now_ns = time_ns;
                    let programmed = Some(record.offset_bytes).filter(|bytes| *bytes != UNKNOWN);
                    if programmed < self.flash_programmed_bytes {
                        return wrong("what it programmed into flash becomes less".into());
                    }
                    self.flash_programmed_bytes = programmed;
                    return Ok(());
                }
            }
        }
    }
}

impl Target for ForeignDrive {
    fn capacity_bytes(&self) -> u64 {
        self.identity.capacity_bytes
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        self.outstanding.clear();
        self.outstanding.resize(slots as usize, false);
        self.outstanding_count = 0;
        Ok(())
    }

    fn meters(&self) -> Meters {
        Meters { flash_programmed_bytes: self.flash_programmed_bytes, ..Meters::default() }
    }

    /// What it counts, which it can be asked only while nothing is outstanding.
    fn condition(&mut self) -> Condition {
        let counters = VirtualDrive::counters(self);
        counters.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        let record = Record::request(slot, self.now_ns, request);
        // What fails here fails again in `wait`, which can say so.
        let _ = self.checked(|drive| drive.link.push(&record));
        self.made(slot);
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.advance(deadline_ns, done).map_err(|error| TargetError(error.to_string()))
    }
}

impl VirtualDrive for ForeignDrive {
    fn has_trim(&self) -> bool {
        self.identity.abilities.trim
    }

    fn trim(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), String> {
        ForeignDrive::trim(self, offset_bytes, length_bytes).map_err(|error| error.to_string())
    }

    fn can_lose_power(&self) -> Result<(), String> {
        if self.identity.abilities.power_cut {
            return Ok(());
        }
        Err(ForeignError::Unable("say what a loss of power takes").to_string())
    }

    /// The protocol has the drive finish what is outstanding first. Who asked for
    /// that never learns of it.
    fn power_cut(&mut self) -> Result<Vec<Range<u64>>, String> {
        self.can_lose_power()?;
        let mut done = Vec::new();
        while self.outstanding_count > 0 {
            done.clear();
            self.advance(u64::MAX, &mut done).map_err(|error| error.to_string())?;
        }
        ForeignDrive::power_cut(self).map_err(|error| error.to_string())
    }

    fn counters(&mut self) -> Vec<(String, f64)> {
        // The program answers with completions first.
        if self.outstanding_count > 0 {
            return Vec::new();
        }
        ForeignDrive::counters(self)
            .map(|counters| counters.into_iter().collect())
            .unwrap_or_default()
    }
}

impl Drop for ForeignDrive {
    fn drop(&mut self) {
        self.close();
    }
}
