//! What every drive model is: a machine that advances from event to event.

use crate::validity::{Checked, Clock, ensure};
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError};
use fourcorners_workload::{Pattern, Request, Stream};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a drive has been through for so long that it is in steady state: filled
/// in sequence, then written by one stream without end.
#[derive(Clone, Debug, PartialEq)]
pub struct Overwriting {
    /// How much was filled, from the start of the drive.
    pub filled_bytes: u64,
    /// The stream; only its writes count. Without a span of its own it writes
    /// what is filled.
    pub stream: Stream,
}

impl Overwriting {
    /// Whether all that was filled is written uniformly at random.
    pub fn is_uniform(&self) -> bool {
        self.stream.pattern == Pattern::Random
            && self.stream.offset_bytes == 0
            && self.stream.misalignment_bytes == 0
            && self.stream.span_bytes.is_none_or(|span_bytes| span_bytes == self.filled_bytes)
    }
}

/// Why a model meets neither discards nor write-zeroes.
pub(crate) const UNSERVED: &str = "InTurn makes TRIMs and writes of these";

/// A drive model. It owns its state and its pending events, and is driven from
/// outside: hand in commands, then step through events in order of time.
///
/// Contract: times never go back. `submit` happens at or after the last event
/// stepped; every submitted command completes after finitely many steps.
pub trait Device {
    /// User-accessible bytes.
    fn capacity_bytes(&self) -> u64;

    /// Takes a command from the host at `at_ns`: a read, a write or a flush. The device queues it itself
    /// when its command queue is full.
    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request);

    /// Time of the earliest pending event; [`crate::NEVER_NS`] when there is none.
    fn next_event_ns(&self) -> u64;

    /// Handles the earliest event and appends the commands that it completed.
    fn step(&mut self, done: &mut Vec<Completion>);

    /// Handles events in order of time until one completes commands or none is
    /// due by `until_ns`. Returns the time reached.
    fn advance(&mut self, until_ns: u64, done: &mut Vec<Completion>) -> u64 {
        loop {
            let event_ns = self.next_event_ns();
            if event_ns > until_ns {
                return until_ns;
            }
            self.step(done);
            if !done.is_empty() {
                return event_ns;
            }
        }
    }

    /// Secure erase: forgets all data. Only called while no command is
    /// outstanding.
    fn purge(&mut self, at_ns: u64);

    /// The host no longer needs a range (TRIM). Only called while no command is
    /// outstanding. Drives without TRIM take no notice.
    fn trim(&mut self, _at_ns: u64, _offset_bytes: u64, _length_bytes: u64) {}

    /// Whether [`Device::trim`] does anything.
    fn has_trim(&self) -> bool {
        false
    }

    /// Whether flushes and forced writes complete only when data is durable, as they
    /// are meant to.
    fn honours_flush(&self) -> bool {
        true
    }

    /// Whether every write completes only when its data is durable, or in memory that
    /// capacitors keep.
    fn is_write_through(&self) -> bool {
        false
    }

    /// What [`Device::power_cut`] would return at `at_ns`, which is now.
    fn at_risk(&self, at_ns: u64) -> Vec<Range<u64>>;

    /// Power fails and comes back: what was acknowledged and not durable is
    /// lost. Returns the ranges of bytes whose latest write is lost, ascending
    /// and apart; what such a range holds now is older data or none. Commands
    /// that are outstanding never complete; what they wrote may be among the
    /// ranges.
    fn power_cut(&mut self, at_ns: u64) -> Vec<Range<u64>>;

    /// Whether [`Device::enter_steady_state`] may be called.
    ///
    /// # Errors
    /// Why the model has no such steady state, or none that can be entered at once.
    fn has_steady_state(&self, _of: &Overwriting) -> Result<(), String> {
        Err("only page-mapped SSDs have a steady state that can be entered at once".into())
    }

    /// Secure erase, then the steady state. What was neither filled nor written
    /// is spare area. Only called where there is such a state.
    fn enter_steady_state(&mut self, _at_ns: u64, _of: &Overwriting) {}

    /// Adds to a loaded state what is not in it and a drive made from the same
    /// drive file has, once it is certain that the model can go on from the state.
    ///
    /// # Errors
    /// What does not hold of the state. Models whose states are never loaded leave it out.
    fn complete(&mut self, _made: &Self, _clock: Clock) -> Checked
    where
        Self: Sized,
    {
        ensure(false, "a model that has states")
    }

    /// What the model counted since it was made, as name and value: for
    /// findings about the model itself (write amplification, seeks), never for
    /// analysis of a drive.
    fn counters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What state the drive is in now ([`Target::condition`]).
    fn condition(&self) -> Condition {
        Vec::new()
    }

    /// Checks what must hold of the model's state at any time, such as every
    /// unit mapped once and counts that add up; slow, for tests.
    ///
    /// # Panics
    /// When something does not hold.
    fn assert_consistent(&self) {}

    /// Energy that the drive took from time zero until `now_ns`, in joules;
    /// `None` where its power is not specified.
    fn energy_j(&self, _now_ns: u64) -> Option<f64> {
        None
    }

    /// Bytes programmed into flash since the model was made, whole rows as the
    /// dies program them; `None` where there is no flash.
    fn flash_programmed_bytes(&self) -> Option<u64> {
        None
    }
}

/// A device and its virtual clock: the simulated side of the target seam.
#[derive(Debug, Serialize, Deserialize)]
pub struct Simulated<D> {
    device: D,
    now_ns: u64,
}

impl<D: Device> Simulated<D> {
    /// Starts the clock at zero.
    pub fn new(device: D) -> Self {
        Self { device, now_ns: 0 }
    }

    /// What the model counted, with the energy it took (`energy_j`) where the
    /// drive's power is specified.
    pub fn counters(&self) -> Vec<(&'static str, f64)> {
        let mut counters = self.device.counters();
        counters.extend(self.meters().energy_j.map(|energy_j| ("energy_j", energy_j)));
        counters
    }

    /// Takes over a saved state. The drive stays as it is when that fails.
    ///
    /// # Errors
    /// What does not hold of the state.
    pub fn restore(&mut self, mut saved: Self) -> Checked {
        saved.device.complete(&self.device, Clock::new(saved.now_ns)?)?;
        *self = saved;
        Ok(())
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Lets `idle_ns` pass without commands; background work goes on.
    pub fn idle(&mut self, idle_ns: u64) {
        let until_ns = self.now_ns + idle_ns;
        self.now_ns = self.device.advance(until_ns, &mut Vec::new());
        debug_assert!(self.now_ns == until_ns, "idle with commands outstanding");
    }

    /// Secure erase.
    pub fn purge(&mut self) {
        self.device.purge(self.now_ns);
    }

    /// The host no longer needs a range (TRIM).
    pub fn trim(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.device.trim(self.now_ns, offset_bytes, length_bytes);
    }

    /// See [`Device::at_risk`].
    pub fn at_risk(&self) -> Vec<Range<u64>> {
        self.device.at_risk(self.now_ns)
    }

    /// Power fails and comes back; see [`Device::power_cut`].
    pub fn power_cut(&mut self) -> Vec<Range<u64>> {
        self.device.power_cut(self.now_ns)
    }

    /// A steady state, at once.
    ///
    /// # Errors
    /// See [`Device::has_steady_state`]; the drive stays as it is.
    pub fn enter_steady_state(&mut self, of: &Overwriting) -> Result<(), String> {
        self.device.has_steady_state(of)?;
        self.device.enter_steady_state(self.now_ns, of);
        Ok(())
    }
}

impl<D: Device> Target for Simulated<D> {
    fn capacity_bytes(&self) -> u64 {
        self.device.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, _slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        Ok(())
    }

    fn meters(&self) -> Meters {
        Meters {
            energy_j: self.device.energy_j(self.now_ns),
            flash_programmed_bytes: self.device.flash_programmed_bytes(),
        }
    }

    fn condition(&mut self) -> Condition {
        self.device.condition()
    }

    #[inline]
    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.device.submit(self.now_ns, slot, request);
        self.now_ns
    }

    #[inline]
    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        if done.is_empty() {
            self.now_ns = self.device.advance(deadline_ns, done);
        }
        Ok(())
    }
}
