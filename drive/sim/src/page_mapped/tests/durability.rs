//! What is durable: every unit whose row a die has programmed, and no other.

use super::super::translation::Settling;
use super::*;

/// What a drive knows about durability, kept without a map: rows are given to
/// dies one after another, and dies program them in order.
struct Books {
    /// By unit: the host's latest write of it.
    latest: Vec<Option<Written>>,
    /// Units of the row that is being filled.
    open: Vec<usize>,
    /// By die: rows that it was given and that it has programmed.
    given: Vec<u32>,
    programmed: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Written {
    Open,
    /// In this row of a die's, counted from 1.
    Row {
        die: u32,
        number: u32,
    },
}

impl Books {
    /// The host has written or trimmed a unit, and this is the work that
    /// followed.
    fn enter(&mut self, work: &mut Vec<(u32, super::super::flash::BackgroundWork)>) {
        for (die, work) in work.drain(..) {
            if work.release_bytes > 0 {
                let number = &mut self.given[die as usize];
                *number += 1;
                for unit in self.open.drain(..) {
                    if let Some(latest @ Written::Open) = &mut self.latest[unit] {
                        *latest = Written::Row { die, number: *number };
                    }
                }
            }
        }
    }

    fn settling(&self, unit: usize) -> Settling {
        match self.latest[unit] {
            None => Settling::Settled,
            Some(Written::Open) => Settling::Open,
            Some(Written::Row { die, number }) => {
                match number.saturating_sub(self.programmed[die as usize]) {
                    0 => Settling::Settled,
                    position => Settling::Given { die, position },
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn units_are_durable_when_their_row_is_programmed_wherever_they_are_moved(
        dies in 1u32..4, superblock: bool, blocks in 12u32..16, pages in 2u32..6,
        fill in 0.3f64..0.95, idleness in 1u32..40, trims in 0u32..30, shares: bool, seed: u64,
    ) {
        let units = (f64::from((blocks - 6) * dies * pages * 2) * fill) as u64;
        let collection = "[garbage_collection]\nstart_free_blocks = { value = 3, source = \"t\" }\nburst_blocks = { value = 0, source = \"t\" }\n";
        let shared = if shares { "shared_stream = { value = true, source = \"t\" }\n" } else { "" };
        let collection = format!("{collection}{shared}");
        let superblocks = format!("superblock_dies = {{ value = {dies}, source = \"t\" }}\n");
        let more = if superblock { superblocks + &collection } else { collection };
        let mut map = Translation::new(&parse(&drive_file(dies, 2, blocks, pages, units, &more)), 1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut books = Books {
            latest: vec![None; units as usize],
            open: Vec::new(),
            given: vec![0; dies as usize],
            programmed: vec![0; dies as usize],
        };
        let mut work = Vec::new();
        for _ in 0..3_000 {
            let unit = (random.next_u64() % units) as usize;
            match random.next_u32() % 100 {
                draw if draw < trims => {
                    map.trim(unit as u32);
                    books.latest[unit] = None;
                }
                99 => map.pad(&mut work),
                _ => {
                    books.latest[unit] = Some(Written::Open);
                    books.open.push(unit);
                    map.write(unit as u32, 4096, &mut work);
                }
            }
            books.enter(&mut work);
            // The dies program less or more than the host writes.
            let die = random.next_u32() % dies;
            let behind = books.given[die as usize] - books.programmed[die as usize];
            if behind > 0 && random.next_u32() % 40 >= idleness {
                map.settled(die);
                books.programmed[die as usize] += 1;
            }
            let any = (random.next_u64() % units) as usize;
            for unit in [unit, any] {
                prop_assert_eq!(map.settling(unit as u32), books.settling(unit), "unit {}", unit);
            }
        }
        let durable = |unit: &u32| books.settling(*unit as usize) == Settling::Settled;
        let expected: Vec<u32> = (0..units as u32).filter(|unit| !durable(unit)).collect();
        let mut lost = map.lose_unsettled(&mut work);
        lost.sort_unstable();
        prop_assert_eq!(lost, expected);
        map.assert_consistent();
    }
}
