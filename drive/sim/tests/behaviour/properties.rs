//! What holds for any drive under any workload.

use crate::support;
use crate::support::arrays::array_of;
use crate::support::soak::{Dice, random_page_mapped};
use crate::support::{SECOND_NS, drive, drive_of, log_block_file};
use fourcorners_sim::{SimulatedDrive, with_model};
use fourcorners_target::{Completion, Target};
use fourcorners_workload::{Content, Operation, Request};
use proptest::prelude::*;

/// One command and how long the host waits after it, in microseconds; without
/// a wait the next one follows at the same time.
type Step = (Kind, u64, u32, u32);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Write,
    Forced,
    Flush,
}

fn steps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    let sectors = prop_oneof![8 => 1u32..64, 2 => 64u32..4000];
    let wait_us = prop_oneof![Just(0u32), 1u32..100, 100u32..50_000];
    let kind = prop_oneof![
        6 => Just(Kind::Read), 6 => Just(Kind::Write), 1 => Just(Kind::Forced), 1 => Just(Kind::Flush),
    ];
    let step = (kind, any::<u64>(), sectors, wait_us);
    (1usize..80, prop::collection::vec(step, 1..150))
}

type Settings = Vec<(&'static str, String)>;

fn ssd_settings() -> impl Strategy<Value = Settings> {
    (1u32..5, 1u32..5, 1u32..3, 1u32..40, 1u32..4, 20_000u64..90_000).prop_map(
        |(channels, ways, planes, pages, buffer_rows, sectors)| {
            let row = 4096 * channels * planes;
            vec![
                ("capacity.user", format!("{} B", sectors * 512)),
                ("flash.channels", channels.to_string()),
                ("flash.ways", ways.to_string()),
                ("flash.planes", planes.to_string()),
                ("flash.pages_per_block", pages.to_string()),
                ("controller.buffer", format!("{} B", buffer_rows * row)),
            ]
        },
    )
}

fn disk_settings() -> impl Strategy<Value = Settings> {
    let geometry = (1u32..5, 1u32..6, 3600u32..15_000, 20_000u64..900_000);
    let cache = (any::<bool>(), 1u32..10, 64u32..4000, 0u32..3000);
    (geometry, cache, 1u32..33).prop_map(|(geometry, cache, queue_depth)| {
        let (heads, zones, rpm, sectors) = geometry;
        let (write_back, entries, write_kib, read_ahead_kib) = cache;
        vec![
            ("capacity.user", format!("{} B", sectors * 512)),
            ("link.queue_depth", queue_depth.to_string()),
            ("geometry.heads", heads.to_string()),
            ("geometry.zones", zones.to_string()),
            ("geometry.rotation_rpm", rpm.to_string()),
            ("cache.write_back", write_back.to_string()),
            ("cache.write_entries", entries.to_string()),
            ("cache.write_size", format!("{write_kib} KiB")),
            ("cache.read_ahead", format!("{read_ahead_kib} KiB")),
        ]
    })
}

fn log_block_settings() -> impl Strategy<Value = Settings> {
    (0u32..3, 1u32..20, 1u32..5, 1u32..33, 2u64..20, any::<bool>()).prop_map(
        |(span, pages, logs, queue_depth, buffer_rows, shared)| {
            vec![
                ("capacity.user", "5000 KiB".to_string()),
                ("link.queue_depth", queue_depth.to_string()),
                ("controller.buffer", format!("{} KiB", 4 * buffer_rows)),
                ("flash.pages_per_block", pages.to_string()),
                ("translation.dies_per_block", (1 << span).to_string()),
                ("translation.log_blocks", logs.to_string()),
                ("translation.sharing", if shared { "shared" } else { "per-block" }.into()),
            ]
        },
    )
}

/// Chunks and host of an array, and its members by their kind's number.
fn array_settings() -> impl Strategy<Value = (Vec<usize>, Settings)> {
    let members = prop::collection::vec(0usize..3, 1..6);
    (members, 9u32..20, 0u32..20, 10u32..3000).prop_map(|(members, shift, us, rate)| {
        let settings = vec![
            ("array.chunk", format!("{} B", 1 << shift)),
            ("host.overhead", format!("{us} us")),
            ("host.data_rate", format!("{rate} MB/s")),
            ("member.capacity.user", "96 MiB".to_string()),
        ];
        (members, settings)
    })
}

fn borrowed(settings: &Settings) -> Vec<(&str, &str)> {
    settings.iter().map(|(path, value)| (*path, value.as_str())).collect()
}

/// Runs the steps with at most `depth` outstanding and checks each completion;
/// returns all of them.
fn play<T: Target>(
    target: &mut T,
    depth: usize,
    steps: &[Step],
) -> Result<Vec<Completion>, TestCaseError> {
    let sectors = target.capacity_bytes() / 512;
    let mut submitted_ns: Vec<Option<u64>> = vec![None; depth];
    let mut all = Vec::new();
    let mut steps = steps.iter();
    let mut last_ns = target.now_ns();
    loop {
        let free = submitted_ns.iter().position(Option::is_none);
        let step = free.and_then(|slot| steps.next().map(|step| (slot, *step)));
        let mut deadline_ns = target.now_ns() + 100 * SECOND_NS;
        if let Some((slot, (kind, place, length, wait_us))) = step {
            let length = u64::from(length).min(sectors);
            let transfer = |operation, fua| Request {
                operation,
                offset_bytes: place % (sectors - length + 1) * 512,
                length_bytes: length as u32 * 512,
                content: Content::Incompressible,
                fua,
            };
            let request = match kind {
                Kind::Read => transfer(Operation::Read, false),
                Kind::Write => transfer(Operation::Write, false),
                Kind::Forced => transfer(Operation::Write, true),
                Kind::Flush => Request::FLUSH,
            };
            submitted_ns[slot] = Some(target.now_ns());
            target.submit(slot as u32, &request);
            deadline_ns = target.now_ns() + u64::from(wait_us) * 1000;
            if wait_us == 0 {
                continue;
            }
        } else if submitted_ns.iter().all(Option::is_none) {
            return Ok(all);
        }
        let mut done = Vec::new();
        target.wait(deadline_ns, &mut done).unwrap();
        let now_ns = target.now_ns();
        prop_assert!(now_ns >= last_ns && now_ns <= deadline_ns, "the clock went wrong");
        prop_assert!(step.is_some() || !done.is_empty(), "a command never completes");
        for completion in &done {
            let begun_ns = submitted_ns[completion.slot as usize].take();
            prop_assert!(begun_ns.is_some(), "completed twice: {completion:?}");
            prop_assert!(begun_ns < Some(completion.completed_ns), "{completion:?}");
            prop_assert!(completion.completed_ns >= last_ns, "out of order: {completion:?}");
            prop_assert!(completion.completed_ns <= now_ns, "in the future: {completion:?}");
            prop_assert_eq!(completion.errno, 0);
            last_ns = completion.completed_ns;
        }
        last_ns = now_ns;
        all.append(&mut done);
    }
}

fn check(
    drive: impl Fn() -> SimulatedDrive,
    depth: usize,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let run = |drive: &mut SimulatedDrive| with_model!(&mut drive.model, model => play(&mut **model, depth, steps));
    let mut first = drive();
    let completions = run(&mut first)?;
    prop_assert_eq!(completions.len(), steps.len());
    let again = run(&mut drive())?;
    prop_assert_eq!(completions, again, "two equal runs differ");

    // What was flushed survives, and the drive works on.
    let flush: [Step; 1] = [(Kind::Flush, 0, 1, 0)];
    with_model!(&mut first.model, model => play(&mut **model, 1, &flush))?;
    prop_assert_eq!(first.power_cut(), Vec::new());
    prop_assert_eq!(run(&mut first)?.len(), steps.len());
    first.power_cut();
    prop_assert_eq!(run(&mut first)?.len(), steps.len());

    // So it does after a rest and a purge.
    first.idle(1000 * SECOND_NS);
    prop_assert_eq!(run(&mut first)?.len(), steps.len());
    first.assert_consistent();
    first.purge();
    prop_assert_eq!(run(&mut first)?.len(), steps.len());
    first.assert_consistent();
    Ok(())
}

proptest! {
    // A failure prints its settings and steps; there is no file to keep.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_mapped_ssds_serve_every_command_once(seed: u64, (depth, steps) in steps()) {
        let text = random_page_mapped(&mut Dice::new(seed));
        check(|| drive_of(&text, &[]), depth, &steps)?;
    }

    #[test]
    fn block_mapped_ssds_serve_every_command_once(
        settings in ssd_settings(), (depth, steps) in steps(),
    ) {
        let drive = || drive("ocz-core-64gb", &borrowed(&settings));
        check(drive, depth, &steps)?;
    }

    #[test]
    fn disks_serve_every_command_once(
        settings in disk_settings(), (depth, steps) in steps(),
    ) {
        let drive = || drive("wd6400aaks", &borrowed(&settings));
        check(drive, depth, &steps)?;
    }

    #[test]
    fn log_block_ssds_serve_every_command_once(
        settings in log_block_settings(), (depth, steps) in steps(),
    ) {
        let drive = || drive_of(&log_block_file(), &borrowed(&settings));
        check(drive, depth, &steps)?;
    }

    #[test]
    fn arrays_serve_every_command_once(
        (members, settings) in array_settings(), (depth, steps) in steps(),
    ) {
        let kinds = ["intel-x25-m-g2-80gb", "ocz-core-64gb", "wd6400aaks"];
        let names: Vec<&str> = members.iter().map(|&kind| kinds[kind]).collect();
        let array = || array_of(&names, &borrowed(&settings));
        check(array, depth, &steps)?;
    }
}

/// A forced write supersedes all that waits in the write cache while another write waits for room
/// there, which nothing else would give it.
#[test]
fn a_forced_write_over_a_full_cache_leaves_nobody_waiting() {
    let settings = [
        ("capacity.user", "18138112 B"),
        ("link.queue_depth", "5"),
        ("geometry.heads", "1"),
        ("geometry.zones", "1"),
        ("geometry.rotation_rpm", "3600"),
        ("cache.write_entries", "1"),
        ("cache.write_size", "64 KiB"),
        ("cache.read_ahead", "0 KiB"),
    ];
    let steps = [
        (Kind::Write, 0, 1, 0),
        (Kind::Write, 6_803_050_831_364_039_259, 51, 0),
        (Kind::Read, 0, 1, 0),
        (Kind::Read, 15, 13, 0),
        (Kind::Write, 0, 1, 0),
        (Kind::Read, 2, 1, 0),
        (Kind::Forced, 1_166_168_172_754_442_760, 2804, 0),
    ];
    check(|| drive("wd6400aaks", &settings), 5, &steps).unwrap();
}

#[test]
fn impossible_values_are_refused_by_name() {
    let refusal = |name: &str, path: &str, value: &str| {
        let text = support::resized(&support::drive_file(name), &[(path, value)]);
        let settings = [(path.to_string(), value.to_string())];
        SimulatedDrive::new(&text, &settings, 1).unwrap_err().to_string()
    };
    for (name, path, value) in [
        ("ocz-core-64gb", "flash.channels", "0"),
        ("ocz-core-64gb", "flash.page_size", "1000 B"),
        ("ocz-core-64gb", "controller.buffer", "16 KiB"),
        ("ocz-core-64gb", "link.queue_depth", "32"),
        ("wd6400aaks", "geometry.rotation_rpm", "0"),
        ("wd6400aaks", "geometry.outer_rate", "10 MB/s"),
        ("wd6400aaks", "cache.write_size", "1 KiB"),
        ("wd6400aaks", "seek.base", "10 s"),
        ("ocz-vector-256gb", "garbage_collection.start_free_blocks", "4294967295"),
        ("ocz-vector-256gb", "flash.page_size", "4 GiB"),
    ] {
        let message = refusal(name, path, value);
        assert!(message.starts_with(&format!("{path}: use ")), "{message}");
    }
    for (path, value, why) in [
        ("host.overhead", "9000000000 s", "is not a time: use at most 3600 s"),
        ("capacity.user", "9000000000 GB", "is not a size: use at most 1000 TB"),
        ("link.command_overhead", "100 GB", "command overheads of at most 1 MiB"),
        ("flash.pages_per_block", "16384", "more than 2^32"),
    ] {
        let message = refusal("ocz-vector-256gb", path, value);
        assert!(message.contains(why), "{message}");
    }
}
