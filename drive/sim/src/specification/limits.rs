//! What a drive file may ask for: memory and time have ends.

use super::{Nanoseconds, Parameter, require};

/// Most bytes of a drive file.
pub const TEXT_BYTES_MAX: usize = 1 << 18;

/// Most memory that a drive may take: a little more than the largest of the catalog.
pub const MEMORY_BYTES_MAX: u64 = 8 << 30;

/// Most memory that the members of an array may take together: four of those.
pub const ARRAY_BYTES_MAX: u64 = 4 * MEMORY_BYTES_MAX;

/// Fails unless a time of a command or a part of one is at most a second: so that
/// the time of a simulation does not come to its end.
pub fn check_second(name: &str, time: &Parameter<Nanoseconds>) -> Result<(), String> {
    require(time.0 <= 1_000_000_000, &format!("{name}: use at most 1 s"))
}

/// Fails for a drive that would take more memory than [`MEMORY_BYTES_MAX`]; `lower`
/// says how to have it take less.
pub fn check_memory(bytes: u64, lower: &str) -> Result<(), String> {
    check_bytes("this drive", bytes, MEMORY_BYTES_MAX, lower)
}

/// Fails for an array whose members would take more memory than [`ARRAY_BYTES_MAX`].
pub fn check_members_memory(bytes: u64) -> Result<(), String> {
    check_bytes("this array", bytes, ARRAY_BYTES_MAX, "have fewer or smaller members")
}

fn check_bytes(what: &str, bytes: u64, most: u64, lower: &str) -> Result<(), String> {
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    require(
        bytes <= most,
        &format!(
            "{what} would take {} of memory, and {} is the limit: {lower}",
            gigabytes(bytes),
            gigabytes(most)
        ),
    )
}
