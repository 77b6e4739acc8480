//! What would be measured, and what may be done to it.

use crate::identity::Identity;
use std::path::PathBuf;
use std::time::Duration;

/// What stands behind a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A block device.
    Device,
}

/// What would be measured and what may be done to it. Making a plan changes
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The path with links resolved.
    pub path: PathBuf,
    /// File or device.
    pub kind: Kind,
    /// Bytes that requests may address.
    pub capacity_bytes: u64,
    /// Writes are permitted.
    pub writable: bool,
    /// Where they are not: why, and how to permit them.
    pub read_only_reason: Option<String>,
    /// [`crate::RealFile::open`] will create the file, or bring it to size.
    pub creates: bool,
    /// Reads would not reach the medium everywhere: the file has holes or
    /// parts that were never written. A suite writes it through first.
    pub needs_fill: bool,
    /// I/O passes by the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Offsets and lengths of requests must be multiples of this; smaller
    /// blocks fail with `EINVAL`. 512 where anything goes.
    pub request_alignment_bytes: u32,
    /// What a reader of the results should know. One sentence each.
    pub notes: Vec<String>,
    /// Longest that each step of opening may take.
    pub(crate) limit: Option<Duration>,
    /// What was examined; `None` for a file that does not exist yet.
    pub(crate) identity: Option<Identity>,
    /// A file that we created: what it holds in the end is marked as ours.
    pub(crate) seals: bool,
}
