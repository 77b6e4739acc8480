//! What must hold of a loaded page-mapped SSD.

use super::{Event, IdleWork, PageMapped, read_ahead};
use crate::validity::{Checked, Clock, both, ensure, ensure_counts, same};

impl PageMapped {
    /// Fails unless a loaded drive, in which no command is, can go on as one that
    /// was `made`.
    pub(super) fn check(&mut self, made: &Self, clock: Clock) -> Checked {
        let units = (made.capacity_bytes / made.units.unit_bytes) as u32;
        ensure(self.units == made.units, "the mapping unit")?;
        let mapped = self.translation.check_and_restore_owners(&made.translation)?;
        let free = u64::from(units - mapped);
        let Self {
            specification: _,
            seed: _,
            capacity_bytes,
            units: _,
            interface,
            read_overhead_ns,
            unmapped_read_overhead_ns,
            write_overhead_ns,
            modify_overhead_ns,
            host_bytes,
            write_data_rate,
            data_path_free_ns,
            data_path,
            commands: _,
            buffer_free_bytes: _,
            piece_units,
            buffer_queue,
            writes_to_admit,
            write_through,
            protected,
            ignores_flush,
            barriers,
            stored_sizes,
            bus_rate,
            read_ns,
            read_ahead,
            read_cache,
            map_cache,
            slc_cache,
            background,
            power,
            upkeep,
            flash,
            translation,
            events,
            work: _,
        } = &*self;
        same!(
            made; capacity_bytes, read_overhead_ns, unmapped_read_overhead_ns,
            write_overhead_ns, modify_overhead_ns, write_data_rate, piece_units,
            write_through, protected, ignores_flush, stored_sizes, bus_rate, read_ns,
        );
        ensure(
            buffer_queue.is_empty() && *writes_to_admit == 0 && barriers.is_empty(),
            "a command in the drive",
        )?;
        ensure_counts([*host_bytes])?;
        clock.ensure_soon([*data_path_free_ns])?;
        interface.check(&made.interface, clock)?;
        flash.check(&made.flash, clock)?;

        // Events: of pieces in the data path, and of timers.
        clock.ensure_due(events.iter().map(|&(at_ns, _)| at_ns))?;
        let processed = events.count(|event| matches!(event, Event::Processed));
        ensure(processed == data_path.len(), "the data path")?;
        ensure(write_data_rate.is_some() || data_path.is_empty(), "the data path")?;
        for piece in data_path {
            piece.check(made.units, *stored_sizes, *capacity_bytes)?;
            ensure(piece.units == 0 || !self.is_forced(&piece.request), "a forced write")?;
        }
        let empties = events.count(|event| matches!(event, Event::Rested(IdleWork::SlcCache)));
        let collects = events.count(|event| matches!(event, Event::Rested(IdleWork::Collection)));
        let known = processed + empties + collects;
        ensure(events.iter().count() == known, "an event of a command")?;
        ensure(slc_cache.is_some() || empties == 0, "an event of an SLC cache")?;
        ensure(background.is_some() || collects == 0, "an event of idle collection")?;

        // What dies read without a command is read ahead.
        let coming: Option<Vec<u32>> =
            flash.page_reads().map(|read| read_ahead::line(read.command)).collect();
        let coming = coming.filter(|lines| lines.is_empty() || read_ahead.is_some());
        let Some(coming) = coming else {
            return ensure(false, "a page read for a command");
        };
        let bytes_max = flash.page_reads().map(|read| read.bus_bytes).max().unwrap_or(0);
        ensure(bytes_max <= READ_BYTES_MAX, "a page that is read")?;
        both(read_ahead.as_ref(), made.read_ahead.as_ref(), |ahead, made| {
            ahead.check(made, units, &coming)
        })?;
        both(read_cache.as_ref(), made.read_cache.as_ref(), |cache, made| {
            cache.check(made, units as usize)
        })?;
        both(map_cache.as_ref(), made.map_cache.as_ref(), |cache, made| cache.check(made))?;
        both(slc_cache.as_ref(), made.slc_cache.as_ref(), |cache, made| {
            cache.check(made, clock, free, empties)
        })?;
        both(background.as_ref(), made.background.as_ref(), |background, made| {
            background.check(made, clock, collects)
        })?;
        both(power.as_ref(), made.power.as_ref(), |power, made| power.check(made))?;
        both(upkeep.as_deref(), made.upkeep.as_deref(), |upkeep, made| upkeep.check(made, clock))?;

        // Every row on its way to flash is work of a die.
        let given: Vec<usize> = flash.releases().iter().map(|&(rows, _)| rows).collect();
        translation.check_unsettled(&given)
    }

    /// Fails unless the write buffer's room and what is in it make up its size, so
    /// that no write waits for room for ever.
    pub(super) fn check_buffer(&self) -> Checked {
        let path = (self.data_path.iter())
            .map(|piece| u64::from(piece.units) * u64::from(piece.stored_bytes));
        let rows = self.flash.releases().into_iter().map(|(_, bytes)| bytes);
        let held: u64 = path.chain(rows).chain([self.translation.open_host_bytes()]).sum();
        let size = self.specification.write_buffer.size.0;
        let sum = self.buffer_free_bytes.checked_add(held);
        ensure(sum == Some(size), "the room in the write buffer")
    }
}

/// Bytes of a page read, at most; longer ones a channel takes too long for.
const READ_BYTES_MAX: u32 = 1 << 30;
