//! Who uses a block device or a file at the moment: mounts, swap, device mapper and
//! RAID, loop devices, and programs that have it open. It is asked when a target is
//! looked at, and again of the opened target before it is first written.

use super::locks::{self, Lease, LockOwner};
use super::loops::{Backing, Loop};
use super::places::{Place, Storage};
use super::processes::{Found, Holder, Manner, Wanted, printable};
use super::sysfs::{Member, System, block_device, names};
use crate::uses::Uses;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// The kernel lets go of a file some time after its last user closed it.
const LETTING_GO: Duration = Duration::from_millis(300);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// So many programs are named, and the rest counted.
const NAMED_MAX: usize = 4;

/// Type of the file system that holds `path`, as the mount table names it.
pub(crate) fn file_system_of(path: &Path) -> Option<String> {
    let device = std::fs::metadata(path).ok()?.dev();
    System::running()
        .mounts()
        .into_iter()
        .find(|mount| mount.device == device)
        .map(|mount| mount.file_system)
}

/// What others do with an open file or block device. Descriptors of this process do not
/// count.
///
/// # Errors
/// The descriptor tells nothing.
pub(crate) fn uses(opened: &File) -> io::Result<Uses> {
    let metadata = opened.metadata()?;
    let system = System::running();
    Ok(match metadata.file_type().is_block_device() {
        true => system.device_uses(metadata.rdev()),
        false => system.file_uses(opened, metadata.dev(), metadata.ino()),
    })
}

/// A disk or partition that shares bytes with a device, or is it.
struct Sharer {
    member: Member,
    /// How a message gets from the device to it; empty for the device itself.
    whose: String,
    /// The device's own claim does not reach it, and its whole is shared.
    is_apart: bool,
}

impl System {
    /// A program that is about to let go, such as one that looks for a free loop device, is given
    /// a moment.
    fn device_uses(&self, device: u64) -> Uses {
        let began = Instant::now();
        loop {
            let (uses, only_programs) = self.device_uses_now(device);
            if !only_programs || began.elapsed() > LETTING_GO {
                return uses;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The same at this moment, and whether nothing but programs uses it.
    fn device_uses_now(&self, device: u64) -> (Uses, bool) {
        let loops = self.loops();
        let places = self.places(device, &loops);
        let sharers = self.sharers(device, &places);
        let mut uses =
            Uses { users: self.device_users(device, &loops, &places, &sharers), ..Uses::default() };
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut whose: Vec<String> = Vec::new();
        for sharer in sharers {
            wanted.push(Wanted::Device(sharer.member.device));
            whose.push(sharer.whose);
        }
        for place in &places {
            if let Storage::File { device, inode } = place.storage {
                wanted.push(Wanted::File { device, inode });
                whose.push(through(&place.name));
            }
        }
        let is_free = uses.users.is_empty();
        let found = self.holders(&wanted, true);
        uses.add(&found.holders, &whose);
        let only_programs = is_free && !uses.users.is_empty();
        self.add_unseen(&mut uses, &found);
        add_unknown_loops(&mut uses, &loops);
        (uses, only_programs)
    }

    fn file_uses(&self, file: &File, device: u64, inode: u64) -> Uses {
        let loops = self.loops();
        let is_it = |path: &String| {
            std::fs::metadata(path).is_ok_and(|m| m.dev() == device && m.ino() == inode)
        };
        let mut fixed = Uses::default();
        if self.swap_areas().iter().any(is_it) {
            fixed.users.push("used as swap".to_owned());
        }
        let mut wanted = vec![Wanted::File { device, inode }];
        let mut places = vec![Place::of_file(device, inode)];
        if let Some(metadata) = self.below_overlay(file) {
            let (device, inode) = (metadata.dev(), metadata.ino());
            wanted.push(Wanted::File { device, inode });
            places.push(Place::of_file(device, inode));
        }
        fixed.users.extend(self.loops_over(&places, &loops).map(attached));
        add_unknown_loops(&mut fixed, &loops);
        let began = Instant::now();
        loop {
            let mut uses = fixed.clone();
            let is_last = began.elapsed() > LETTING_GO;
            if self.add_programs(&mut uses, file, &wanted, is_last) || is_last {
                return uses;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Adds who has a file open. False where somebody has whom nobody names, which may
    /// be the kernel that has not yet let go of it; the last time that is a use.
    fn add_programs(&self, uses: &mut Uses, file: &File, wanted: &[Wanted], is_last: bool) -> bool {
        let for_writing = locks::is_for_writing(file);
        let lease = locks::lease(file, for_writing);
        if lease == Lease::Free && for_writing && wanted.len() == 1 {
            // Nobody has another descriptor of it.
            return true;
        }
        let found = self.holders(wanted, lease != Lease::Free);
        uses.add(&found.holders, &vec![String::new(); wanted.len()]);
        let is_locked_by_whom = found.holders.iter().any(|holder| holder.manner >= Manner::Locks);
        if let Some(owner) = locks::lock_owner(file).filter(|_| !is_locked_by_whom) {
            uses.users.push(match owner {
                LockOwner::Process(process) => {
                    format!("locked by {} (process {process})", self.program(process))
                }
                LockOwner::Unnamed => "locked by another program".to_owned(),
            });
        }
        if lease == Lease::Unknown {
            self.add_unseen(uses, &found);
        }
        if lease != Lease::Refused {
            return true;
        }
        // Who only reads explains why a descriptor for writing gets no lease, but not
        // why one for reading gets none.
        let is_explained = !uses.users.is_empty()
            || match for_writing {
                true => found.own.len() > 1 || !uses.readers.is_empty(),
                false => found.own.iter().any(|manner| *manner >= Manner::Maps),
            };
        if !is_explained && is_last {
            match for_writing {
                true => uses.unseen.push("who else has it open".to_owned()),
                false => uses.users.push(
                    "open for writing by the kernel, or by a program that cannot be seen from here"
                        .to_owned(),
                ),
            }
        }
        is_explained
    }

    /// The file of an overlay file system's layers that an open file of it is: a program
    /// that has that one open has another number of it.
    fn below_overlay(&self, file: &File) -> Option<Metadata> {
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let mounts = self.mounts();
        let mount = mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.len())
            .filter(|mount| mount.file_system == "overlay")?;
        let within = path.strip_prefix(&mount.point).ok()?;
        let option = |name| mount.options.split(',').find_map(|one| one.strip_prefix(name));
        let layers = option("upperdir=").into_iter();
        layers
            .chain(option("lowerdir=").unwrap_or_default().split(':'))
            .find_map(|layer| std::fs::metadata(Path::new(layer).join(within)).ok())
    }

    /// What uses a device, programs apart: for a partition the whole disk counts as
    /// well, for a disk its partitions, and for a loop device what backs it.
    fn device_users(
        &self,
        device: u64,
        loops: &[Loop],
        places: &[Place],
        sharers: &[Sharer],
    ) -> Vec<String> {
        let sharer = |number: u64| sharers.iter().find(|sharer| sharer.member.device == number);
        let mut users = Vec::new();
        for mount in self.mounts() {
            // File systems over several devices (btrfs) have a number of
            // their own; their source still names one of the devices.
            if let Some(sharer) =
                sharer(mount.device).or_else(|| sharer(block_device(&mount.source)?))
            {
                users.push(format!("{}mounted at {}", sharer.whose, printable(&mount.point)));
            }
        }
        for path in self.swap_areas() {
            if let Some(sharer) = block_device(&path).and_then(sharer) {
                users.push(format!("{}used as swap", sharer.whose));
            }
        }
        for Sharer { member, whose, .. } in sharers {
            for holder in names(&member.directory.join("holders")) {
                let mapped = self.read(&format!("sys/block/{holder}/dm/name"));
                let holder = match mapped.trim() {
                    "" => holder,
                    mapped => format!("{holder}, {}", printable(mapped)),
                };
                users.push(format!("{whose}held by LVM, RAID or dm-crypt ({holder})"));
            }
        }
        for over in self.loops_over(places, loops).filter(|over| over.device != device) {
            let whose = match over.backing {
                Backing::Device(number) if number == device => String::new(),
                Backing::Device(number) => {
                    sharer(number).map_or_else(|| through(&over.path), |one| one.whose.clone())
                }
                _ => through(&over.path),
            };
            users.push(format!("{whose}{}", attached(over)));
        }
        // Mounts in other namespaces are not listed. The kernel tells of them whom it
        // refuses an exclusive claim: of the device itself that is known at its opening.
        for Sharer { member, whose, .. } in sharers.iter().filter(|sharer| sharer.is_apart) {
            if !users.iter().any(|user| user.starts_with(whose)) && self.is_claimed(member) {
                users.push(format!("{whose}in use by the kernel"));
            }
        }
        users
    }

    /// The loop devices that share bytes with the places, but for those that these are
    /// the places of.
    fn loops_over<'a>(
        &'a self,
        places: &'a [Place],
        loops: &'a [Loop],
    ) -> impl Iterator<Item = &'a Loop> {
        loops.iter().filter(move |one| {
            let is_own = places.iter().any(|place| place.storage == Storage::Disk(one.device));
            let lies_at = self.places(one.device, loops);
            !is_own && lies_at.iter().any(|at| places.iter().any(|place| place.overlaps(at)))
        })
    }

    /// The disks and partitions on the places.
    fn sharers(&self, device: u64, places: &[Place]) -> Vec<Sharer> {
        let mut sharers: Vec<Sharer> = Vec::new();
        for place in places {
            let Storage::Disk(disk) = place.storage else { continue };
            let family = self.family(disk);
            let shares = |member: &Member| place.overlaps_bytes(&member.bytes());
            let is_shared_whole = family.iter().skip(1).all(shares);
            for member in family.into_iter().filter(shares) {
                let is_disk = member.device == disk;
                sharers.push(Sharer {
                    whose: match member.device == device {
                        true => String::new(),
                        false => through(&member.name),
                    },
                    is_apart: place.is_below && (!is_disk || is_shared_whole),
                    member,
                });
            }
        }
        sharers
    }

    /// Whether somebody has an exclusive claim on a disk or partition.
    fn is_claimed(&self, member: &Member) -> bool {
        let node = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_EXCL | libc::O_NONBLOCK)
            .open(self.root.join("dev").join(&member.name));
        node.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    }

    fn add_unseen(&self, uses: &mut Uses, found: &Found) {
        match found.hidden {
            0 => {}
            1 => uses.unseen.push("what one program of another user has open".to_owned()),
            hidden => uses.unseen.push(format!("what {hidden} programs of other users have open")),
        }
        if !self.lists_all_processes() {
            uses.unseen.push("what programs outside of this container have open".to_owned());
        }
    }
}

impl Uses {
    /// Adds what programs do with what was looked for, which `whose` leads to.
    fn add(&mut self, holders: &[Holder], whose: &[String]) {
        let mut users = Vec::new();
        for holder in holders {
            let whose = &whose[holder.wanted];
            let who = format!("by {} (process {})", holder.program, holder.process);
            match holder.manner {
                Manner::Reads => self.readers.push(format!("{whose}open for reading {who}")),
                Manner::Serves => users.push(format!("{whose}mounted through FUSE {who}")),
                Manner::Locks => users.push(format!("{whose}locked {who}")),
                Manner::Maps => users.push(format!("{whose}mapped for writing {who}")),
                Manner::Writes => users.push(format!("{whose}open for writing {who}")),
            }
        }
        self.users.extend(shortened(users));
        self.readers = shortened(std::mem::take(&mut self.readers));
    }
}

/// The first of many clauses, and how many are left out.
fn shortened(mut clauses: Vec<String>) -> Vec<String> {
    if clauses.len() > NAMED_MAX {
        let left_out = clauses.len() - (NAMED_MAX - 1);
        clauses.truncate(NAMED_MAX - 1);
        clauses.push(format!("and so by {left_out} more"));
    }
    clauses
}

fn add_unknown_loops(uses: &mut Uses, loops: &[Loop]) {
    for one in loops.iter().filter(|one| one.backing == Backing::Unknown) {
        uses.unseen.push(format!("what /dev/{} is attached to", one.name));
    }
}

fn through(name: &str) -> String {
    format!("through {}, ", printable(name))
}

fn attached(over: &Loop) -> String {
    format!("attached to /dev/{}", over.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A disk 8:0 with partitions 8:1 (mounted) and 8:2 (held by dm-0).
    fn fake(test: &str) -> System {
        let root = std::env::temp_dir().join(format!("fourcorners-{test}-{}", std::process::id()));
        let disk = root.join("sys/devices/sda");
        for (part, number, start) in [("sda1", "8:1", "2048"), ("sda2", "8:2", "4096")] {
            fs::create_dir_all(disk.join(part).join("holders")).unwrap();
            fs::write(disk.join(part).join("start"), start).unwrap();
            fs::write(disk.join(part).join("size"), "2048\n").unwrap();
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
            system.device_uses(libc::makedev(8, 0)).users,
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
        assert_eq!(system.device_uses(libc::makedev(8, 1)).users, ["mounted at /my data"]);
        fs::remove_dir_all(system.root).unwrap();
    }

    #[test]
    fn another_path_to_a_used_drive_is_in_use() {
        let system = fake("paths");
        let other = system.root.join("sys/devices/sdb");
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16")] {
            let disk = system.root.join("sys/devices").join(disk);
            fs::create_dir_all(disk.join("device")).unwrap();
            fs::write(disk.join("dev"), number).unwrap();
            fs::write(disk.join("size"), "65536\n").unwrap();
            fs::write(disk.join("device/wwid"), "naa.5002538d40\n").unwrap();
            let listed = system.root.join("sys/block").join(disk.file_name().unwrap());
            std::os::unix::fs::symlink(&disk, listed).unwrap();
        }
        std::os::unix::fs::symlink(&other, system.root.join("sys/dev/block/8:16")).unwrap();
        let users = || system.device_uses(libc::makedev(8, 16)).users;
        assert_eq!(users()[0], "through sda1, mounted at /my data");
        // The same make, another drive.
        fs::write(other.join("device/wwid"), "naa.5002538d41\n").unwrap();
        assert_eq!(users(), [""; 0]);
        fs::remove_dir_all(&system.root).unwrap();
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
}
