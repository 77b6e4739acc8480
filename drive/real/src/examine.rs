//! Examines a path before anything is opened for writing, and refuses what
//! could hurt.

use crate::access::{Access, word_names_target};
use crate::plan::Plan;
use crate::refusal::refusal;
use crate::regular;
use crate::system::device;
use crate::within::step;
use fourcorners_target::TargetError;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

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
