//! What the kernel itself says of an open file: whether somebody has locked a part of it,
//! and whether somebody else has it open, whoever that is.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// From asm-generic/fcntl.h.
const F_SETSIG: libc::c_int = 10;

/// The owner of a lock on any part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    Process(u32),
    /// The lock belongs to an open file (`F_OFD_SETLK`), which several processes may
    /// share, or to a process of another namespace.
    Unnamed,
}

/// Who has a lock on a part of a file (POSIX or OFD), if that is somebody.
pub(crate) fn lock_owner(file: &File) -> Option<LockOwner> {
    // SAFETY: the struct is plain numbers, for which zeroes are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the call fills the struct. From the start and without a length: all of it.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    if result != 0 || lock.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    Some(
        u32::try_from(lock.l_pid)
            .ok()
            .filter(|pid| *pid > 0)
            .map_or(LockOwner::Unnamed, LockOwner::Process),
    )
}

/// What the attempt to take a lease tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// Nobody else has it open; for writing, if `file` is open for reading.
    Free,
    /// Somebody has: a process, whether it may be looked into or not, or the kernel.
    Refused,
    /// Leases are for the file's owner, for regular files, and not on every file system.
    Unknown,
}

/// Whether a file was opened for writing.
pub(crate) fn is_for_writing(file: &File) -> bool {
    // SAFETY: the call acts on a descriptor that `file` owns.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// Takes a lease on a file and gives it back at once. A descriptor for reading gets one
/// unless somebody else has the file open for writing, one for writing unless somebody
/// else has it open at all. A program that opens the file in that moment is kept waiting
/// for the rest of it.
pub(crate) fn lease(file: &File, for_writing: bool) -> Lease {
    let kind = if for_writing { libc::F_WRLCK } else { libc::F_RDLCK };
    match try_lease(file, kind) {
        Ok(()) => Lease::Free,
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Lease::Refused,
        Err(_) => Lease::Unknown,
    }
}

fn try_lease(file: &File, kind: libc::c_int) -> io::Result<()> {
    let call = |command, argument: libc::c_int| {
        // SAFETY: the call acts on a descriptor that `file` owns.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // Who opens the file meanwhile makes the kernel send a signal, SIGIO unless told
    // otherwise, which would end this process. This one is ignored by default.
    call(F_SETSIG, libc::SIGURG)?;
    let taken = call(libc::F_SETLEASE, kind);
    if taken.is_ok() {
        call(libc::F_SETLEASE, libc::F_UNLCK)?;
    }
    call(F_SETSIG, 0)?;
    taken
}
