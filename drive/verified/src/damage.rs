//! What was found, and what it means together.

use crate::ledger::Ledger;
use crate::stamp::{BLOCK_BYTES, Stamp};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Damages that are kept one by one; of more than that only the number.
const KEPT_MAX: usize = 100_000;
const BLOCK: u64 = BLOCK_BYTES as u64;

/// What happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A few bits are not what was written.
    BitFlip,
    /// Some sectors are of the latest write and some are not.
    Torn,
    /// Zeros, in all of the block or in some of its sectors.
    Zeroed,
    /// A read returned an earlier write, and a later read the latest one.
    Stale,
    /// The latest write was acknowledged and is not there: an earlier one is.
    Lost,
    /// The end of a request was acknowledged and is not there; its start is.
    Short,
    /// It holds what was written for another place.
    Misplaced,
    /// So too, and the other place holds it as well.
    Duplicated,
    /// Two blocks hold what was written for each other.
    Swapped,
    /// It holds what was written to another drive.
    WrongDrive,
    /// Anything else.
    Corrupt,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 11] = [
        Kind::BitFlip,
        Kind::Torn,
        Kind::Zeroed,
        Kind::Stale,
        Kind::Lost,
        Kind::Short,
        Kind::Misplaced,
        Kind::Duplicated,
        Kind::Swapped,
        Kind::WrongDrive,
        Kind::Corrupt,
    ];

    /// Name as written in files and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::BitFlip => "bit flip",
            Kind::Torn => "torn",
            Kind::Zeroed => "zeroed",
            Kind::Stale => "stale",
            Kind::Lost => "lost",
            Kind::Short => "short",
            Kind::Misplaced => "misplaced",
            Kind::Duplicated => "duplicated",
            Kind::Swapped => "swapped",
            Kind::WrongDrive => "wrong drive",
            Kind::Corrupt => "corrupt",
        }
    }
}

/// One damaged block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What happened to it.
    pub kind: Kind,
    /// First byte of the block.
    pub address: u64,
    /// What it should carry.
    pub expected: Stamp,
    /// What it carries, if it is a whole block of some write.
    pub found: Option<Stamp>,
}

/// What the workers of a run found.
#[derive(Debug, Default)]
pub struct Damages {
    kept: Mutex<Vec<Damage>>,
    /// Blocks that were not what they should be.
    pub damaged: AtomicU64,
    /// Blocks that were compared with what they should hold.
    pub checked: AtomicU64,
    /// Blocks that were read while nobody could say what they should hold:
    /// never written, or written at the same time.
    pub unchecked: AtomicU64,
}

impl Damages {
    pub(crate) fn add(&self, damage: Damage) {
        self.damaged.fetch_add(1, Relaxed);
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if kept.len() < KEPT_MAX {
            kept.push(damage);
        }
    }

    /// What was found, one by one.
    pub fn take(&self) -> Vec<Damage> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// Names anew what several blocks tell together: `under_load` was found while
/// writing, `at_rest` by reading everything after it. Of each block at rest one
/// damage stays, by address; a block that was bad under load and is good at rest
/// keeps that one, where an old block was read as a stale one.
pub fn resolve(under_load: Vec<Damage>, at_rest: Vec<Damage>, ledger: &Ledger) -> Vec<Damage> {
    let mut by_address: HashMap<u64, Damage> = HashMap::new();
    for mut damage in under_load {
        if damage.kind == Kind::Lost {
            damage.kind = Kind::Stale;
        }
        by_address.insert(damage.address, damage);
    }
    let mut resolved: Vec<Damage> = Vec::with_capacity(at_rest.len());
    for damage in at_rest {
        by_address.remove(&damage.address);
        resolved.push(damage);
    }
    resolved.extend(by_address.into_values());
    resolved.sort_by_key(|damage| damage.address);
    resolved.dedup_by_key(|damage| damage.address);
    name_misplaced(&mut resolved, ledger);
    name_short(&mut resolved, ledger);
    resolved
}

fn name_misplaced(damages: &mut [Damage], ledger: &Ledger) {
    let found: HashMap<u64, Stamp> =
        damages.iter().filter_map(|d| Some((d.address, d.found?))).collect();
    let damaged: HashMap<u64, Kind> = damages.iter().map(|d| (d.address, d.kind)).collect();
    for damage in damages.iter_mut().filter(|damage| damage.kind == Kind::Misplaced) {
        let Some(stamp) = damage.found else { continue };
        let home = stamp.address;
        let home_holds = found.get(&home).filter(|_| damaged[&home] == Kind::Misplaced);
        if home_holds.is_some_and(|other| other.address == damage.address) {
            damage.kind = Kind::Swapped;
        } else if !damaged.contains_key(&home)
            && ledger.certain(home / BLOCK) == Some(stamp.sequence)
        {
            damage.kind = Kind::Duplicated;
        }
    }
}

/// A run of lost blocks at the end of a request whose start is there, with a
/// torn one between them if it was cut inside a block.
fn name_short(damages: &mut [Damage], ledger: &Ledger) {
    let holds = |address: u64| ledger.certain(address / BLOCK);
    let last = ledger.capacity_bytes() - BLOCK;
    let mut first = 0;
    while first < damages.len() {
        let sequence = damages[first].expected.sequence;
        let is_part = |index: usize| {
            let damage: &Damage = &damages[index];
            let missing = damage.kind == Kind::Lost || damage.kind == Kind::Zeroed;
            damage.expected.sequence == sequence
                && damage.address == damages[first].address + (index - first) as u64 * BLOCK
                && (missing || (index == first && damage.kind == Kind::Torn))
        };
        let mut end = first;
        while end < damages.len() && is_part(end) {
            end += 1;
        }
        if end == first {
            first += 1;
            continue;
        }
        let (from, to) = (damages[first].address, damages[end - 1].address);
        let cut_inside = damages[first].kind == Kind::Torn && end - first > 1;
        let starts_before = from > 0 && holds(from - BLOCK) == Some(sequence);
        let ends_here = to == last || holds(to + BLOCK) != Some(sequence);
        let lost = damages[end - 1].kind == Kind::Lost;
        if ends_here && lost && (cut_inside || starts_before) {
            for damage in &mut damages[first..end] {
                damage.kind = Kind::Short;
            }
        }
        first = end;
    }
}
