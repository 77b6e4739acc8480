//! What a drive file may ask for: memory and time have ends.

use super::{Nanoseconds, Parameter, require};

/// Most bytes of a drive file.
pub const TEXT_BYTES_MAX: usize = 1 << 18;

/// Most memory that a drive, or all members of an array, may take: more than four
/// of the catalog's 1 TB drives, or one of nearly 4 TB.
pub const MEMORY_BYTES_MAX: u64 = 9_000_000_000;

/// Fails unless a time of a command or a part of one is at most a second: so that
/// the time of a simulation does not come to its end.
pub fn check_second(name: &str, time: &Parameter<Nanoseconds>) -> Result<(), String> {
    require(time.0 <= 1_000_000_000, &format!("{name}: use at most 1 s"))
}

/// Fails for a drive that would take more memory than [`MEMORY_BYTES_MAX`]; `lower`
/// says how to have it take less.
pub fn check_memory(bytes: u64, lower: &str) -> Result<(), String> {
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    require(
        bytes <= MEMORY_BYTES_MAX,
        &format!(
            "this drive would take {} of memory, and {} is the limit: {lower}",
            gigabytes(bytes),
            gigabytes(MEMORY_BYTES_MAX)
        ),
    )
}
