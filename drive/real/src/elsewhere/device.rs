//! Devices, which are refused: no mount table, holders or exclusive claim tell whether
//! others use one.

use crate::access::Access;
use crate::facts::Facts;
use crate::plan::Plan;
use fourcorners_target::TargetError;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::Path;

/// There is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceIdentity {}

impl DeviceIdentity {
    /// # Errors
    /// Always.
    pub(crate) fn of(_device: &File, _metadata: &Metadata) -> io::Result<DeviceIdentity> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn is_same_device(&self, _other: &DeviceIdentity) -> bool {
        match *self {}
    }

    pub(crate) fn holds(&self) -> &[String] {
        match *self {}
    }

    pub(crate) fn length_bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn facts(&self) -> Facts {
        match *self {}
    }
}

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
