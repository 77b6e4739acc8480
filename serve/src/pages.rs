//! Pages of memory, which hold data and what it replaced.
//!
//! The system makes some at a time, and what was given back is used again before it is asked
//! for more. A page that is made when it is first written costs an exception, and the allocator of
//! C programs asks the system for each page of a thread that is not the first one: together more
//! than half of what a write of a page took the server.

#[cfg(target_os = "linux")]
use memmap2::Advice;
use memmap2::{MmapMut, MmapOptions};
use std::io;
use std::num::NonZeroU32;

/// What memory is given and taken back by.
pub const PAGE_BYTES: usize = 4096;

/// Pages whose addresses are had at a time, with one bit each.
const CHUNK_PAGES: usize = 64;

/// Pages that are made at a time. They take the system 1 to 2 us each, so that the one write in so
/// many that makes them is late by about as much as the transport takes. A whole chunk at a time made
/// one write in 64 up to 100 us late, which is what the 99th percentile sees.
const MADE_PAGES: usize = 8;

/// Pages that stay where they were given back, for what is written next; beyond that chunks that
/// nobody uses go back to the system. As many as copies of what was replaced may become at once
/// (`contents.rs`).
const KEPT_PAGES: usize = (64 << 20) / PAGE_BYTES;

/// A page that is in use, until it is given back to the [`Pages`] that it came from.
#[derive(Debug, PartialEq, Eq)]
pub struct Page(NonZeroU32);

/// Where pages come from.
#[derive(Debug, Default)]
pub struct Pages {
    chunks: Vec<Chunk>,
    /// Chunks that may have pages that are free, the next one last.
    roomy: Vec<u32>,
    /// Places of chunks that went back to the system.
    vacant: Vec<u32>,
    free: usize,
}

#[derive(Debug)]
struct Chunk {
    memory: Option<MmapMut>,
    /// One bit for each page.
    free: u64,
    /// One bit for each [`MADE_PAGES`] that were made.
    made: u8,
    /// It is among those that may have room.
    is_listed: bool,
}

impl Chunk {
    /// Has the system make some pages, if it did not. A system that cannot makes each of them when
    /// it is first written.
    fn make(&mut self, part: usize) {
        let bit = 1 << part;
        if self.made & bit != 0 {
            return;
        }
        self.made |= bit;
        #[cfg(target_os = "linux")]
        if let Some(memory) = &self.memory {
            let length = MADE_PAGES * PAGE_BYTES;
            let _ = memory.advise_range(Advice::PopulateWrite, part * length, length);
        }
    }
}

impl Page {
    fn place(&self) -> (usize, usize) {
        let number = self.0.get() as usize - 1;
        (number / CHUNK_PAGES, number % CHUNK_PAGES)
    }
}

impl Pages {
    /// A page with anything in it.
    ///
    /// # Errors
    /// A system that has no memory left.
    pub fn get(&mut self) -> io::Result<Page> {
        loop {
            let Some(&last) = self.roomy.last() else {
                self.grow()?;
                continue;
            };
            let chunk = &mut self.chunks[last as usize];
            if chunk.free == 0 {
                chunk.is_listed = false;
                self.roomy.pop();
                continue;
            }
            let within = chunk.free.trailing_zeros();
            chunk.free &= chunk.free - 1;
            chunk.make(within as usize / MADE_PAGES);
            self.free -= 1;
            let number = last * CHUNK_PAGES as u32 + within + 1;
            return Ok(Page(NonZeroU32::new(number).expect("it is counted from 1")));
        }
    }

    /// A page of zeroes.
    ///
    /// # Errors
    /// A system that has no memory left.
    pub fn zeroed(&mut self) -> io::Result<Page> {
        let page = self.get()?;
        self.bytes_mut(&page).fill(0);
        Ok(page)
    }

    /// Takes a page back.
    pub fn give_back(&mut self, page: Page) {
        let (place, within) = page.place();
        let chunk = &mut self.chunks[place];
        chunk.free |= 1 << within;
        self.free += 1;
        if chunk.free == u64::MAX && self.free > KEPT_PAGES {
            (chunk.memory, chunk.free) = (None, 0);
            self.free -= CHUNK_PAGES;
            self.vacant.push(place as u32);
        } else if !chunk.is_listed {
            chunk.is_listed = true;
            self.roomy.push(place as u32);
        }
    }

    /// What a page holds.
    pub fn bytes(&self, page: &Page) -> &[u8] {
        let (place, within) = page.place();
        let memory = self.chunks[place].memory.as_ref().expect("a page of it is in use");
        &memory[within * PAGE_BYTES..][..PAGE_BYTES]
    }

    /// What a page holds, to be changed.
    pub fn bytes_mut(&mut self, page: &Page) -> &mut [u8] {
        let (place, within) = page.place();
        let memory = self.chunks[place].memory.as_mut().expect("a page of it is in use");
        &mut memory[within * PAGE_BYTES..][..PAGE_BYTES]
    }

    fn grow(&mut self) -> io::Result<()> {
        let memory = MmapOptions::new().len(CHUNK_PAGES * PAGE_BYTES).map_anon()?;
        let place = self.vacant.pop().unwrap_or(self.chunks.len() as u32);
        if place as usize == self.chunks.len() {
            self.chunks.push(Chunk { memory: None, free: 0, made: 0, is_listed: false });
        }
        let chunk = &mut self.chunks[place as usize];
        (chunk.memory, chunk.free, chunk.made) = (Some(memory), u64::MAX, 0);
        self.free += CHUNK_PAGES;
        if !chunk.is_listed {
            chunk.is_listed = true;
            self.roomy.push(place);
        }
        Ok(())
    }
}

const _: () = assert!(CHUNK_PAGES == u64::BITS as usize);

#[cfg(test)]
mod tests {
    use super::*;

    impl Pages {
        /// Pages that were not given back.
        pub fn used(&self) -> usize {
            let chunks = self.chunks.iter().filter(|chunk| chunk.memory.is_some()).count();
            chunks * CHUNK_PAGES - self.free
        }
    }

    #[test]
    fn every_page_is_somebodys_alone_and_memory_goes_back() {
        let mut pages = Pages::default();
        let mut held: Vec<(Page, u8)> = Vec::new();
        for round in 0..3_u64 {
            for number in 0..2 * KEPT_PAGES {
                let page = pages.get().unwrap();
                pages.bytes_mut(&page).fill(number as u8);
                held.push((page, number as u8));
                if (number as u64 * 7 + round).is_multiple_of(5) {
                    let (page, _) = held.swap_remove(number / 2 % held.len());
                    pages.give_back(page);
                }
            }
            assert_eq!(pages.used(), held.len());
            assert!(held.iter().all(|(page, mark)| pages.bytes(page).iter().all(|b| b == mark)));
            held.drain(..).for_each(|(page, _)| pages.give_back(page));
            assert_eq!(pages.used(), 0);
            let left = pages.chunks.iter().filter(|chunk| chunk.memory.is_some()).count();
            assert!(left * CHUNK_PAGES <= KEPT_PAGES + CHUNK_PAGES, "{left}");
        }
        let page = pages.zeroed().unwrap();
        assert!(pages.bytes(&page).iter().all(|&byte| byte == 0));
    }
}
