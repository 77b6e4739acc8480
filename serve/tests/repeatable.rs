//! The same drive, seed, requests at the same virtual times, faults and cut give the same
//! bytes, always.

mod support;

use fourcorners_serve::data::Data;
use fourcorners_serve::{Command, Cut, DeviceFault, Served};
use serde_json::{Value, json};
use support::{ARRAY, CORE, DISK, Draws, LOG_BLOCK, SHARED, VECTOR, drive, io};

const SPAN: usize = 2 << 20;

/// What a drive holds after faults and a loss of power, what that took, and what was
/// answered when.
fn after_a_cut(text: &str, seed: u64, at_write: u64) -> (Vec<u8>, Cut, Vec<(u64, i32, u64)>) {
    let mut drive = drive(text, &[]);
    let data = Data::in_memory(drive.capacity_bytes());
    let mut served = Served::new(&mut drive, data, seed).unwrap();
    let faults: [Value; 6] = [
        json!({"kind": "power-cut", "on": "write", "from_io": at_write}),
        json!({"kind": "io-error", "probability": 0.05}),
        json!({"kind": "bit-flip", "probability": 0.1}),
        json!({"kind": "torn-write", "probability": 0.05}),
        json!({"kind": "slow", "probability": 0.1, "delay_ns": 3_000_000}),
        json!({"kind": "stall", "at_ns": 2_000_000, "for_ns": 4_000_000}),
    ];
    for fault in faults {
        served.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    }
    let mut draws = Draws(11);
    let (mut now_ns, mut finished) = (0, Vec::new());
    for number in 1.. {
        let start = draws.below(SPAN as u64 / 4096 - 8) as usize * 4096;
        let command = match number % 13 {
            0 => Command::Flush,
            1 => Command::Read,
            2 => Command::Trim,
            _ => Command::Write(vec![number as u8; 32_768]),
        };
        let range = if command == Command::Flush { 0..0 } else { start..start + 32_768 };
        // No more than a queue of 32 waits for a slow drive.
        let has_room = served.unanswered() < 32;
        let submitted = if has_room { served.submit(io(number, command, range)) } else { None };
        now_ns += draws.below(300_000);
        let advanced = match submitted {
            None => served.advance(now_ns, &mut finished).unwrap(),
            some => some,
        };
        if advanced.is_some() {
            assert_eq!(advanced, Some(DeviceFault::PowerCut(None)));
            break;
        }
    }
    let cut = served.power_cut().unwrap();
    let mut bytes = vec![0; SPAN];
    served.read(0, &mut bytes).unwrap();
    let answers = finished.iter().map(|one| (one.cookie, one.errno, one.completed_ns)).collect();
    (bytes, cut, answers)
}

#[test]
fn a_cut_among_faults_repeats_bit_for_bit() {
    // An array takes longer to make.
    let drives =
        [(LOG_BLOCK, 100), (CORE, 100), (VECTOR, 100), (DISK, 100), (SHARED, 100), (ARRAY, 10)];
    for (text, times) in drives {
        let name = text.lines().next().unwrap();
        let first = after_a_cut(text, 7, 60);
        assert!(!first.1.lost.is_empty(), "{name}: something is lost");
        assert!(first.2.iter().any(|&(_, errno, _)| errno != 0), "{name}: something fails");
        for time in 1..times {
            assert!(after_a_cut(text, 7, 60) == first, "{name}: time {time} differs");
        }
        // Another seed decides otherwise, and so does another cut.
        assert!(after_a_cut(text, 8, 60) != first, "{name}");
        assert!(after_a_cut(text, 7, 75) != first, "{name}");
    }
}
