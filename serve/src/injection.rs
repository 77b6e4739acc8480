//! Decides which I/O meets which fault.

use crate::fault::{Fault, Kind, LONGEST_NS};
use crate::mended::Mended;
use fourcorners_workload::Operation;
use std::ops::Range;

/// What an I/O meets.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// It fails: NBD has the same numbers as errno.
    pub errno: i32,
    /// It takes so much more, in the drive's time.
    pub delay_ns: u64,
    /// It never completes, because of this fault.
    pub hangs_by: Option<u64>,
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
    /// By which fault nothing completes, and until when.
    stalls: Vec<(u64, u64)>,
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
    mended: Mended,
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
        self.faults.push(Active {
            id,
            fault,
            concerned: 0,
            happened: 0,
            mended: Mended::default(),
        });
        Ok(id)
    }

    /// Ends a fault, or all of them; whether there was one.
    pub fn clear(&mut self, id: Option<u64>) -> bool {
        let before = self.faults.len();
        self.faults.retain(|active| id.is_some_and(|id| active.id != id));
        self.stalls.retain(|&(by, _)| id.is_some_and(|id| by != id));
        self.faults.len() < before
    }

    /// All faults that were not cleared.
    pub fn faults(&self) -> &[Active] {
        &self.faults
    }

    /// When the next one is due that happens at a time.
    pub fn next_ns(&self) -> u64 {
        let timed =
            self.faults.iter().filter(|active| active.fault.is_timed() && active.happened == 0);
        timed.map(|active| active.fault.at_ns).min().unwrap_or(u64::MAX)
    }

    /// Nothing completes before, by the clock of the session.
    pub fn stalled_until_ns(&self) -> u64 {
        self.stalls.iter().map(|&(_, until_ns)| until_ns).max().unwrap_or(0)
    }

    /// What happens to the device by now, `now_ns` after the session began.
    pub fn due(&mut self, now_ns: u64) -> Option<DeviceFault> {
        loop {
            let due = |active: &&mut Active| {
                active.fault.is_timed() && active.happened == 0 && active.fault.at_ns <= now_ns
            };
            let due = self.faults.iter_mut().filter(due);
            let active = due.min_by_key(|active| active.fault.at_ns)?;
            active.happened = 1;
            let of_device = active.of_device(now_ns, &mut self.stalls);
            if of_device.is_some() {
                return of_device;
            }
        }
    }

    /// What an I/O meets that is submitted now; whether it is a write that `brings_data`.
    pub fn meet(
        &mut self,
        now_ns: u64,
        operation: Operation,
        offset_bytes: u64,
        length_bytes: u64,
        brings_data: bool,
    ) -> (Effect, Option<DeviceFault>) {
        let (mut effect, mut of_device) = (Effect::default(), None);
        for active in &mut self.faults {
            let fault = &active.fault;
            if fault.is_timed()
                || fault.kind.is_of_data() && !brings_data
                || !fault.concerns(operation, offset_bytes, length_bytes)
                || !active.happens(self.seed, now_ns, offset_bytes..offset_bytes + length_bytes)
            {
                continue;
            }
            let draw = hash(self.seed ^ 0x5eed, active.id, active.concerned);
            let fault = &active.fault;
            match fault.kind {
                Kind::IoError | Kind::LatentError => effect.errno = EIO,
                Kind::EndOfLife => effect.errno = EPERM,
                Kind::Slow => {
                    effect.delay_ns = (effect.delay_ns + fault.delay_ns).min(LONGEST_NS);
                }
                Kind::Hang => effect.hangs_by = Some(active.id),
                Kind::FullCache => effect.is_forced = true,
                Kind::Throttle => {
                    let takes_ns = u128::from(length_bytes) * 1_000_000_000;
                    let takes_ns = (takes_ns / u128::from(fault.rate_bytes_per_s)) as u64;
                    let from_ns = self.throttled_until_ns.max(now_ns);
                    self.throttled_until_ns = from_ns.saturating_add(takes_ns);
                    let waits_ns = (self.throttled_until_ns - now_ns).min(LONGEST_NS);
                    effect.delay_ns = effect.delay_ns.max(waits_ns);
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
                Kind::Stall | Kind::Gone | Kind::PowerCut => {
                    let another = active.of_device(now_ns, &mut self.stalls);
                    of_device = stronger(of_device, another);
                }
            }
        }
        (effect, of_device)
    }

    /// A range has been written: its latent errors are mended.
    pub fn written(&mut self, range: Range<u64>) {
        for active in &mut self.faults {
            let concerns = active.fault.kind == Kind::LatentError
                && active.fault.concerns(Operation::Read, range.start, range.end - range.start);
            if concerns {
                active.mended.add(&range);
            }
        }
    }
}

/// Of two things that happen to the device with the same I/O the one that hides the other: without
/// power it is away as well.
fn stronger(one: Option<DeviceFault>, other: Option<DeviceFault>) -> Option<DeviceFault> {
    match (one, other) {
        (Some(DeviceFault::Gone(_)) | None, Some(other)) => Some(other),
        _ => one,
    }
}

impl Active {
    fn happens(&mut self, seed: u64, now_ns: u64, range: Range<u64>) -> bool {
        let fault = &self.fault;
        let is_time = now_ns >= fault.at_ns
            && (fault.kind.is_of_device()
                || fault.for_ns.is_none_or(|for_ns| now_ns - fault.at_ns < for_ns));
        if !is_time {
            return false;
        }
        if fault.kind == Kind::LatentError && self.is_mended(&range) {
            return false;
        }
        self.concerned += 1;
        let times = self.fault.times.or(self.fault.kind.is_of_device().then_some(1));
        let drawn = hash(seed, self.id, self.concerned) >> 11;
        let happens = self.concerned >= self.fault.from_io.unwrap_or(1)
            && times.is_none_or(|times| self.happened < times)
            && (drawn as f64) < self.fault.probability * (1u64 << 53) as f64;
        self.happened += u64::from(happens);
        happens
    }

    /// Whether every sector of the fault that a read touches was written since.
    fn is_mended(&self, range: &Range<u64>) -> bool {
        let fault = &self.fault;
        let end = fault.length_bytes.map_or(u64::MAX, |l| fault.offset_bytes.saturating_add(l));
        self.mended.covers(range.start.max(fault.offset_bytes)..range.end.min(end))
    }

    /// What it does to the device now; a stall, to the answers.
    fn of_device(&self, now_ns: u64, stalls: &mut Vec<(u64, u64)>) -> Option<DeviceFault> {
        let for_ns = self.fault.for_ns;
        match self.fault.kind {
            Kind::Stall => stalls.push((self.id, now_ns.saturating_add(for_ns.unwrap_or(0)))),
            Kind::Gone => return Some(DeviceFault::Gone(for_ns.unwrap_or(0))),
            Kind::PowerCut => return Some(DeviceFault::PowerCut(for_ns)),
            _ => {}
        }
        None
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
