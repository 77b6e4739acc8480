//! The drive's state, saved while it is served, after a flush now and then, so that a
//! server that is killed leaves one.
//!
//! Writing a state takes seconds for a large drive, in which the drive would stand still.
//! So a child of this process writes it, which has a copy of all memory as it was when it
//! began (`fork`), as databases do that keep all in memory.

use crate::served::Served;
use fourcorners_target::VirtualDrive;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a state is kept, and how often it is saved at most.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The file, which is replaced as a whole.
    pub path: PathBuf,
    /// The least time between two, of this machine.
    pub every: Duration,
}

/// How far the child stands behind the server: a quarter as much of a processor as who
/// goes before it. At 19, a seventieth, a busy host took more than 15 s for a state that is
/// saved in one, and what a killed server left was older by that.
const BEHIND: libc::c_int = 6;

/// States that are saved while a drive is served. Dropping it ends a child that still
/// writes.
#[derive(Debug)]
pub struct Saver {
    how: Saving,
    begun: Instant,
    is_due: bool,
    child: Option<libc::pid_t>,
    failed: bool,
}

impl Saver {
    /// The first state is saved `every` after now.
    pub fn new(how: Saving) -> Self {
        Self { how, begun: Instant::now(), is_due: false, child: None, failed: false }
    }

    /// Saves the state if a flush was acknowledged and the last time is long ago; until
    /// the drive is idle for that, new requests wait.
    pub fn turn(&mut self, served: &mut Served<'_>) {
        let has_flushed = served.has_flushed();
        if has_flushed && !self.is_due && self.begun.elapsed() >= self.how.every {
            self.reap();
            self.is_due = self.child.is_none();
            served.hold(self.is_due);
        }
        if self.is_due && served.is_idle() {
            self.is_due = false;
            served.hold(false);
            self.begun = Instant::now();
            self.begin(served.drive());
        }
    }

    /// Whether a state could not be saved.
    pub fn failed(&mut self) -> bool {
        self.reap();
        self.failed
    }

    /// Where a child writes before it replaces the file.
    fn unfinished(&self) -> PathBuf {
        let mut name = self.how.path.file_name().unwrap_or_default().to_os_string();
        name.push(".unfinished");
        self.how.path.with_file_name(name)
    }

    fn begin(&mut self, drive: &dyn VirtualDrive) {
        let unfinished = self.unfinished();
        // SAFETY: the child has only this thread. It allocates, which the C library permits
        // after a fork, writes its file and ends; it never returns into what called this.
        match unsafe { libc::fork() } {
            0 => {
                let write = || write(drive, &unfinished, &self.how.path).is_ok();
                let is_saved =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).unwrap_or(false);
                // SAFETY: it ends the child at once, without what the parent wants done at its end.
                unsafe { libc::_exit(i32::from(!is_saved)) }
            }
            child if child > 0 => self.child = Some(child),
            _ => self.failed = true,
        }
    }

    /// Takes note of a child that has ended.
    fn reap(&mut self) {
        let Some(child) = self.child else { return };
        let mut status = 0;
        // SAFETY: the status is a place of ours.
        let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if ended != 0 {
            self.child = None;
            self.failed |= ended == child && status != 0;
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        // It would replace the state that is saved at the end.
        self.reap();
        if let Some(child) = self.child {
            // SAFETY: it has not ended, or nobody has asked for it, so that the number is its own.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
            let _ = std::fs::remove_file(self.unfinished());
        }
    }
}

/// In the child: what the parent has open is closed first, so that nothing of it lives on
/// where the parent is killed.
fn write(drive: &dyn VirtualDrive, unfinished: &Path, path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    // SAFETY: nothing in the child uses a descriptor that was open before.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
    }
    // SAFETY: it is about this process only.
    unsafe {
        libc::nice(BEHIND);
    }
    let _ = std::fs::remove_file(unfinished);
    let file = File::create_new(unfinished)?;
    let mut output = BufWriter::new(&file);
    drive.save(&mut output).map_err(io::Error::other)?;
    output.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    std::fs::rename(unfinished, path)
}
