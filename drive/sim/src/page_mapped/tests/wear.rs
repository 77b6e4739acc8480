//! Wear, its levelling, and what bad blocks do.

use super::*;

/// Wear with these parameters, and collection that takes turns with writing.
fn wearing(parameters: &str) -> String {
    format!("{PACED}\n[wear]\n{parameters}")
}

/// Erases between the least and the most worn block after a small part of the
/// data has taken nearly all writes.
fn erase_spread(parameters: &str) -> u32 {
    let (blocks, pages) = (200, 32);
    let units = units_with_spare(blocks, pages, 0.2);
    let text = drive_file(1, 1, blocks, pages, units, &wearing(parameters));
    let map = overwritten(&text, units, 60, hot_cold(units, 0.1, 0.99));
    map.assert_consistent();
    let erases = map.erase_counts();
    assert!(f64::from(erases.min) <= erases.mean && erases.mean <= f64::from(erases.max));
    erases.max - erases.min
}

#[test]
fn levelling_keeps_wear_even() {
    let none = erase_spread("");
    let dynamic = erase_spread("levelling = { value = \"dynamic\", source = \"t\" }");
    let static_20 = erase_spread(
        "levelling = { value = \"static\", source = \"t\" }\nspread_max = { value = 20, source = \"t\" }",
    );
    assert!(none > 150, "hot data should wear out few blocks, spread {none}");
    assert!(dynamic > 100, "levelling among free blocks does not reach cold ones: {dynamic}");
    assert!(static_20 <= 30, "spread {static_20} with 20 permitted");
}

#[test]
fn bad_blocks_are_no_spare_area() {
    let (blocks, pages) = (1_000, 64);
    let units = units_with_spare(blocks, pages, 0.28);
    let more = wearing("bad_block_share = { value = 0.1, source = \"t\" }");
    let mut draw = uniform(units);
    let text = drive_file(1, 1, blocks, pages, units, &more);
    let mut map = overwritten(&text, units, 6, &mut draw);
    assert_eq!(map.bad_blocks(), 100);
    let alpha = f64::from((blocks - 100 - 4) * pages) / units as f64;
    let expected = greedy(alpha, pages);
    let measured = amplification(&mut map, 6 * units, &mut draw);
    assert_near("a tenth of the blocks bad", measured, expected, 1.0);
    map.assert_consistent();
    enter(&mut map, &text, units, Stream::new(0.0, Pattern::Random, 4096));
    map.assert_consistent();
    assert_near("at once", amplification(&mut map, 6 * units, draw), expected, 1.5);
}

#[test]
fn worn_out_blocks_end_the_life_of_a_drive() {
    let (blocks, pages, endurance) = (200, 32, 50);
    let units = units_with_spare(blocks, pages, 0.3);
    let more = wearing(&format!(
        "endurance = {{ value = {endurance}, source = \"t\" }}\nlevelling = {{ value = \"dynamic\", source = \"t\" }}"
    ))
    .replace("start_free_blocks = { value = 2", "start_free_blocks = { value = 3");
    let specification = parse(&drive_file(1, 1, blocks, pages, units, &more));
    let mut map = Translation::new(&specification, 1);
    let mut draw = uniform(units);
    let mut work = Vec::new();
    while !map.is_read_only() {
        map.write_at_once(draw(), 4096, &mut work);
        assert!(map.counters().erased_blocks <= u64::from(blocks * endurance), "it lives on");
    }
    map.assert_consistent();
    // Uniform writes wear all blocks alike: little of what they endure is left.
    assert!(map.erase_counts().mean > 0.9 * f64::from(endurance), "{:?}", map.erase_counts());
    assert_eq!(map.bad_blocks(), blocks - specification.needed_blocks_per_pool());
    // What was in the buffer still finds its place.
    for _ in 0..10_000 {
        map.write_at_once(draw(), 4096, &mut work);
    }
    map.assert_consistent();
}

#[test]
fn a_secure_erase_wears_what_held_data() {
    let units = 20_000;
    let more = wearing("bad_block_share = { value = 0.1, source = \"t\" }");
    let specification = parse(&drive_file(4, 2, 100, 32, units, &more));
    let mut map = Translation::new(&specification, 1);
    for unit in 0..units as u32 / 2 {
        map.write_at_once(unit, 4096, &mut Vec::new());
    }
    let wear = map.wear_after_purge();
    let full_blocks = (units / 2) as f64 / 64.0;
    assert_near("erases", wear.erase_counts().mean * 4.0 * 90.0, full_blocks, 3.0);
    let mut erased = Translation::new(&specification, 2);
    erased.set_wear(wear.clone());
    erased.assert_consistent();
    assert_eq!(erased.erase_counts(), wear.erase_counts());
    assert_eq!(
        erased.wear_after_purge().erase_counts(),
        wear.erase_counts(),
        "nothing was written"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_wearing_map_stays_consistent_on_any_drive(
        dies in 1u32..5, blocks in 40u32..60, pages in 4u32..20, fill in 0.3f64..1.0,
        burst in 0u32..3, bad in 0.0f64..0.1, endurance in 5u32..60, spread in 0u32..10,
        hot in 0.05f64..1.0, seed: u64,
    ) {
        let levelling = match spread {
            0 => String::new(),
            1 => "levelling = { value = \"dynamic\", source = \"t\" }\n".to_string(),
            _ => format!("levelling = {{ value = \"static\", source = \"t\" }}\nspread_max = {{ value = {spread}, source = \"t\" }}\n"),
        };
        let more = format!(
            "[garbage_collection]\nstart_free_blocks = {{ value = 3, source = \"t\" }}\nburst_blocks = {{ value = {burst}, source = \"t\" }}\n[wear]\nbad_block_share = {{ value = {bad:.3}, source = \"t\" }}\nendurance = {{ value = {endurance}, source = \"t\" }}\n{levelling}"
        );
        // As full as a specification allows.
        let good_blocks = (f64::from(blocks) * (1.0 - bad)).floor() - f64::from(5 + burst);
        let units = (good_blocks * fill) as u64 * u64::from(dies * pages);
        let specification = parse(&drive_file(dies, 1, blocks, pages, units, &more));
        let mut map = Translation::new(&specification, seed);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut work = Vec::new();
        let hot_units = ((units as f64 * hot) as u64).max(1);
        // A buffer full of writes is still stored after the end.
        let mut left = units;
        while left > 0 && map.counters().host_units < 100_000 {
            let among = if random.next_u32() % 8 == 0 { units } else { hot_units };
            map.write_at_once((random.next_u64() % among) as u32, 4096, &mut work);
            left -= u64::from(map.is_read_only());
        }
        map.assert_consistent();
    }
}
