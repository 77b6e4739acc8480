//! The page map against conservation laws and against theory.

use super::specification::Specification;
use super::translation::Translation;
use crate::specification::Specification as Any;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A drive of `dies` dies with `blocks` blocks of `pages` 4 KiB pages each.
fn drive_file(
    dies: u32,
    planes: u32,
    blocks: u32,
    pages: u32,
    user_units: u64,
    more: &str,
) -> String {
    let user = user_units * 4096;
    format!(
        r#"
        name = "test"
        kind = "page-mapped-ssd"
        summary = "test"
        host = {{ overhead = {{ value = "0 us", source = "test" }} }}
        [link]
        line_rate = {{ value = "6 Gb/s", source = "test" }}
        command_overhead = {{ value = "0 B", source = "test" }}
        queue_depth = {{ value = 32, source = "test" }}
        [capacity]
        user = {{ value = "{user} B", source = "test" }}
        [controller]
        read_overhead = {{ value = "0 us", source = "test" }}
        write_overhead = {{ value = "0 us", source = "test" }}
        [write_buffer]
        size = {{ value = "1 MiB", source = "test" }}
        [flash]
        channels = {{ value = {dies}, source = "test" }}
        dies = {{ value = {dies}, source = "test" }}
        planes = {{ value = {planes}, source = "test" }}
        page_size = {{ value = "4 KiB", source = "test" }}
        pages_per_block = {{ value = {pages}, source = "test" }}
        blocks_per_plane = {{ value = {blocks}, source = "test" }}
        read_time = {{ value = "50 us", source = "test" }}
        program_time = {{ value = "1 ms", source = "test" }}
        erase_time = {{ value = "3 ms", source = "test" }}
        bus_rate = {{ value = "200 MB/s", source = "test" }}
        [translation]
        unit = {{ value = "4 KiB", source = "test" }}
        reserved_share = {{ value = 0.0, source = "test" }}
        {more}
        "#
    )
}

fn parse(text: &str) -> Specification {
    match Any::parse(text, &[]).unwrap() {
        Any::PageMapped(_, specification) => specification,
        _ => unreachable!("the kind is page-mapped-ssd"),
    }
}

const PACED: &str = r#"
        [garbage_collection]
        start_free_blocks = { value = 2, source = "test" }
        burst_blocks = { value = 0, source = "test" }
"#;

/// Write amplification of greedy collection under uniform random writes:
/// exact mean field for `b` pages per block (Desnoyers, SYSTOR 2012).
fn greedy_write_amplification(alpha: f64, b: f64) -> f64 {
    let harmonic = |n: f64| (1..=n as u32).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let logical_share = |x: f64| {
        let j = x.floor();
        let p = 1.0 - (x - j);
        (b - x) / (b * (harmonic(b) - harmonic(j + 1.0) + p / (j + 1.0)))
    };
    let (mut low, mut high) = (0.0, b - 1e-9);
    for _ in 0..100 {
        let x = 0.5 * (low + high);
        // The more valid units the victim holds, the fuller the drive.
        if 1.0 / logical_share(x) > alpha { low = x } else { high = x }
    }
    b / (b - low)
}

#[test]
fn the_closed_form_gives_the_published_table() {
    for (spare, b, expected) in
        [(0.07, 32.0, 6.3474), (0.07, 256.0, 7.5969), (0.28, 64.0, 2.4028), (1.0, 256.0, 1.2509)]
    {
        let value = greedy_write_amplification(1.0 + spare, b);
        assert!((value - expected).abs() < 1e-3, "{spare} {b}: {value} against {expected}");
    }
}

#[test]
fn uniform_random_writes_amplify_as_theory_says() {
    let (blocks, pages) = (4_000, 64);
    for spare in [0.12, 0.28, 0.5] {
        // What the collector keeps free is not spare area to the theory.
        let usable = f64::from(blocks - 4) * f64::from(pages);
        let units = (usable / (1.0 + spare)) as u64;
        let mut map = Translation::new(&parse(&drive_file(1, 1, blocks, pages, units, PACED)));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut work = Vec::new();
        let mut write = |map: &mut Translation, count: u64| {
            for _ in 0..count {
                let unit = (u128::from(random.next_u64()) * u128::from(units) >> 64) as u32;
                map.write(unit, 4096, &mut work);
                work.clear();
            }
        };
        for unit in 0..units as u32 {
            map.write(unit, 4096, &mut Vec::new());
        }
        write(&mut map, 5 * units);
        let before = map.counters();
        write(&mut map, 5 * units);
        let after = map.counters();
        let written = (after.host_units - before.host_units) as f64;
        let amplification = 1.0 + (after.moved_units - before.moved_units) as f64 / written;
        let expected = greedy_write_amplification(1.0 + spare, f64::from(pages));
        let off = amplification / expected - 1.0;
        assert!(off.abs() < 0.01, "{spare}: {amplification} against {expected}");
        map.assert_consistent();
    }
}

#[test]
fn sequential_overwrites_amplify_nothing() {
    let units = 20_000;
    let mut map = Translation::new(&parse(&drive_file(4, 2, 100, 32, units, PACED)));
    for _ in 0..4 {
        for unit in 0..units as u32 {
            map.write(unit, 4096, &mut Vec::new());
        }
    }
    assert_eq!(map.counters().moved_units, 0);
    map.assert_consistent();
}

#[test]
fn what_is_written_is_released_once_programmed() {
    let units = 20_000;
    let mut map = Translation::new(&parse(&drive_file(4, 2, 100, 32, units, PACED)));
    let mut work = Vec::new();
    for unit in 0..10_000u32 {
        map.write(unit, 4096, &mut work);
    }
    let released: u64 = work.iter().map(|(_, w)| u64::from(w.release_bytes)).sum();
    assert_eq!(released, 10_000 * 4096);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_map_stays_consistent_on_any_drive(
        dies in 1u32..5, planes in 1u32..3, blocks in 24u32..40, pages in 4u32..20,
        fill in 0.3f64..0.9, burst in 0u32..3, compressing: bool, seed: u64,
    ) {
        // As full as a specification allows: less what the collector keeps free.
        let usable_blocks = f64::from(blocks - 5 - burst);
        let units = (usable_blocks * f64::from(dies * planes * pages) * fill) as u64;
        let collection = format!(
            "[garbage_collection]\nstart_free_blocks = {{ value = 3, source = \"t\" }}\nburst_blocks = {{ value = {burst}, source = \"t\" }}\n"
        );
        let compression = "[compression]\nrepeated = { value = 0.1, source = \"t\" }\nsmallest = { value = 0.25, source = \"t\" }\n";
        let more = if compressing { format!("{collection}{compression}") } else { collection };
        let mut map = Translation::new(&parse(&drive_file(dies, planes, blocks, pages, units, &more)));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut work = Vec::new();
        let mut written = std::collections::HashSet::new();
        for _ in 0..20_000 {
            let unit = (random.next_u64() % units) as u32;
            let stored = if compressing { [1024, 1100, 2048, 4096][random.next_u32() as usize % 4] } else { 4096 };
            map.write(unit, stored, &mut work);
            written.insert(unit);
        }
        map.assert_consistent();
        for unit in 0..units as u32 {
            prop_assert_eq!(map.slot(unit).is_some(), written.contains(&unit));
        }
    }
}
