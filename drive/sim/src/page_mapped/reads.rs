//! Reads: pages from the dies, or data at once, over the link to the host.

use super::flash::PageRead;
use super::read_ahead::{self, Found};
use super::{Event, PageMapped, map_cache};

impl PageMapped {
    /// Issues a read's pages, or its data at once where no flash is involved.
    pub(super) fn start_read(&mut self, now_ns: u64, tag: u32) {
        let request = self.commands[tag].request;
        let (mut unit, last_unit) = self.units.touched(&request);
        let stream = self.read_ahead.as_mut().and_then(|ahead| ahead.follow(&request));
        let mut pages = 0;
        let mut at_once_bytes = 0;
        if let Some(stream) = stream {
            (unit, pages, at_once_bytes) = self.take_from_read_ahead(tag, stream);
        }
        while unit <= last_unit {
            let first = unit;
            let slot = self.on_flash(first);
            unit = self.run_end(first, slot, last_unit);
            let bytes = self.units.overlap(first, unit - 1, &request);
            let Some(slot) = slot else {
                at_once_bytes += bytes;
                continue;
            };
            pages += 1;
            self.read_page(now_ns, slot, unit - first, tag, bytes as u32);
        }
        self.commands[tag].progress = pages;
        if at_once_bytes > 0 || pages == 0 {
            let end_ns = self.interface.link.send_to_host(now_ns, at_once_bytes, pages == 0);
            if pages == 0 {
                self.events.push(end_ns, Event::Returned(tag));
            }
        }
        if let Some(stream) = stream {
            self.read_on(now_ns, stream);
        }
    }

    /// Sends a page that has been read to the host, or keeps it if it was read
    /// ahead of the host.
    #[inline]
    pub(super) fn deliver(&mut self, now_ns: u64, read: PageRead) {
        match read_ahead::line(read.command) {
            None => match map_cache::page(read.command) {
                None => self.send(now_ns, read.command, read.host_bytes),
                Some(page) => self.map_page_arrived(now_ns, page),
            },
            Some(line) => self.keep(now_ns, line),
        }
    }

    #[inline]
    fn send(&mut self, now_ns: u64, tag: u32, bytes: u32) {
        let command = &mut self.commands[tag];
        command.progress -= 1;
        let last = command.progress == 0;
        let end_ns = self.interface.link.send_to_host(now_ns, u64::from(bytes), last);
        if last {
            self.events.push(end_ns, Event::Returned(tag));
        }
    }

    /// The end of the units from `first` that one page read brings, or that
    /// need none; `slot` is where `first` is on flash.
    #[inline]
    fn run_end(&self, first: u32, slot: Option<u32>, last_unit: u32) -> u32 {
        let mut unit = first + 1;
        match slot {
            None => {
                while unit <= last_unit && self.on_flash(unit).is_none() {
                    unit += 1;
                }
            }
            Some(slot) => {
                // A row is on flash as a whole, so all of the page is.
                let page = self.translation.slots_of_page(slot);
                while unit <= last_unit
                    && self.translation.slot(unit).is_some_and(|next| page.contains(&next))
                    && !self.is_cached(unit)
                {
                    unit += 1;
                }
            }
        }
        unit
    }

    #[inline(always)]
    fn read_page(&mut self, now_ns: u64, slot: u32, units: u32, command: u32, host_bytes: u32) {
        let bus_bytes = (u64::from(units) * self.units.unit_bytes) as u32;
        let die = self.translation.die(slot);
        let read = PageRead { command, bus_bytes, host_bytes };
        if self.flash.is_plain() {
            self.flash.read(now_ns, die, read);
        } else {
            self.read_page_of_plane(now_ns, slot, read);
        }
    }

    // Apart from the way of most drives, which is shorter without it.
    #[inline(never)]
    fn read_page_of_plane(&mut self, now_ns: u64, slot: u32, read: PageRead) {
        let plane = match self.flash.planes_read_together() {
            1 => 0,
            planes => self.translation.plane(slot, planes),
        };
        self.flash.read_of_plane(now_ns, self.translation.die(slot), plane, read);
    }

    /// What a sequential read finds in the read buffer: the first unit that it
    /// does not, the pages that are still under way, the bytes that are there.
    fn take_from_read_ahead(&mut self, tag: u32, stream: usize) -> (u32, u32, u64) {
        let request = self.commands[tag].request;
        let (mut unit, last_unit) = self.units.touched(&request);
        let (mut pages, mut at_once_bytes) = (0, 0);
        let read_ahead = self.read_ahead.as_mut().expect("a stream is read ahead");
        while unit <= last_unit
            && let Some(Found { line, end_unit, arrived }) = read_ahead.find(stream, unit)
        {
            let bytes = self.units.overlap(unit, end_unit.min(last_unit + 1) - 1, &request);
            unit = end_unit;
            if arrived {
                at_once_bytes += bytes;
            } else {
                pages += 1;
                read_ahead.wait(line, tag, bytes as u32);
            }
        }
        (unit, pages, at_once_bytes)
    }

    /// Reads pages ahead of a stream, as far as its share of the buffer goes.
    fn read_on(&mut self, now_ns: u64, stream: usize) {
        let units = (self.capacity_bytes / self.units.unit_bytes) as u32;
        while let Some(first) = self.read_ahead.as_mut().and_then(|r| r.next_unit(stream, units)) {
            let slot = self.on_flash(first);
            // A page is read whole, even where the buffer's share ends in it.
            let last_unit = (first + self.piece_units).min(units) - 1;
            let end_unit = self.run_end(first, slot, last_unit);
            let read_ahead = self.read_ahead.as_mut().expect("a stream is read ahead");
            let command = read_ahead.extend(stream, first, end_unit, slot.is_none());
            if let Some(slot) = slot {
                self.read_page(now_ns, slot, end_unit - first, command, 0);
            }
        }
    }

    /// A page that was read ahead has arrived in the read buffer.
    fn keep(&mut self, now_ns: u64, line: u32) {
        let read_ahead = self.read_ahead.as_mut().expect("a page was read ahead");
        read_ahead.arrived(line);
        while let Some((tag, bytes)) = self.read_ahead.as_mut().and_then(|r| r.waiter(line)) {
            self.send(now_ns, tag, bytes);
        }
    }
}
