//! Data for targets that carry none.
//!
//! A simulated drive moves no bytes. Where verification is asked for, the stamps
//! of what was written are remembered beside it, and what a read returns is made
//! from them again: 40 bytes for a block of 4 KiB. That checks the model's
//! bookkeeping of requests and completions, not a medium, which it has not.

use crate::stamp::{BLOCK_BYTES, Stamp};
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError};
use fourcorners_workload::{Operation, Request};
use std::collections::HashMap;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// The stamps of a drive's blocks, by number. It is kept with the drive.
#[derive(Clone, Debug, Default)]
pub struct Memory(HashMap<u64, Stamp>);

impl Memory {
    /// Forgets what a power cut took, in bytes of the drive.
    pub fn forget(&mut self, range: std::ops::Range<u64>) {
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            self.0.remove(&block);
        }
    }

    /// Forgets everything, as a purge does.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// A target with the data that it is said to hold.
pub struct Remembering<'a, T> {
    inner: &'a mut T,
    memory: &'a mut Memory,
    slots: Vec<Slot>,
}

struct Slot {
    request: Request,
    data: Vec<u8>,
}

impl<'a, T: Target> Remembering<'a, T> {
    /// `inner` with the data in `memory`.
    pub fn new(inner: &'a mut T, memory: &'a mut Memory) -> Self {
        Self { inner, memory, slots: Vec::new() }
    }
}

impl<T: Target> Target for Remembering<'_, T> {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.inner.now_ns()
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        let slot = || Slot { request: Request::FLUSH, data: vec![0; block_bytes_max as usize] };
        self.slots = (0..slots).map(|_| slot()).collect();
        self.inner.prepare(slots, block_bytes_max)
    }

    fn meters(&self) -> Meters {
        self.inner.meters()
    }

    fn condition(&mut self) -> Condition {
        self.inner.condition()
    }

    fn pass_on(&mut self) {
        self.inner.pass_on();
    }

    fn write_data(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]> {
        Some(&mut self.slots[slot as usize].data[..length_bytes as usize])
    }

    fn read_data(&mut self, slot: u32, length_bytes: u32) -> Option<&[u8]> {
        Some(&self.slots[slot as usize].data[..length_bytes as usize])
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.slots[slot as usize].request = *request;
        self.inner.submit(slot, request)
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        self.inner.wait(deadline_ns, done)?;
        for completion in done[before..].iter().filter(|completion| completion.errno == 0) {
            let Slot { request, data } = &mut self.slots[completion.slot as usize];
            let numbers = request.offset_bytes / BLOCK..;
            let blocks = data[..request.length_bytes as usize].chunks_mut(BLOCK_BYTES);
            for (number, block) in numbers.zip(blocks) {
                match request.operation {
                    Operation::Write => {
                        self.memory.0.extend(Stamp::read(block).map(|stamp| (number, stamp)));
                    }
                    Operation::Read => match self.memory.0.get(&number) {
                        Some(stamp) => stamp.write(block),
                        None => block.fill(0),
                    },
                    Operation::Flush | Operation::Discard | Operation::WriteZeroes => {}
                }
            }
        }
        Ok(())
    }
}
