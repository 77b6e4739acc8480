//! Write amplification against theory, within 0.2 % where it is exact.

use super::closed_forms::{self, first_in_first_out, paced, units_with_spare};
use super::*;
use fourcorners_workload::{Lane, Workload};

const SPARES: [f64; 10] = [0.05, 0.07, 0.10, 0.12, 0.15, 0.20, 0.25, 0.28, 0.5, 1.0];

#[test]
fn the_closed_forms_give_the_published_values() {
    for (spare, b, expected) in
        [(0.07, 32, 6.3474), (0.07, 256, 7.5969), (0.28, 64, 2.4028), (1.0, 256, 1.2509)]
    {
        assert_near("greedy", closed_forms::greedy(1.0 + spare, b), expected, 0.01);
    }
    for (spare, expected) in [(0.07, 7.8172), (0.12, 4.8463), (0.28, 2.4814), (0.30, 2.36)] {
        assert_near("FIFO", first_in_first_out(1.0 + spare), expected, 0.2);
    }
    // Simulated values in the literature.
    for (spare, expected) in [(0.07, 7.830), (0.12, 4.896), (0.28, 2.521)] {
        assert_near("10 choices", closed_forms::choices(1.0 + spare, 256, 10.0), expected, 0.1);
    }
    assert_near("1 choice", closed_forms::choices(1.2, 64, 1.0), 6.0, 1e-6);
    for (hot, spare, expected) in [(0.2, 0.07, 8.1818), (0.2, 0.28, 2.8196), (0.1, 0.12, 5.8235)] {
        let classes = [(hot, 1.0 - hot), (1.0 - hot, hot)];
        let value = closed_forms::first_in_first_out_of(1.0 + spare, &classes);
        assert_near("hot and cold, FIFO", value, expected, 0.01);
    }
}

/// Write amplification under uniform writes of one die in steady state.
fn in_steady_state(blocks: u32, pages: u32, spare: f64, rule: &str, rounds: u64) -> f64 {
    let units = units_with_spare(blocks, pages, spare);
    let mut map = in_uniform_state(&drive_file(1, 1, blocks, pages, units, &paced(rule)), units);
    let mut draw = uniform(units);
    // Nothing of how the drive was laid out is left after that.
    amplification(&mut map, units, &mut draw);
    let value = amplification(&mut map, rounds * units, draw);
    map.assert_consistent();
    value
}

#[test]
fn greedy_collection_amplifies_as_theory_says() {
    for spare in SPARES {
        let measured = in_steady_state(4_000, 64, spare, "", 3);
        let expected = closed_forms::greedy(1.0 + spare, 64);
        assert_near(&format!("greedy, {spare}"), measured, expected, 0.2);
    }
}

#[test]
fn what_is_never_written_is_spare_area() {
    let (blocks, pages) = (4_000, 64);
    let all = units_with_spare(blocks, pages, 0.07);
    for share in [0.25, 0.5, 0.75, 0.9] {
        let filled = (all as f64 * share) as u64;
        let text = drive_file(1, 1, blocks, pages, all, &paced(""));
        let mut map = in_uniform_state(&text, filled);
        assert_eq!((map.slot(filled as u32 - 1).is_some(), map.slot(filled as u32)), (true, None));
        let mut draw = uniform(filled);
        amplification(&mut map, filled, &mut draw);
        let measured = amplification(&mut map, 4 * filled, draw);
        let expected = closed_forms::greedy(1.07 * all as f64 / filled as f64, pages);
        assert_near(&format!("{share} filled"), measured, expected, 0.2);
        map.assert_consistent();
    }
}

#[test]
fn pages_per_block_count_as_theory_says() {
    for (pages, blocks) in [(32, 8_000), (128, 5_000), (256, 4_000), (1024, 3_000)] {
        for spare in [0.07, 0.28] {
            let measured = in_steady_state(blocks, pages, spare, "", 1);
            let expected = closed_forms::greedy(1.0 + spare, pages);
            assert_near(&format!("greedy, {spare}, {pages} pages"), measured, expected, 0.2);
        }
    }
}

#[test]
fn first_in_first_out_amplifies_as_theory_says() {
    let rule = "policy = { value = \"fifo\", source = \"t\" }";
    for spare in [0.05, 0.07, 0.12, 0.28, 1.0] {
        let measured = in_steady_state(1_500, 256, spare, rule, 4);
        let expected = first_in_first_out(1.0 + spare);
        assert_near(&format!("FIFO, {spare}"), measured, expected, 0.2);
    }
}

#[test]
fn choosing_among_some_blocks_amplifies_as_theory_says() {
    // What is drawn at random scatters: three standard errors, by theory.
    for (candidates, spare, percent) in
        [(10, 0.07, 0.4), (10, 0.28, 0.2), (3, 0.15, 0.4), (1, 0.28, 1.0)]
    {
        let rule = format!(
            "policy = {{ value = \"d-choices\", source = \"t\" }}\n\
             candidates = {{ value = {candidates}, source = \"t\" }}"
        );
        let measured = in_steady_state(4_000, 64, spare, &rule, 6);
        let expected = closed_forms::choices(1.0 + spare, 64, f64::from(candidates));
        assert_near(&format!("{candidates} choices, {spare}"), measured, expected, percent);
    }
}

/// A unit of a workload's random stream of 4 KiB blocks over `units` units.
fn drawn(pattern: &str, units: u64) -> impl FnMut() -> u32 {
    let workload = Workload::from_json(&format!(
        r#"{{"streams": [{{"read_fraction": 0.0, "block_bytes": 4096, "pattern": {pattern},
             "queue_depth": 1}}], "stop": {{}}, "seed": 4}}"#
    ))
    .expect("a valid workload");
    let mut lane = Lane::all(&workload, units * 4096).remove(0);
    move || (lane.next_request().expect("no end is set").offset_bytes / 4096) as u32
}

const HOT_COLD: &str = r#"{"hot-cold": {"data": 0.2, "accesses": 0.8}}"#;
const ZIPF: &str = r#"{"zipf": {"exponent": 0.99}}"#;

#[test]
fn skewed_writes_amplify_as_theory_says() {
    // First in, first out, into one write frontier; the other one's block is
    // never used.
    let rule = "policy = { value = \"fifo\", source = \"t\" }\n\
                shared_stream = { value = true, source = \"t\" }";
    let (blocks, pages) = (3_000, 64);
    for spare in [0.12, 0.28] {
        let units = units_with_spare(blocks - 1, pages, spare);
        let zipf = closed_forms::zipf_classes(units, 0.99);
        for (name, pattern, classes) in
            [("20/80", HOT_COLD, &[(0.2, 0.8), (0.8, 0.2)][..]), ("Zipf", ZIPF, &zipf)]
        {
            let text = drive_file(1, 1, blocks, pages, units, &paced(rule));
            let mut draw = drawn(pattern, units);
            let mut map = overwritten(&text, units, 8, &mut draw);
            let measured = amplification(&mut map, 8 * units, draw);
            let expected = closed_forms::first_in_first_out_of(1.0 + spare, classes);
            assert_near(&format!("{name}, {spare}"), measured, expected, 0.3);
        }
    }
}

#[test]
fn skewed_writes_amplify_as_a_second_map_has_it() {
    let (blocks, pages, spare) = (1_500, 64, 0.28);
    for (name, pattern) in [("20/80", HOT_COLD), ("Zipf", ZIPF)] {
        let units = units_with_spare(blocks - 1, pages, spare);
        let text = drive_file(
            1,
            1,
            blocks,
            pages,
            units,
            &paced("shared_stream = { value = true, source = \"t\" }"),
        );
        let mut draw = drawn(pattern, units);
        let mut map = overwritten(&text, units, 8, &mut draw);
        let measured = amplification(&mut map, 8 * units, draw);
        // The second map keeps one block open and none free.
        let reference_blocks = (blocks - closed_forms::KEPT_FREE) as usize;
        let mut reference =
            closed_forms::BareMap::new(reference_blocks, pages as usize, units as usize);
        let mut draw = drawn(pattern, units);
        let mut unit = || u64::from(draw());
        reference.amplification(8 * units, &mut unit);
        let expected = reference.amplification(8 * units, unit);
        assert_near(name, measured, expected, 0.5);
    }
}
