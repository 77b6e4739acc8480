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

mod check;
mod die;
mod planes;
mod together;
mod variation;

use super::specification::{self, Level, Specification};
use crate::event::{NEVER_NS, Timers};
use crate::host_interface::transfer_ns;
use crate::table::prefetch;
use die::{Die, State, Suspended};
use planes::{Lanes, Planes, Together};
use serde::{Deserialize, Serialize};
use variation::Variation;

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
    lanes: Lanes,
    together: Together,
    /// Only where times of operations vary.
    variation: Option<Box<Variation>>,
    /// See [`Flash::is_plain`].
    plain: bool,
    array_time: ArrayTime,
}

impl Flash {
    /// Idle dies as the specification has them. `seed` is for times that vary.
    pub fn new(specification: &Specification, seed: u64) -> Self {
        let flash = &specification.flash;
        let suspend = flash.suspend_time.as_ref().map(|time| Suspend {
            suspend_ns: time.0,
            resume_ns: flash.resume_time.as_ref().map_or(0, |time| time.0),
        });
        let channels = flash.channels.value;
        let dies_before = specification.dies_before(Level::Channel);
        let planes = Planes::new(specification);
        let variation = Variation::new(specification, seed).map(Box::new);
        let plain = planes.is_none() && variation.is_none();
        let die = |die: u32| Die::idle(die / dies_before % channels, planes.clone());
        Self {
            dies: (0..flash.dies.value).map(die).collect(),
            due_ns: Timers::new(flash.dies.value as usize),
            channel_free_ns: vec![0; channels as usize],
            read_ns: flash.read_time.0,
            bus_rate: flash.bus_rate.0,
            suspend,
            lanes: Lanes::new(specification),
            together: Together::new(specification),
            variation,
            plain,
            array_time: ArrayTime::default(),
        }
    }

    /// Time that arrays spent so far.
    pub fn array_time(&self) -> &ArrayTime {
        &self.array_time
    }

    /// Goes on with the random numbers of one that is replaced.
    pub fn inherit(&mut self, used: &mut Self) {
        self.variation = used.variation.take();
    }

    /// Number of lanes: dies, or planes that program by themselves.
    pub fn lanes(&self) -> u32 {
        self.dies.len() as u32 * self.lanes.per_die
    }

    /// The lanes of a lane's die.
    #[inline]
    pub fn lanes_of_die(&self, lane: u32) -> impl Iterator<Item = u32> + use<> {
        let (lanes, (die, _)) = (self.lanes, self.lanes.place(lane));
        (0..lanes.per_die).map(move |plane| lanes.lane(die, plane))
    }

    /// Planes that a die reads for the host at a time.
    #[inline]
    pub fn planes_read_together(&self) -> u32 {
        self.together.reads
    }

    /// Whether a lane's die has nothing to do.
    #[inline]
    pub fn is_idle(&self, lane: u32) -> bool {
        let (die, _) = self.lanes.place(lane);
        matches!(self.dies[die as usize].state, State::Idle)
    }

    /// When the next event of a die is due; [`NEVER_NS`] when all are idle.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.due_ns.next_ns()
    }

    /// Whether neither planes share operations or are lanes, nor times vary: what most
    /// drives are. They go the short way, which `PLAIN` stands for here.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Queues a page read; of a drive that is not plain see [`Self::read_of_plane`].
    #[inline(never)]
    pub fn read(&mut self, now_ns: u64, die: u32, read: PageRead) {
        self.take_read::<true>(now_ns, die, read);
    }

    #[inline(always)]
    fn take_read<const PLAIN: bool>(&mut self, now_ns: u64, die: u32, read: PageRead) {
        let state = &mut self.dies[die as usize];
        if let State::Idle = state.state {
            self.start_read::<PLAIN>(now_ns, die, read);
            return;
        }
        state.reads.push_back(read);
        if !PLAIN && self.join_reads(now_ns, die) {
            return;
        }
        let state = &mut self.dies[die as usize];
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
    pub fn work(&mut self, now_ns: u64, lane: u32, work: BackgroundWork) {
        let die = if self.plain { lane } else { self.die_of_work(lane) };
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
        match self.plain {
            true => self.start_work::<true>(now_ns, die, work),
            false => self.start_work::<false>(now_ns, die, work),
        }
    }

    /// Handles the earliest event of a die. Returns which die, and what the event means;
    /// of a drive that is not plain see [`Self::step_planes`].
    #[inline(always)]
    pub fn step(&mut self) -> (u32, DieEvent) {
        let (now_ns, die) = (self.due_ns.next_ns(), self.due_ns.next());
        (die, self.step_die::<true>(now_ns, die))
    }

    #[inline(always)]
    fn step_die<const PLAIN: bool>(&mut self, now_ns: u64, die: u32) -> DieEvent {
        let event = match self.dies[die as usize].state {
            State::Reading(read) => {
                self.start_transfer(now_ns, die, read);
                return DieEvent::Underway;
            }
            State::Transferring(read) => DieEvent::Delivered(read),
            State::Background { release_bytes, .. } => DieEvent::Released(release_bytes),
            State::Suspending => DieEvent::Underway,
            State::Idle => unreachable!("an idle die is never due"),
        };
        self.start_next::<PLAIN>(now_ns, die);
        event
    }

    #[inline(always)]
    fn start_transfer(&mut self, now_ns: u64, die: u32, read: PageRead) {
        let bus_ns = transfer_ns(u64::from(read.bus_bytes), self.bus_rate);
        let end_ns = self.transfer(now_ns, die, bus_ns);
        self.enter(die, State::Transferring(read), end_ns);
    }

    /// Starts what comes next on a die: reads, then what was stopped for them,
    /// then other work.
    #[inline(always)]
    fn start_next<const PLAIN: bool>(&mut self, now_ns: u64, die: u32) {
        let state = &mut self.dies[die as usize];
        if let Some(read) = state.reads.pop_front() {
            self.start_read::<PLAIN>(now_ns, die, read);
        } else if let Some(Suspended { remaining_ns, release_bytes }) = state.suspended.take() {
            let resume_ns = self.suspend.map_or(0, |suspend| suspend.resume_ns);
            let array_start_ns = now_ns + resume_ns;
            let background = State::Background { release_bytes, array_start_ns };
            self.enter(die, background, array_start_ns + remaining_ns);
        } else if let Some(work) = state.background.pop_front() {
            // It has been waiting for long, and the next one's turn is soon.
            state.background.front().inspect(|next| prefetch(*next));
            self.start_work::<PLAIN>(now_ns, die, work);
        } else {
            self.enter(die, State::Idle, NEVER_NS);
        }
    }

    #[inline]
    fn start_read<const PLAIN: bool>(&mut self, now_ns: u64, die: u32, read: PageRead) {
        let mut read_ns = self.read_ns;
        if !PLAIN {
            self.gather_reads(now_ns, die);
            read_ns += self.retries_ns(die);
        }
        self.array_time.read_ns += read_ns;
        self.enter(die, State::Reading(read), now_ns + read_ns);
    }

    #[inline(always)]
    fn start_work<const PLAIN: bool>(&mut self, now_ns: u64, die: u32, mut work: BackgroundWork) {
        let mut array_ns = u64::from(work.array_ns);
        if !PLAIN {
            work = self.gather_work(die, work);
            array_ns = self.varied_ns(&work);
        }
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
mod tests;
