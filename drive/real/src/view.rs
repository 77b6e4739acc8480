//! A second way to what is open, to look at it.

use crate::identity::Identity;
use crate::plan::Kind;
use crate::refusal::refusal;
use crate::system::identity::DeviceIdentity;
use crate::{sample, system};
use fourcorners_target::TargetError;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What a name leads to, opened to be looked at through the page cache, and the same as a file
/// that is open already.
pub(crate) struct View {
    pub file: File,
    length_bytes: u64,
    pub identity: Identity,
}

impl View {
    /// # Errors
    /// The name leads to something else by now, or it does not answer.
    pub(crate) fn of(path: &Path, kind: Kind, open: &File) -> Result<View, TargetError> {
        let refused = |error| refusal(path, &error);
        let moved = || {
            TargetError(format!(
                "{} no longer names what was examined: nothing more was written; repeat the command",
                path.display()
            ))
        };
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
            .map_err(|_| moved())?;
        let (metadata, before) =
            (file.metadata().map_err(refused)?, open.metadata().map_err(refused)?);
        let is_same = match kind {
            Kind::Device => metadata.rdev() == before.rdev(),
            Kind::File => (metadata.dev(), metadata.ino()) == (before.dev(), before.ino()),
        };
        if metadata.file_type() != before.file_type() || !is_same {
            return Err(moved());
        }
        // What the cache holds may be older than what others wrote to the medium.
        system::forget_cached(&file);
        let (identity, length_bytes) = match kind {
            Kind::File => (Identity::of_file(&metadata), metadata.len()),
            Kind::Device => {
                let identity = DeviceIdentity::of(&file, &metadata).map_err(refused)?;
                let length_bytes = identity.length_bytes();
                (Identity::Device(identity), length_bytes)
            }
        };
        Ok(View { file, length_bytes, identity })
    }

    pub(crate) fn digest(&self, key: u64) -> u64 {
        sample::digest(&self.file, self.length_bytes, key)
    }

    pub(crate) fn holds(&self) -> Vec<String> {
        match &self.identity {
            Identity::Device(device) => device.holds().to_vec(),
            Identity::File(_) => system::signatures(&self.file, self.length_bytes),
        }
    }
}

impl Drop for View {
    /// What was looked at does not stay in the cache, where a measurement could meet it.
    fn drop(&mut self) {
        system::forget_cached(&self.file);
    }
}
