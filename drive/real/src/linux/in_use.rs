//! Who uses a block device or a file at the moment: mounts, swap, device
//! mapper and RAID, loop devices. Everything comes from /proc and /sys, below
//! a root that tests replace.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Type of the file system that holds `path`, as the mount table names it.
pub(crate) fn file_system_of(path: &Path) -> Option<String> {
    let device = std::fs::metadata(path).ok()?.dev();
    System::running()
        .mounts()
        .into_iter()
        .find(|mount| mount.device == device)
        .map(|mount| mount.file_system)
}

/// Everything that uses a regular file as a disk, as clauses to follow its name.
pub(crate) fn file_users(device: u64, inode: u64) -> Vec<String> {
    System::running().file_users(device, inode)
}

/// Where /proc and /sys are, `/` but in tests.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub root: PathBuf,
}

/// A mount as /proc/self/mountinfo lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub device: u64,
    pub point: String,
    pub file_system: String,
    pub source: String,
}

/// A disk or partition: what sysfs calls it, and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    name: String,
    device: u64,
    directory: PathBuf,
}

impl System {
    /// The running system.
    pub(crate) fn running() -> Self {
        Self { root: "/".into() }
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// All mounts that this process sees.
    fn mounts(&self) -> Vec<Mount> {
        self.read("proc/self/mountinfo").lines().filter_map(parse_mount).collect()
    }

    /// Everything that uses the device, as clauses to follow its name. For a
    /// partition the whole disk counts as well, for a disk its partitions.
    pub(crate) fn device_users(&self, device: u64) -> Vec<String> {
        let family = self.family(device);
        let mut users = Vec::new();
        let whose = |member: &Member| {
            if member.device == device {
                String::new()
            } else {
                format!("through {}, ", member.name)
            }
        };
        let member_of = |device: u64| family.iter().find(|member| member.device == device);
        for mount in self.mounts() {
            // File systems over several devices (btrfs) have a number of
            // their own; their source still names one of the devices.
            if let Some(member) =
                member_of(mount.device).or_else(|| member_of(block_device(&mount.source)?))
            {
                users.push(format!("{}mounted at {}", whose(member), mount.point));
            }
        }
        for path in self.swap_areas() {
            if let Some(member) = block_device(&path).and_then(member_of) {
                users.push(format!("{}used as swap", whose(member)));
            }
        }
        for member in &family {
            for holder in names(&member.directory.join("holders")) {
                let mapped = self.read(&format!("sys/block/{holder}/dm/name"));
                let holder = match mapped.trim() {
                    "" => holder,
                    mapped => format!("{holder}, {mapped}"),
                };
                users.push(format!("{}held by LVM, RAID or dm-crypt ({holder})", whose(member)));
            }
        }
        for (name, path) in self.loop_backings() {
            if let Some(member) = block_device(&path).and_then(member_of) {
                users.push(format!("{}attached to /dev/{name}", whose(member)));
            }
        }
        users
    }

    /// The disk's serial number as its driver tells it, for a partition that of
    /// its disk; `None` where it tells none.
    pub(crate) fn serial(&self, device: u64) -> Option<String> {
        let directory = std::fs::canonicalize(self.root.join(sysfs_link(device))).ok()?;
        let disk = match directory.join("partition").exists() {
            true => directory.parent()?,
            false => &directory,
        };
        ["serial", "device/serial", "wwid", "device/wwid"].iter().find_map(|name| {
            let text = std::fs::read_to_string(disk.join(name)).ok()?;
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        })
    }

    fn file_users(&self, device: u64, inode: u64) -> Vec<String> {
        let is_it = |path: &str| {
            std::fs::metadata(path).is_ok_and(|m| m.dev() == device && m.ino() == inode)
        };
        let mut users = Vec::new();
        if self.swap_areas().iter().any(|path| is_it(path)) {
            users.push("used as swap".to_owned());
        }
        for (name, path) in self.loop_backings() {
            if is_it(&path) {
                users.push(format!("attached to /dev/{name}"));
            }
        }
        users
    }

    /// The device, with its partitions or the disk that it is a partition of.
    fn family(&self, device: u64) -> Vec<Member> {
        let directory =
            std::fs::canonicalize(self.root.join(sysfs_link(device))).unwrap_or_default();
        let own_name = directory.file_name().map(|n| n.to_string_lossy().into());
        let mut family = vec![Member {
            name: own_name.unwrap_or_default(),
            device,
            directory: directory.clone(),
        }];
        if directory.join("partition").exists() {
            family.extend(directory.parent().and_then(member));
        } else {
            family.extend(
                names(&directory)
                    .iter()
                    .map(|name| directory.join(name))
                    .filter(|child| child.join("partition").exists())
                    .filter_map(|child| member(&child)),
            );
        }
        family
    }

    fn swap_areas(&self) -> Vec<String> {
        self.read("proc/swaps")
            .lines()
            .skip(1)
            .filter_map(|line| Some(unescape(line.split_whitespace().next()?)))
            .collect()
    }

    /// Loop devices with the path of what backs them.
    fn loop_backings(&self) -> Vec<(String, String)> {
        names(&self.root.join("sys/block"))
            .into_iter()
            .filter(|name| name.starts_with("loop"))
            .filter_map(|name| {
                let path = self.read(&format!("sys/block/{name}/loop/backing_file"));
                let path = path.trim_end_matches('\n');
                (!path.is_empty()).then(|| (name, path.to_owned()))
            })
            .collect()
    }
}

/// Where sysfs has a block device, by its number.
fn sysfs_link(device: u64) -> String {
    format!("sys/dev/block/{}:{}", libc::major(device), libc::minor(device))
}

fn member(directory: &Path) -> Option<Member> {
    let number = std::fs::read_to_string(directory.join("dev")).ok()?;
    Some(Member {
        name: directory.file_name()?.to_string_lossy().into_owned(),
        device: parse_device(number.trim())?,
        directory: directory.to_owned(),
    })
}

/// Names in a directory, sorted; none where it is missing.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn block_device(path: &str) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| metadata.rdev())
}

fn parse_device(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// `36 35 98:0 /root /point options [fields] - type source options`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.split(' ');
    Some(Mount {
        device: parse_device(left.next()?)?,
        point: unescape(left.nth(1)?),
        file_system: right.next()?.to_owned(),
        source: unescape(right.next()?),
    })
}

/// Undoes the kernel's `\040` for bytes that would break its tables.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut result = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) => {
                result.push(byte);
                at += 4;
            }
            None => {
                result.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&result).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A disk 8:0 with partitions 8:1 (mounted) and 8:2 (held by dm-0).
    fn fake(test: &str) -> System {
        let root = std::env::temp_dir().join(format!("fourcorners-{test}-{}", std::process::id()));
        let disk = root.join("sys/devices/sda");
        for (part, number) in [("sda1", "8:1"), ("sda2", "8:2")] {
            fs::create_dir_all(disk.join(part).join("holders")).unwrap();
            fs::write(disk.join(part).join("partition"), "1\n").unwrap();
            fs::write(disk.join(part).join("dev"), format!("{number}\n")).unwrap();
        }
        fs::write(disk.join("dev"), "8:0\n").unwrap();
        fs::create_dir_all(disk.join("device")).unwrap();
        fs::write(disk.join("device/serial"), " S3Z9NB0K\n").unwrap();
        fs::create_dir_all(disk.join("sda2/holders/dm-0")).unwrap();
        fs::create_dir_all(root.join("sys/block/dm-0/dm")).unwrap();
        fs::write(root.join("sys/block/dm-0/dm/name"), "vault\n").unwrap();
        fs::create_dir_all(root.join("sys/dev/block")).unwrap();
        for (number, path) in [("8:0", "sda"), ("8:1", "sda/sda1"), ("8:2", "sda/sda2")] {
            let link = root.join("sys/dev/block").join(number);
            let _ = std::os::unix::fs::symlink(root.join("sys/devices").join(path), link);
        }
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(
            root.join("proc/self/mountinfo"),
            "28 1 8:1 / /my\\040data rw,relatime shared:1 - ext4 /dev/no-such rw\n",
        )
        .unwrap();
        System { root }
    }

    #[test]
    fn a_disk_is_in_use_through_its_partitions() {
        let system = fake("disk");
        assert_eq!(
            system.device_users(libc::makedev(8, 0)),
            [
                "through sda1, mounted at /my data",
                "through sda2, held by LVM, RAID or dm-crypt (dm-0, vault)"
            ]
        );
        fs::remove_dir_all(system.root).unwrap();
    }

    #[test]
    fn a_partition_is_not_in_use_through_its_sister() {
        let system = fake("sister");
        assert_eq!(system.device_users(libc::makedev(8, 1)), ["mounted at /my data"]);
        fs::remove_dir_all(system.root).unwrap();
    }

    #[test]
    fn a_partition_has_the_serial_of_its_disk() {
        let system = fake("serial");
        for minor in [0, 2] {
            assert_eq!(system.serial(libc::makedev(8, minor)).as_deref(), Some("S3Z9NB0K"));
        }
        assert_eq!(system.serial(libc::makedev(9, 0)), None);
        fs::remove_dir_all(system.root).unwrap();
    }

    #[test]
    fn escapes_are_undone_and_stray_backslashes_kept() {
        assert_eq!(unescape("a\\040b\\134c\\"), "a b\\c\\");
    }
}
