//! States that somebody has changed, checksum and all: each is refused in a
//! sentence, or the drive goes on from it, without a panic and to an end.

use crate::support::soak::{Dice, random_drive, random_workload, saved};
use fourcorners_execution::{Progress, execute};
use fourcorners_sim::{SimulatedDrive, StateError, with_model};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Bytes before what is packed: a word and two fingerprints.
const START: usize = "fourcorners drive state\n".len() + 32;

fn unpacked(state: &[u8]) -> Vec<u8> {
    zstd::decode_all(&state[START..]).unwrap()
}

/// A state whose checksum fits.
fn packed(start: &[u8], content: &[u8]) -> Vec<u8> {
    let mut packer = zstd::Encoder::new(start[..START].to_vec(), 1).unwrap();
    packer.include_checksum(true).unwrap();
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}

/// Changes some bytes after the first `from`: flips bits, puts numbers near the
/// limits, takes bytes out or in.
fn change(dice: &mut Dice, content: &mut Vec<u8>, from: usize) {
    for _ in 0..dice.number(1, 3) {
        let place = dice.number(from as u64, content.len() as u64 - 1) as usize;
        match dice.number(0, 6) {
            0 | 1 => content[place] ^= 1 << dice.number(0, 7),
            2 => content[place] = dice.one_of(&[0, 1, 2, 0x7f, 0x80, 0xff]),
            3 => content[place] = content[place].wrapping_add(1),
            4 => {
                content.remove(place);
            }
            5 => content.insert(place, dice.number(0, 255) as u8),
            // The largest numbers of 32 and 64 bits.
            _ => {
                let largest: &[u8] = match dice.once_in(2) {
                    true => &[0xff, 0xff, 0xff, 0xff, 0x0f],
                    false => &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                };
                content.splice(place..place + 1, largest.iter().copied());
            }
        }
    }
}

/// Everything that can be done with a drive.
fn use_drive(dice: &mut Dice, drive: &mut SimulatedDrive) {
    let capacity = drive.capacity_bytes();
    for round in 0..3 {
        let workload = random_workload(dice, capacity);
        with_model!(&mut drive.model, model => {
            execute(&workload, &mut **model, &Progress::default())
        })
        .unwrap();
        drive.idle(2_000_000_000);
        drive.trim(0, capacity / 3);
        if round == 0 {
            // Refused by drives of which it is not known what is lost.
            drive.power_cut();
        }
    }
    drive.assert_consistent();
    drive.purge();
    drive.counters();
}

/// Takes changed states of a random drive; returns how many of them it refused for
/// what they say, and how many it took.
fn try_states(seed: u64, count: u32) -> (u32, u32) {
    let mut dice = Dice::new(seed);
    let (what, [mut original, _]) = random_drive(&mut dice);
    let empty = saved(&original);
    let workload = random_workload(&mut dice, original.capacity_bytes());
    with_model!(&mut original.model, model => {
        execute(&workload, &mut **model, &Progress::default())
    })
    .unwrap();
    let state = saved(&original);
    let content = unpacked(&state);
    let first_difference = (content.iter().zip(&unpacked(&empty))).position(|(a, b)| a != b);
    let from = first_difference.unwrap_or(0).min(content.len() - 1);
    let (mut impossible, mut taken) = (0, 0);
    for number in 0..count {
        let mut changed = content.clone();
        // What the drive was made from is compared as a whole.
        change(&mut dice, &mut changed, from);
        let changed = packed(&state, &changed);
        let mut drive = original_again(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| match drive.load(&changed[..]) {
            Ok(()) => {
                use_drive(&mut dice, &mut drive);
                Ok(())
            }
            Err(error) => Err(error),
        }));
        match outcome.unwrap_or_else(|_| panic!("state {number} of seed {seed}: {what}")) {
            Ok(()) => taken += 1,
            Err(StateError::Impossible(_)) => impossible += 1,
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    (impossible, taken)
}

fn original_again(seed: u64) -> SimulatedDrive {
    random_drive(&mut Dice::new(seed)).1.into_iter().next().unwrap()
}

#[test]
fn changed_states_are_refused_or_gone_on_from() {
    let seeds = std::env::var("CHANGED_STATES_SEEDS").map_or(60, |seeds| seeds.parse().unwrap());
    let (say, hear) = mpsc::channel();
    std::thread::spawn(move || {
        for seed in 0..seeds {
            let _ = say.send(try_states(seed, 40));
        }
    });
    let (mut impossible, mut taken) = (0, 0);
    for seed in 0..seeds {
        let outcome = hear.recv_timeout(Duration::from_secs(60));
        let (refused, used) = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        (impossible, taken) = (impossible + refused, taken + used);
    }
    println!("{impossible} impossible, {taken} taken");
    assert!(impossible > 10 * seeds as u32 / 4 && taken > seeds as u32, "{impossible}, {taken}");
}
