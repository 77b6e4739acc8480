//! Dies and channels: what the NAND does, operation by operation.
//!
//! A die does one operation at a time. Reads for the host go first; programs,
//! collections and erases wait in order. A channel carries one transfer at a
//! time. It is claimed only when a transfer can begin, so a transfer that will
//! be needed later never blocks one that is ready now.
//!
//! Where the specification gives a suspend time, a read that meets a program,
//! a collection or an erase in the array stops it, is served, and lets it go
//! on. Between two stops the operation runs for at least the time that a stop
//! takes, so that reads without end cannot hold it for ever.

use super::specification::{self, Specification};
use crate::event::{NEVER_NS, Timers};
use crate::host_interface::transfer_ns;
use crate::table::prefetch;
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A page read for a command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PageRead {
    /// The command that waits for it.
    pub command: u32,
    /// Bytes over the channel.
    pub bus_bytes: u32,
    /// Bytes of it that the host asked for.
    pub host_bytes: u32,
}

/// Work that no command waits for directly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackgroundWork {
    /// Time on the channel; it comes first.
    pub bus_ns: u32,
    /// Time in the die's array.
    pub array_ns: u32,
    /// Bytes of write buffer that are free when it is done.
    pub release_bytes: u32,
}

/// Page program times by the row of a block. Rows hold lower and upper pages of
/// the same cells in turn, and upper ones take longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramTimes {
    /// Repeats over the rows; one entry: all rows alike.
    ns: Box<[u32]>,
}

impl ProgramTimes {
    /// The specification's times, or its mean for all.
    pub fn new(specification: &specification::Flash) -> Self {
        let ns = match &specification.program_times {
            Some(times) => times.value.iter().map(|time| time.0 as u32).collect(),
            None => Box::new([specification.program_time.0 as u32]) as Box<[u32]>,
        };
        Self { ns }
    }

    /// Time to program a row of a block.
    #[inline]
    pub fn ns(&self, row: u32) -> u32 {
        match &*self.ns {
            [all] => *all,
            times => times[row as usize % times.len()],
        }
    }
}

/// What an event of a die means for the drive.
#[derive(Clone, Copy, Debug)]
pub enum DieEvent {
    /// The die goes on by itself.
    Underway,
    /// A page has arrived in the controller.
    Delivered(PageRead),
    /// Background work is done; this much write buffer is free.
    Released(u32),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum State {
    Idle,
    Reading(PageRead),
    Transferring(PageRead),
    Background {
        release_bytes: u32,
        array_start_ns: u64,
    },
    /// Background work is being stopped for reads.
    Suspending,
}

/// Background work that was stopped for reads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Suspended {
    remaining_ns: u64,
    release_bytes: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Die {
    state: State,
    channel: u32,
    reads: VecDeque<PageRead>,
    background: VecDeque<BackgroundWork>,
    suspended: Option<Suspended>,
}

impl Die {
    /// Fails unless a loaded die can go on until it is idle.
    fn check(&self, made: &Self, due_ns: u64, clock: Clock) -> Checked {
        let Self { state, channel, reads, background, suspended } = self;
        same!(made; channel);
        let alone = match state {
            State::Idle => {
                ensure(reads.is_empty() && background.is_empty(), "an idle die with work")?;
                return ensure(due_ns == NEVER_NS && suspended.is_none(), "an idle die");
            }
            State::Background { array_start_ns, .. } => {
                ensure(*array_start_ns <= due_ns, "when a die began")?;
                suspended.is_none()
            }
            State::Suspending => suspended.is_some(),
            State::Reading(_) | State::Transferring(_) => true,
        };
        ensure(alone, "what a die has stopped")?;
        clock.ensure_due([due_ns])?;
        clock.ensure_soon(suspended.iter().map(|stopped| stopped.remaining_ns))
    }

    /// The page reads that it has been given and not delivered.
    fn page_reads(&self) -> impl Iterator<Item = &PageRead> {
        let current = match &self.state {
            State::Reading(read) | State::Transferring(read) => Some(read),
            _ => None,
        };
        current.into_iter().chain(&self.reads)
    }

    /// What the work that it has been given releases in the write buffer.
    fn releases(&self) -> impl Iterator<Item = u32> {
        let current = match self.state {
            State::Background { release_bytes, .. } => release_bytes,
            _ => 0,
        };
        let stopped = self.suspended.map_or(0, |stopped| stopped.release_bytes);
        let waiting = self.background.iter().map(|work| work.release_bytes);
        [current, stopped].into_iter().chain(waiting).filter(|&bytes| bytes > 0)
    }

    fn idle(channel: u32) -> Self {
        Self {
            state: State::Idle,
            channel,
            reads: VecDeque::new(),
            background: VecDeque::new(),
            suspended: None,
        }
    }
}

/// What it takes to stop background work for reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Suspend {
    suspend_ns: u64,
    resume_ns: u64,
}

/// Time that arrays spent, all dies added up, from the start of each operation.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ArrayTime {
    /// Reads for the host, or ahead of it.
    pub read_ns: u64,
    /// Programs, with the reads of what is moved, folded or modified.
    pub program_ns: u64,
    /// Erases.
    pub erase_ns: u64,
}

/// All dies and channels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flash {
    dies: Vec<Die>,
    /// When each die's state ends.
    due_ns: Timers,
    channel_free_ns: Vec<u64>,
    read_ns: u64,
    bus_rate: u64,
    /// Only dies that stop programs and erases for reads.
    suspend: Option<Suspend>,
    array_time: ArrayTime,
}

impl Flash {
    /// Idle dies as the specification has them.
    pub fn new(specification: &Specification) -> Self {
        let flash = &specification.flash;
        let suspend = flash.suspend_time.as_ref().map(|time| Suspend {
            suspend_ns: time.0,
            resume_ns: flash.resume_time.as_ref().map_or(0, |time| time.0),
        });
        let channels = flash.channels.value;
        Self {
            dies: (0..flash.dies.value).map(|die| Die::idle(die % channels)).collect(),
            due_ns: Timers::new(flash.dies.value as usize),
            channel_free_ns: vec![0; channels as usize],
            read_ns: flash.read_time.0,
            bus_rate: flash.bus_rate.0,
            suspend,
            array_time: ArrayTime::default(),
        }
    }

    /// Fails unless loaded dies can go on as those that were `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { dies, due_ns, channel_free_ns, read_ns, bus_rate, suspend, array_time } = self;
        same!(made; read_ns, bus_rate, suspend);
        ensure(
            dies.len() == made.dies.len()
                && due_ns.count() == made.due_ns.count()
                && channel_free_ns.len() == made.channel_free_ns.len(),
            "the dies and channels",
        )?;
        for (index, (die, made)) in (0..).zip(dies.iter().zip(&made.dies)) {
            die.check(made, due_ns.get(index), clock)?;
        }
        let unused = dies.len() as u32..due_ns.count();
        ensure(unused.into_iter().all(|index| due_ns.get(index) == NEVER_NS), "a die too many")?;
        clock.ensure_soon(channel_free_ns.iter().copied())?;
        ensure_counts([array_time.read_ns, array_time.program_ns, array_time.erase_ns])
    }

    /// The page reads that dies have been given and not delivered.
    pub fn page_reads(&self) -> impl Iterator<Item = &PageRead> {
        self.dies.iter().flat_map(Die::page_reads)
    }

    /// By die: how many rows of the host's it has been given, and what they release
    /// in the write buffer.
    pub fn releases(&self) -> Vec<(usize, u64)> {
        let sum = |die: &Die| {
            die.releases().fold((0, 0), |(rows, sum), bytes| (rows + 1, sum + u64::from(bytes)))
        };
        self.dies.iter().map(sum).collect()
    }

    /// Time that arrays spent so far.
    pub fn array_time(&self) -> &ArrayTime {
        &self.array_time
    }

    /// Number of dies.
    pub fn dies(&self) -> u32 {
        self.dies.len() as u32
    }

    /// Whether a die has nothing to do.
    #[inline]
    pub fn is_idle(&self, die: u32) -> bool {
        matches!(self.dies[die as usize].state, State::Idle)
    }

    /// When the next event of a die is due; [`NEVER_NS`] when all are idle.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.due_ns.next_ns()
    }

    /// Queues a page read.
    #[inline]
    pub fn read(&mut self, now_ns: u64, die: u32, read: PageRead) {
        let state = &mut self.dies[die as usize];
        if let State::Idle = state.state {
            self.start_read(now_ns, die, read);
            return;
        }
        state.reads.push_back(read);
        if let (State::Background { release_bytes, array_start_ns }, Some(suspend)) =
            (state.state, self.suspend)
        {
            let stop_ns = now_ns.max(array_start_ns + suspend.suspend_ns);
            let remaining_ns = self.due_ns.get(die).saturating_sub(stop_ns);
            // Not worth it when the end is as near as the stop.
            if remaining_ns > suspend.suspend_ns {
                state.suspended = Some(Suspended { remaining_ns, release_bytes });
                self.enter(die, State::Suspending, stop_ns + suspend.suspend_ns);
            }
        }
    }

    /// Queues background work.
    #[inline]
    pub fn work(&mut self, now_ns: u64, die: u32, work: BackgroundWork) {
        let state = &mut self.dies[die as usize];
        match state.state {
            State::Idle => self.start_first_work(now_ns, die, work),
            _ => state.background.push_back(work),
        }
    }

    /// Starts work on a die that had none.
    // Not where work is queued, which is more often: queueing is short.
    #[inline(never)]
    fn start_first_work(&mut self, now_ns: u64, die: u32, work: BackgroundWork) {
        self.start_work(now_ns, die, work);
    }

    /// Handles the earliest event of a die. Returns which die, and what the
    /// event means.
    #[inline(always)]
    pub fn step(&mut self) -> (u32, DieEvent) {
        let (now_ns, die) = (self.due_ns.next_ns(), self.due_ns.next());
        let event = match self.dies[die as usize].state {
            State::Reading(read) => {
                let bus_ns = transfer_ns(u64::from(read.bus_bytes), self.bus_rate);
                let end_ns = self.transfer(now_ns, die, bus_ns);
                self.enter(die, State::Transferring(read), end_ns);
                return (die, DieEvent::Underway);
            }
            State::Transferring(read) => DieEvent::Delivered(read),
            State::Background { release_bytes, .. } => DieEvent::Released(release_bytes),
            State::Suspending => DieEvent::Underway,
            State::Idle => unreachable!("an idle die is never due"),
        };
        self.start_next(now_ns, die);
        (die, event)
    }

    /// Starts what comes next on a die: reads, then what was stopped for them,
    /// then other work.
    #[inline(always)]
    fn start_next(&mut self, now_ns: u64, die: u32) {
        let state = &mut self.dies[die as usize];
        if let Some(read) = state.reads.pop_front() {
            self.start_read(now_ns, die, read);
        } else if let Some(Suspended { remaining_ns, release_bytes }) = state.suspended.take() {
            let resume_ns = self.suspend.map_or(0, |suspend| suspend.resume_ns);
            let array_start_ns = now_ns + resume_ns;
            let background = State::Background { release_bytes, array_start_ns };
            self.enter(die, background, array_start_ns + remaining_ns);
        } else if let Some(work) = state.background.pop_front() {
            // It has been waiting for long, and the next one's turn is soon.
            state.background.front().inspect(|next| prefetch(*next));
            self.start_work(now_ns, die, work);
        } else {
            self.enter(die, State::Idle, NEVER_NS);
        }
    }

    #[inline]
    fn start_read(&mut self, now_ns: u64, die: u32, read: PageRead) {
        self.array_time.read_ns += self.read_ns;
        self.enter(die, State::Reading(read), now_ns + self.read_ns);
    }

    #[inline(always)]
    fn start_work(&mut self, now_ns: u64, die: u32, work: BackgroundWork) {
        let array_ns = u64::from(work.array_ns);
        // Only an erase has no data to pass.
        let array_start_ns = if work.bus_ns > 0 {
            self.array_time.program_ns += array_ns;
            self.transfer(now_ns, die, u64::from(work.bus_ns))
        } else {
            self.array_time.erase_ns += array_ns;
            now_ns
        };
        let background = State::Background { release_bytes: work.release_bytes, array_start_ns };
        self.enter(die, background, array_start_ns + array_ns);
    }

    #[inline]
    fn enter(&mut self, die: u32, state: State, due_ns: u64) {
        self.dies[die as usize].state = state;
        self.due_ns.set(die, due_ns);
    }

    #[inline]
    fn transfer(&mut self, now_ns: u64, die: u32, bus_ns: u64) -> u64 {
        let channel = self.dies[die as usize].channel as usize;
        let free_ns = &mut self.channel_free_ns[channel];
        *free_ns = now_ns.max(*free_ns) + bus_ns;
        *free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// One die with 50 us reads, and transfers that take no time to speak of.
    fn one_die(suspend: Option<Suspend>) -> Flash {
        Flash {
            dies: vec![Die::idle(0)],
            due_ns: Timers::new(1),
            channel_free_ns: vec![0],
            read_ns: 50 * US,
            bus_rate: u64::MAX,
            suspend,
            array_time: ArrayTime::default(),
        }
    }

    fn read() -> PageRead {
        PageRead { command: 0, bus_bytes: 0, host_bytes: 0 }
    }

    /// Handles events until the die is idle: when reads were delivered and when
    /// background work was done.
    fn play(flash: &mut Flash, reads_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let (mut delivered, mut done) = (Vec::new(), Vec::new());
        let mut reads_ns = reads_ns.iter().copied().peekable();
        loop {
            let event_ns = flash.next_event_ns();
            if let Some(read_ns) = reads_ns.next_if(|&read_ns| read_ns <= event_ns) {
                flash.read(read_ns, 0, read());
                continue;
            }
            if event_ns == NEVER_NS {
                return (delivered, done);
            }
            match flash.step() {
                (_, DieEvent::Underway) => {}
                (_, DieEvent::Delivered(_)) => delivered.push(event_ns),
                (_, DieEvent::Released(_)) => done.push(event_ns),
            }
        }
    }

    fn program_and_reads(suspend: Option<Suspend>, reads_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let mut flash = one_die(suspend);
        let work = BackgroundWork { bus_ns: 0, array_ns: 1_000_000, release_bytes: 1 };
        flash.work(0, 0, work);
        play(&mut flash, reads_ns)
    }

    const SUSPEND: Option<Suspend> = Some(Suspend { suspend_ns: 20 * US, resume_ns: 30 * US });

    #[test]
    fn a_read_waits_for_a_program_or_stops_it() {
        assert_eq!(program_and_reads(None, &[400 * US]), (vec![1_050 * US], vec![1_000 * US]));
        // 20 us to stop, 50 us to read; the program still needs 600 us, and 30
        // us to take up again.
        assert_eq!(program_and_reads(SUSPEND, &[400 * US]), (vec![470 * US], vec![1_100 * US]));
        // Reads that arrive meanwhile go before the program.
        let (delivered, done) = program_and_reads(SUSPEND, &[400 * US, 410 * US]);
        assert_eq!((delivered, done), (vec![470 * US, 520 * US], vec![1_150 * US]));
    }

    #[test]
    fn a_program_near_its_end_is_not_stopped() {
        let (delivered, done) = program_and_reads(SUSPEND, &[985 * US]);
        assert_eq!((delivered, done), (vec![1_050 * US], vec![1_000 * US]));
    }

    #[test]
    fn reads_without_end_leave_a_program_some_progress() {
        let reads_ns: Vec<u64> = (0..2_000).map(|read| read * 110 * US).collect();
        let (delivered, done) = program_and_reads(SUSPEND, &reads_ns);
        assert_eq!(delivered.len(), 2_000);
        assert!(done[0] < 20_000 * US, "done after {} us", done[0] / US);
    }
}
