//! The bytes that a served drive holds: sparse, in memory or in a file.

use crate::pages::{PAGE_BYTES, Page, Pages};
use rustix::fs::{FallocateFlags, FlockOperation, SeekFrom};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Pages of a group; a group that holds nothing costs one word.
const GROUP_PAGES: usize = 512;
/// Most bytes that are written at once where a file cannot give room back.
const ZERO_BYTES: usize = 1 << 16;

type Group = Box<[Option<Page>]>;

/// A run of bytes that are all stored, or all never written (they read as zeroes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length.
    pub length_bytes: u64,
    /// Whether it is stored.
    pub is_stored: bool,
}

/// The content of a drive. What was never written, or was discarded, reads as
/// zeroes. Callers keep within the capacity.
#[derive(Debug)]
pub struct Data {
    capacity_bytes: u64,
    place: Place,
    pages: Pages,
}

#[derive(Debug)]
enum Place {
    Memory(Vec<Option<Group>>),
    File(File),
}

impl Data {
    /// All zeroes, in memory.
    pub fn in_memory(capacity_bytes: u64) -> Self {
        let groups = capacity_bytes.div_ceil((PAGE_BYTES * GROUP_PAGES) as u64);
        let place = Place::Memory((0..groups).map(|_| None).collect());
        Self { capacity_bytes, place, pages: Pages::default() }
    }

    /// In a file of the drive's size, which is made, sparse, where there is none. What
    /// it holds is the drive's content.
    ///
    /// # Errors
    /// In one sentence: a file of another size, or that another process serves.
    pub fn in_file(path: &Path, capacity_bytes: u64, read_only: bool) -> Result<Self, String> {
        let shown = path.display();
        let failed = |error: io::Error| format!("the data file {shown}: {error}");
        let is_there = path.symlink_metadata().is_ok();
        let mut how = OpenOptions::new();
        how.read(true).write(!read_only).mode(0o600).custom_flags(libc_nonblock());
        let file = how.create(!is_there && !read_only).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(format!("the data file {shown} is no regular file: name another"));
        }
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| format!("the data file {shown} is served already: end that first"))?;
        if !is_there {
            file.set_len(capacity_bytes).map_err(failed)?;
        } else if metadata.len() != capacity_bytes {
            return Err(format!(
                "the data file {shown} has {} bytes and the drive {capacity_bytes}: name the file \
                 of this drive, or a new one",
                metadata.len()
            ));
        }
        Ok(Self { capacity_bytes, place: Place::File(file), pages: Pages::default() })
    }

    /// Size of the drive.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The bytes themselves, where they are in memory and in one piece.
    pub fn lent(&self, offset_bytes: u64, length_bytes: usize) -> Option<&[u8]> {
        static ZEROES: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
        let Place::Memory(groups) = &self.place else { return None };
        let (page, within, part) = pages(offset_bytes, length_bytes).next()?;
        let group = groups[page / GROUP_PAGES].as_ref();
        let page = group.and_then(|group| group[page % GROUP_PAGES].as_ref());
        let bytes = page.map_or(&ZEROES[..], |page| self.pages.bytes(page));
        let bytes = &bytes[within..within + part.len()];
        (part.len() == length_bytes).then_some(bytes)
    }

    /// Reads from `offset_bytes` on.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn read(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.place {
            Place::File(file) => file.read_exact_at(into, offset_bytes),
            Place::Memory(groups) => {
                for (page, within, part) in pages(offset_bytes, into.len()) {
                    let into = &mut into[part.clone()];
                    match groups[page / GROUP_PAGES]
                        .as_ref()
                        .and_then(|g| g[page % GROUP_PAGES].as_ref())
                    {
                        Some(page) => {
                            let bytes = self.pages.bytes(page);
                            into.copy_from_slice(&bytes[within..within + into.len()]);
                        }
                        None => into.fill(0),
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes from `offset_bytes` on.
    ///
    /// # Errors
    /// A data file that cannot be written, on a full disk for instance.
    pub fn write(&mut self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        match &mut self.place {
            Place::File(file) => file.write_all_at(from, offset_bytes),
            Place::Memory(groups) => {
                for (page, within, part) in pages(offset_bytes, from.len()) {
                    let from = &from[part];
                    let group = groups[page / GROUP_PAGES]
                        .get_or_insert_with(|| (0..GROUP_PAGES).map(|_| None).collect());
                    let place = &mut group[page % GROUP_PAGES];
                    if place.is_none() {
                        let is_whole = from.len() == PAGE_BYTES;
                        let new = if is_whole { self.pages.get() } else { self.pages.zeroed() };
                        *place = Some(new?);
                    }
                    let page = place.as_ref().expect("it was just seen to");
                    let bytes = self.pages.bytes_mut(page);
                    bytes[within..within + from.len()].copy_from_slice(from);
                }
                Ok(())
            }
        }
    }

    /// Where pages come from, also those of what was replaced.
    pub(crate) fn pages(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// Takes a page out, which reads as zeroes from now on, and is the caller's to give back; `None`
    /// of it is one that was never written. Only data in memory has pages.
    pub(crate) fn take(&mut self, page: u64) -> Option<Option<Page>> {
        let Place::Memory(groups) = &mut self.place else { return None };
        let (group, page) = (page as usize / GROUP_PAGES, page as usize % GROUP_PAGES);
        Some(groups[group].as_mut().and_then(|pages| pages[page].take()))
    }

    /// Makes a range zeroes, and gives its room back.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        if length_bytes == 0 {
            return Ok(());
        }
        if let Place::File(file) = &self.place {
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            return match rustix::fs::fallocate(file, how, offset_bytes, length_bytes) {
                Err(rustix::io::Errno::OPNOTSUPP) => self.zero(offset_bytes, length_bytes),
                result => Ok(result?),
            };
        }
        let whole = PAGE_BYTES as u64;
        let end = offset_bytes + length_bytes;
        let (first, last) = (offset_bytes.div_ceil(whole), end / whole);
        if first >= last {
            return self.zero(offset_bytes, length_bytes);
        }
        self.zero(offset_bytes, first * whole - offset_bytes)?;
        self.zero(last * whole, end - last * whole)?;
        let Place::Memory(groups) = &mut self.place else { unreachable!("files returned") };
        let mut page = first as usize;
        while page < last as usize {
            let until = ((page / GROUP_PAGES + 1) * GROUP_PAGES).min(last as usize);
            let group = &mut groups[page / GROUP_PAGES];
            if let Some(pages) = group {
                for place in page..until {
                    if let Some(page) = pages[place % GROUP_PAGES].take() {
                        self.pages.give_back(page);
                    }
                }
            }
            if until - page == GROUP_PAGES {
                *group = None;
            }
            page = until;
        }
        Ok(())
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let zeroes = [0; ZERO_BYTES];
        let mut done = 0;
        while done < length_bytes {
            let length = (length_bytes - done).min(ZERO_BYTES as u64);
            // Zeroes over what was never written would only cost room.
            if self.extent(offset_bytes + done, length).is_stored
                || self.extent(offset_bytes + done, length).length_bytes < length
            {
                self.write(offset_bytes + done, &zeroes[..length as usize])?;
            }
            done += length;
        }
        Ok(())
    }

    /// The run that begins at `offset_bytes`, up to `length_bytes` of it.
    pub fn extent(&self, offset_bytes: u64, length_bytes: u64) -> Extent {
        let end = offset_bytes + length_bytes;
        match &self.place {
            Place::Memory(groups) => {
                let whole = PAGE_BYTES as u64;
                let stored = |page: u64| {
                    let (group, place) = (page as usize / GROUP_PAGES, page as usize % GROUP_PAGES);
                    groups[group].as_ref().is_some_and(|group| group[place].is_some())
                };
                let mut page = offset_bytes / whole;
                let is_stored = stored(page);
                while page * whole < end && stored(page) == is_stored {
                    let group = page as usize / GROUP_PAGES;
                    // An empty group is passed in one step.
                    let step = if groups[group].is_none() { GROUP_PAGES } else { 1 };
                    page = (page / step as u64 + 1) * step as u64;
                }
                Extent { length_bytes: (page * whole).min(end) - offset_bytes, is_stored }
            }
            Place::File(file) => {
                let seek = |from| rustix::fs::seek(file, from).ok();
                let data = seek(SeekFrom::Data(offset_bytes)).unwrap_or(u64::MAX);
                if data > offset_bytes {
                    return Extent { length_bytes: data.min(end) - offset_bytes, is_stored: false };
                }
                let hole = seek(SeekFrom::Hole(offset_bytes)).unwrap_or(end);
                Extent { length_bytes: hole.min(end) - offset_bytes, is_stored: true }
            }
        }
    }

    /// Has the host's disk keep a data file.
    ///
    /// # Errors
    /// What the host says.
    pub fn sync(&self) -> io::Result<()> {
        match &self.place {
            Place::Memory(_) => Ok(()),
            Place::File(file) => file.sync_data(),
        }
    }
}

/// Opening a FIFO must not wait for its other end.
fn libc_nonblock() -> i32 {
    rustix::fs::OFlags::NONBLOCK.bits() as i32
}

/// The pages of a range: number, first byte in the page, and the part of the range.
fn pages(
    offset_bytes: u64,
    length: usize,
) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset_bytes + done as u64;
        let (page, within) = ((at / PAGE_BYTES as u64) as usize, (at % PAGE_BYTES as u64) as usize);
        let part = done..length.min(done + PAGE_BYTES - within);
        done = part.end;
        Some((page, within, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPACITY: usize = 5 * 1024 * 1024;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn it_holds_what_was_written_and_knows_what_never_was(
            steps in prop::collection::vec((0..3u8, 0..CAPACITY / 512, 1..6000usize), 1..40),
            in_file: bool,
        ) {
            let path = std::env::temp_dir().join(format!("fourcorners-data-{}", std::process::id()));
            let mut data = if in_file {
                let _ = std::fs::remove_file(&path);
                Data::in_file(&path, CAPACITY as u64, false).unwrap()
            } else {
                Data::in_memory(CAPACITY as u64)
            };
            let mut expected = vec![0u8; CAPACITY];
            for (number, &(what, place, sectors)) in steps.iter().enumerate() {
                let from = place * 512;
                let until = (from + sectors * 512).min(CAPACITY);
                if what == 0 {
                    data.discard(from as u64, (until - from) as u64).unwrap();
                    expected[from..until].fill(0);
                } else {
                    expected[from..until].fill(number as u8 + 1);
                    data.write(from as u64, &expected[from..until]).unwrap();
                }
            }
            let mut found = vec![9u8; CAPACITY];
            data.read(0, &mut found).unwrap();
            prop_assert!(found == expected);
            for sector in 0..CAPACITY / 512 - 1 {
                // Every other one across the end of a page.
                let (from, length) = (sector * 512 + 256 * (sector % 2), 512);
                let is_whole = from % PAGE_BYTES + length <= PAGE_BYTES;
                let lent = data.lent(from as u64, length);
                prop_assert_eq!(lent.is_some(), !in_file && is_whole);
                prop_assert!(lent.is_none_or(|lent| lent == &expected[from..from + length]));
            }
            let mut at = 0;
            while at < CAPACITY as u64 {
                let extent = data.extent(at, CAPACITY as u64 - at);
                prop_assert!(extent.length_bytes > 0);
                let until = at + extent.length_bytes;
                prop_assert!(
                    extent.is_stored || expected[at as usize..until as usize].iter().all(|&b| b == 0)
                );
                at = until;
            }
        }
    }

    #[test]
    fn a_file_of_another_size_or_in_use_is_refused() {
        let path = std::env::temp_dir().join(format!("fourcorners-sized-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let data = Data::in_file(&path, 1 << 20, false).unwrap();
        assert!(Data::in_file(&path, 1 << 20, false).unwrap_err().contains("served already"));
        drop(data);
        assert!(Data::in_file(&path, 1 << 21, false).unwrap_err().contains("1048576 bytes"));
        assert!(Data::in_file(Path::new("/dev"), 1 << 20, true).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
