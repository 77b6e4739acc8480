//! Decides which I/O meets which fault.

use crate::fault::{Fault, Kind};
use fourcorners_workload::Operation;
use std::ops::Range;

/// What an I/O meets.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// It fails: NBD has the same numbers as errno.
    pub errno: i32,
    /// It takes so much more, in the drive's time.
    pub delay_ns: u64,
    /// It never completes.
    pub hangs: bool,
    /// It goes through the cache.
    pub is_forced: bool,
    /// What becomes of a write's data.
    pub data: Option<DataFault>,
}

/// What becomes of a write's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFault {
    /// This bit of it is flipped.
    Flipped(u64),
    /// So many bytes of it are stored.
    Torn(u64),
    /// None of it is stored.
    Lost,
    /// It is stored so far away.
    Misplaced(u64),
    /// The next read returns what was there before.
    Stale,
}

/// What happens to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceFault {
    /// See [`Kind::Stall`]; for so long.
    Stall(u64),
    /// See [`Kind::Gone`]; for so long.
    Gone(u64),
    /// See [`Kind::PowerCut`].
    PowerCut(Option<u64>),
}

const EPERM: i32 = 1;
const EIO: i32 = 5;

/// The faults of a session.
#[derive(Debug, Default)]
pub struct Injection {
    seed: u64,
    faults: Vec<Active>,
    next_id: u64,
    throttled_until_ns: u64,
}

/// A fault, and what has come of it.
#[derive(Debug)]
pub struct Active {
    /// By which it is cleared.
    pub id: u64,
    /// What it is.
    pub fault: Fault,
    /// I/Os that it concerned.
    pub concerned: u64,
    /// I/Os that it happened to.
    pub happened: u64,
    /// Sectors whose latent error a write has mended.
    mended: Vec<Range<u64>>,
}

impl Injection {
    /// None yet. `seed` is what probabilities are drawn from.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a fault, whose times count from when the session began.
    ///
    /// # Errors
    /// See [`Fault::check`].
    pub fn add(&mut self, fault: Fault) -> Result<u64, String> {
        fault.check()?;
        let id = self.next_id;
        self.next_id += 1;
        self.faults.push(Active { id, fault, concerned: 0, happened: 0, mended: Vec::new() });
        Ok(id)
    }

    /// Ends a fault, or all of them; whether there was one.
    pub fn clear(&mut self, id: Option<u64>) -> bool {
        let before = self.faults.len();
        self.faults.retain(|active| id.is_some_and(|id| active.id != id));
        self.faults.len() < before
    }

    /// All faults that were not cleared.
    pub fn faults(&self) -> &[Active] {
        &self.faults
    }

    /// When the next one is due that happens at a time.
    pub fn next_ns(&self) -> u64 {
        let timed = self.faults.iter().filter(|active| active.is_timed() && active.happened == 0);
        timed.map(|active| active.fault.at_ns).min().unwrap_or(u64::MAX)
    }

    /// What happens to the device by now, `now_ns` after the session began.
    pub fn due(&mut self, now_ns: u64) -> Option<DeviceFault> {
        let due = |active: &&mut Active| {
            active.is_timed() && active.happened == 0 && active.fault.at_ns <= now_ns
        };
        let active = self.faults.iter_mut().filter(due).min_by_key(|active| active.fault.at_ns)?;
        active.happened = 1;
        active.fault.of_device()
    }

    /// What an I/O meets that is submitted now.
    pub fn meet(
        &mut self,
        now_ns: u64,
        operation: Operation,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> (Effect, Option<DeviceFault>) {
        let (mut effect, mut of_device) = (Effect::default(), None);
        for active in &mut self.faults {
            if active.is_timed() || !active.fault.concerns(operation, offset_bytes, length_bytes) {
                continue;
            }
            if !active.happens(self.seed, now_ns, offset_bytes..offset_bytes + length_bytes) {
                continue;
            }
            let draw = hash(self.seed ^ 0x5eed, active.id, active.concerned);
            let fault = &active.fault;
            match fault.kind {
                Kind::IoError | Kind::LatentError => effect.errno = EIO,
                Kind::EndOfLife => effect.errno = EPERM,
                Kind::Slow => effect.delay_ns += fault.delay_ns,
                Kind::Hang => effect.hangs = true,
                Kind::FullCache => effect.is_forced = true,
                Kind::Throttle => {
                    let takes_ns = u128::from(length_bytes) * 1_000_000_000;
                    let takes_ns = (takes_ns / u128::from(fault.rate_bytes_per_s)) as u64;
                    self.throttled_until_ns = self.throttled_until_ns.max(now_ns) + takes_ns;
                    effect.delay_ns = effect.delay_ns.max(self.throttled_until_ns - now_ns);
                }
                Kind::BitFlip => effect.data = Some(DataFault::Flipped(draw % (length_bytes * 8))),
                Kind::TornWrite => {
                    effect.data = Some(DataFault::Torn(draw % (length_bytes / 512).max(1) * 512));
                }
                Kind::LostWrite => effect.data = Some(DataFault::Lost),
                Kind::MisplacedWrite => {
                    effect.data = Some(DataFault::Misplaced(fault.distance_bytes));
                }
                Kind::StaleRead => effect.data = Some(DataFault::Stale),
                Kind::Stall | Kind::Gone | Kind::PowerCut => of_device = fault.of_device(),
            }
        }
        (effect, of_device)
    }

    /// A range has been written: its latent errors are mended.
    pub fn written(&mut self, range: Range<u64>) {
        for active in &mut self.faults {
            let concerns = active.fault.kind == Kind::LatentError
                && active.fault.concerns(Operation::Read, range.start, range.end - range.start);
            // As many as no real drive could have.
            if concerns && active.mended.len() < 1 << 16 {
                active.mended.push(range.clone());
            }
        }
    }
}

impl Active {
    /// Whether it waits for a time, and not for an I/O.
    fn is_timed(&self) -> bool {
        let fault = &self.fault;
        let by_io = fault.on.is_some()
            || fault.from_io > 1
            || fault.length_bytes.is_some()
            || fault.offset_bytes > 0
            || fault.probability < 1.0;
        fault.kind.is_of_device() && !by_io
    }

    fn happens(&mut self, seed: u64, now_ns: u64, range: Range<u64>) -> bool {
        let fault = &self.fault;
        let is_time = now_ns >= fault.at_ns
            && (fault.kind.is_of_device()
                || fault.for_ns.is_none_or(|for_ns| now_ns - fault.at_ns < for_ns));
        if !is_time {
            return false;
        }
        if fault.kind == Kind::LatentError && self.is_mended(range) {
            return false;
        }
        self.concerned += 1;
        let times = self.fault.times.or(self.fault.kind.is_of_device().then_some(1));
        let drawn = hash(seed, self.id, self.concerned) >> 11;
        let happens = self.concerned >= self.fault.from_io
            && times.is_none_or(|times| self.happened < times)
            && (drawn as f64) < self.fault.probability * (1u64 << 53) as f64;
        self.happened += u64::from(happens);
        happens
    }

    /// Whether every sector of the fault that a read touches was written since.
    fn is_mended(&self, range: Range<u64>) -> bool {
        let end = self.fault.length_bytes.map_or(u64::MAX, |l| self.fault.offset_bytes + l);
        let mut at = range.start.max(self.fault.offset_bytes);
        let until = range.end.min(end);
        while at < until {
            match self.mended.iter().find(|mended| mended.contains(&at)) {
                Some(mended) => at = mended.end,
                None => return false,
            }
        }
        true
    }
}

impl Fault {
    fn of_device(&self) -> Option<DeviceFault> {
        match self.kind {
            Kind::Stall => Some(DeviceFault::Stall(self.for_ns.unwrap_or(0))),
            Kind::Gone => Some(DeviceFault::Gone(self.for_ns.unwrap_or(0))),
            Kind::PowerCut => Some(DeviceFault::PowerCut(self.for_ns)),
            _ => None,
        }
    }
}

/// SplitMix64 over three numbers: the same draw for the same I/O of the same fault.
pub fn hash(seed: u64, id: u64, number: u64) -> u64 {
    let mut mixed = seed;
    for word in [id, number] {
        mixed = mixed.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
    }
    mixed
}
