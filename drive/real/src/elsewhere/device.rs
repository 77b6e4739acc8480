//! Devices, which are refused: no mount table, holders or exclusive claim tell whether
//! others use one.

use crate::access::Access;
use crate::plan::Plan;
use fourcorners_target::TargetError;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::Path;

/// # Errors
/// Always.
pub(crate) fn plan(path: &Path, _: &Metadata, _: &Access) -> Result<Plan, TargetError> {
    Err(refused(path))
}

/// Disks are character devices on some systems.
pub(crate) fn refused_character_device(path: &Path) -> Option<TargetError> {
    Some(refused(path))
}

/// # Errors
/// Always.
pub(crate) fn discard(_device: &File, _part: &Range<u64>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn refused(path: &Path) -> TargetError {
    TargetError(format!(
        "{} is a device, and only on Linux can fourcorners tell who uses one: give a regular file on it",
        path.display()
    ))
}
