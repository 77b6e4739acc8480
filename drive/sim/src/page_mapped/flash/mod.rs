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

mod die;
mod together;

use super::specification::{self, Level, Specification};
use crate::event::{NEVER_NS, Timers};
use crate::host_interface::transfer_ns;
use crate::table::prefetch;
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};
use die::{Die, State, Suspended, Waiting};
use serde::{Deserialize, Serialize};
use together::{Lanes, Together};

/// A page read for a command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PageRead {
    /// The command that waits for it.
    pub command: u32,
    /// Bytes over the channel.
    pub bus_bytes: u32,
    /// Bytes of it that the host asked for.
    pub host_bytes: u32,
    /// Which of the planes that the die reads together; 0 where it does not.
    pub plane: u32,
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
        let dies_before = specification.dies_before(Level::Channel);
        let die = |die| Die::idle(die / dies_before % channels);
        Self {
            dies: (0..flash.dies.value).map(die).collect(),
            due_ns: Timers::new(flash.dies.value as usize),
            channel_free_ns: vec![0; channels as usize],
            read_ns: flash.read_time.0,
            bus_rate: flash.bus_rate.0,
            suspend,
            lanes: Lanes::new(specification),
            together: Together::new(specification),
            array_time: ArrayTime::default(),
        }
    }

    /// Fails unless loaded dies can go on as those that were `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self {
            dies,
            due_ns,
            channel_free_ns,
            read_ns,
            bus_rate,
            suspend,
            lanes,
            together,
            array_time,
        } = self;
        same!(made; read_ns, bus_rate, suspend, lanes, together);
        let planes = lanes.per_die.max(together.planes());
        ensure(
            dies.len() == made.dies.len()
                && due_ns.count() == made.due_ns.count()
                && channel_free_ns.len() == made.channel_free_ns.len(),
            "the dies and channels",
        )?;
        for (index, (die, made)) in (0..).zip(dies.iter().zip(&made.dies)) {
            die.check(made, due_ns.get(index), planes, clock)?;
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

    /// By lane: how many rows of the host's it has been given, and what they release
    /// in the write buffer.
    pub fn releases(&self) -> Vec<(usize, u64)> {
        let mut sums = vec![(0, 0); self.lanes() as usize];
        for (index, die) in (0..).zip(&self.dies) {
            for (plane, bytes) in die.releases() {
                let (rows, sum) = &mut sums[self.lanes.lane(index, plane) as usize];
                (*rows, *sum) = (*rows + 1, *sum + u64::from(bytes));
            }
        }
        sums
    }

    /// Time that arrays spent so far.
    pub fn array_time(&self) -> &ArrayTime {
        &self.array_time
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

    /// Queues a page read.
    #[inline]
    pub fn read(&mut self, now_ns: u64, lane: u32, mut read: PageRead) {
        let (die, plane) = self.lanes.place(lane);
        if self.lanes.per_die > 1 {
            read.plane = plane;
        }
        let state = &mut self.dies[die as usize];
        if let State::Idle = state.state {
            self.start_read(now_ns, die, read);
            return;
        }
        state.reads.push_back(read);
        if self.together.reads > 1 {
            self.join_reads(now_ns, die);
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
        let (die, plane) = self.lanes.place(lane);
        let state = &mut self.dies[die as usize];
        let waiting = Waiting { work, plane };
        match state.state {
            State::Idle => self.start_first_work(now_ns, die, waiting),
            _ => state.background.push_back(waiting),
        }
    }

    /// Starts work on a die that had none.
    // Not where work is queued, which is more often: queueing is short.
    #[inline(never)]
    fn start_first_work(&mut self, now_ns: u64, die: u32, work: Waiting) {
        self.start_work(now_ns, die, work);
    }

    /// Handles the earliest event of a die. Returns which lane, and what the
    /// event means.
    #[inline(always)]
    pub fn step(&mut self) -> (u32, DieEvent) {
        let (now_ns, die) = (self.due_ns.next_ns(), self.due_ns.next());
        let Die { state, plane, reads_beside, work_beside, .. } = &self.dies[die as usize];
        let (event, lane) = match *state {
            State::Reading(read) => {
                self.start_transfer(now_ns, die, read);
                return (die, DieEvent::Underway);
            }
            State::Transferring(read) if *reads_beside > 0 => {
                self.transfer_beside(now_ns, die);
                return (self.lanes.lane(die, 0), DieEvent::Delivered(read));
            }
            State::Background { release_bytes, .. } if *work_beside > 0 => {
                return self.end_one(now_ns, die, release_bytes);
            }
            State::Transferring(read) => (DieEvent::Delivered(read), self.lanes.lane(die, 0)),
            State::Background { release_bytes, .. } => {
                (DieEvent::Released(release_bytes), self.lanes.lane(die, *plane))
            }
            State::Suspending => (DieEvent::Underway, die),
            State::Idle => unreachable!("an idle die is never due"),
        };
        self.start_next(now_ns, die);
        (lane, event)
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
            state.background.front().inspect(|next| prefetch(&next.work));
            self.start_work(now_ns, die, work);
        } else {
            self.enter(die, State::Idle, NEVER_NS);
        }
    }

    #[inline]
    fn start_read(&mut self, now_ns: u64, die: u32, read: PageRead) {
        if self.together.reads > 1 {
            self.gather_reads(die, read);
        }
        self.array_time.read_ns += self.read_ns;
        self.enter(die, State::Reading(read), now_ns + self.read_ns);
    }

    #[inline(always)]
    fn start_work(&mut self, now_ns: u64, die: u32, begun: Waiting) {
        let mut work = begun.work;
        self.dies[die as usize].plane = begun.plane;
        let release_bytes = work.release_bytes;
        if self.together.programs > 1 {
            work = self.gather_work(die, begun);
        }
        let array_ns = u64::from(work.array_ns);
        // Only an erase has no data to pass.
        let array_start_ns = if work.bus_ns > 0 {
            self.array_time.program_ns += array_ns;
            self.transfer(now_ns, die, u64::from(work.bus_ns))
        } else {
            self.array_time.erase_ns += array_ns;
            now_ns
        };
        let background = State::Background { release_bytes, array_start_ns };
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
