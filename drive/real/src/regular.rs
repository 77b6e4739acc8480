//! Plans for regular files: existing ones, and ones to be created.

use crate::access::Access;
use crate::direct::{DirectIo, SECTOR_BYTES};
use crate::identity::Identity;
use crate::mark::{self, Marked};
use crate::plan::{Kind, Plan};
use crate::refusal::refusal;
use crate::system::{self, direct, file_system_of, memory, room};
use crate::uses::Uses;
use fourcorners_target::TargetError;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Room that stays free for everybody else: 5 % of the file system, at least
/// 64 MiB and at most 1 GiB, which is room enough on large ones: a small file is not refused on a
/// disk that has gigabytes left.
const MARGIN_FRACTION: u64 = 20;
const MARGIN_MIN_BYTES: u64 = 64 << 20;
const MARGIN_MAX_BYTES: u64 = 1 << 30;

/// File systems that lie on no drive: what is written to their files goes to the kernel. They may be
/// mounted anywhere, as below the root of a container.
const KERNELS: &[&str] = &[
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "mqueue",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Plans for a path that does not exist.
pub(crate) fn plan_missing(path: &Path, access: &Access) -> Result<Plan, TargetError> {
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        return Err(TargetError(format!(
            "{shown} is a link to something that does not exist: remove the link, or name what is meant"
        )));
    }
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name() else {
        return Err(TargetError(format!("{shown} names no file")));
    };
    let parent = std::fs::canonicalize(parent).map_err(|_| {
        TargetError(format!(
            "{shown}: the folder {} does not exist: create it first",
            parent.display()
        ))
    })?;
    let resolved = parent.join(name);
    let file_system = file_system_of(&parent);
    if is_below_dev(&resolved) || is_kernels(file_system.as_deref()) {
        return Err(TargetError(format!(
            "there is no device {shown}: check the name (`lsblk` lists the devices)"
        )));
    }
    for (option, word) in
        [("--destroy-data", &access.destroy_data), ("--overwrite", &access.overwrite)]
    {
        if let Some(word) = word {
            return Err(TargetError(format!(
                "{option} names {}, but the target {shown} does not exist: check both names",
                word.display()
            )));
        }
    }
    let Some(size_bytes) = access.size_bytes else {
        return Err(TargetError(format!(
            "{shown} does not exist: give --size to create a test file there"
        )));
    };
    let capacity_bytes = checked_size(path, size_bytes)?;
    check_room(&resolved, &parent, capacity_bytes, file_system.as_deref())?;
    let direct = direct::examine_folder(&parent, file_system.as_deref())
        .map_err(|error| refusal(&resolved, &error))?;
    Ok(new_plan(resolved, capacity_bytes, true, direct, file_system.as_deref()))
}

/// Plans for the existing regular file at `path` (resolved).
pub(crate) fn plan_existing(
    path: &Path,
    metadata: &Metadata,
    access: &Access,
) -> Result<Plan, TargetError> {
    let shown = path.display();
    let file_system = file_system_of(path);
    let is_below_kernels = path.starts_with("/proc") || path.starts_with("/sys");
    if is_below_dev(path) || is_below_kernels || is_kernels(file_system.as_deref()) {
        return Err(TargetError(format!(
            "{shown} is a file where only devices and the kernel's own files belong, so it lies on no drive: check the name"
        )));
    }
    let file = File::open(path).map_err(|error| refusal(path, &error))?;
    direct::at_opening(&file);
    let length_bytes = metadata.len();
    let marked = mark::examine(&file, metadata);
    let writable = marked.is_ours || access.overwrite.is_some() || length_bytes == 0;
    let capacity_bytes = match access.size_bytes {
        Some(size_bytes) => checked_size(path, size_bytes)?,
        None if length_bytes < u64::from(SECTOR_BYTES) => {
            return Err(TargetError(format!(
                "{shown} holds {length_bytes} bytes, less than a sector: give --size to make it a test file"
            )));
        }
        None => length_bytes - length_bytes % u64::from(SECTOR_BYTES),
    };
    if !writable && capacity_bytes > length_bytes {
        return Err(TargetError(format!(
            "{shown} exists and holds {length_bytes} bytes that are not fourcorners' own{}: leave out --size to read it as it is, or give --overwrite {shown} to overwrite it",
            doubt(&marked)
        )));
    }
    let creates = capacity_bytes > length_bytes;
    let mut read_only_reason = (!writable).then(|| {
        format!(
            "{shown} has content that is not fourcorners' own{}: only reads are measured unless --overwrite {shown} permits writes",
            doubt(&marked)
        )
    });
    let uses = system::uses(&file).map_err(|error| refusal(path, &error))?;
    let destroys = length_bytes > 0 && !marked.is_ours;
    if writable
        && let Err(obstacle) = check_writing(path, metadata, &uses, capacity_bytes, destroys)
    {
        // Our own file may still be read; what was asked for by name is refused.
        if creates || access.overwrite.is_some() {
            return Err(obstacle);
        }
        read_only_reason = Some(obstacle.0);
    }
    let writable = read_only_reason.is_none();
    let direct = direct::examine(&file, file_system.as_deref());
    let mut plan =
        new_plan(path.to_owned(), capacity_bytes, creates, direct, file_system.as_deref());
    plan.identity = Some(Identity::of_file(metadata));
    plan.capacity_bytes -= plan.capacity_bytes % u64::from(plan.request_alignment_bytes);
    if plan.capacity_bytes == 0 {
        return Err(TargetError(format!(
            "{shown} holds {length_bytes} bytes, less than the {} that direct I/O takes at a time there: choose a larger file",
            plan.request_alignment_bytes
        )));
    }
    plan.writable = writable;
    plan.seals = writable && marked.is_made_by_us && !marked.has_others_content;
    plan.read_only_reason = read_only_reason;
    plan.needs_fill = creates || has_unwritten_parts(&file, metadata, capacity_bytes);
    if writable {
        uses.note(path, &mut plan.notes);
    }
    if writable && destroys {
        plan.notes.push(format!("the content of {shown} will be overwritten"));
        if !system::TELLS_USERS {
            plan.notes.push(format!(
                "this system does not tell whether {shown} is in use as a disk: make sure that it is not"
            ));
        }
    }
    if !writable && plan.needs_fill {
        plan.notes.push(format!(
            "{shown} has parts that were never written: reads there do not reach the medium"
        ));
    }
    Ok(plan)
}

/// Why a file that carries our mark is not ours, as a clause; nothing of other files.
fn doubt(marked: &Marked) -> String {
    marked.doubt.map_or(String::new(), |why| format!(" ({why})"))
}

/// Whether a permitted file can be written: nobody uses it, it is no snapshot's as well, it opens,
/// and there is room for what it lacks.
fn check_writing(
    path: &Path,
    metadata: &Metadata,
    uses: &Uses,
    capacity_bytes: u64,
    destroys: bool,
) -> Result<(), TargetError> {
    uses.permit_writing(path)?;
    let names = metadata.nlink();
    if destroys && names > 1 {
        return Err(TargetError(format!(
            "{} has {names} names (hard links), and its content would be lost under all of them: nothing was written; copy it to a file of its own, or remove the other names",
            path.display()
        )));
    }
    // Opening for writing changes nothing, and tells who may.
    OpenOptions::new().write(true).open(path).map_err(|error| refusal(path, &error))?;
    let missing_bytes = capacity_bytes.saturating_sub(metadata.blocks() * 512);
    if missing_bytes == 0 {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    check_room(path, folder, missing_bytes, file_system_of(path).as_deref())
}

/// /dev/shm is a place for files; everything else below /dev is not.
fn is_below_dev(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

fn is_kernels(file_system: Option<&str>) -> bool {
    file_system.is_some_and(|name| KERNELS.contains(&name))
}

fn new_plan(
    path: PathBuf,
    capacity_bytes: u64,
    creates: bool,
    direct: DirectIo,
    file_system: Option<&str>,
) -> Plan {
    let mut plan = Plan {
        path,
        kind: Kind::File,
        capacity_bytes,
        writable: true,
        read_only_reason: None,
        creates,
        needs_fill: true,
        direct: false,
        request_alignment_bytes: SECTOR_BYTES,
        notes: Vec::new(),
        limit: None,
        identity: None,
        seals: false,
    };
    set_direct(&mut plan, direct, file_system);
    plan
}

/// Puts the facts of direct I/O, and the note on their absence, into a plan.
pub(crate) fn set_direct(plan: &mut Plan, direct: DirectIo, file_system: Option<&str>) {
    plan.direct = direct.available;
    plan.request_alignment_bytes = direct.alignment_bytes;
    let absent = direct::absent(file_system);
    plan.notes.retain(|note| *note != absent);
    if !direct.available {
        plan.notes.push(absent);
    }
}

fn checked_size(path: &Path, size_bytes: u64) -> Result<u64, TargetError> {
    // Whole pages, so that no grid of direct I/O cuts the last one.
    let whole = size_bytes - size_bytes % 4096;
    if whole == 0 {
        return Err(TargetError(format!(
            "--size {size_bytes} for {} is less than one page: give at least 4096 bytes",
            path.display()
        )));
    }
    Ok(whole)
}

/// Refuses to take room that others need.
fn check_room(
    path: &Path,
    folder: &Path,
    needed_bytes: u64,
    file_system: Option<&str>,
) -> Result<(), TargetError> {
    let stat = rustix::fs::statvfs(folder).map_err(|error| refusal(path, &error.into()))?;
    let total_bytes = stat.f_blocks.saturating_mul(stat.f_frsize);
    let mut free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    if matches!(file_system, Some("tmpfs" | "ramfs")) {
        free_bytes = free_bytes.min(memory::available_bytes());
    }
    let margin_bytes = (total_bytes / MARGIN_FRACTION).clamp(MARGIN_MIN_BYTES, MARGIN_MAX_BYTES);
    let usable_bytes = free_bytes.saturating_sub(margin_bytes);
    if needed_bytes > usable_bytes {
        return Err(TargetError(format!(
            "{}: {} MiB are needed, and the file system can give {} MiB ({} MiB are kept free for others): give a smaller --size or make room",
            path.display(),
            needed_bytes.div_ceil(1 << 20),
            usable_bytes >> 20,
            margin_bytes >> 20
        )));
    }
    Ok(())
}

/// Holes, by the count of allocated blocks, or extents that are allocated but
/// were never written, where the file system lists them.
fn has_unwritten_parts(file: &File, metadata: &Metadata, capacity_bytes: u64) -> bool {
    metadata.blocks() * 512 < capacity_bytes || room::any_unwritten(file)
}
