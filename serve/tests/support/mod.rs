//! Drives to be served, and requests to them.
#![allow(dead_code, reason = "each test and study uses a part of this")]

pub mod life;
pub mod shadow;

use fourcorners_serve::data::Data;
use fourcorners_serve::{Command, Fault, Io, Served};
use fourcorners_sim::SimulatedDrive;
use fourcorners_target::VirtualDrive;
use std::ops::Range;

pub const VECTOR: &str = include_str!("../../../fourcorners/catalog/drives/ocz-vector-256gb.toml");
pub const DISK: &str = include_str!("../../../fourcorners/catalog/drives/wd6400aaks.toml");
pub const CORE: &str = include_str!("../../../fourcorners/catalog/drives/ocz-core-64gb.toml");
pub const ENTERPRISE: &str =
    include_str!("../../../fourcorners/catalog/drives/class-tlc-nvme-enterprise-1920gb.toml");
pub const LOG_BLOCK: &str = include_str!("../../../drive/sim/tests/support/log_block.toml");
/// Two drives, one that maps pages and one that maps blocks.
pub const ARRAY: &str = "array";
/// The Vector with so little flash that it collects, into the rows that the host fills.
pub const SHARED: &str = "shared";
const X25_M: &str = include_str!("../../../fourcorners/catalog/drives/intel-x25-m-g2-80gb.toml");

pub const SECOND_NS: u64 = 1_000_000_000;
pub const SECTOR: usize = 512;

/// SplitMix64.
pub struct Draws(pub u64);

impl Draws {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

const SHARED_SETTINGS: [(&str, &str); 8] = [
    ("capacity.user", "2 MiB"),
    ("flash.channels", "1"),
    ("flash.dies", "1"),
    ("flash.planes", "1"),
    ("flash.pages_per_block", "16"),
    ("flash.blocks_per_plane", "28"),
    ("garbage_collection.shared_stream", "true"),
    ("write_buffer.size", "256 KiB"),
];

/// Sizes of drives that would take seconds to make, and a day to fill. Their spare area is all
/// flash that they have left.
const SIZES: [(&str, &str, &str); 2] = [(VECTOR, "7 GiB", "64"), (ENTERPRISE, "36 GiB", "32")];

/// A new drive of a drive file's text, or [`ARRAY`] or [`SHARED`].
pub fn drive(text: &str, settings: &[(&str, &str)]) -> SimulatedDrive {
    if text == SHARED {
        let small = VECTOR.lines().filter(|line| !line.starts_with("spare_area = "));
        let small = small.collect::<Vec<_>>().join("\n");
        return drive(&small, &[&SHARED_SETTINGS, settings].concat());
    }
    let mut settings: Vec<(String, String)> =
        settings.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    if let Some((_, user, blocks)) = SIZES.iter().find(|(resized, ..)| *resized == text) {
        settings.push(("capacity.user".into(), (*user).into()));
        settings.push(("flash.blocks_per_plane".into(), (*blocks).into()));
        let keeps = |line: &&str| !line.starts_with("spare_area = ");
        let text: Vec<&str> = text.lines().filter(keeps).collect();
        return SimulatedDrive::new(&text.join("\n"), &settings, 1).unwrap();
    }
    if text != ARRAY {
        return SimulatedDrive::new(text, &settings, 1).unwrap();
    }
    let text = "name = \"Array\"\nkind = \"raid-0\"\nsummary = \"An array.\"\n\
        [host]\noverhead = { value = \"0 us\", source = \"test\" }\n\
        data_rate = { value = \"10 GB/s\", source = \"test\" }\n\
        [array]\nchunk = { value = \"64 KiB\", source = \"test\" }\n\
        members = { value = [\"x25-m\", \"core\"], source = \"test\" }\n";
    let members = [("x25-m".into(), X25_M.into()), ("core".into(), CORE.into())];
    SimulatedDrive::with_members(text, &members, &settings, 1).unwrap()
}

pub fn io(cookie: u64, command: Command, range: Range<usize>) -> Io {
    Io {
        client: 0,
        cookie,
        command,
        offset_bytes: range.start as u64,
        length_bytes: range.len() as u32,
        is_forced: false,
    }
}

pub fn served(drive: &mut dyn VirtualDrive) -> Served<'_> {
    let data = Data::in_memory(drive.capacity_bytes());
    Served::new(drive, data, 7).unwrap()
}

pub fn fault(fault: serde_json::Value) -> Fault {
    serde_json::from_value(fault).unwrap()
}

pub fn write(cookie: u64, range: Range<usize>, value: u8) -> Io {
    io(cookie, Command::Write(vec![value; range.len()]), range)
}

/// Serves one I/O to its end and returns its errno.
pub fn serve(served: &mut Served<'_>, now_ns: &mut u64, request: Io) -> i32 {
    assert_eq!(served.submit(request), None);
    let mut finished = Vec::new();
    while finished.is_empty() {
        *now_ns += 100_000;
        served.advance(*now_ns, &mut finished).unwrap();
    }
    finished[0].errno
}

pub fn content(served: &mut Served<'_>, range: Range<usize>) -> Vec<u8> {
    let mut found = vec![0; range.len()];
    served.read(range.start as u64, &mut found).unwrap();
    found
}
