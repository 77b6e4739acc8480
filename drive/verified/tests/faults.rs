//! Targets that corrupt on purpose: each kind is found, at its place, under its
//! name, and nothing else is.

use fourcorners_execution::{Progress, execute};
use fourcorners_target::{Completion, NoopTarget, Target, TargetError};
use fourcorners_verified::{
    BLOCK_BYTES, Damage, Damages, Kind, Ledger, Memory, Remembering, Verified, resolve,
};
use fourcorners_workload::{Operation, Pattern, Request, Stop, Stream, Workload};
use std::sync::Arc;

const CAPACITY: u64 = 4 << 20;
const BLOCK: u64 = BLOCK_BYTES as u64;

/// What a medium does wrong with one write to `at`, or one read from there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    FlipsBit,
    WritesTo(u64),
    WritesAlsoTo(u64),
    SwapsWith(u64),
    TearsAfter(usize),
    Drops,
    Zeroes,
    ZeroesSector,
    Scrambles,
    /// Keeps the first bytes of a request only, and says that all is well.
    CutsAfter(usize),
    /// Returns what was there before the latest write, once.
    ReadsOld,
}

/// A medium in memory that serves every request in a microsecond.
struct Medium {
    bytes: Vec<u8>,
    fault: Fault,
    at: u64,
    old: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    pending: std::collections::VecDeque<(u32, Request)>,
    now_ns: u64,
}

impl Medium {
    fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY as usize],
            fault: Fault::None,
            at: 0,
            old: Vec::new(),
            buffers: Vec::new(),
            pending: Default::default(),
            now_ns: 0,
        }
    }

    fn keep(&mut self, address: u64, data: &[u8]) {
        self.bytes[address as usize..][..data.len()].copy_from_slice(data);
    }

    fn write(&mut self, request: &Request, mut data: Vec<u8>) {
        let address = request.offset_bytes;
        let covers = (address..address + u64::from(request.length_bytes)).contains(&self.at);
        if !covers || self.fault == Fault::None {
            return self.keep(address, &data);
        }
        let place = (self.at - address) as usize;
        match self.fault {
            Fault::FlipsBit => data[place + 700] ^= 4,
            Fault::WritesTo(other) => return self.keep(other, &data),
            Fault::WritesAlsoTo(other) => self.keep(other, &data),
            Fault::SwapsWith(other) => {
                let theirs = self.bytes[other as usize..][..data.len()].to_vec();
                self.keep(other, &data);
                data = theirs;
            }
            Fault::TearsAfter(length) => {
                let rest = &self.bytes[self.at as usize..][length..BLOCK_BYTES];
                data[place + length..place + BLOCK_BYTES].copy_from_slice(rest);
            }
            Fault::Drops => return,
            Fault::Zeroes => data[place..place + BLOCK_BYTES].fill(0),
            Fault::ZeroesSector => data[place + 1024..place + 1536].fill(0),
            Fault::Scrambles => data[place..place + BLOCK_BYTES].fill(0x5A),
            Fault::CutsAfter(length) => data.truncate(length),
            Fault::ReadsOld => {
                self.old = self.bytes[self.at as usize..][..BLOCK_BYTES].to_vec();
                return self.keep(address, &data);
            }
            Fault::None => {}
        }
        self.fault = Fault::None;
        self.keep(address, &data);
    }
}

impl Target for Medium {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.buffers = vec![vec![0; block_bytes_max as usize]; slots as usize];
        Ok(())
    }

    fn write_data(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]> {
        Some(&mut self.buffers[slot as usize][..length_bytes as usize])
    }

    fn read_data(&mut self, slot: u32, length_bytes: u32) -> Option<&[u8]> {
        Some(&self.buffers[slot as usize][..length_bytes as usize])
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.pending.push_back((slot, *request));
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let Some((slot, request)) = self.pending.pop_front() else {
            self.now_ns = self.now_ns.max(deadline_ns);
            return Ok(());
        };
        self.now_ns += 1000;
        let length = request.length_bytes as usize;
        match request.operation {
            Operation::Write => {
                let data = self.buffers[slot as usize][..length].to_vec();
                self.write(&request, data);
            }
            Operation::Read => {
                let there = &self.bytes[request.offset_bytes as usize..][..length];
                self.buffers[slot as usize][..length].copy_from_slice(there);
                if request.offset_bytes == self.at && !self.old.is_empty() {
                    let old = std::mem::take(&mut self.old);
                    self.buffers[slot as usize][..BLOCK_BYTES].copy_from_slice(&old);
                }
            }
            _ => {}
        }
        done.push(Completion { slot, completed_ns: self.now_ns, errno: 0 });
        Ok(())
    }
}

fn workload(read_fraction: f64, pattern: Pattern, block_bytes: u32, count: u64) -> Workload {
    let stream =
        Stream { queue_depth_per_worker: 4, ..Stream::new(read_fraction, pattern, block_bytes) };
    let stop = Stop { ios: Some(count), ..Stop::default() };
    Workload { streams: vec![stream], stop, ramp_ns: 0, seed: 5, log_ios: 0 }
}

fn sequential(read_fraction: f64, block_bytes: u32) -> Workload {
    workload(read_fraction, Pattern::Sequential, block_bytes, CAPACITY / u64::from(block_bytes))
}

/// Runs `workloads` on `medium`; what was found, and how many blocks were
/// checked.
fn verify(medium: &mut Medium, ledger: &Arc<Ledger>, workloads: &[Workload]) -> (Vec<Damage>, u64) {
    let damages = Arc::new(Damages::default());
    // The seam takes a target by value; the medium goes in and comes out again.
    let taken = std::mem::replace(medium, Medium::new());
    let mut target = Verified::new(taken, Arc::clone(ledger), Arc::clone(&damages));
    for workload in workloads {
        let recording = execute(workload, &mut target, &Progress::default()).unwrap();
        assert_eq!(recording.errors(), 0);
    }
    *medium = target.into_inner();
    let checked = damages.checked.load(std::sync::atomic::Ordering::Relaxed);
    (damages.take(), checked)
}

fn ledger() -> Arc<Ledger> {
    Arc::new(Ledger::in_memory(CAPACITY, 11, 22).unwrap())
}

/// Fills the medium, overwrites it with requests of `block_bytes` of which one
/// goes wrong, and reads it all: what was found at rest, as kind and block.
fn found_at_rest(fault: Fault, at_block: u64, block_bytes: u32) -> Vec<(Kind, u64)> {
    let mut medium = Medium::new();
    let ledger = ledger();
    assert!(verify(&mut medium, &ledger, &[sequential(0.0, 65_536)]).0.is_empty());
    (medium.fault, medium.at) = (fault, at_block * BLOCK);
    assert!(verify(&mut medium, &ledger, &[sequential(0.0, block_bytes)]).0.is_empty());
    let (at_rest, checked) = verify(&mut medium, &ledger, &[sequential(1.0, 131_072)]);
    assert_eq!(checked, CAPACITY / BLOCK);
    let resolved = resolve(Vec::new(), at_rest, &ledger);
    resolved.iter().map(|damage| (damage.kind, damage.address / BLOCK)).collect()
}

#[test]
fn a_sound_medium_has_nothing_wrong() {
    assert_eq!(found_at_rest(Fault::None, 0, 4096), []);
}

#[test]
fn one_bad_block_is_found_and_named() {
    for (fault, kind) in [
        (Fault::FlipsBit, Kind::BitFlip),
        (Fault::TearsAfter(512), Kind::Torn),
        (Fault::TearsAfter(3584), Kind::Torn),
        (Fault::Drops, Kind::Lost),
        (Fault::Zeroes, Kind::Zeroed),
        (Fault::ZeroesSector, Kind::Zeroed),
        (Fault::Scrambles, Kind::Corrupt),
    ] {
        for at in [0, 77, CAPACITY / BLOCK - 1] {
            assert_eq!(found_at_rest(fault, at, 4096), [(kind, at)], "{fault:?}");
        }
    }
}

#[test]
fn writes_that_went_elsewhere_are_found_there() {
    // The other place was written before: it holds what was meant for here.
    assert_eq!(
        found_at_rest(Fault::WritesTo(30 * BLOCK), 77, 4096),
        [(Kind::Misplaced, 30), (Kind::Lost, 77)]
    );
    assert_eq!(found_at_rest(Fault::WritesAlsoTo(30 * BLOCK), 77, 4096), [(Kind::Duplicated, 30)]);
    assert_eq!(
        found_at_rest(Fault::SwapsWith(30 * BLOCK), 77, 4096),
        [(Kind::Swapped, 30), (Kind::Swapped, 77)]
    );
}

#[test]
fn short_writes_are_told_from_lost_ones() {
    // Sixteen blocks from 64 on; 5 of them and 2 sectors arrive, or none.
    let short: Vec<_> = (69..80).map(|block| (Kind::Short, block)).collect();
    assert_eq!(found_at_rest(Fault::CutsAfter(5 * 4096 + 1024), 64, 65_536), short);
    let short: Vec<_> = (69..80).map(|block| (Kind::Short, block)).collect();
    assert_eq!(found_at_rest(Fault::CutsAfter(5 * 4096), 64, 65_536), short);
    let lost: Vec<_> = (64..80).map(|block| (Kind::Lost, block)).collect();
    assert_eq!(found_at_rest(Fault::Drops, 64, 65_536)[..16], lost);
}

#[test]
fn a_read_under_load_that_returns_old_data_is_stale() {
    let mut medium = Medium::new();
    let ledger = ledger();
    verify(&mut medium, &ledger, &[sequential(0.0, 65_536)]);
    (medium.fault, medium.at) = (Fault::ReadsOld, 0);
    let rewrite = sequential(0.0, 4096);
    let (under_load, _) = verify(&mut medium, &ledger, &[rewrite, sequential(1.0, 4096)]);
    let (at_rest, _) = verify(&mut medium, &ledger, &[sequential(1.0, 65_536)]);
    let resolved = resolve(under_load, at_rest, &ledger);
    assert_eq!(
        resolved.iter().map(|d| (d.kind, d.address)).collect::<Vec<_>>(),
        [(Kind::Stale, 0)]
    );
}

#[test]
fn another_drive_and_an_earlier_run_are_known() {
    let mut other_drive = Medium::new();
    let other = Arc::new(Ledger::in_memory(CAPACITY, 99, 22).unwrap());
    verify(&mut other_drive, &other, &[sequential(0.0, 65_536)]);
    let mut earlier = Medium::new();
    let before = Arc::new(Ledger::in_memory(CAPACITY, 11, 21).unwrap());
    verify(&mut earlier, &before, &[sequential(0.0, 65_536)]);

    let mut medium = Medium::new();
    let ledger = ledger();
    verify(&mut medium, &ledger, &[sequential(0.0, 65_536)]);
    for (mut instead, kind) in [(other_drive, Kind::WrongDrive), (earlier, Kind::Lost)] {
        let (at_rest, checked) = verify(&mut instead, &ledger, &[sequential(1.0, 65_536)]);
        let resolved = resolve(Vec::new(), at_rest, &ledger);
        assert_eq!(resolved.len() as u64, checked);
        assert!(resolved.iter().all(|damage| damage.kind == kind));
    }
}

/// Random reads and writes of one place at the same time: nobody knows which
/// comes first, and nobody is accused.
#[test]
fn a_mixed_load_on_a_sound_medium_raises_no_alarm() {
    let mut medium = Medium::new();
    let ledger = ledger();
    let mixed = workload(0.5, Pattern::Random, 16_384, 20_000);
    let (found, checked) = verify(&mut medium, &ledger, &[sequential(0.0, 65_536), mixed]);
    assert_eq!(found, []);
    assert!(checked > 30_000, "{checked}");
    assert_eq!(verify(&mut medium, &ledger, &[sequential(1.0, 65_536)]).0, []);
}

#[test]
fn a_target_without_data_is_refused_unless_it_is_remembered() {
    let (ledger, damages) = (ledger(), Arc::new(Damages::default()));
    let mut noop = NoopTarget::new(CAPACITY, 1000);
    let mut bare = Verified::new(NoopTarget::new(CAPACITY, 1000), ledger.clone(), damages.clone());
    assert!(bare.prepare(1, 4096).unwrap_err().0.contains("carries no data"));

    let mut memory = Memory::default();
    for workload in [sequential(0.0, 65_536), sequential(1.0, 65_536)] {
        let remembering = Remembering::new(&mut noop, &mut memory);
        let mut target = Verified::new(remembering, ledger.clone(), damages.clone());
        execute(&workload, &mut target, &Progress::default()).unwrap();
    }
    assert_eq!(damages.checked.load(std::sync::atomic::Ordering::Relaxed), CAPACITY / BLOCK);
    assert_eq!(damages.take(), []);
    // What the drive forgot is missed.
    memory.clear();
    let remembering = Remembering::new(&mut noop, &mut memory);
    let mut target = Verified::new(remembering, ledger.clone(), damages.clone());
    execute(&sequential(1.0, 65_536), &mut target, &Progress::default()).unwrap();
    assert!(damages.take().iter().all(|damage| damage.kind == Kind::Zeroed));
}
