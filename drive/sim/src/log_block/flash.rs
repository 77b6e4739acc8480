//! Dies and channels: each die does its operations in the order in which they
//! were given, each channel carries one transfer at a time.

use super::specification;
use crate::host_interface::transfer_ns;
use crate::validity::{Broken, Clock, ensure, same};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// An operation of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads part of a row for a command.
    Read { tag: u32, bytes: u32 },
    /// Reads a row that a merge or a partial write needs.
    Fetch,
    /// Programs a row: this one of the host's, which leaves the buffer, or a copy.
    Program { row: Option<u32> },
    /// Erases a block.
    Erase,
}

#[derive(Debug, Serialize, Deserialize)]
struct Die {
    waiting: VecDeque<Operation>,
    /// What it does, and whether its array is done and its transfer under way.
    current: Option<(Operation, bool)>,
}

/// What loaded dies have to do.
pub struct Pending {
    /// Those at work.
    pub busy: Vec<u32>,
    /// Rows that they will program from the buffer.
    pub programs: u64,
}

/// All dies and channels.
#[derive(Debug, Serialize, Deserialize)]
pub struct Flash {
    dies: Vec<Die>,
    channel_free_ns: Vec<u64>,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    bus_rate: u64,
    row_bytes: u64,
}

impl Flash {
    /// Idle dies.
    pub fn new(specification: &specification::Flash) -> Self {
        let die = || Die { waiting: VecDeque::new(), current: None };
        Self {
            dies: (0..specification.dies.value).map(|_| die()).collect(),
            channel_free_ns: vec![0; specification.channels.value as usize],
            read_ns: specification.read_time.0,
            program_ns: specification.program_time.0,
            erase_ns: specification.erase_time.0,
            bus_rate: specification.bus_rate.0,
            row_bytes: specification.row_bytes(),
        }
    }

    /// Fails unless loaded dies, which read for no command, can go on as those that
    /// were `made`, of a drive of so many rows.
    pub fn check(&self, made: &Self, rows: u32, clock: Clock) -> Result<Pending, Broken> {
        let Self { dies, channel_free_ns, read_ns, program_ns, erase_ns, bus_rate, row_bytes } =
            self;
        same!(made; read_ns, program_ns, erase_ns, bus_rate, row_bytes);
        ensure(
            dies.len() == made.dies.len() && channel_free_ns.len() == made.channel_free_ns.len(),
            "the dies and channels",
        )?;
        clock.ensure_soon(channel_free_ns.iter().copied())?;
        let mut pending = Pending { busy: Vec::new(), programs: 0 };
        for (index, Die { waiting, current }) in (0..).zip(dies) {
            match current {
                None => ensure(waiting.is_empty(), "an idle die with work")?,
                Some(_) => pending.busy.push(index),
            }
            let current = current.iter().map(|(operation, _)| operation);
            for operation in current.chain(waiting) {
                match operation {
                    Operation::Read { .. } => ensure(false, "a read for a command")?,
                    Operation::Program { row: Some(row) } => {
                        ensure(*row < rows, "a row on its way to flash")?;
                        pending.programs += 1;
                    }
                    _ => {}
                }
            }
        }
        Ok(pending)
    }

    /// Gives a die an operation. Returns when the die's next event is due if
    /// it was idle.
    #[inline]
    pub fn give(&mut self, now_ns: u64, die: u32, operation: Operation) -> Option<u64> {
        let state = &mut self.dies[die as usize];
        state.waiting.push_back(operation);
        if state.current.is_none() { self.start(now_ns, die) } else { None }
    }

    /// Handles the event of a die that is due now. Returns the operation that
    /// is done, if one is, and when the die's next event is due.
    #[inline]
    pub fn event(&mut self, now_ns: u64, die: u32) -> (Option<Operation>, Option<u64>) {
        let Some((operation, sent)) = self.dies[die as usize].current else {
            return (None, None);
        };
        let bytes = match operation {
            Operation::Read { bytes, .. } if !sent => u64::from(bytes),
            Operation::Fetch if !sent => self.row_bytes,
            _ => return (Some(operation), self.start(now_ns, die)),
        };
        self.dies[die as usize].current = Some((operation, true));
        (None, Some(self.transfer(now_ns, die, bytes)))
    }

    /// The rows of the host's that are on their way.
    pub fn buffered_rows(&self) -> impl Iterator<Item = u32> {
        let operations = |die: &Die| {
            let current = die.current.map(|(operation, _)| operation);
            current.into_iter().chain(die.waiting.iter().copied()).collect::<Vec<_>>()
        };
        self.dies.iter().flat_map(operations).filter_map(|operation| match operation {
            Operation::Program { row } => row,
            _ => None,
        })
    }

    /// Power fails: what came from the host is forgotten, and merges begin anew
    /// with what they were doing. Returns the dies that have work, and when the
    /// next event of each is due.
    pub fn lose_power(&mut self, at_ns: u64) -> Vec<(u32, u64)> {
        for free_ns in &mut self.channel_free_ns {
            *free_ns = (*free_ns).min(at_ns);
        }
        let of_merge = |operation: &Operation| {
            !matches!(operation, Operation::Read { .. } | Operation::Program { row: Some(_) })
        };
        let mut events = Vec::new();
        for die in 0..self.dies.len() {
            let state = &mut self.dies[die];
            if let Some((operation, _)) = state.current.take() {
                state.waiting.push_front(operation);
            }
            state.waiting.retain(of_merge);
            events.extend(self.start(at_ns, die as u32).map(|due_ns| (die as u32, due_ns)));
        }
        events
    }

    fn start(&mut self, now_ns: u64, die: u32) -> Option<u64> {
        let next = self.dies[die as usize].waiting.pop_front();
        self.dies[die as usize].current = next.map(|operation| (operation, false));
        Some(match next? {
            Operation::Read { .. } | Operation::Fetch => now_ns + self.read_ns,
            Operation::Program { .. } => {
                self.transfer(now_ns, die, self.row_bytes) + self.program_ns
            }
            Operation::Erase => now_ns + self.erase_ns,
        })
    }

    fn transfer(&mut self, now_ns: u64, die: u32, bytes: u64) -> u64 {
        let channel = die as usize % self.channel_free_ns.len();
        let free_ns = &mut self.channel_free_ns[channel];
        *free_ns = now_ns.max(*free_ns) + transfer_ns(bytes, self.bus_rate);
        *free_ns
    }
}
