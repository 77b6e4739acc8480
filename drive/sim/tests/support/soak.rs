//! Random drives under random workloads, with checks as they go. Everything
//! follows from a seed, so that a failure can be replayed.

use super::arrays::array_of;
use super::theory::drive_file;
use super::{drive, drive_of, log_block_file};
use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Recording;
use fourcorners_sim::SimulatedDrive;
use fourcorners_target::Target;
use fourcorners_workload::{Content, Pattern, Stream, Workload};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws from a seed.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// `low` to `high`, both included.
    pub fn number(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.0.next_u64()) * u128::from(high - low + 1)) >> 64) as u64
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.number(0, choices.len() as u64 - 1) as usize]
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.number(1, n) == 1
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.number(0, 1_000) as f64 / 1_000.0
    }
}

fn parameter(name: &str, value: &str) -> String {
    let number = value.parse::<f64>().is_ok() || value == "true";
    let value = if number { value.into() } else { format!("\"{value}\"") };
    format!("{name} = {{ value = {value}, source = \"drawn\" }}\n")
}

/// The file of a random page-mapped drive of some MB: any geometry, policy and
/// optional section. May ask for the impossible; the specification refuses it.
fn page_mapped_file(dice: &mut Dice) -> String {
    let channels = dice.one_of(&[1, 2, 4]);
    let dies = channels * dice.number(1, 2) as u32;
    let planes = dice.one_of(&[1, 2, 4]);
    let (pages, blocks) = (dice.number(4, 48) as u32, dice.number(30, 90) as u32);
    let page_kib = dice.one_of(&[4, 8, 16]);
    let unit_kib = dice.one_of(&[4, 4, 8, 16]);
    let start = dice.number(2, 6);
    let burst = dice.one_of(&[0, 0, 1, 3]);
    let blocks_for_data = u64::from(blocks).saturating_sub(start + burst + 6);
    let fullness = 0.3 + 0.7 * dice.share();
    let units_of_block = page_kib * u64::from(planes * pages) / unit_kib;
    let units = (blocks_for_data * u64::from(dies) * units_of_block) as f64 * fullness;
    let unit_pages = (units as u64).max(1) * unit_kib / 4;

    let mut more = String::from("[garbage_collection]\n");
    more += &parameter("start_free_blocks", &start.to_string());
    more += &parameter("burst_blocks", &burst.to_string());
    if burst > 0 && dice.once_in(2) {
        more += &parameter("burst_pace", "2.5");
    }
    let policy = dice.one_of(&["greedy", "fifo", "cost-benefit", "d-choices"]);
    more += &parameter("policy", policy);
    if policy == "d-choices" {
        more += &parameter("candidates", &dice.number(1, 12).to_string());
    }
    let background = start + burst + dice.number(1, 4);
    if dice.once_in(4) {
        more += &parameter("background_free_blocks", &background.to_string());
    }
    if dice.once_in(4) {
        more += &parameter("idle_free_blocks", &(background + dice.number(1, 4)).to_string());
        more += &parameter("idle_delay", "10 ms");
    }
    let slc = dice.once_in(3);
    if !slc && dice.once_in(3) {
        more += &parameter("shared_stream", "true");
    }
    if slc {
        more += "[slc_cache]\n";
        more += &parameter("program_time", "0.2 ms");
        more += &parameter("idle_delay", "10 ms");
        more += &parameter("when_full", dice.one_of(&["fold", "direct"]));
        if dice.once_in(2) {
            more += &parameter("static_size", "2 MiB");
        }
        if dice.once_in(2) {
            more += &parameter("dynamic_share", "0.5");
            more += &parameter("bits_per_cell", "3");
        }
    }
    if dice.once_in(3) {
        more += "[read_ahead]\n";
        more += &parameter("size", "512 KiB");
        more += &parameter("streams", &dice.number(1, 4).to_string());
    }
    if dice.once_in(4) {
        more += "[compression]\n";
        more += &parameter("smallest", dice.one_of(&["0.1", "0.25", "0.5", "1"]));
    }
    if dice.once_in(4) {
        let reference_bytes = unit_kib * 1024 / dice.number(1, 9);
        more += "[deduplication]\n";
        more += &parameter("reference_size", &format!("{reference_bytes} B"));
    }
    if dice.once_in(4) {
        more += "[write_streams]\n";
        if dice.once_in(2) {
            more += &parameter("rule", "known-range");
            more += &parameter("hot_size", "1 MiB");
        } else {
            more += &parameter("rule", "detected");
            more += &parameter("window", "2 MiB");
        }
    }
    if dice.once_in(4) {
        more += "[map_cache]\n";
        more += &parameter("size", dice.one_of(&["4 KiB", "32 KiB"]));
        more += &parameter("entry_size", "8 B");
        more += &parameter("page_size", dice.one_of(&["512 B", "4 KiB"]));
    }
    if dice.once_in(4) {
        more += "[read_cache]\n";
        more += &parameter("size", "256 KiB");
    }
    if dice.once_in(4) {
        more += "[power]\n";
        for part in ["idle", "interface", "controller", "read", "program", "erase"] {
            more += &parameter(part, "100 mW");
        }
    }
    if dice.once_in(3) {
        more += "[wear]\n";
        more += &parameter("bad_block_share", dice.one_of(&["0", "0.03"]));
        if dice.once_in(2) {
            // Out of reach: a drive at the end of its life refuses writes.
            more += &parameter("endurance", "1000000");
        }
        let levelling = dice.one_of(&["dynamic", "static"]);
        more += &parameter("levelling", levelling);
        if levelling == "static" {
            more += &parameter("spread_max", &dice.number(1, 20).to_string());
        }
    }
    if dice.once_in(3) {
        more += &variation(dice);
    }
    let mut text = drive_file(dies, planes, blocks, pages, unit_pages, &more);
    if dice.once_in(3) {
        let lines = parameter("suspend_time", "20 us") + &parameter("resume_time", "15 us");
        text = text.replacen("[flash]\n", &format!("[flash]\n{lines}"), 1);
    }
    if dice.once_in(3) {
        let times = "program_times = { value = [\"0.5 ms\", \"1.5 ms\"], source = \"drawn\" }\n";
        text = text.replacen("[flash]\n", &format!("[flash]\n{times}"), 1);
    }
    if dice.once_in(4) {
        let rate = parameter("write_data_rate", "140 MB/s");
        text = text.replacen("[controller]\n", &format!("[controller]\n{rate}"), 1);
    }
    if dice.once_in(4) {
        let protection = parameter("power_loss_protection", "true");
        text = text.replacen("[write_buffer]\n", &format!("[write_buffer]\n{protection}"), 1);
    }
    if dice.once_in(3) {
        let dies = dice.one_of(&[1, 2, dies]).to_string();
        let line = parameter("superblock_dies", &dies);
        text = text.replacen("[translation]\n", &format!("[translation]\n{line}"), 1);
    }
    if dice.once_in(3) {
        let lines = planes_and_order(dice);
        text = text.replacen("[flash]\n", &format!("[flash]\n{}", lines.0), 1);
        text = text.replacen("[translation]\n", &format!("[translation]\n{}", lines.1), 1);
    }
    text.replace(
        "\"4 KiB\", source = \"test\" }\n        pages_per",
        &format!("\"{page_kib} KiB\", source = \"test\" }}\n        pages_per"),
    )
    .replace("unit = { value = \"4 KiB\"", &format!("unit = {{ value = \"{unit_kib} KiB\""))
    // Nothing takes no time at all.
    .replace("\"0 us\"", "\"1 us\"")
}

/// What differs from one operation to the next, and heat.
fn variation(dice: &mut Dice) -> String {
    let mut text = String::from("[variation]\n");
    for (name, value) in
        [("program_spread", "30 %"), ("erase_spread", "100 %"), ("link_jitter", "20 us")]
    {
        if dice.once_in(2) {
            text += &parameter(name, value);
        }
    }
    if dice.once_in(2) {
        text += &parameter("read_retry_share", "5 %");
        text += &parameter("read_retry_time", "300 us");
    }
    if dice.once_in(2) {
        text += &parameter("housekeeping_time", "3 ms");
        text += &parameter("housekeeping_volume", "1 MiB");
        text += &parameter("housekeeping_interval", "50 ms");
    }
    if dice.once_in(2) {
        text += "[thermal]\n";
        text += &parameter("time_constant", "1 s");
        text += &parameter("limit_rate", "20 MB/s");
        text += &parameter("resume_rate", "10 MB/s");
        text += &parameter("throttled_rate", "5 MB/s");
    }
    text
}

/// What planes do together, and where rows go.
fn planes_and_order(dice: &mut Dice) -> (String, String) {
    let mut flash = String::new();
    if dice.once_in(2) {
        flash += &parameter("multi_plane_reads", "true");
    }
    if dice.once_in(3) {
        return (flash, String::new());
    }
    let order = dice.one_of(&[
        r#"["channel", "way", "die", "plane"]"#,
        r#"["way", "plane", "channel", "die"]"#,
        r#"["plane", "die", "channel", "way"]"#,
    ]);
    flash += "multi_plane = { value = false, source = \"drawn\" }\n";
    if dice.once_in(2) {
        flash += &parameter("multi_plane_programs", "true");
    }
    let order = format!("allocation_order = {{ value = {order}, source = \"drawn\" }}\n");
    (flash, order)
}

/// How the refusals begin that [`page_mapped_file`] may meet.
const REFUSALS: [&str; 9] = [
    "capacity.user: the flash",
    "flash.multi_plane_reads: not where",
    "flash.multi_plane_reads: use",
    "garbage_collection.shared_stream: not together with write_streams",
    "garbage_collection.start_free_blocks: use at least",
    "read_cache.size: use a mapping unit to capacity.user",
    "translation.superblock_dies: planes with",
    "translation.superblock_dies: use a divisor",
    "translation.unit: pages",
];

/// The file of a random page-mapped drive that is possible.
///
/// # Panics
/// When one is refused for another reason than those of [`REFUSALS`].
pub fn random_page_mapped(dice: &mut Dice) -> String {
    loop {
        let text = page_mapped_file(dice);
        match SimulatedDrive::new(&text, &[], 1) {
            Ok(_) => return text,
            Err(error) => {
                let message = error.to_string();
                let expected = REFUSALS.iter().any(|refusal| message.starts_with(refusal));
                assert!(expected, "{message}\n{text}");
            }
        }
    }
}

/// A random drive of any model, twice the same, and what it is.
pub fn random_drive(dice: &mut Dice) -> (String, [SimulatedDrive; 2]) {
    match dice.number(0, 9) {
        0..=5 => {
            let text = random_page_mapped(dice);
            let make = || drive_of(&text, &[]);
            (text.clone(), [make(), make()])
        }
        6 => {
            let pages = dice.number(1, 40).to_string();
            let settings = [("capacity.user", "20 MiB"), ("flash.pages_per_block", pages.as_str())];
            let make = || drive("ocz-core-64gb", &settings);
            (format!("block-mapped {settings:?}"), [make(), make()])
        }
        7 => {
            let depth = dice.number(1, 32).to_string();
            let write_back = if dice.once_in(2) { "true" } else { "false" };
            let settings = [
                ("capacity.user", "300 MiB"),
                ("link.queue_depth", depth.as_str()),
                ("cache.write_back", write_back),
            ];
            let make = || drive("wd6400aaks", &settings);
            (format!("disk {settings:?}"), [make(), make()])
        }
        8 => {
            let logs = dice.number(1, 6).to_string();
            let sharing = dice.one_of(&["shared", "per-block"]);
            let settings = [
                ("capacity.user", "20 MiB"),
                ("translation.log_blocks", logs.as_str()),
                ("translation.sharing", sharing),
            ];
            let make = || drive_of(&log_block_file(), &settings);
            (format!("log-block {settings:?}"), [make(), make()])
        }
        _ => {
            let kinds = ["intel-x25-m-g2-80gb", "ocz-core-64gb", "wd6400aaks"];
            let members: Vec<&str> = (0..dice.number(1, 4)).map(|_| dice.one_of(&kinds)).collect();
            let settings = [("member.capacity.user", "96 MiB"), ("array.chunk", "16 KiB")];
            let make = || array_of(&members, &settings);
            (format!("array {members:?}"), [make(), make()])
        }
    }
}

/// A drive's state.
pub fn saved(drive: &SimulatedDrive) -> Vec<u8> {
    let mut state = Vec::new();
    drive.save(&mut state).unwrap();
    state
}

/// A random workload of up to three streams that fits the drive.
pub fn random_workload(dice: &mut Dice, capacity_bytes: u64) -> Workload {
    let streams: Vec<String> = (0..dice.number(1, 3))
        .map(|_| {
            let sectors = dice.one_of(&[1, 7, 8, 8, 8, 16, 32, 256, 1000]);
            let block = (sectors * 512u64).min(capacity_bytes / 4 / 512 * 512);
            let offset = dice.number(0, capacity_bytes / 1024) * 512;
            let span = block + dice.number(0, (capacity_bytes - offset - block) / 512) * 512;
            let pattern = dice.one_of(&[
                r#""sequential""#,
                r#""random""#,
                r#""random""#,
                r#"{"zipf": {"exponent": 1.1}}"#,
                r#"{"hot-cold": {"data": 0.1, "accesses": 0.9}}"#,
            ]);
            let alignment = dice.one_of(&[512, 4096, block]);
            let content = dice.one_of(&[
                r#""incompressible""#,
                r#""repeated""#,
                r#"{"compressible": 40}"#,
                r#"{"duplicated": 50}"#,
            ]);
            let read_fraction = dice.one_of(&[0.0, 0.0, 0.3, 0.7, 1.0]);
            let durable = match dice.number(0, 7) {
                0 if read_fraction < 1.0 => r#""flush_every_writes": 10,"#,
                1 if read_fraction < 1.0 => r#""fua": true,"#,
                _ => "",
            };
            format!(
                r#"{{{durable} "read_fraction": {read_fraction}, "block_bytes": {block}, "pattern": {pattern},
                     "offset_bytes": {offset}, "span_bytes": {span}, "alignment_bytes": {alignment},
                     "queue_depth": {}, "workers": {}, "content": {content}}}"#,
                dice.one_of(&[1, 2, 8, 40, 200]),
                dice.number(1, 2),
            )
        })
        .collect();
    let text = format!(
        r#"{{"streams": [{}], "stop": {{"ios": {}}}, "seed": {}}}"#,
        streams.join(", "),
        dice.number(1, 3_000),
        dice.number(0, 1 << 40),
    );
    Workload::from_json(&text).expect("the fields are those of a workload")
}

fn counter(drive: &SimulatedDrive, name: &str) -> Option<f64> {
    drive.counters().iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn now_ns(drive: &mut SimulatedDrive) -> u64 {
    drive.now_ns()
}

fn run(drive: &mut SimulatedDrive, workload: &Workload) -> Recording {
    execute(workload, drive, &Progress::default()).expect("the workload fits the drive")
}

/// One step of a soak on both drives, which are `what`: a workload, or something between them.
/// Returns the I/Os done.
fn step(dice: &mut Dice, what: &str, drives: &mut [SimulatedDrive; 2]) -> u64 {
    let capacity = drives[0].capacity_bytes();
    let before_ns = now_ns(&mut drives[0]);
    let mut ios = 0;
    match dice.number(0, 19) {
        0..=12 => {
            let workload = random_workload(dice, capacity);
            let written = counter(&drives[0], "host_units_written");
            let recordings = drives.each_mut().map(|drive| run(drive, &workload));
            let [first, second] = &recordings;
            let asked = workload.stop.ios.expect("it is set");
            let [reads, writes, ..] = &first.operations;
            let done = reads.ios + writes.ios;
            assert_eq!(done, asked, "every command completes once: {workload:?}");
            assert!(first.operations.iter().all(|o| o.errors.is_empty()), "{workload:?}");
            for operation in &first.operations {
                let seconds: u64 = operation.seconds.iter().map(|second| second.bytes).sum();
                assert_eq!(seconds, operation.bytes, "bytes of all seconds");
            }
            let latency_ns: u128 = first.operations.iter().map(|o| o.latencies.sum_ns()).sum();
            assert_eq!(latency_ns, first.outstanding_integral_ns, "Little's law: {workload:?}");
            for (one, other) in first.operations.iter().zip(&second.operations) {
                assert_eq!(one.ios, other.ios, "two equal drives differ");
                assert_eq!(one.seconds, other.seconds, "two equal drives differ");
            }
            assert_eq!(first.elapsed_ns, second.elapsed_ns, "two equal drives differ");
            // What the host wrote was stored: in whole units at least as many.
            let after = counter(&drives[0], "host_units_written");
            if let (Some(before), Some(after)) = (written, after) {
                let wrote = first.operations[1].bytes > 0;
                // What is in a data path when the host is done is stored later;
                // some members of arrays have one.
                let later = what.contains("write_data_rate") || what.starts_with("array");
                assert!(later || (after > before) == wrote, "stored: {before} to {after}");
            }
            ios = done;
        }
        13..=15 => {
            let first = dice.number(0, capacity - 1);
            let length = dice.number(0, capacity - first);
            drives.iter_mut().for_each(|drive| drive.trim(first, length));
        }
        16 | 17 => {
            let idle_ns = dice.one_of(&[1, 1_000_000, 3_000_000_000]);
            drives.iter_mut().for_each(|drive| drive.idle(idle_ns));
        }
        18 if dice.once_in(2) => drives.iter_mut().for_each(SimulatedDrive::purge),
        18 => {
            let [one, other] = drives.each_mut().map(SimulatedDrive::power_cut);
            assert_eq!(one, other, "two equal drives lose the same");
            for lost in one {
                assert!(lost.start < lost.end && lost.end <= capacity, "lost {lost:?}");
            }
        }
        _ => {
            // Refused by models that have none, and by drives that compress.
            let entered =
                drives.each_mut().map(|drive| drive.enter_steady_state(1.0, None).is_ok());
            assert_eq!(entered[0], entered[1]);
        }
    }
    assert!(now_ns(&mut drives[0]) >= before_ns, "time goes back");
    // Whatever a drive has been through, its state is taken back, and is the same.
    let state = saved(&drives[0]);
    drives[1].load(&state[..]).unwrap_or_else(|error| panic!("{error}: {what}"));
    assert_eq!(saved(&drives[1]), state, "saved again");
    drives[0].assert_consistent();
    assert_eq!(drives[0].counters(), drives[1].counters(), "two equal drives differ");
    ios
}

/// A stream whose steady state a drive may have, or none: uniform writes.
fn overwriting_stream(dice: &mut Dice, capacity: u64) -> Option<Stream> {
    let pattern = match dice.number(0, 4) {
        0 => return None,
        1 => Pattern::Random,
        2 => Pattern::Sequential,
        3 => Pattern::Zipf { exponent: 0.2 + 1.5 * dice.share() },
        _ => Pattern::HotCold { data: 0.01 + 0.98 * dice.share(), accesses: dice.share() },
    };
    let block_bytes = dice.one_of(&[512, 4096, 8192, 65_536]);
    let sectors = capacity / 512;
    let offset = if dice.once_in(2) { 0 } else { dice.number(0, sectors / 2) };
    let span = dice.number(1, sectors - offset);
    Some(Stream {
        pattern,
        offset_bytes: if dice.once_in(2) { offset * 512 } else { offset / 128 * 65_536 },
        span_bytes: dice.once_in(2).then_some(span * 512),
        content: dice.one_of(&[Content::Incompressible, Content::Compressible(60)]),
        ..Stream::new(0.0, Pattern::Random, block_bytes)
    })
}

/// Takes a random drive through `steps` random steps. Returns what it is and
/// how many I/Os it served.
///
/// # Panics
/// When something does not hold.
pub fn soak(seed: u64, steps: u32) -> (String, u64) {
    let mut dice = Dice::new(seed);
    let (what, mut drives) = random_drive(&mut dice);
    let ios = (0..steps).map(|_| step(&mut dice, &what, &mut drives)).sum();
    (what, ios)
}
