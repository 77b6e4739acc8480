//! The mapping under any sequence of writes.

use super::flash::Operation;
use super::translation::{Counts, Translation, Work};
use crate::drive_file::Specification;
use proptest::prelude::*;

const TEXT: &str = include_str!("../../tests/support/log_block.toml");

fn translation(settings: &[(&str, String)]) -> Translation {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).into(), value.clone())).collect();
    match Specification::parse(TEXT, &settings).unwrap() {
        Specification::LogBlock(_, specification) => Translation::new(&specification),
        _ => unreachable!("the file is of this kind"),
    }
}

fn sharing(shared: bool) -> (&'static str, String) {
    ("translation.sharing", if shared { "shared" } else { "per-block" }.into())
}

#[test]
fn a_block_written_in_order_switches_and_erases_the_old_one() {
    for shared in [false, true] {
        let mut translation = translation(&[sharing(shared)]);
        let mut work = Vec::new();
        for row in (0..64).chain(0..64) {
            translation.write(row, &mut work);
        }
        let expected =
            Counts { host_rows: 128, switch_merges: 2, erased_blocks: 1, ..Counts::default() };
        assert_eq!(translation.counts(), expected);
        assert!(!work.iter().any(|&(_, operation)| operation == Operation::Fetch));
    }
}

#[test]
fn half_a_block_in_order_is_completed_with_the_other_half() {
    let mut translation = translation(&[sharing(true)]);
    let mut work = Vec::new();
    for row in (0..64).chain(0..32).chain(64..65) {
        translation.write(row, &mut work);
    }
    let counts = translation.counts();
    assert_eq!((counts.partial_merges, counts.copied_rows, counts.full_merges), (1, 32, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_in_one_place(
        shared: bool, span in 0u32..3, logs in 1u32..5, pages in 1u32..9,
        runs in prop::collection::vec((0u32..2000, 1u32..80), 1..80),
    ) {
        let mut translation = translation(&[
            sharing(shared),
            ("capacity.user", "8000 KiB".into()),
            ("translation.dies_per_block", (1 << span).to_string()),
            ("translation.log_blocks", logs.to_string()),
            ("flash.pages_per_block", pages.to_string()),
        ]);
        let mut written = vec![false; 2000];
        let mut work: Vec<Work> = Vec::new();
        let mut host_rows = 0;
        for (first, length) in runs {
            for row in first..(first + length).min(2000) {
                translation.write(row, &mut work);
                written[row as usize] = true;
                host_rows += 1;
            }
            translation.assert_consistent(&written);
        }
        let programs = |of_host: bool| {
            let is = |operation: &Operation| {
                matches!(operation, Operation::Program { row } if row.is_some() == of_host)
            };
            work.iter().filter(|(_, operation)| is(operation)).count() as u64
        };
        let counts = translation.counts();
        prop_assert_eq!(counts.host_rows, host_rows);
        prop_assert_eq!(programs(true), host_rows);
        prop_assert_eq!(programs(false), counts.copied_rows);
        let fetches = work.iter().filter(|(_, operation)| *operation == Operation::Fetch).count();
        prop_assert_eq!(fetches as u64, counts.copied_rows);
        prop_assert!(work.iter().all(|&(die, _)| die < 4));
    }
}
