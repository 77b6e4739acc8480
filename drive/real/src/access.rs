//! What the caller permits, and whether a word of permission fits the target.

use fourcorners_target::TargetError;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the caller permits. The default permits reading only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Size of the file to create, in bytes (`--size`). Regular files only.
    pub size_bytes: Option<u64>,
    /// The block device whose data may be destroyed (`--destroy-data DEVICE`).
    /// It must name the very device under test.
    pub destroy_data: Option<PathBuf>,
    /// The regular file whose content may be overwritten (`--overwrite FILE`).
    /// It must name the very file under test.
    pub overwrite: Option<PathBuf>,
    /// Longest that examining and opening may take, and allocating each GiB of a
    /// file. Without it they are waited for.
    pub limit: Option<Duration>,
}

/// Checks that `word`, the value of `option`, names what `target` (resolved,
/// existing) is: the same file, or the same device under another name.
pub(crate) fn word_names_target(
    option: &str,
    word: &Path,
    target: &Path,
) -> Result<(), TargetError> {
    let same = match (std::fs::metadata(word), std::fs::metadata(target)) {
        (Ok(word), Ok(target)) if word.file_type().is_block_device() => {
            target.file_type().is_block_device() && word.rdev() == target.rdev()
        }
        (Ok(word), Ok(target)) => word.dev() == target.dev() && word.ino() == target.ino(),
        _ => false,
    };
    if same {
        return Ok(());
    }
    Err(TargetError(format!(
        "{option} names {}, but the target is {}; nothing was written, and nothing will be until both name the same",
        word.display(),
        target.display()
    )))
}
