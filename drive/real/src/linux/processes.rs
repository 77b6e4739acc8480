//! Which processes have a file or device open, and for what. /proc tells it of the
//! processes that this one may look into.

use super::sysfs::System;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Every FUSE program has this open (`/dev/fuse`, misc).
const FUSE_DEVICE: u64 = libc::makedev(10, 229);
/// Inode of the first process namespace, which sees all others (linux/proc_ns.h).
const FIRST_PROCESS_NAMESPACE: u64 = 0xEFFF_FFFC;

/// A file or device that is looked for among what processes have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    File { device: u64, inode: u64 },
    Device(u64),
}

/// What a process does with a file or device; what hurts most comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Manner {
    Reads,
    /// It is a FUSE program: the file is what it has mounted.
    Serves,
    Locks,
    Maps,
    Writes,
}

/// A process that has one of the wanted open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Index of what it has open.
    pub wanted: usize,
    pub process: u32,
    pub program: String,
    pub manner: Manner,
}

/// What was found, and what could not be looked into.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// One entry for each process and each wanted, other processes only.
    pub holders: Vec<Holder>,
    /// What this process itself does with them, descriptor by descriptor, and those that
    /// were forked from it and have them by that.
    pub own: Vec<Manner>,
    /// Processes whose descriptors are hidden from this one.
    pub hidden: usize,
}

/// What `statx` tells to compare.
#[derive(Clone, Copy)]
struct Identity {
    is_block_device: bool,
    is_character_device: bool,
    device: u64,
    inode: u64,
    special_device: u64,
}

impl Wanted {
    fn is(self, found: &Identity) -> bool {
        match self {
            Wanted::File { device, inode } => found.device == device && found.inode == inode,
            Wanted::Device(number) => found.is_block_device && found.special_device == number,
        }
    }
}

impl System {
    /// Looks through the descriptors of all processes, and with `mappings` through what
    /// they have mapped into memory for writing.
    pub(crate) fn holders(&self, wanted: &[Wanted], mappings: bool) -> Found {
        let mut found = Found::default();
        let Ok(entries) = std::fs::read_dir(self.root.join("proc")) else { return found };
        for entry in entries.flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let folder = entry.path();
            let Some(mut open) = open_by(&folder, wanted) else {
                found.hidden += usize::from(is_program(&folder));
                continue;
            };
            let is_own = |open: &[_]| !open.is_empty() && is_copy_of_this(&folder);
            if process == std::process::id() || is_own(&open) {
                found.own.extend(open.iter().map(|one| one.1));
                continue;
            }
            if mappings {
                open.extend(mapped_by(&folder, wanted).into_iter().map(|at| (at, Manner::Maps)));
            }
            if open.is_empty() {
                continue;
            }
            let program = program(&folder);
            for (at, _) in wanted.iter().enumerate() {
                let worst = open.iter().filter(|one| one.0 == at).map(|one| one.1).max();
                found.holders.extend(worst.map(|manner| Holder {
                    wanted: at,
                    process,
                    program: program.clone(),
                    manner,
                }));
            }
        }
        found
    }

    /// Whether there may be processes that /proc does not list, as outside of a container.
    pub(crate) fn lists_all_processes(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let namespace = std::fs::metadata(self.root.join("proc/self/ns/pid"));
        namespace.is_ok_and(|metadata| metadata.ino() == FIRST_PROCESS_NAMESPACE)
    }

    /// Name of a process's program, for messages.
    pub(crate) fn program(&self, process: u32) -> String {
        program(&self.root.join("proc").join(process.to_string()))
    }
}

/// What of the wanted a process has open, by its descriptors; `None` where they are
/// hidden.
fn open_by(folder: &Path, wanted: &[Wanted]) -> Option<Vec<(usize, Manner)>> {
    let mut open = Vec::new();
    let mut serves = false;
    let entries = match std::fs::read_dir(folder.join("fd")) {
        Ok(entries) => entries,
        // It ended meanwhile.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Some(open),
        Err(_) => return None,
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => return None,
            Err(_) => break,
        };
        let Some(identity) = identity(&entry.path()) else { continue };
        serves |= identity.is_character_device && identity.special_device == FUSE_DEVICE;
        for (at, _) in wanted.iter().enumerate().filter(|(_, wanted)| wanted.is(&identity)) {
            let information = folder.join("fdinfo").join(entry.file_name());
            let information = std::fs::read_to_string(information).unwrap_or_default();
            open.extend(manner(&information, identity.is_block_device).map(|how| (at, how)));
        }
    }
    if serves {
        for one in &mut open {
            one.1 = one.1.max(Manner::Serves);
        }
    }
    Some(open)
}

/// What the owner of a descriptor may do with it, from its `fdinfo`; `None` where it is
/// no more than a place in the file system (`O_PATH`).
fn manner(information: &str, is_block_device: bool) -> Option<Manner> {
    let flags = information.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    if flags & libc::O_PATH != 0 {
        return None;
    }
    let is_lock = |line: &&str| {
        let mut words = line.split_whitespace();
        let is_lock = words.next() == Some("lock:");
        let kind = words.nth(1);
        // Those who look at a device that appeared share this one, as udev does.
        let is_look = is_block_device && kind == Some("FLOCK") && line.contains(" READ ");
        is_lock && matches!(kind, Some("POSIX" | "OFDLCK" | "FLOCK")) && !is_look
    };
    Some(if flags & libc::O_ACCMODE != libc::O_RDONLY {
        Manner::Writes
    } else if information.lines().any(|line| is_lock(&line)) {
        Manner::Locks
    } else {
        Manner::Reads
    })
}

/// What of the wanted a process has mapped so that what it writes to memory is written
/// to the file.
fn mapped_by(folder: &Path, wanted: &[Wanted]) -> Vec<usize> {
    let Ok(maps) = std::fs::read_to_string(folder.join("maps")) else { return Vec::new() };
    let mut mapped = Vec::new();
    for line in maps.lines() {
        // `start-end rw-s offset device inode path`
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        if !rights.ends_with('s') || rights.as_bytes().get(1) != Some(&b'w') {
            continue;
        }
        let path = words.nth(3).unwrap_or_default();
        // A link to the very file needs rights that looking at the table does not.
        let identity =
            identity(&folder.join("map_files").join(range)).or_else(|| identity(Path::new(path)));
        if let Some(identity) = identity {
            mapped.extend((0..wanted.len()).filter(|at| wanted[*at].is(&identity)));
        }
    }
    mapped
}

/// Whether a process was forked from this one and runs no program of its own.
fn is_copy_of_this(folder: &Path) -> bool {
    let status = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    // `process (program) state parent ...`, where the name may hold anything.
    let parent = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
    let command = |folder: &Path| std::fs::read(folder.join("cmdline")).unwrap_or_default();
    parent.and_then(|parent| parent.parse().ok()) == Some(std::process::id())
        && command(folder) == command(&folder.with_file_name("self"))
}

/// Whether a process runs a program: the kernel's own threads have no command line.
fn is_program(folder: &Path) -> bool {
    std::fs::read(folder.join("cmdline")).is_ok_and(|line| !line.is_empty())
}

fn program(folder: &Path) -> String {
    let name = std::fs::read(folder.join("comm")).unwrap_or_default();
    printable(String::from_utf8_lossy(&name).trim_end())
}

/// Text that somebody else chose, without what a terminal would take for a command.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// What a link in /proc leads to. A file system that does not answer is not asked:
/// what the kernel remembers is enough.
fn identity(link: &Path) -> Option<Identity> {
    let link = CString::new(link.as_os_str().as_bytes()).ok()?;
    // SAFETY: the kernel fills the struct, for which zeroes are valid.
    let (result, stat) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let result = libc::statx(
            libc::AT_FDCWD,
            link.as_ptr(),
            libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT,
            libc::STATX_TYPE | libc::STATX_INO,
            &mut stat,
        );
        (result, stat)
    };
    let kind = u32::from(stat.stx_mode) & libc::S_IFMT;
    (result == 0).then(|| Identity {
        is_block_device: kind == libc::S_IFBLK,
        is_character_device: kind == libc::S_IFCHR,
        device: libc::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        special_device: libc::makedev(stat.stx_rdev_major, stat.stx_rdev_minor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_tell_what_their_owner_may_do() {
        let shared = "lock:\t1: FLOCK  ADVISORY  READ 12 07:00:1 0 EOF\n";
        for (information, is_block_device, expected) in [
            ("pos:\t0\nflags:\t0100000\nmnt_id:\t9\n".to_owned(), false, Some(Manner::Reads)),
            ("flags:\t0100002\n".to_owned(), false, Some(Manner::Writes)),
            ("flags:\t02\n".to_owned(), true, Some(Manner::Writes)),
            ("flags:\t012000000\n".to_owned(), false, None),
            (format!("flags:\t0\n{shared}"), false, Some(Manner::Locks)),
            (format!("flags:\t0\n{shared}"), true, Some(Manner::Reads)),
            (format!("flags:\t0\n{}", shared.replace("READ", "WRITE")), true, Some(Manner::Locks)),
            ("flags:\t0\nlock:\t1: LEASE  ACTIVE  READ 1\n".to_owned(), false, Some(Manner::Reads)),
        ] {
            assert_eq!(manner(&information, is_block_device), expected, "{information}");
        }
    }
}
