//! Examines a path before anything is opened for writing, and refuses what
//! could hurt.

use crate::access::{Access, word_names_target};
use crate::identity::Identity;
use crate::regular;
use crate::system::{self, device};
use crate::within::step;
use fourcorners_target::TargetError;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
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

impl Plan {
    /// Examines `path` and decides what may be done to it.
    ///
    /// # Errors
    /// Every refusal is one sentence that says what is wrong, where, and how
    /// to mend it.
    pub fn examine(path: &Path, access: &Access) -> Result<Plan, TargetError> {
        let (examined, permitted) = (path.to_owned(), access.clone());
        let plan = step("examining", path, access.limit, move || {
            Plan::examine_in_own_time(&examined, &permitted)
        })?;
        Ok(Plan { limit: access.limit, ..plan })
    }

    fn examine_in_own_time(path: &Path, access: &Access) -> Result<Plan, TargetError> {
        let resolved = match std::fs::canonicalize(path) {
            Ok(resolved) => resolved,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return regular::plan_missing(path, access);
            }
            Err(error) => return Err(refusal(path, &error)),
        };
        let metadata = std::fs::metadata(&resolved).map_err(|error| refusal(path, &error))?;
        let file_type = metadata.file_type();
        if file_type.is_block_device() {
            if let Some(word) = &access.overwrite {
                return Err(TargetError(format!(
                    "--overwrite {} is for regular files, and {} is a block device: use --destroy-data",
                    word.display(),
                    path.display()
                )));
            }
            if let Some(word) = &access.destroy_data {
                word_names_target("--destroy-data", word, &resolved)?;
            }
            return device::plan(&resolved, &metadata, access);
        }
        if file_type.is_file() {
            if let Some(word) = &access.destroy_data {
                return Err(TargetError(format!(
                    "--destroy-data {} is for block devices, and {} is a regular file: use --overwrite",
                    word.display(),
                    path.display()
                )));
            }
            if let Some(word) = &access.overwrite {
                word_names_target("--overwrite", word, &resolved)?;
            }
            return regular::plan_existing(&resolved, &metadata, access);
        }
        if file_type.is_char_device()
            && let Some(refused) = device::refused_character_device(&resolved)
        {
            return Err(refused);
        }
        let what = if file_type.is_dir() {
            "a directory"
        } else if file_type.is_char_device() {
            "a character device"
        } else if file_type.is_fifo() {
            "a FIFO"
        } else if file_type.is_socket() {
            "a socket"
        } else {
            "neither"
        };
        Err(TargetError(format!(
            "{} is {what}: give a regular file or a block device",
            path.display()
        )))
    }
}

/// An error of opening or examining, as a sentence.
pub(crate) fn refusal(path: &Path, error: &std::io::Error) -> TargetError {
    let path = path.display();
    TargetError(match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "{path}: permission denied: run as a user who may open it, or change its permissions"
        ),
        Some(libc::EROFS) => {
            format!("{path} is on a file system mounted read-only: choose another place")
        }
        Some(libc::ENOSPC | libc::EDQUOT) => {
            format!("{path}: the file system is full: make room, or give a smaller --size")
        }
        Some(libc::EBUSY) => format!(
            "{path} is in use by the kernel (mounted, or part of LVM, RAID or dm-crypt): release it first"
        ),
        Some(libc::ETXTBSY) => {
            format!("{path} is in use as a program or swap file: choose another file")
        }
        Some(libc::EFBIG) => {
            format!("{path}: the file system holds no file of this size: give a smaller --size")
        }
        Some(number) if system::NO_DEVICE.contains(&number) => {
            format!("{path}: there is no device or no medium behind it: check the name")
        }
        _ => format!("{path}: {error}"),
    })
}
