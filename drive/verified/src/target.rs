//! A target that stamps what is written through it and checks what is read.

use crate::damage::{Damage, Damages};
use crate::diagnose::diagnose;
use crate::ledger::Ledger;
use crate::stamp::{BLOCK_BYTES, Stamp};
use fourcorners_target::{Completion, Condition, Meters, Target, TargetError};
use fourcorners_workload::{Operation, Request};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// One worker's verified way to a target. Blocks and addresses of requests are
/// multiples of [`BLOCK_BYTES`].
pub struct Verified<T> {
    inner: T,
    ledger: Arc<Ledger>,
    damages: Arc<Damages>,
    slots: Vec<Slot>,
    blocks_per_slot: usize,
    /// By slot: the ledger's entries when its read was submitted.
    before: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    /// Of a write.
    sequence: u64,
    staged: bool,
}

impl<T: Target> Verified<T> {
    /// Verifies `inner`, which must carry data, against `ledger`.
    pub fn new(inner: T, ledger: Arc<Ledger>, damages: Arc<Damages>) -> Self {
        Self { inner, ledger, damages, slots: Vec::new(), blocks_per_slot: 0, before: Vec::new() }
    }

    /// The target without its verification.
    pub fn into_inner(self) -> T {
        self.inner
    }

    fn check(&mut self, slot: u32) {
        let request = self.slots[slot as usize].request;
        let first_block = request.offset_bytes / BLOCK;
        let start = slot as usize * self.blocks_per_slot;
        let Some(data) = self.inner.read_data(slot, request.length_bytes) else {
            return;
        };
        let (mut checked, mut unchecked) = (0, 0);
        for (index, block) in data.chunks(BLOCK_BYTES).enumerate() {
            let number = first_block + index as u64;
            let before = self.before[start + index];
            let Some(sequence) = self.ledger.certain_since(number, before) else {
                unchecked += 1;
                continue;
            };
            checked += 1;
            let expected = self.ledger.stamp(number, sequence);
            if Stamp::read(block) != Some(expected) {
                let (kind, found) = diagnose(block, expected);
                let address = expected.address;
                self.damages.add(Damage { kind, address, expected, found });
            }
        }
        self.damages.checked.fetch_add(checked, Relaxed);
        self.damages.unchecked.fetch_add(unchecked, Relaxed);
    }
}

fn blocks(request: &Request) -> std::ops::Range<u64> {
    let first = request.offset_bytes / BLOCK;
    first..first + u64::from(request.length_bytes) / BLOCK
}

impl<T: Target> Target for Verified<T> {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.inner.now_ns()
    }

    fn clock(&self) -> Option<fn() -> u64> {
        self.inner.clock()
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.inner.prepare(slots, block_bytes_max)?;
        self.blocks_per_slot = block_bytes_max as usize / BLOCK_BYTES;
        self.before = vec![0; slots as usize * self.blocks_per_slot];
        let free = Slot { request: Request::FLUSH, sequence: 0, staged: false };
        self.slots = vec![free; slots as usize];
        if self.inner.write_data(0, 0).is_none() {
            return Err(TargetError("a target that carries no data cannot be verified".into()));
        }
        Ok(())
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        if request.operation != Operation::Write {
            return;
        }
        let aligned = request.offset_bytes.is_multiple_of(BLOCK)
            && u64::from(request.length_bytes).is_multiple_of(BLOCK);
        assert!(aligned, "verified requests are whole blocks");
        let sequence = self.ledger.next_sequence();
        let data = self.inner.write_data(slot, request.length_bytes).expect("checked above");
        for (number, block) in blocks(request).zip(data.chunks_mut(BLOCK_BYTES)) {
            self.ledger.stamp(number, sequence).write(block);
        }
        self.slots[slot as usize] = Slot { request: *request, sequence, staged: true };
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        match request.operation {
            Operation::Write => {
                if !self.slots[slot as usize].staged {
                    self.stage(slot, request);
                }
                let state = &mut self.slots[slot as usize];
                state.staged = false;
                for number in blocks(request) {
                    self.ledger.submitted(number, state.sequence);
                }
            }
            Operation::Read => {
                self.slots[slot as usize].request = *request;
                let start = slot as usize * self.blocks_per_slot;
                for (index, number) in blocks(request).enumerate() {
                    self.before[start + index] = self.ledger.snapshot(number);
                }
            }
            _ => self.slots[slot as usize].request = *request,
        }
        self.inner.submit(slot, request)
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        self.inner.wait(deadline_ns, done)?;
        for completion in &done[before..] {
            let slot = self.slots[completion.slot as usize];
            match slot.request.operation {
                Operation::Write => {
                    for number in blocks(&slot.request) {
                        self.ledger.completed(number, slot.sequence, completion.errno == 0);
                    }
                }
                Operation::Read if completion.errno == 0 => self.check(completion.slot),
                _ => {}
            }
        }
        Ok(())
    }

    fn generating_ns(&self) -> u64 {
        self.inner.generating_ns()
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
}
