//! Which processors a disk interrupts.

use super::sysfs::System;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Processors that the interrupts of a device, or of the one that a file lies on, go to;
/// none where sysfs does not lead to a device with interrupts of its own.
pub(crate) fn processors(file: &File) -> Vec<u32> {
    let Ok(metadata) = file.metadata() else { return Vec::new() };
    let device = if super::is_device(file) { metadata.rdev() } else { metadata.dev() };
    of_device(&System::running(), device)
}

fn of_device(system: &System, device: u64) -> Vec<u32> {
    let directory = system.disk_directory(device);
    // The driver's device is above the disk, and has an interrupt for each queue.
    let all =
        directory.iter().flat_map(|disk| disk.ancestors()).map(|above| above.join("msi_irqs"));
    let Some(interrupts) = all.filter(|folder| folder.is_dir()).find_map(|folder| names(&folder))
    else {
        return Vec::new();
    };
    let mut processors: Vec<u32> = interrupts
        .iter()
        .flat_map(|number| {
            parse(&system.read(&format!("proc/irq/{number}/effective_affinity_list")))
        })
        .collect();
    processors.sort_unstable();
    processors.dedup();
    processors
}

fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(folder).ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// `0-2,5` as numbers, as far as it is such a list.
fn parse(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interrupts_of_the_device_above_the_disk_are_found() {
        let name = format!("fourcorners-interrupts-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let pci = root.join("sys/devices/pci0/0000:00:02.0");
        let disk = pci.join("virtio1/block/vda");
        std::fs::create_dir_all(disk.join("vda1")).unwrap();
        std::fs::write(disk.join("vda1/partition"), "1").unwrap();
        std::fs::create_dir_all(root.join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(disk.join("vda1"), root.join("sys/dev/block/254:1")).unwrap();
        let system = System { root: root.clone() };
        let device = libc::makedev(254, 1);
        assert!(of_device(&system, device).is_empty());
        for (number, list) in [("35", "1\n"), ("36", "0-1,4\n")] {
            std::fs::create_dir_all(pci.join("msi_irqs")).unwrap();
            std::fs::write(pci.join("msi_irqs").join(number), "msix").unwrap();
            let folder = root.join("proc/irq").join(number);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("effective_affinity_list"), list).unwrap();
        }
        assert_eq!(of_device(&system, device), [0, 1, 4]);
        assert!(of_device(&system, libc::makedev(1, 1)).is_empty());
        std::fs::remove_dir_all(root).unwrap();
    }
}
