//! A served drive in virtual time: its data against a shadow copy, through power cuts.

mod support;

use fourcorners_serve::{Command, Finished, Io};
use std::ops::Range;
use support::{
    ARRAY, CORE, DISK, Draws, LOG_BLOCK, SECOND_NS, VECTOR, content, drive, io, served, write,
};

/// What the tests write to.
const SPAN: usize = 4 << 20;

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
