//! The map of a controller without DRAM: only the parts used last are in memory.
//!
//! The map is divided into pages of consecutive units. A read first needs the
//! map pages of its units; one that is not in memory is read from flash, and
//! commands that miss the same page wait for it together. A write changes map
//! pages in memory, which are read first where they are not there; nobody waits
//! for that but the dies. Changed pages that have to leave are collected and
//! programmed a row at a time (demand paging of the map: Gupta, Kim and
//! Urgaonkar, "DFTL", ASPLOS 2009).
//!
//! Left out: what the collector changes in the map, the collection of the
//! map's own blocks, and what TRIM changes.

use super::PageMapped;
use super::flash::{BackgroundWork, PageRead};
use super::recent::{self, Recent, recent};
use super::specification::Specification;
use crate::host_interface::transfer_ns;
use crate::validity::{Checked, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};
use std::ops::{Range, RangeInclusive};

/// Set in the command number of page reads of the map; the rest is the map page.
const MAP: u32 = 1 << 30;

/// The map page that a page read brings, if it is one. Numbers of pages that
/// are read ahead are told apart before.
#[inline]
pub fn page(command: u32) -> Option<u32> {
    (command & MAP != 0).then_some(command & !MAP)
}

/// The part of the map that is in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MapCache {
    units_per_page: u32,
    page_bytes: u32,
    /// Map pages, and whether each has changed since it was read.
    #[serde(with = "super::recent::in_order")]
    pages: Recent<bool>,
    /// Map pages that flash holds a version of.
    on_flash: Vec<bool>,
    /// Map pages on their way, and the commands that wait for them.
    waiting: Vec<(u32, u32)>,
    dies: u32,
    read: BackgroundWork,
    program: BackgroundWork,
    /// Changed pages that have left since the last row of them was programmed.
    left: u32,
    pages_per_row: u32,
    /// Die that programs the next row of map pages.
    next_die: u32,
    rows_programmed: u64,
}

impl MapCache {
    /// An empty cache over a map that says nothing yet, where the specification
    /// has one.
    pub fn new(specification: &Specification) -> Option<Self> {
        let cache = specification.map_cache.as_ref()?;
        let flash = &specification.flash;
        let units_per_page = cache.page_size.0 / cache.entry_size.0;
        let units = specification.capacity.user.0 / specification.translation.unit.0;
        let row_bytes = specification.flash.row_bytes();
        let slc = specification.slc_cache.as_ref();
        let program_time = slc.map_or(&flash.program_time, |cache| &cache.program_time);
        let bus_ns = |bytes| transfer_ns(bytes, flash.bus_rate.0) as u32;
        Some(Self {
            units_per_page: units_per_page as u32,
            page_bytes: cache.page_size.0 as u32,
            pages: recent((cache.size.0 / cache.page_size.0).min(units.div_ceil(units_per_page))),
            on_flash: vec![false; units.div_ceil(units_per_page) as usize],
            waiting: Vec::new(),
            dies: specification.lanes(),
            read: BackgroundWork {
                bus_ns: bus_ns(cache.page_size.0),
                array_ns: flash.read_time.0 as u32,
                release_bytes: 0,
            },
            program: BackgroundWork {
                bus_ns: bus_ns(row_bytes),
                array_ns: program_time.0 as u32,
                release_bytes: 0,
            },
            left: 0,
            pages_per_row: (row_bytes / cache.page_size.0) as u32,
            next_die: 0,
            rows_programmed: 0,
        })
    }

    /// Fails unless a loaded cache, that no command waits for, can go on as one that
    /// was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self {
            units_per_page,
            page_bytes,
            pages,
            on_flash,
            waiting,
            dies,
            read,
            program,
            left,
            pages_per_row,
            next_die,
            rows_programmed,
        } = self;
        same!(made; units_per_page, page_bytes, dies, read, program, pages_per_row);
        ensure(on_flash.len() == made.on_flash.len(), "the pages of the map")?;
        recent::check(pages, &made.pages, on_flash.len())?;
        ensure(waiting.is_empty(), "a command that waits for the map")?;
        ensure(left < pages_per_row && next_die < dies, "the row of map pages")?;
        ensure_counts([*rows_programmed])
    }

    /// The cache after the controller has started anew: the map is on flash.
    pub fn restarted(mut self) -> Self {
        for (&page, &changed) in &self.pages {
            self.on_flash[page as usize] |= changed;
        }
        self.pages.clear();
        self
    }

    /// Ranges of units were written, and their map pages are on flash.
    pub fn mapped(&mut self, ranges: impl IntoIterator<Item = Range<u32>>) {
        for range in ranges {
            let pages = self.pages_of(range.start, range.end - 1);
            self.on_flash[*pages.start() as usize..=*pages.end() as usize].fill(true);
        }
    }

    /// Rows of map pages programmed so far.
    pub fn rows_programmed(&self) -> u64 {
        self.rows_programmed
    }

    /// Map pages of units.
    fn pages_of(&self, first_unit: u32, last_unit: u32) -> RangeInclusive<u32> {
        first_unit / self.units_per_page..=last_unit / self.units_per_page
    }

    /// Uses a map page, if it is in memory.
    fn touch(&mut self, page: u32, change: bool) -> bool {
        self.pages.get_mut(&page).map(|changed| *changed |= change).is_some()
    }

    /// Takes a map page into memory. Returns the die that has to program a row
    /// of changed pages for it.
    fn take_in(&mut self, page: u32, changed: bool) -> Option<u32> {
        let (gone, gone_changed) = self.pages.push(page, changed)?;
        if gone == page || !gone_changed {
            return None;
        }
        self.on_flash[gone as usize] = true;
        self.left += 1;
        if self.left < self.pages_per_row {
            return None;
        }
        self.left = 0;
        self.rows_programmed += 1;
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies;
        Some(die)
    }
}

impl PageMapped {
    /// Starts a read once the map pages that it needs are in memory.
    pub(super) fn look_up(&mut self, now_ns: u64, tag: u32) {
        let (first_unit, last_unit) = self.units.touched(&self.commands[tag].request);
        let Some(cache) = &mut self.map_cache else {
            return self.start_read(now_ns, tag);
        };
        let mut waits = false;
        for page in cache.pages_of(first_unit, last_unit) {
            // What flash has no version of says that its units hold nothing.
            if cache.touch(page, false) || !cache.on_flash[page as usize] {
                continue;
            }
            if !cache.waiting.iter().any(|&(on_its_way, _)| on_its_way == page) {
                let bus_bytes = cache.page_bytes;
                let read = PageRead { command: MAP | page, bus_bytes, host_bytes: 0 };
                self.flash.read_of_plane(now_ns, page % cache.dies, 0, read);
            }
            cache.waiting.push((page, tag));
            waits = true;
        }
        if !waits {
            self.start_read(now_ns, tag);
        }
    }

    /// A map page has been read.
    pub(super) fn map_page_arrived(&mut self, now_ns: u64, page: u32) {
        let Some(cache) = &mut self.map_cache else {
            return;
        };
        // A write may have brought it in meanwhile.
        if !cache.touch(page, false)
            && let Some(die) = cache.take_in(page, false)
        {
            self.flash.work(now_ns, die, cache.program);
        }
        let arrived = cache.waiting.extract_if(.., |&mut (waits_for, _)| waits_for == page);
        let tags: Vec<u32> = arrived.map(|(_, tag)| tag).collect();
        for tag in tags {
            let waits = |cache: &MapCache| cache.waiting.iter().any(|&(_, waits)| waits == tag);
            if !self.map_cache.as_ref().is_some_and(waits) {
                self.start_read(now_ns, tag);
            }
        }
    }

    /// Units have been mapped anew.
    pub(super) fn change_map(&mut self, now_ns: u64, first_unit: u32, last_unit: u32) {
        let Some(cache) = &mut self.map_cache else {
            return;
        };
        for page in cache.pages_of(first_unit, last_unit) {
            if cache.touch(page, true) {
                continue;
            }
            if cache.on_flash[page as usize] {
                self.flash.work(now_ns, page % cache.dies, cache.read);
            }
            if let Some(die) = cache.take_in(page, true) {
                self.flash.work(now_ns, die, cache.program);
            }
        }
    }
}
