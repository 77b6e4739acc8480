//! Looks at what is open once more before it is written: much may have happened since it was
//! examined, and between two tests.

use crate::claim::ClaimedFile;
use crate::identity::Identity;
use crate::plan::{Kind, Plan};
use crate::refusal::refusal;
use crate::view::View;
use crate::within::step;
use crate::{mark, sample, system};
use fourcorners_target::TargetError;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// File systems that set a file's times with each write and at once. Servers and FUSE may set them
/// later, which must not look like somebody else's write.
const KEEP_TIMES: &[&str] = &["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"];

/// What is known of an open file or device that may be written.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    path: PathBuf,
    kind: Kind,
    identity: Identity,
    /// Content, of a device: of a file its times tell.
    sample: Option<(u64, u64)>,
    /// Formats that were found on it, and have not been overwritten since.
    pub holds: Vec<String>,
    keeps_times: bool,
    /// It was looked at since it was opened.
    pub looked: bool,
    /// We have written to it since it was opened.
    pub wrote: bool,
    /// A write did not come to its end.
    pub failed: bool,
    /// The mark of a file of ours does not say what it holds.
    pub unsealed: bool,
}

impl Known {
    /// What is open, and claimed, as it is now.
    ///
    /// # Errors
    /// It does not answer, or its name is no longer its own.
    pub(crate) fn of(file: &ClaimedFile, plan: &Plan) -> Result<Known, TargetError> {
        let view = View::of(&plan.path, plan.kind, file)?;
        let key = sample::key();
        Ok(Known {
            path: plan.path.clone(),
            kind: plan.kind,
            sample: (plan.kind == Kind::Device).then(|| (key, view.digest(key))),
            holds: view.holds(),
            keeps_times: plan.kind == Kind::File
                && system::file_system_of(&plan.path)
                    .is_some_and(|name| KEEP_TIMES.contains(&name.as_str())),
            identity: view.identity.clone(),
            looked: false,
            wrote: false,
            failed: false,
            unsealed: plan.creates,
        })
    }

    /// What is known after another look at what is open.
    ///
    /// # Errors
    /// Anything has changed before our first write. Afterwards: its name leads elsewhere, it is
    /// another device or has another length, it has come into use, or holds a format that it did
    /// not and that we do not write.
    pub(crate) fn look(mut self, file: &ClaimedFile) -> Result<Known, TargetError> {
        let more = if self.wrote { " more" } else { "" };
        let refused = |what: &str| {
            TargetError(format!(
                "{} {what}: nothing{more} was written; see what happened, and repeat the command if that may be overwritten",
                self.path.display()
            ))
        };
        // Before it is opened a second time, which would look like one more user.
        let uses = system::uses(file).map_err(|error| refusal(&self.path, &error))?;
        if !uses.users.is_empty() {
            return Err(refused(&format!("has come into use ({})", uses.users.join("; "))));
        }
        let view = View::of(&self.path, self.kind, file)?;
        let holds = view.holds();
        if let Some(new) = holds.iter().find(|name| !self.holds.contains(name)) {
            return Err(refused(&format!("holds {new} that was not there before")));
        }
        let is_same = match self.sample {
            _ if self.wrote => self.identity.is_same_thing(&view.identity, self.keeps_times),
            Some((key, digest)) if view.digest(key) != digest => false,
            _ => self.identity == view.identity,
        };
        if !is_same {
            return Err(refused("is no longer what it was when it was examined"));
        }
        self.holds = holds;
        self.looked = true;
        Ok(self)
    }

    /// Whether a file's times are those of our last write, or of its opening, where its file system
    /// tells.
    fn is_as_left(&self, file: &ClaimedFile) -> bool {
        !self.keeps_times
            || file.metadata().is_ok_and(|metadata| {
                self.identity.is_same_thing(&Identity::of_file(&metadata), true)
            })
    }

    /// Takes our own changes for granted.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn take_over(&mut self, file: &ClaimedFile) -> std::io::Result<()> {
        if self.kind == Kind::File {
            self.identity = Identity::of_file(&file.metadata()?);
        }
        Ok(())
    }
}

/// What has to be asked before what is open is written, and told afterwards. What is only read has
/// nothing to ask.
#[derive(Debug)]
pub struct Guard {
    file: Arc<ClaimedFile>,
    path: PathBuf,
    limit: Option<Duration>,
    /// As in its plan.
    seals: bool,
    known: Mutex<Option<Known>>,
}

impl Guard {
    pub(crate) fn new(file: Arc<ClaimedFile>, plan: &Plan, known: Option<Known>) -> Self {
        Self {
            file,
            path: plan.path.clone(),
            limit: plan.limit,
            seals: plan.seals,
            known: Mutex::new(known),
        }
    }

    /// Looks at it once more: who uses it, what it holds, and whether it is still what its name
    /// leads to.
    ///
    /// # Errors
    /// It has changed since it was opened, and we have written nothing to it; or since we last
    /// looked, in a way that our writes do not explain.
    pub fn look(&self) -> Result<(), TargetError> {
        let mut held = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.clone() {
            let file = Arc::clone(&self.file);
            *held = Some(step("examining", &self.path, self.limit, move || known.look(&file))?);
        }
        Ok(())
    }

    /// Has to come before every write: the first one is preceded by a look, each later one by a
    /// glance at a file's times, and from here on the mark of a file of ours says that it is being
    /// written.
    ///
    /// # Errors
    /// Those of [`Guard::look`].
    pub fn begin_writing(&self) -> Result<(), TargetError> {
        let looked = self.with_known(|known| known.looked);
        if looked == Some(false) {
            self.look()?;
        } else if self.with_known(|known| known.is_as_left(&self.file)) == Some(false) {
            return Err(TargetError(format!(
                "{} was changed by others after our last write: nothing more was written; see what happened, and repeat the command if that may be overwritten",
                self.path.display()
            )));
        }
        let unsealed = self.with_known(|known| {
            known.wrote = true;
            std::mem::replace(&mut known.unsealed, true)
        });
        if unsealed == Some(false) && self.seals {
            let file = Arc::clone(&self.file);
            // Where it fails, the first write breaks the seal as well.
            step("marking", &self.path, self.limit, move || Ok(mark::written(&file).ok()))?;
        }
        Ok(())
    }

    /// Comes after writing. Unless it ended orderly nobody knows what is there, or whether it still
    /// answers: it gets no seal.
    pub fn end_writing(&self, orderly: bool) {
        self.with_known(|known| {
            known.failed |= !orderly || known.take_over(&self.file).is_err();
        });
    }

    /// Says in the mark of a file of ours what it holds now, after the last write. Dropping does it
    /// as well. What cannot be marked needs `--overwrite` the next time.
    pub fn seal(&self) {
        let due = self.with_known(|known| {
            // What others wrote while we only read is not ours.
            let ours = self.seals && !known.failed && known.is_as_left(&self.file);
            std::mem::replace(&mut known.unsealed, false) && ours
        });
        if due != Some(true) {
            return;
        }
        let (file, path) = (Arc::clone(&self.file), self.path.clone());
        let _ = step("marking", &self.path, self.limit, move || {
            let view = View::of(&path, Kind::File, &file)?;
            mark::seal(&view.file).map_err(|error| refusal(&path, &error))
        });
        self.end_writing(true);
    }

    /// Names of the formats that were found on what may be written.
    pub fn holds(&self) -> Vec<String> {
        self.with_known(|known| known.holds.clone()).unwrap_or_default()
    }

    fn with_known<T>(&self, ask: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(ask)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.seal();
    }
}
