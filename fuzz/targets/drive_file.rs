//! Any text as a drive file, with settings behind a line of `%`: it is refused in a
//! sentence, or makes a drive that serves I/O.

#![no_main]

#[allow(dead_code, reason = "this target uses a part")]
mod small_drives;

use fourcorners_sim::SimulatedDrive;
use fourcorners_sim::Specification;
use libfuzzer_sys::fuzz_target;

/// Drives that would take more are not made here, and those with more than the second
/// not used.
const MADE_BYTES_MAX: u64 = 200_000_000;
const USED_BYTES_MAX: u64 = 4_000_000;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (text, settings) = text.split_once("\n%\n").unwrap_or((&text, ""));
    let settings: Vec<(String, String)> = settings
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(path, value)| (path.trim().to_string(), value.trim().to_string()))
        .collect();
    let specification = match Specification::parse(text, &settings) {
        Ok(specification) => specification,
        Err(error) => return assert!(!error.0.is_empty()),
    };
    if specification.memory_bytes() > MADE_BYTES_MAX {
        return;
    }
    let members: Vec<(String, String)> = specification
        .member_names()
        .iter()
        .map(|name| (name.to_string(), MEMBER.to_string()))
        .collect();
    let Ok(mut drive) = SimulatedDrive::with_members(text, &members, &settings, 1) else {
        return;
    };
    if specification.memory_bytes() <= USED_BYTES_MAX {
        small_drives::use_drive(&mut drive, 1, 60);
    }
});

/// The member of every array.
const MEMBER: &str = include_str!("../../fourcorners/catalog/drives/wd6400aaks.toml");
