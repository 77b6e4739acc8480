//! Dies and channels: what the NAND does, operation by operation.
//!
//! A die does one operation at a time. Reads for the host go first; programs,
//! collections and erases wait in order. A channel carries one transfer at a
//! time. It is claimed only when a transfer can begin, so a transfer that will
//! be needed later never blocks one that is ready now.

use super::specification::{self, Specification};
use crate::link::transfer_ns;
use std::collections::VecDeque;

/// A page read for a command.
#[derive(Clone, Copy, Debug)]
pub struct PageRead {
    /// The command that waits for it.
    pub command: u32,
    /// Bytes over the channel.
    pub bus_bytes: u32,
    /// Bytes of it that the host asked for.
    pub host_bytes: u32,
}

/// Work that no command waits for directly.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundWork {
    /// Time on the channel; it comes first.
    pub bus_ns: u64,
    /// Time in the die's array.
    pub array_ns: u64,
    /// Bytes of write buffer that are free when it is done.
    pub release_bytes: u32,
}

/// Page program times by the row of a block. Rows hold lower and upper pages of
/// the same cells in turn, and upper ones take longer.
#[derive(Clone, Debug)]
pub struct ProgramTimes {
    /// Repeats over the rows; one entry: all rows alike.
    ns: Box<[u64]>,
}

impl ProgramTimes {
    /// The specification's times, or its mean for all.
    pub fn new(specification: &specification::Flash) -> Self {
        let ns = match &specification.program_times {
            Some(times) => times.value.iter().map(|time| time.0).collect(),
            None => Box::new([specification.program_time.0]) as Box<[u64]>,
        };
        Self { ns }
    }

    /// Time to program a row of a block.
    #[inline]
    pub fn ns(&self, row: u32) -> u64 {
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

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Reading(PageRead),
    Transferring(PageRead),
    Background { release_bytes: u32 },
}

#[derive(Clone, Debug)]
struct Die {
    state: State,
    reads: VecDeque<PageRead>,
    background: VecDeque<BackgroundWork>,
}

/// All dies and channels.
#[derive(Clone, Debug)]
pub struct Flash {
    dies: Vec<Die>,
    channel_free_ns: Vec<u64>,
    read_ns: u64,
    bus_rate: u64,
}

impl Flash {
    /// Idle dies as the specification has them.
    pub fn new(specification: &Specification) -> Self {
        let flash = &specification.flash;
        let die = Die { state: State::Idle, reads: VecDeque::new(), background: VecDeque::new() };
        Self {
            dies: vec![die; flash.dies.value as usize],
            channel_free_ns: vec![0; flash.channels.value as usize],
            read_ns: flash.read_time.0,
            bus_rate: flash.bus_rate.0,
        }
    }

    /// Queues a page read. Returns when the die's next event is due if the die
    /// was idle.
    #[inline]
    pub fn read(&mut self, now_ns: u64, die: u32, read: PageRead) -> Option<u64> {
        self.dies[die as usize].reads.push_back(read);
        self.start_if_idle(now_ns, die)
    }

    /// Queues background work. Returns as [`Flash::read`].
    #[inline]
    pub fn work(&mut self, now_ns: u64, die: u32, work: BackgroundWork) -> Option<u64> {
        self.dies[die as usize].background.push_back(work);
        self.start_if_idle(now_ns, die)
    }

    /// Handles the event of a die that is due now. Returns what it means and
    /// when the die's next event is due.
    #[inline]
    pub fn event(&mut self, now_ns: u64, die: u32) -> (DieEvent, Option<u64>) {
        match self.dies[die as usize].state {
            State::Reading(read) => {
                let end_ns = self.transfer(
                    now_ns,
                    die,
                    transfer_ns(u64::from(read.bus_bytes), self.bus_rate),
                );
                self.dies[die as usize].state = State::Transferring(read);
                (DieEvent::Underway, Some(end_ns))
            }
            State::Transferring(read) => (DieEvent::Delivered(read), self.start_next(now_ns, die)),
            State::Background { release_bytes } => {
                (DieEvent::Released(release_bytes), self.start_next(now_ns, die))
            }
            State::Idle => unreachable!("an idle die has no events"),
        }
    }

    #[inline]
    fn start_if_idle(&mut self, now_ns: u64, die: u32) -> Option<u64> {
        match self.dies[die as usize].state {
            State::Idle => self.start_next(now_ns, die),
            _ => None,
        }
    }

    #[inline]
    fn start_next(&mut self, now_ns: u64, die: u32) -> Option<u64> {
        let state = &mut self.dies[die as usize];
        if let Some(read) = state.reads.pop_front() {
            state.state = State::Reading(read);
            return Some(now_ns + self.read_ns);
        }
        if let Some(work) = state.background.pop_front() {
            state.state = State::Background { release_bytes: work.release_bytes };
            let array_start_ns =
                if work.bus_ns > 0 { self.transfer(now_ns, die, work.bus_ns) } else { now_ns };
            return Some(array_start_ns + work.array_ns);
        }
        state.state = State::Idle;
        None
    }

    #[inline]
    fn transfer(&mut self, now_ns: u64, die: u32, bus_ns: u64) -> u64 {
        let channel = die as usize % self.channel_free_ns.len();
        let free_ns = &mut self.channel_free_ns[channel];
        *free_ns = now_ns.max(*free_ns) + bus_ns;
        *free_ns
    }
}
