//! Block devices, as loop devices over files of our own: what is refused, what
//! is permitted, and that nothing was written in between.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_real::{Access, Kind, Plan, RealFile};
use fourcorners_target::{Completion, Target};
use fourcorners_workload::{Content, Operation, Request};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use support::*;

const DISK_BYTES: u64 = 64 * MIB;

/// A refusal that must also leave every byte of the disk as it was.
fn refused_untouched(disk: &Loop, path: &Path, access: &Access) -> String {
    let before = std::fs::read(&disk.backing).unwrap();
    let error = match plan(path, access) {
        Err(error) => error,
        Ok(plan) => RealFile::open(plan).expect_err("the device should be refused").0,
    };
    assert!(before == std::fs::read(&disk.backing).unwrap(), "the disk was written");
    error
}

/// An MBR with Linux partitions of equal size, from the first MiB on.
fn partition_table(partitions: u32, each_bytes: u64) -> Vec<u8> {
    let mut sector = vec![0; 512];
    let each = (each_bytes / 512) as u32;
    for (index, entry) in sector[446..510].chunks_mut(16).take(partitions as usize).enumerate() {
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&(2048 + index as u32 * each).to_le_bytes());
        entry[12..16].copy_from_slice(&each.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

fn notes(plan: &Plan) -> String {
    plan.notes.join("\n")
}

#[test]
fn without_the_word_a_device_is_only_read() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let planned = plan(&disk.device, &Access::default()).unwrap();
    assert_eq!((planned.kind, planned.capacity_bytes), (Kind::Device, DISK_BYTES));
    assert!(!planned.writable && planned.direct);
    assert!(planned.read_only_reason.as_ref().unwrap().contains("--destroy-data"));
    let mut file = RealFile::open(planned).unwrap();
    let reads = workload(1.0, 4096, 8, ios(100));
    let recording = execute(&reads, &mut file.target(1), &Progress::default()).unwrap();
    assert_eq!((recording.operations[0].ios, recording.errors()), (100, 0));
    let writes = workload(0.0, 4096, 8, ios(100));
    let recording = execute(&writes, &mut file.target(1), &Progress::default()).unwrap();
    assert!(recording.failure.unwrap().contains("failed: Bad file descriptor"));
    let error = file.purge(LIMIT).unwrap_err().to_string();
    assert!(error.contains("reading only"), "{error}");
    assert_eq!(std::fs::read(&disk.backing).unwrap(), vec![0; DISK_BYTES as usize]);
}

#[test]
fn the_word_must_name_this_very_device() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    for word in ["/dev/null", "/dev/no-such-disk", "yes", disk.backing.to_str().unwrap()] {
        let error = refused_untouched(&disk, &disk.device, &destroying(Path::new(word)));
        assert!(error.contains("but the target is"), "{error}");
    }
    let error = refused_untouched(&disk, &disk.device, &overwriting(&disk.device));
    assert!(error.contains("use --destroy-data"), "{error}");
    let error = refused_untouched(&disk, &disk.device, &sized(MIB));
    assert!(error.contains("--size is for regular files"), "{error}");
    // Links, as in /dev/disk/by-id, are other names of the same device.
    let folder = Folder::new();
    let link = folder.path("by-id");
    symlink(&disk.device, &link).unwrap();
    assert_eq!(plan(&link, &Access::default()).unwrap().kind, Kind::Device);
    assert!(plan(&link, &destroying(&disk.device)).unwrap().writable);
    assert!(plan(&disk.device, &destroying(&link)).unwrap().writable);
}

#[test]
fn with_the_word_a_device_is_written_held_and_purged() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(planned.notes.is_empty(), "{}", notes(&planned));
    let mut file = RealFile::open(planned).unwrap();
    file.guard().begin_writing().unwrap();
    let writes = workload(0.0, 65_536, 8, ios(200));
    let recording = execute(&writes, &mut file.target(1), &Progress::default()).unwrap();
    assert_eq!((recording.operations[1].ios, recording.errors()), (200, 0));
    // Held exclusively: nobody else gets it for writing, mkfs neither.
    let error = RealFile::open(plan(&disk.device, &destroying(&disk.device)).unwrap()).unwrap_err();
    assert!(error.0.contains("in use by the kernel"), "{error}");
    assert!(std::fs::read(&disk.backing).unwrap().iter().any(|byte| *byte != 0));
    file.purge(LIMIT).unwrap();
    assert!(std::fs::read(&disk.backing).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_mounted_device_is_never_written_and_read_with_a_note() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let folder = Folder::new();
    let point = folder.path("mount point");
    std::fs::create_dir(&point).unwrap();
    if run("mkfs.ext4", &["-q", disk.name()]).is_none() {
        return skip("no mkfs.ext4");
    }
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(notes(&planned).contains("ext4 file system (sector 2) that will be destroyed"));
    // Planned while free, mounted before it is opened: the kernel's claim.
    assert!(run("mount", &["-o", "ro", disk.name(), point.to_str().unwrap()]).is_some());
    let late = RealFile::open(planned).map(|_| ()).map_err(|error| error.0);
    let error = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    let readable = plan(&disk.device, &Access::default());
    let inside = Folder(point.clone());
    assert!(run("umount", &[point.to_str().unwrap()]).is_some());
    std::mem::forget(inside);
    assert!(late.unwrap_err().contains("in use by the kernel"));
    assert!(error.contains("mounted at") && error.contains("mount point"), "{error}");
    let readable = readable.unwrap();
    assert!(!readable.writable);
    assert!(notes(&readable).contains("other programs"), "{}", notes(&readable));
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_so_is_the_partition() {
    let table = partition_table(2, 20 * MIB);
    let Some(disk) = Loop::attach_with(DISK_BYTES, &table, &["--partscan"]) else { return };
    let first = format!("{}p1", disk.name());
    let second = format!("{}p2", disk.name());
    // Kernels without a parser for the table still take partitions by hand.
    for (number, start) in [("1", "2048"), ("2", "43008")] {
        run("addpart", &[disk.name(), number, start, "40960"]);
    }
    if !Path::new(&second).exists() {
        return skip("this kernel makes no partitions on loop devices");
    }
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(notes(&planned).contains("MBR partition table"), "{}", notes(&planned));
    let folder = Folder::new();
    assert!(run("mkfs.ext4", &["-q", &first]).is_some());
    assert!(run("mount", &["-o", "ro", &first, folder.0.to_str().unwrap()]).is_some());
    let whole = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    let part = refused_untouched(&disk, Path::new(&first), &destroying(Path::new(&first)));
    let sister = plan(Path::new(&second), &destroying(Path::new(&second)));
    assert!(run("umount", &[folder.0.to_str().unwrap()]).is_some());
    assert!(whole.contains("p1, mounted at"), "{whole}");
    assert!(part.contains("(mounted at"), "{part}");
    assert!(sister.unwrap().writable);
}

#[test]
fn a_swap_area_in_use_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    if run("mkswap", &[disk.name()]).is_none() {
        return skip("no mkswap");
    }
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(notes(&planned).contains("swap area"), "{}", notes(&planned));
    if run("swapon", &[disk.name()]).is_none() {
        return skip("this kernel takes no swap area on a loop device");
    }
    let error = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    assert!(run("swapoff", &[disk.name()]).is_some());
    assert!(error.contains("used as swap"), "{error}");
}

#[test]
fn a_device_under_device_mapper_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let name = format!("fourcorners-test-{}", std::process::id());
    let table = format!("0 {} linear {} 0", DISK_BYTES / 512, disk.name());
    if run("dmsetup", &["create", &name, "--noudevsync", "--table", &table]).is_none() {
        return skip("no device mapper");
    }
    let error = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    run("dmsetup", &["remove", "--noudevsync", &name]);
    assert!(error.contains("held by LVM, RAID or dm-crypt"), "{error}");
}

#[test]
fn what_backs_a_loop_device_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let error = refused_untouched(&disk, &disk.backing, &overwriting(&disk.backing));
    assert!(error.contains("is in use") && error.contains("/dev/loop"), "{error}");
    // A loop device over a loop device.
    let Some(upper) = run("losetup", &["--find", "--show", disk.name()]) else {
        return skip("no second loop device");
    };
    let error = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    run("losetup", &["--detach", &upper]);
    assert!(error.contains(&format!("attached to {upper}")), "{error}");
}

#[test]
fn a_device_set_read_only_is_refused_and_a_detached_one_too() {
    let Some(disk) = Loop::attach(DISK_BYTES, &["--read-only"]) else { return };
    let error = refused_untouched(&disk, &disk.device, &destroying(&disk.device));
    assert!(error.contains("set read-only"), "{error}");
    assert!(plan(&disk.device, &Access::default()).is_ok());
    let Some(free) = run("losetup", &["--find"]) else { return };
    let error = refused(Path::new(&free), &Access::default());
    assert!(error.contains("has no size") || error.contains("no device"), "{error}");
}

/// Plans a disk that may be written, lets something happen to it, and expects
/// that opening refuses and writes nothing.
fn refused_after(disk: &Loop, happens: impl FnOnce()) -> String {
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    happens();
    let before = std::fs::read(&disk.backing).unwrap();
    let error = RealFile::open(planned).unwrap_err().0;
    assert!(before == std::fs::read(&disk.backing).unwrap(), "the disk was written");
    error
}

#[test]
fn a_device_that_shrinks_between_plan_and_opening_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let error = refused_after(&disk, || {
        let backing = std::fs::OpenOptions::new().write(true).open(&disk.backing).unwrap();
        backing.set_len(DISK_BYTES / 2).unwrap();
        run("losetup", &["--set-capacity", disk.name()]).unwrap();
    });
    assert!(error.contains("no longer what it was"), "{error}");
}

#[test]
fn a_device_replaced_by_one_like_it_between_plan_and_opening_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let error = refused_after(&disk, || {
        run("losetup", &["--detach", disk.name()]).unwrap();
        run("losetup", &[disk.name(), disk.backing.to_str().unwrap()]).unwrap();
    });
    assert!(error.contains("no longer what it was"), "{error}");
}

#[test]
fn a_device_that_vanishes_between_plan_and_opening_is_refused() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let error = refused_after(&disk, || {
        run("losetup", &["--detach", disk.name()]).unwrap();
    });
    assert!(error.contains("no longer what it was") || error.contains("no device"), "{error}");
}

#[test]
fn a_file_system_made_between_plan_and_opening_is_not_destroyed() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let error = refused_after(&disk, || {
        run("mkfs.ext4", &["-q", disk.name()]).unwrap();
    });
    assert!(error.contains("no longer what it was"), "{error}");
}

#[test]
fn what_reading_only_spares_is_named() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    run("mkfs.ext4", &["-q", disk.name()]).unwrap();
    let planned = plan(&disk.device, &Access::default()).unwrap();
    let reason = planned.read_only_reason.unwrap();
    assert!(reason.contains("destroys an ext4 file system"), "{reason}");
}

/// Formats of which no program here makes one, by what their documents say.
#[test]
fn formats_are_known_by_their_magic_numbers() {
    let disk_bytes = 80 * MIB;
    let Some(disk) = Loop::attach(disk_bytes, &[]) else { return };
    let zfs_label = 256 << 10;
    let ext_copy = |group: u16, log_block: u8| {
        let mut block = vec![0; 0x80];
        block[0x18] = log_block;
        block[0x38..0x3A].copy_from_slice(&[0x53, 0xEF]);
        block[0x5A..0x5C].copy_from_slice(&group.to_le_bytes());
        block
    };
    let drbd = |version: u8| vec![0x83, 0x74, 0x02, version];
    let cases: Vec<(u64, Vec<u8>, &str)> = vec![
        (128 << 10 | 7 << 10, b"\x0C\xB1\xBA\x00\0\0\0\0".to_vec(), "ZFS"),
        (128 << 10, b"\0\0\0\0\x00\xBA\xB1\x0C".to_vec(), "ZFS"),
        (disk_bytes - zfs_label + (128 << 10), b"\x0C\xB1\xBA\x00\0\0\0\0".to_vec(), "ZFS"),
        (disk_bytes - 512, b"EFI PART".to_vec(), "GPT"),
        (disk_bytes - 1024, b"Intel Raid ISM Cfg Sig. ".to_vec(), "RAID member (Intel)"),
        (0, b"LUKS\xBA\xBE".to_vec(), "LUKS"),
        (0x4000, b"SKUL\xBA\xBE".to_vec(), "LUKS volume (sector 32)"),
        (0x40_0000, b"SKUL\xBA\xBE".to_vec(), "LUKS volume (sector 8192)"),
        (24, b"LVM2 001".to_vec(), "LVM physical volume (sector 0)"),
        (512 + 24, b"LVM2 001".to_vec(), "LVM physical volume (sector 1)"),
        (3 * 512 + 24, b"LVM2 001".to_vec(), "LVM physical volume (sector 3)"),
        (4096, b"\xFC\x4E\x2B\xA9".to_vec(), "RAID member (md)"),
        (disk_bytes - 65_536, b"\xFC\x4E\x2B\xA9".to_vec(), "RAID member (md)"),
        (0, b"bluestore block device\n".to_vec(), "Ceph"),
        (64 * MIB + 0x40, b"_BHRfS_M".to_vec(), "btrfs superblock's copy"),
        (8193 * 1024, ext_copy(1, 0), "ext4 superblock's copy"),
        (3 * 8 * 1024 * 1024 + 1024, ext_copy(3, 0), "ext4 superblock's copy"),
        (disk_bytes - 4096 + 60, drbd(0x6B), "DRBD"),
        (disk_bytes - 4096 + 60, drbd(0x6D), "DRBD"),
        (3, b"ReFS\0\0\0\0".to_vec(), "ReFS"),
        (65_536 + 1372, 0x1954_0119_u32.to_le_bytes().to_vec(), "UFS"),
        (65_536 + 1372, 0x1954_0119_u32.to_be_bytes().to_vec(), "UFS"),
        (0, b"dmvdo001".to_vec(), "VDO"),
        (512, b"PM\0\0\0\0\0\x02".to_vec(), "Apple partition map"),
        (32, b"ORCLDISK".to_vec(), "Oracle ASM"),
        (65_536, 0x0116_1970_u32.to_be_bytes().to_vec(), "GFS2"),
        (8192, b"OCFSV2".to_vec(), "OCFS2"),
        (32_769, b"BEA01".to_vec(), "UDF"),
        (disk_bytes - 512 + 3, b"NTFS    ".to_vec(), "NTFS boot sector's copy"),
        (disk_bytes - 1024, b"H+\0\x04".to_vec(), "HFS+ header's copy"),
        (257, b"ustar\x0000".to_vec(), "tar archive"),
        (0, b"PK\x03\x04".to_vec(), "zip archive"),
        (0, b"SQLite format 3\0".to_vec(), "SQLite database"),
        (0, b"QFI\xFB".to_vec(), "virtual machine's disk"),
    ];
    let device = std::fs::OpenOptions::new().write(true).open(&disk.device).unwrap();
    let mut wrong = Vec::new();
    for (offset, bytes, name) in cases {
        device.write_all_at(&bytes, offset).unwrap();
        let planned = plan(&disk.device, &Access::default()).unwrap();
        let reason = planned.read_only_reason.unwrap();
        let destroyed = reason.split_once(" and destroys ").map_or("", |(_, names)| names);
        // Once, whoever has told it.
        if !destroyed.contains(name) || destroyed.contains(" and ") {
            wrong.push(format!("{name} at {offset}: {reason}"));
        }
        device.write_all_at(&vec![0; bytes.len()], offset).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let planned = plan(&disk.device, &Access::default()).unwrap();
    assert!(!planned.read_only_reason.unwrap().contains("destroys"));
}

#[test]
fn everything_that_is_there_is_named_with_its_label() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    run("mkfs.ext4", &["-q", "-L", "holiday photos", disk.name()]).unwrap();
    let device = std::fs::OpenOptions::new().write(true).open(&disk.device).unwrap();
    device.write_all_at(b"EFI PART", DISK_BYTES - 512).unwrap();
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    let notes = notes(&planned);
    assert!(notes.contains("ext4 file system labelled 'holiday photos' (sector 2)"), "{notes}");
    assert!(notes.contains("GPT partition table"), "{notes}");
}

#[test]
fn data_of_no_known_format_is_told() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let device = std::fs::OpenOptions::new().write(true).open(&disk.device).unwrap();
    device.write_all_at(b"a thesis", DISK_BYTES - 4096).unwrap();
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(notes(&planned).contains("no known format"), "{}", notes(&planned));
}

#[test]
fn known_formats_are_named_before_they_are_destroyed() {
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let mut tried = 0;
    for (program, arguments, name) in [
        ("mkfs.xfs", vec!["-q", "-f"], "XFS"),
        ("mkfs.btrfs", vec!["-q", "-f"], "btrfs"),
        ("mkfs.vfat", vec![], "FAT"),
        ("mkfs.ext2", vec!["-q", "-F"], "ext2"),
    ] {
        run("wipefs", &["--all", "--quiet", disk.name()]);
        let arguments: Vec<&str> = arguments.into_iter().chain([disk.name()]).collect();
        if run(program, &arguments).is_some() {
            tried += 1;
            let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
            assert!(notes(&planned).contains(name), "{}", notes(&planned));
        }
    }
    if tried < 4 {
        skip(&format!("{} of 4 formats have no program here to make them", 4 - tried));
    }
}

#[test]
fn a_partition_table_is_named_unless_it_is_empty() {
    for (partitions, named) in [(0, false), (1, true)] {
        let table = partition_table(partitions, MIB);
        let Some(disk) = Loop::attach_with(DISK_BYTES, &table, &[]) else { return };
        let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
        assert_eq!(notes(&planned).contains("MBR partition table"), named);
    }
}

#[test]
fn requests_below_the_logical_block_are_told_by_the_plan() {
    let Some(disk) = Loop::attach(DISK_BYTES, &["--sector-size", "4096"]) else { return };
    let planned = plan(&disk.device, &Access::default()).unwrap();
    assert_eq!(planned.request_alignment_bytes, 4096);
    let file = RealFile::open(planned).unwrap();
    let mut target = file.target(1);
    target.prepare(1, 4096).unwrap();
    let small = Request {
        operation: Operation::Read,
        offset_bytes: 512,
        length_bytes: 512,
        content: Content::Incompressible,
        fua: false,
    };
    target.submit(0, &small);
    let mut done: Vec<Completion> = Vec::new();
    let deadline_ns = target.now_ns() + 5_000_000_000;
    target.wait(deadline_ns, &mut done).unwrap();
    assert_eq!(done[0].errno, libc::EINVAL);
}

#[test]
fn nvme_commands_are_sent_to_namespaces_only() {
    let folder = Folder::new();
    let said = |planned: Plan| {
        let engine = "nvme".parse().unwrap();
        RealFile::open(planned).unwrap().with_engine(engine).unwrap_err().0
    };
    let file = folder.foreign_file("file", MIB);
    assert!(said(plan(&file, &Access::default()).unwrap()).contains("whole NVMe namespaces"));
    let Some(disk) = Loop::attach(DISK_BYTES, &[]) else { return };
    let planned = plan(&disk.device, &destroying(&disk.device)).unwrap();
    assert!(said(planned).contains("whole NVMe namespaces"));
}
