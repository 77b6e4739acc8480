//! A served drive in virtual time: its data against a shadow copy, through power cuts
//! and faults.

mod support;

use fourcorners_serve::data::Data;
use fourcorners_serve::{Command, DeviceFault, Fault, Finished, Io, Served};
use fourcorners_target::{NoopTarget, VirtualDrive};
use serde_json::json;
use std::ops::Range;
use support::{ARRAY, CORE, DISK, Draws, LOG_BLOCK, SECOND_NS, VECTOR, drive, io};

/// What the tests write to.
const SPAN: usize = 4 << 20;

fn served(drive: &mut dyn VirtualDrive) -> Served<'_> {
    let data = Data::in_memory(drive.capacity_bytes());
    Served::new(drive, data, 7).unwrap()
}

fn fault(fault: serde_json::Value) -> Fault {
    serde_json::from_value(fault).unwrap()
}

fn write(cookie: u64, range: Range<usize>, value: u8) -> Io {
    io(cookie, Command::Write(vec![value; range.len()]), range)
}

/// Serves one I/O to its end and returns its errno.
fn serve(served: &mut Served<'_>, now_ns: &mut u64, request: Io) -> i32 {
    assert_eq!(served.submit(request), None);
    let mut finished = Vec::new();
    while finished.is_empty() {
        *now_ns += 100_000;
        served.advance(*now_ns, &mut finished).unwrap();
    }
    finished[0].errno
}

fn content(served: &mut Served<'_>, range: Range<usize>) -> Vec<u8> {
    let mut found = vec![0; range.len()];
    served.read(range.start as u64, &mut found).unwrap();
    found
}

/// What each sector may hold after a loss of power: what was durable last, and what was
/// acknowledged since, each with the number of the answer.
struct Shadow {
    histories: Vec<Vec<(u64, u8)>>,
    answers: u64,
}

impl Shadow {
    fn new(sectors: usize) -> Self {
        Self { histories: vec![vec![(0, 0)]; sectors], answers: 0 }
    }

    fn written(&mut self, sectors: Range<usize>, value: u8, is_durable: bool) {
        self.answers += 1;
        for history in &mut self.histories[sectors] {
            if is_durable {
                history.clear();
            }
            history.push((self.answers, value));
        }
    }

    /// What had been answered by `answers` is durable.
    fn flushed(&mut self, answers: u64) {
        for history in &mut self.histories {
            let older = history.partition_point(|&(number, _)| number <= answers);
            history.drain(..older.saturating_sub(1));
        }
    }
}

/// Random I/O with power cuts: returns of how many sectors what was durable was lost, and
/// of how many what was only acknowledged.
fn cuts_against_a_shadow(text: &str, settings: &[(&str, &str)], rounds: u64) -> (u64, u64) {
    let mut drive = drive(text, settings);
    let mut served = served(&mut drive);
    let mut draws = Draws(3);
    let sectors = SPAN / 512;
    let mut shadow = Shadow::new(sectors);
    let (mut lost_durable, mut lost_volatile) = (0, 0);
    let (mut now_ns, mut cookie) = (0, 0);
    for round in 0..rounds {
        // With what had been answered when each was submitted.
        let mut outstanding = std::collections::BTreeMap::<u64, (Io, u64)>::new();
        let mut finished: Vec<Finished> = Vec::new();
        for _ in 0..60 + draws.below(120) {
            cookie += 1;
            let start = draws.below(sectors as u64 - 64) as usize;
            let range = start * 512..(start + 1 + draws.below(63) as usize) * 512;
            // The order of what overlaps and is outstanding is anybody's.
            let overlaps = |(io, _): &(Io, u64)| {
                let from = io.offset_bytes as usize;
                from < range.end && range.start < from + io.length_bytes as usize
            };
            let mut request = match draws.below(12) {
                0 => io(cookie, Command::Flush, 0..0),
                _ if outstanding.values().any(overlaps) => continue,
                1 => io(cookie, Command::Trim, range),
                2 => io(cookie, Command::Zero { may_discard: false }, range),
                _ => write(cookie, range, (cookie % 255) as u8 + 1),
            };
            request.is_forced = request.command != Command::Flush && draws.below(15) == 0;
            outstanding.insert(cookie, (request.clone(), shadow.answers));
            served.submit(request);
            if draws.below(3) == 0 {
                now_ns += draws.below(2_000_000);
                served.advance(now_ns, &mut finished).unwrap();
            }
            for finished in finished.drain(..) {
                assert_eq!(finished.errno, 0);
                let (io, answers) = outstanding.remove(&finished.cookie).unwrap();
                let from = io.offset_bytes as usize / 512;
                let touched = from..from + io.length_bytes as usize / 512;
                match io.command {
                    Command::Flush => shadow.flushed(answers),
                    Command::Write(bytes) => shadow.written(touched, bytes[0], io.is_forced),
                    // Without TRIM there is nothing to do.
                    Command::Trim if !served.has_trim() => {}
                    Command::Trim => shadow.written(touched, 0, true),
                    _ => shadow.written(touched, 0, io.is_forced),
                }
            }
        }
        let cut = served.power_cut().unwrap();
        assert_eq!(cut.unacknowledged_ios as usize, outstanding.len(), "round {round}");
        let found = content(&mut served, 0..SPAN);
        for sector in 0..sectors {
            let value = found[sector * 512];
            assert!(
                found[sector * 512..][..512].iter().all(|&byte| byte == value),
                "a torn sector"
            );
            let reached = outstanding.values().any(|(io, _)| {
                let from = io.offset_bytes as usize / 512;
                (from..from + io.length_bytes as usize / 512).contains(&sector)
                    && matches!(&io.command, Command::Write(bytes) if bytes[0] == value)
            });
            let history = &mut shadow.histories[sector];
            if !reached && history.last().is_some_and(|&(_, last)| last != value) {
                lost_volatile += 1;
                lost_durable += u64::from(history.iter().all(|&(_, known)| known != value));
            }
            *history = vec![(shadow.answers, value)];
        }
        now_ns += SECOND_NS;
        served.advance(now_ns, &mut Vec::new()).unwrap();
    }
    (lost_durable, lost_volatile)
}

#[test]
fn a_power_cut_takes_what_was_not_durable_and_nothing_else() {
    for text in [VECTOR, DISK, CORE, LOG_BLOCK, ARRAY] {
        let cuts = 25;
        let (durable, volatile) = cuts_against_a_shadow(text, &[], cuts);
        let name = text.lines().next().unwrap();
        assert_eq!(durable, 0, "{name}");
        assert!(volatile > cuts, "{name}: a volatile cache lost {volatile} sectors in {cuts} cuts");
    }
    for (text, name) in [
        (VECTOR, "write_buffer.power_loss_protection"),
        (CORE, "controller.power_loss_protection"),
        (LOG_BLOCK, "controller.power_loss_protection"),
    ] {
        assert_eq!(cuts_against_a_shadow(text, &[(name, "true")], 25), (0, 0), "{name}");
    }
    for (text, name) in [(VECTOR, "write_buffer.write_back"), (DISK, "cache.write_back")] {
        assert_eq!(cuts_against_a_shadow(text, &[(name, "false")], 10), (0, 0), "{name}");
    }
}

#[test]
fn a_drive_that_lies_loses_what_it_said_was_durable() {
    for (text, name) in [
        (VECTOR, "write_buffer.ignores_flush"),
        (DISK, "cache.ignores_flush"),
        (CORE, "controller.ignores_flush"),
        (LOG_BLOCK, "controller.ignores_flush"),
    ] {
        let (durable, _) = cuts_against_a_shadow(text, &[(name, "true")], 25);
        assert!(durable > 0, "{name}");
    }
}

#[test]
fn faults_meet_the_ios_that_they_are_about() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    let add = |served: &mut Served<'_>, value| served.add_fault(fault(value)).unwrap();
    // A read error, once, in a range.
    let id = add(
        &mut served,
        json!({"kind": "io-error", "on": "read", "offset_bytes": 8192, "length_bytes": 4096,
               "times": 1}),
    );
    assert_eq!(serve(&mut served, &mut now_ns, io(1, Command::Read, 0..8192)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, write(2, 8192..12_288, 5)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(3, Command::Read, 4096..16_384)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, io(4, Command::Read, 4096..16_384)), 0);
    assert!(served.clear_faults(Some(id), now_ns));
    // A latent error, until it is written.
    add(&mut served, json!({"kind": "latent-error", "offset_bytes": 8192, "length_bytes": 1024}));
    assert_eq!(serve(&mut served, &mut now_ns, io(5, Command::Read, 8192..12_288)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, write(6, 8192..8704, 6)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(7, Command::Read, 8192..12_288)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, write(8, 8704..9216, 7)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(9, Command::Read, 8192..12_288)), 0);
    // Silent corruption.
    for (cookie, kind) in (10..).zip(["lost-write", "bit-flip", "torn-write", "misplaced-write"]) {
        assert_eq!(serve(&mut served, &mut now_ns, write(cookie, 0..8192, 1)), 0);
        add(&mut served, json!({"kind": kind, "times": 1, "distance_bytes": 8192}));
        assert_eq!(serve(&mut served, &mut now_ns, write(cookie, 0..8192, 2)), 0);
        let found = content(&mut served, 0..8192);
        let changed = found.iter().filter(|&&byte| byte != 2).count();
        match kind {
            "lost-write" | "misplaced-write" => assert!(found == vec![1; 8192], "{kind}"),
            "bit-flip" => assert_eq!(changed, 1),
            _ => assert!(changed % 512 == 0 && changed > 0, "torn after {changed}"),
        }
        if kind == "misplaced-write" {
            assert!(content(&mut served, 8192..16_384) == vec![2; 8192]);
        }
        served.clear_faults(None, now_ns);
    }
    add(&mut served, json!({"kind": "stale-read", "times": 1}));
    assert_eq!(serve(&mut served, &mut now_ns, write(20, 0..4096, 9)), 0);
    assert!(content(&mut served, 0..4096) == vec![1; 4096]);
    assert!(content(&mut served, 0..4096) == vec![9; 4096]);
    // The end of life.
    add(&mut served, json!({"kind": "end-of-life"}));
    assert_eq!(serve(&mut served, &mut now_ns, write(21, 0..4096, 9)), 1);
    assert_eq!(serve(&mut served, &mut now_ns, io(22, Command::Flush, 0..0)), 0);
    assert_eq!(served.finish().events().3.len(), 5);
}

#[test]
fn faults_of_time_hold_answers_back() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    let took = |served: &mut Served<'_>, now_ns: &mut u64, cookie| {
        let before_ns = *now_ns;
        serve(served, now_ns, io(cookie, Command::Read, 0..1 << 20));
        *now_ns - before_ns
    };
    served.add_fault(fault(json!({"kind": "slow", "delay_ns": 5_000_000, "times": 1}))).unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 1), 5_100_000);
    assert_eq!(took(&mut served, &mut now_ns, 2), 100_000);
    served
        .add_fault(fault(
            json!({"kind": "throttle", "rate_bytes_per_s": 100 << 20, "for_ns": SECOND_NS}),
        ))
        .unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 3), 10_100_000);
    served.clear_faults(None, now_ns);
    let at_ns = now_ns + 1_000_000;
    served
        .add_fault(fault(json!({"kind": "stall", "at_ns": at_ns, "for_ns": 50_000_000})))
        .unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 4), 100_000);
    now_ns += 1_000_000;
    served.advance(now_ns, &mut Vec::new()).unwrap();
    assert!(took(&mut served, &mut now_ns, 5) > 45_000_000);
    // What hangs fails when the fault is cleared.
    served.add_fault(fault(json!({"kind": "hang"}))).unwrap();
    served.submit(io(6, Command::Read, 0..4096));
    let mut finished = Vec::new();
    now_ns += 3_600 * SECOND_NS;
    served.advance(now_ns, &mut finished).unwrap();
    assert_eq!((finished.len(), served.unanswered()), (0, 1));
    served.clear_faults(None, now_ns);
    served.advance(now_ns, &mut finished).unwrap();
    assert_eq!(finished[0].errno, 5);
}

#[test]
fn what_would_hang_fails_at_its_end_when_the_fault_is_cleared_before() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    served.add_fault(fault(json!({"kind": "hang"}))).unwrap();
    served.submit(io(1, Command::Read, 0..4096));
    let mut finished = Vec::new();
    served.shut_down(&mut finished).unwrap();
    let errnos: Vec<_> =
        finished.iter().filter(|one| one.cookie == 1).map(|one| one.errno).collect();
    assert_eq!(errnos, [5]);
    assert_eq!(served.unanswered(), 0);
}

#[test]
fn a_power_cut_that_is_due_with_a_trim_happens() {
    let mut drive = drive(VECTOR, &[]);
    let mut served = served(&mut drive);
    let cut = fault(json!({"kind": "power-cut", "on": "write", "from_io": 2}));
    served.add_fault(cut).unwrap();
    let mut now_ns = 0;
    assert_eq!(serve(&mut served, &mut now_ns, write(1, 0..8192, 1)), 0);
    assert_eq!(served.submit(io(2, Command::Trim, 0..4096)), None);
    let happens = served.advance(now_ns + 1, &mut Vec::new());
    assert_eq!(happens, Ok(Some(DeviceFault::PowerCut(None))));
}
