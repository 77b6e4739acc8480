//! Refusals and permissions of regular files, and of what is neither file nor
//! device.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_real::{Access, Kind, RealFile};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use support::*;

#[test]
fn a_mistyped_device_is_an_error_and_never_a_file() {
    for path in ["/dev/no-such-disk", "/dev/../dev/no-such-disk"] {
        let path = Path::new(path);
        for access in [Access::default(), sized(16 * MIB), destroying(path)] {
            let error = refused(path, &access);
            assert!(error.contains("there is no device"), "{error}");
        }
        assert!(!path.exists());
    }
}

#[test]
fn what_is_neither_file_nor_block_device_is_refused() {
    let folder = Folder::new();
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let fifo = folder.path("fifo");
    run("mkfifo", &[fifo.to_str().unwrap()]).unwrap();
    for (path, what) in [
        (folder.0.as_path(), "a directory"),
        (Path::new("/dev/null"), "a character device"),
        (&socket, "a socket"),
        (&fifo, "a FIFO"),
    ] {
        let error = refused(path, &sized(16 * MIB));
        assert!(error.contains(what), "{error}");
        assert_eq!(refused(path, &Access::default()), error);
    }
}

#[test]
fn a_missing_file_needs_a_size() {
    let folder = Folder::new();
    let error = refused(&folder.path("new"), &Access::default());
    assert!(error.contains("give --size"), "{error}");
    let error = refused(&folder.path("no/such/folder"), &sized(MIB));
    assert!(error.contains("does not exist: create it first"), "{error}");
}

#[test]
fn a_dangling_link_is_refused() {
    let folder = Folder::new();
    let link = folder.path("link");
    symlink("/dev/no-such-disk", &link).unwrap();
    let error = refused(&link, &sized(16 * MIB));
    assert!(error.contains("a link to something that does not exist"), "{error}");
    assert!(!Path::new("/dev/no-such-disk").exists());
}

#[test]
fn planning_creates_nothing_and_opening_creates_it_allocated() {
    let folder = Folder::new();
    let path = folder.path("new");
    let planned = plan(&path, &sized(16 * MIB + 100)).unwrap();
    assert!(!path.exists());
    assert!(planned.creates && planned.writable && planned.needs_fill);
    assert_eq!((planned.kind, planned.capacity_bytes), (Kind::File, 16 * MIB));
    let file = RealFile::open(planned.clone()).unwrap();
    assert_eq!(file.plan().direct, planned.direct);
    assert_eq!(file.plan().request_alignment_bytes, planned.request_alignment_bytes);
    let metadata = std::fs::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 16 * MIB);
    assert!(std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 >= 16 * MIB);
    // The same plan a second time would overwrite what now exists.
    assert!(RealFile::open(planned).is_err());
}

#[test]
fn a_file_with_content_is_read_only_without_a_word_that_names_it() {
    let folder = Folder::new();
    let path = folder.foreign_file("precious", 8 * MIB);
    let other = folder.foreign_file("other", 8 * MIB);

    let planned = plan(&path, &Access::default()).unwrap();
    assert!(!planned.writable);
    assert!(planned.read_only_reason.unwrap().contains("--overwrite"));

    let error = refused(&path, &sized(16 * MIB));
    assert!(error.contains("exists and holds 8388608 bytes"), "{error}");
    let error = refused(&path, &overwriting(&other));
    assert!(error.contains("names"), "{error}");
    let error = refused(&path, &destroying(&path));
    assert!(error.contains("is a regular file: use --overwrite"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![0; 8 << 20]);

    let planned = plan(&path, &overwriting(&path)).unwrap();
    assert!(planned.writable);
    assert!(planned.notes.iter().any(|note| note.contains("will be overwritten")));
    // A link to it is another spelling of the same file.
    let link = folder.path("link");
    symlink(&path, &link).unwrap();
    assert!(plan(&link, &overwriting(&path)).unwrap().writable);
}

#[test]
fn our_own_file_is_written_again_without_a_word() {
    let folder = Folder::new();
    let file = folder.own_file("test", 8 * MIB);
    if file.plan().notes.iter().any(|note| note.contains("extended attributes")) {
        return skip("this file system keeps no user extended attributes");
    }
    let path = folder.path("test");
    let planned = plan(&path, &Access::default()).unwrap();
    assert!(planned.writable && !planned.creates);
    drop(file);
    let grown = plan(&path, &sized(12 * MIB)).unwrap();
    assert!(grown.writable && grown.creates && grown.needs_fill);
    assert_eq!(RealFile::open(grown).unwrap().plan().capacity_bytes, 12 * MIB);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 12 * MIB);
}

#[test]
fn a_run_that_has_ended_holds_no_file_though_a_process_was_forked_in_it() {
    let folder = Folder::new();
    let file = folder.own_file("test", 8 * MIB);
    let path = folder.path("test");
    let (mut forked, mut report) = std::io::pipe().unwrap();
    let (mut wait, mut ended) = std::io::pipe().unwrap();
    let mut command = std::process::Command::new("true");
    // SAFETY: the child only writes to a pipe and reads from another.
    unsafe {
        command.pre_exec(move || {
            report.write_all(&[1])?;
            wait.read_exact(&mut [0])
        });
    }
    let child = std::thread::spawn(move || command.status().unwrap());
    forked.read_exact(&mut [0]).unwrap();
    drop(file);
    let again = RealFile::open(plan(&path, &overwriting(&path)).unwrap());
    ended.write_all(&[1]).unwrap();
    assert!(child.join().unwrap().success());
    assert_eq!(again.unwrap().plan().capacity_bytes, 8 * MIB);
}

#[test]
fn our_own_file_is_still_read_where_it_cannot_be_written() {
    let folder = Folder::new();
    drop(folder.own_file("test", 8 * MIB));
    let path = folder.path("test");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let planned = without_rights(|| plan(&path, &Access::default())).unwrap();
    assert!(!planned.writable);
    let reason = planned.read_only_reason.unwrap();
    // Without extended attributes it does not count as ours.
    assert!(reason.contains("permission denied") || reason.contains("--overwrite"), "{reason}");
}

#[test]
fn files_of_the_kernel_are_refused() {
    let error = refused(Path::new("/proc/self/maps"), &Access::default());
    assert!(error.contains("lies on no drive"), "{error}");
}

#[test]
fn a_foreign_file_grown_under_the_word_does_not_become_ours() {
    let folder = Folder::new();
    let path = folder.foreign_file("precious", MIB);
    let access = Access { overwrite: Some(path.clone()), ..sized(2 * MIB) };
    RealFile::open(plan(&path, &access).unwrap()).unwrap();
    assert!(!plan(&path, &Access::default()).unwrap().writable);
}

#[test]
fn sparse_and_unwritten_files_are_told() {
    let folder = Folder::new();
    let sparse = folder.path("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(8 * MIB).unwrap();
    let planned = plan(&sparse, &Access::default()).unwrap();
    assert!(planned.needs_fill);
    assert!(planned.notes.iter().any(|note| note.contains("never written")));
    let written = folder.foreign_file("written", 8 * MIB);
    std::fs::File::open(&written).unwrap().sync_all().unwrap();
    assert!(!plan(&written, &Access::default()).unwrap().needs_fill);
}

#[test]
fn a_full_file_system_is_told_before_anything_is_created() {
    let folder = Folder::new();
    let path = folder.path("huge");
    let error = refused(&path, &sized(1 << 50));
    assert!(error.contains("MiB are needed"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_file_changed_between_plan_and_opening_is_not_written() {
    let folder = Folder::new();
    let path = folder.foreign_file("test", MIB);
    let planned = plan(&path, &overwriting(&path)).unwrap();
    let _other = folder.foreign_file("other", MIB);
    std::fs::rename(folder.path("other"), &path).unwrap();
    let error = RealFile::open(planned).unwrap_err().0;
    assert!(error.contains("no longer what it was"), "{error}");
}

#[test]
fn content_that_appears_between_plan_and_opening_is_not_overwritten() {
    let folder = Folder::new();
    let path = folder.foreign_file("test", 0);
    let planned = plan(&path, &sized(MIB)).unwrap();
    assert!(planned.writable);
    std::fs::write(&path, b"somebody's work").unwrap();
    let error = RealFile::open(planned).unwrap_err().0;
    assert!(error.contains("no longer what it was"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's work");
}

#[test]
fn two_runs_do_not_write_one_file() {
    let folder = Folder::new();
    let first = folder.own_file("test", MIB);
    let path = folder.path("test");
    let planned = plan(&path, &overwriting(&path)).unwrap();
    let error = RealFile::open(planned.clone()).unwrap_err().0;
    assert!(error.contains("another run"), "{error}");
    drop(first);
    // It was marked when it was given back, which is a change.
    assert!(RealFile::open(planned).unwrap_err().0.contains("no longer what it was"));
    assert!(RealFile::open(plan(&path, &Access::default()).unwrap()).is_ok());
}

/// Runs `work` as a user without rights, on a thread of its own: the raw call
/// changes the credentials of one thread only.
fn without_rights<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let work = || {
            if is_root() {
                // SAFETY: the call takes three numbers and no memory.
                let result = unsafe { libc::syscall(libc::SYS_setresuid, -1, 65_534, -1) };
                assert_eq!(result, 0);
            }
            work()
        };
        scope.spawn(work).join().unwrap()
    })
}

#[test]
fn permissions_are_told_in_a_sentence() {
    let folder = Folder::new();
    let path = folder.foreign_file("locked", MIB);
    for (mode, access) in [(0o000, Access::default()), (0o444, overwriting(&path))] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let error = without_rights(|| refused(&path, &access));
        assert!(error.contains("permission denied"), "{error}");
    }
    std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o555)).unwrap();
    let error = without_rights(|| refused(&folder.path("new"), &sized(MIB)));
    std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(error.contains("permission denied"), "{error}");
}

#[test]
fn an_immutable_file_is_read_but_not_written() {
    let folder = Folder::new();
    let path = folder.foreign_file("immutable", MIB);
    let name = path.to_str().unwrap();
    if run("chattr", &["+i", name]).is_none() {
        return skip("chattr +i needs root and ext4");
    }
    let readable = plan(&path, &Access::default());
    let error = plan(&path, &overwriting(&path));
    run("chattr", &["-i", name]).unwrap();
    assert!(!readable.unwrap().writable);
    let error = error.unwrap_err();
    assert!(error.contains("permission denied"), "{error}");
}
