//! Hot data written apart from cold data.

use super::*;

/// Paced collection with the fewest free blocks that streams permit, of which
/// four are open for writing.
fn apart(rule: &str) -> String {
    let paced = PACED.replace("value = 2", "value = 3");
    format!("{paced}\n[write_streams]\n{rule}")
}

/// No spare area: free blocks, the free part of open ones counted, and what
/// is being emptied.
const BLOCKS_KEPT: u32 = 4;

/// Units of one die with this share of spare area.
fn units_apart(blocks: u32, pages: u32, spare: f64) -> u64 {
    (f64::from((blocks - BLOCKS_KEPT) * pages) / (1.0 + spare)) as u64
}

fn known(units: u64, hot: f64) -> String {
    let bytes = (units as f64 * hot) as u64 * 4096;
    apart(&format!(
        "rule = {{ value = \"known-range\", source = \"t\" }}\nhot_size = {{ value = \"{bytes} B\", source = \"t\" }}"
    ))
}

fn detected(window_units: u64) -> String {
    let bytes = window_units * 4096;
    apart(&format!(
        "rule = {{ value = \"detected\", source = \"t\" }}\nwindow = {{ value = \"{bytes} B\", source = \"t\" }}"
    ))
}

/// Write amplification of hot and cold traffic in steady state.
fn measure(blocks: u32, pages: u32, units: u64, more: &str, hot: f64, share: f64) -> f64 {
    let mut draw = hot_cold(units, hot, share);
    let mut map = overwritten(&drive_file(1, 1, blocks, pages, units, more), units, 8, &mut draw);
    let measured = amplification(&mut map, 8 * units, draw);
    map.assert_consistent();
    measured
}

#[test]
fn known_hot_data_written_apart_amplifies_like_uniform_data() {
    // Desnoyers, SYSTOR 2012: greedy collection over both streams takes what
    // it takes of uniform writes, whatever is hot.
    let (blocks, pages) = (1_000, 256);
    for (spare, expected) in [(0.07, 7.601), (0.12, 4.763), (0.28, 2.458)] {
        let units = units_apart(blocks, pages, spare);
        let measured = measure(blocks, pages, units, &known(units, 0.2), 0.2, 0.8);
        assert_near(&format!("{spare}"), measured, expected, 1.5);
    }
}

#[test]
fn the_detector_gains_most_of_what_knowledge_gains() {
    // One frontier: 2.802; separate frontiers of host and collector: 2.708.
    let (blocks, pages) = (1_000, 256);
    let units = units_apart(blocks, pages, 0.28);
    let measured = measure(blocks, pages, units, &detected(units), 0.2, 0.8);
    assert_near("detected", measured, 2.458, 2.0);
}

#[test]
fn the_detector_costs_little_where_nothing_is_hot() {
    let (blocks, pages) = (1_000, 256);
    let units = units_apart(blocks, pages, 0.28);
    let measured = measure(blocks, pages, units, &detected(units), 1.0, 1.0);
    assert_near("uniform", measured, 2.461, 2.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn streams_keep_the_map_consistent(
        dies in 1u32..5, blocks in 30u32..50, pages in 4u32..20, fill in 0.3f64..1.0,
        burst in 0u32..3, window in prop::option::of(1u64..5_000), compressing: bool, seed: u64,
    ) {
        let usable_blocks = f64::from(blocks - 7 - burst);
        // Rows of compressed units may end with room that nothing fits.
        let fill = if compressing { 0.9 * fill } else { fill };
        let units = (usable_blocks * fill) as u64 * u64::from(dies * pages);
        let streams = window.map_or_else(|| known(units, 0.3), detected);
        let compression = "\n[compression]\nsmallest = { value = 0.25, source = \"t\" }\n";
        let more = format!("{streams}{}", if compressing { compression } else { "" })
            .replace("burst_blocks = { value = 0", &format!("burst_blocks = {{ value = {burst}"));
        let mut map = Translation::new(&parse(&drive_file(dies, 1, blocks, pages, units, &more)), seed);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut work = Vec::new();
        let mut written = std::collections::HashSet::new();
        for _ in 0..20_000 {
            let among = if random.next_u32() % 4 == 0 { units } else { (units / 10).max(1) };
            let unit = (random.next_u64() % among) as u32;
            let stored = if compressing { [1024, 1100, 2048, 4096][random.next_u32() as usize % 4] } else { 4096 };
            map.write_at_once(unit, stored, &mut work);
            written.insert(unit);
        }
        map.assert_consistent();
        for unit in 0..units as u32 {
            prop_assert_eq!(map.slot(unit).is_some(), written.contains(&unit));
        }
    }
}
