//! What others do with a target.

use fourcorners_target::TargetError;
use std::path::Path;

/// What others do with a file or device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Uses that a write would hurt, as clauses to follow its name.
    pub users: Vec<String>,
    /// Programs that only read it, as clauses of the same kind.
    pub readers: Vec<String>,
    /// What may be, and cannot be seen from here, as clauses.
    pub unseen: Vec<String>,
}

impl Uses {
    /// # Errors
    /// Somebody uses it in a way that a write would hurt.
    pub(crate) fn permit_writing(&self, path: &Path) -> Result<(), TargetError> {
        if self.users.is_empty() {
            return Ok(());
        }
        Err(TargetError(format!(
            "{} is in use ({}): nothing was written; release it first, then repeat",
            path.display(),
            self.users.join("; ")
        )))
    }

    /// Adds sentences on what does not forbid to write it.
    pub(crate) fn note(&self, path: &Path, notes: &mut Vec<String>) {
        let shown = path.display();
        let mut add = |note| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        if !self.readers.is_empty() {
            let readers = self.readers.join("; ");
            add(format!("{shown} is {readers}: what is read there changes during the test"));
        }
        if !self.unseen.is_empty() {
            let unseen = self.unseen.join(", nor ");
            add(format!(
                "it cannot be seen from here {unseen}: make sure that {shown} is not in use"
            ));
        }
    }
}
