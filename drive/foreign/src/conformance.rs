//! Whether a program is a drive as the protocol wants it: each check on a child of its own.

use crate::{Command, ForeignDrive, ForeignError};
use fourcorners_target::Target;
use fourcorners_workload::{Content, Operation, Request};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the protocol wants it.
    Passed,
    /// Not so; why, as a sentence without its end.
    Failed(String),
    /// The drive does not say that it can.
    NotOffered,
    /// Not checked, since the program does not greet as a drive.
    NotMade,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is wanted, as a sentence without its end.
    pub wanted: &'static str,
    /// What it came to.
    pub outcome: Outcome,
}

/// Requests that are outstanding in a mixture.
const DEPTH: u32 = 32;
/// Requests of a mixture: every kind dozens of times.
const REQUESTS: usize = 1000;
/// The largest request; also tests ask for hardly more.
const BLOCK_BYTES_MAX: u64 = 1 << 20;
const SECTOR_BYTES: u64 = 512;

/// Checks everything that the program says it can, with states in files of `folder`.
pub fn conformance(command: &Command, seed: u64, limit: Duration, folder: &Path) -> Vec<Check> {
    let program = Program { command, seed, limit, folder };
    let mut is_drive = true;
    CHECKS
        .iter()
        .enumerate()
        .map(|(number, &(wanted, check))| {
            if !is_drive {
                return Check { wanted, outcome: Outcome::NotMade };
            }
            let outcome = match check(&program) {
                Ok(true) => Outcome::Passed,
                Ok(false) => Outcome::NotOffered,
                Err(why) => Outcome::Failed(why),
            };
            // Each of the others would wait for the same greeting, and fail of the same.
            is_drive = number > 0 || outcome == Outcome::Passed;
            Check { wanted, outcome }
        })
        .collect()
}

/// Whether the drive offers it; or what is wrong.
type Answer = Result<bool, String>;

type Checking = fn(&Program<'_>) -> Answer;

const CHECKS: [(&str, Checking); 13] = [
    ("it greets, and its clock begins at 0", greets),
    ("every request is answered once, in order of time", answers),
    ("the first and the last sector, and large requests, are answered", reaches),
    ("idle time passes to the nanosecond", idles),
    ("flushes and writes with FUA are answered", makes_durable),
    ("the same seed and requests give the same times", repeats),
    ("TRIM is answered", trims),
    ("writing zeroes is answered", writes_zeroes),
    ("a secure erase is answered, and the drive serves on", purges),
    ("a loss of power takes nothing that was durable", loses_power),
    ("a state that was saved and loaded gives the same times", keeps_states),
    ("its counters are numbers", counts),
    ("it ends when it is told to", ends),
];

struct Program<'a> {
    command: &'a Command,
    seed: u64,
    limit: Duration,
    folder: &'a Path,
}

impl Program<'_> {
    fn start(&self) -> Result<ForeignDrive, String> {
        ForeignDrive::start_within(self.command, self.seed, self.limit).map_err(said)
    }
}

fn said(error: ForeignError) -> String {
    error.to_string()
}

fn greets(program: &Program<'_>) -> Answer {
    program.start().map(|_| true)
}

fn answers(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    Mixture::new(1).run(&mut drive, REQUESTS).map(|_| true)
}

fn reaches(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    let capacity_bytes = drive.capacity_bytes();
    let large_bytes = BLOCK_BYTES_MAX.min(capacity_bytes);
    for operation in [Operation::Write, Operation::Read] {
        for (offset_bytes, length_bytes) in [
            (0, SECTOR_BYTES),
            (capacity_bytes - SECTOR_BYTES, SECTOR_BYTES),
            (0, large_bytes),
            (capacity_bytes - large_bytes, large_bytes),
        ] {
            let name = if operation == Operation::Read { "read" } else { "write" };
            let request = transfer(operation, offset_bytes, length_bytes);
            let what = || format!("a {name} of {length_bytes} bytes at {offset_bytes}");
            alone(&mut drive, &request).map_err(|why| format!("{}: {why}", what()))?;
        }
    }
    Ok(true)
}

fn idles(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    Mixture::new(2).run(&mut drive, 100)?;
    for idle_ns in [1, 1_000_000_000] {
        let until_ns = drive.now_ns() + idle_ns;
        drive.idle(idle_ns).map_err(said)?;
        if drive.now_ns() != until_ns {
            return Err(format!("idle for {idle_ns} ns led to {} ns", drive.now_ns()));
        }
    }
    Ok(true)
}

fn makes_durable(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    for fua in [false, true] {
        let request = Request { fua, ..transfer(Operation::Write, 0, 4096) };
        alone(&mut drive, &request)?;
        alone(&mut drive, &Request::FLUSH)?;
    }
    Ok(true)
}

fn repeats(program: &Program<'_>) -> Answer {
    let one = Mixture::new(3).run(&mut program.start()?, REQUESTS)?;
    let other = Mixture::new(3).run(&mut program.start()?, REQUESTS)?;
    same(&one, &other).map(|()| true)
}

fn trims(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.trim {
        return Ok(false);
    }
    alone(&mut drive, &transfer(Operation::Write, 0, 4096))?;
    drive.trim(0, 4096).map_err(said)?;
    drive.trim(0, drive.capacity_bytes()).map_err(said)?;
    alone(&mut drive, &transfer(Operation::Read, 0, 4096)).map(|()| true)
}

fn writes_zeroes(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.write_zeroes {
        return Ok(false);
    }
    drive.write_zeroes(0, 4096).map_err(said)?;
    drive.write_zeroes(0, BLOCK_BYTES_MAX.min(drive.capacity_bytes())).map_err(said)?;
    alone(&mut drive, &transfer(Operation::Read, 0, 4096)).map(|()| true)
}

fn purges(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.purge {
        return Ok(false);
    }
    Mixture::new(4).run(&mut drive, 200)?;
    drive.purge().map_err(said)?;
    Mixture::new(4).run(&mut drive, 200).map(|_| true)
}

fn loses_power(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.power_cut {
        return Ok(false);
    }
    let part_bytes = (drive.capacity_bytes() / 64).min(4096) / SECTOR_BYTES * SECTOR_BYTES;
    if part_bytes == 0 {
        return Err("the drive is too small to be checked: use 32 KiB or more".into());
    }
    // What is before part 32 is flushed, that part is written with FUA, the others may be lost.
    let place = |part: u64| part * part_bytes;
    for part in 0..32 {
        alone(&mut drive, &transfer(Operation::Write, place(part), part_bytes))?;
    }
    alone(&mut drive, &Request::FLUSH)?;
    for part in 32..64 {
        let write = transfer(Operation::Write, place(part), part_bytes);
        alone(&mut drive, &Request { fua: part == 32, ..write })?;
    }
    let at_risk = place(33)..place(64);
    let lost: Vec<Range<u64>> = drive.power_cut().map_err(said)?;
    if let Some(wrong) = lost.iter().find(|range| !within(range, &at_risk)) {
        return Err(format!(
            "it lost bytes {} to {}, which were flushed, written with FUA, or not written at all",
            wrong.start, wrong.end
        ));
    }
    alone(&mut drive, &transfer(Operation::Read, 0, part_bytes)).map(|()| true)
}

fn within(inner: &Range<u64>, outer: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn keeps_states(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.save {
        return Ok(false);
    }
    let named = |name: &str| program.folder.join(name).to_string_lossy().into_owned();
    let state = named("saved.state");
    Mixture::new(5).run(&mut drive, REQUESTS)?;
    drive.save(&state).map_err(said)?;
    let went_on = Mixture::new(6).run(&mut drive, REQUESTS)?;
    let mut other = program.start()?;
    other.load(&state).map_err(said)?;
    let loaded = Mixture::new(6).run(&mut other, REQUESTS)?;
    same(&went_on, &loaded)?;
    let strange = named("strange.state");
    std::fs::write(&strange, "This is no state of a drive.\n").map_err(|why| why.to_string())?;
    match program.start()?.load(&strange) {
        Err(ForeignError::Refused(_)) => Ok(true),
        Err(error) => Err(format!("a file that is no state: {error}")),
        Ok(()) => Err("it loads a file that is no state".into()),
    }
}

fn counts(program: &Program<'_>) -> Answer {
    let mut drive = program.start()?;
    if !drive.identity().abilities.counters {
        return Ok(false);
    }
    Mixture::new(7).run(&mut drive, 200)?;
    let counters: BTreeMap<String, f64> = drive.counters().map_err(said)?;
    if counters.is_empty() {
        return Err("it has no counter".into());
    }
    Ok(true)
}

fn ends(program: &Program<'_>) -> Answer {
    if program.start()?.close() { Ok(true) } else { Err("it has not ended after 2 s".into()) }
}

fn transfer(operation: Operation, offset_bytes: u64, length_bytes: u64) -> Request {
    Request {
        operation,
        offset_bytes,
        length_bytes: u32::try_from(length_bytes).expect("at most BLOCK_BYTES_MAX"),
        content: Content::Incompressible,
        fua: false,
    }
}

/// One request from its submission to its end.
fn alone(drive: &mut ForeignDrive, request: &Request) -> Result<(), String> {
    drive.prepare(1, 0).map_err(|error| error.to_string())?;
    drive.submit(0, request);
    let mut done = Vec::new();
    drive.wait(u64::MAX, &mut done).map_err(|error| error.to_string())?;
    match done[0].errno {
        0 => Ok(()),
        errno => Err(format!("it fails with errno {errno}")),
    }
}

/// How one request of a mixture ended, in nanoseconds since the mixture began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ended {
    slot: u32,
    after_ns: u64,
}

fn same(one: &[Ended], other: &[Ended]) -> Result<(), String> {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    match differs.map(|place| (place, one[place], other[place])) {
        None => Ok(()),
        Some((place, one, other)) => Err(format!(
            "completion {} was of slot {} after {} ns, and then of slot {} after {} ns",
            place + 1,
            one.slot,
            one.after_ns,
            other.slot,
            other.after_ns
        )),
    }
}

/// Reads, writes, writes with FUA and flushes anywhere, in an order of its own.
struct Mixture(u64);

impl Mixture {
    fn new(salt: u64) -> Self {
        Self(salt)
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn request(&mut self, capacity_bytes: u64) -> Request {
        let kind = self.draw(16);
        if kind == 0 {
            return Request::FLUSH;
        }
        let length_bytes = (SECTOR_BYTES << self.draw(9)).min(capacity_bytes);
        let places = (capacity_bytes - length_bytes) / SECTOR_BYTES + 1;
        let offset_bytes = self.draw(places) * SECTOR_BYTES;
        let operation = if kind < 8 { Operation::Read } else { Operation::Write };
        Request { fua: kind == 8, ..transfer(operation, offset_bytes, length_bytes) }
    }

    /// Keeps [`DEPTH`] requests outstanding, and stops now and then before the next completes.
    fn run(mut self, drive: &mut ForeignDrive, requests: usize) -> Result<Vec<Ended>, String> {
        let told = |error: fourcorners_target::TargetError| error.to_string();
        drive.prepare(DEPTH, 0).map_err(told)?;
        let begin_ns = drive.now_ns();
        let mut free: Vec<u32> = (0..DEPTH).rev().collect();
        let (mut submitted, mut ended, mut done) = (0, Vec::new(), Vec::new());
        while ended.len() < requests {
            while submitted < requests {
                let Some(slot) = free.pop() else { break };
                let request = self.request(drive.capacity_bytes());
                drive.submit(slot, &request);
                submitted += 1;
            }
            let deadline_ns = match self.draw(4) {
                0 => drive.now_ns() + self.draw(100_000),
                _ => u64::MAX,
            };
            done.clear();
            drive.wait(deadline_ns, &mut done).map_err(told)?;
            for one in &done {
                if one.errno != 0 {
                    return Err(format!("a request failed with errno {}", one.errno));
                }
                free.push(one.slot);
                ended.push(Ended { slot: one.slot, after_ns: one.completed_ns - begin_ns });
            }
        }
        Ok(ended)
    }
}
