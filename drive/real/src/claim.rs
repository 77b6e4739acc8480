//! The claim of a run on a regular file: a lock that keeps two runs from writing it.

use std::fs::File;
use std::ops::Deref;
use std::os::fd::AsRawFd;

/// An open file or device, with whatever claim was taken on it.
#[derive(Debug)]
pub(crate) struct ClaimedFile(File);

impl ClaimedFile {
    /// Without a lock: devices, which are opened exclusively, and what is only read.
    pub(crate) fn unlocked(file: File) -> Self {
        Self(file)
    }

    /// With the lock; none if another run has it. File systems without locks
    /// have none to take.
    pub(crate) fn locked(file: File) -> Option<Self> {
        // SAFETY: the call acts on a descriptor that `file` owns.
        let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        let taken = result == 0
            || std::io::Error::last_os_error().raw_os_error() != Some(libc::EWOULDBLOCK);
        taken.then_some(Self(file))
    }
}

impl Drop for ClaimedFile {
    /// The lock belongs to the open file, which a process forked meanwhile shares
    /// until it executes another program: closing our descriptor would not do.
    fn drop(&mut self) {
        // SAFETY: the call acts on a descriptor that the file owns.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl Deref for ClaimedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}
