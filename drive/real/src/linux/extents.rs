//! The map of a file's extents (`FS_IOC_FIEMAP`).

use std::fs::File;
use std::os::fd::AsRawFd;

/// Extents asked for at a time.
const EXTENTS_PER_CALL: usize = 64;
const LAST: u32 = 0x0001;
const UNWRITTEN: u32 = 0x0800;

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with room for the answer.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_PER_CALL],
}

/// The call's number holds the size of the struct without its extents.
const FS_IOC_FIEMAP: libc::Ioctl = libc::_IOWR::<[u64; 4]>(b'f' as u32, 11);

/// Whether any extent is allocated but was never written: reading it returns
/// zeros without asking the medium. False where the file system has no map.
pub(crate) fn any_unwritten(file: &File) -> bool {
    let mut start = 0;
    loop {
        let mut map = Map {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped_extents: 0,
            extent_count: EXTENTS_PER_CALL as u32,
            reserved: 0,
            extents: [Extent::default(); EXTENTS_PER_CALL],
        };
        // SAFETY: the struct has the kernel's layout and room for as many
        // extents as `extent_count` says.
        if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &mut map) } != 0 {
            return false;
        }
        let extents = &map.extents[..(map.mapped_extents as usize).min(EXTENTS_PER_CALL)];
        if extents.iter().any(|extent| extent.flags & UNWRITTEN != 0) {
            return true;
        }
        match extents.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.length,
            _ => return false,
        }
    }
}
