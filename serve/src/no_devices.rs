//! Systems other than Linux have no FUSE of its kind, no ublk and no vhost-user.

use crate::device::Device;
use std::path::Path;

/// Refuses to let a drive appear as a file.
///
/// # Errors
/// Always.
pub fn file(_: &Path, _: u64, _: bool) -> Result<Box<dyn Device>, String> {
    Err("a drive is served as a file on Linux only: serve it by NBD".into())
}

/// Refuses to make a block device.
///
/// # Errors
/// Always.
pub fn block_device() -> Result<Box<dyn Device>, String> {
    Err("a drive is served by ublk on Linux only: serve it by NBD".into())
}

/// Refuses to serve virtual machines.
///
/// # Errors
/// Always.
pub fn socket(_: &Path) -> Result<Box<dyn Device>, String> {
    Err("a drive is served by vhost-user on Linux only: serve it by NBD".into())
}
