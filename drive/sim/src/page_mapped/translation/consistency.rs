//! What must hold of the map at any time, and of a loaded one.

use super::pool::{Pool, Stream};
use super::victim::{NOT_CLOSED, Victim};
use super::{Table, Translation, TranslationCounters, bits};
use crate::validity::{Broken, Checked, ensure, ensure_counts, same};
use std::ops::Range;

impl Translation {
    /// Valid units of each block that is full and not being emptied.
    #[cfg(test)]
    pub fn closed_counts(&self) -> Vec<u32> {
        self.counts.iter().copied().filter(|&count| count < NOT_CLOSED).collect()
    }

    /// Checks every invariant of the map; slow, for tests.
    ///
    /// # Panics
    /// When one is broken.
    pub fn assert_consistent(&self) {
        for (unit, &entry) in self.map.iter().enumerate().filter(|(_, entry)| **entry != 0) {
            assert_eq!(self.owner(entry - 1) as usize, unit, "owner of slot {}", entry - 1);
        }
        self.check_map(|_, _| {}).unwrap();
        self.check_pools().unwrap();
    }

    /// Fails unless a loaded map can go on as one that was `made`. Fills in which unit
    /// each slot holds, which a state does not say. Returns how many units are mapped.
    pub fn check_and_restore_owners(&mut self, made: &Self) -> Result<u32, Broken> {
        self.check_fields(made)?;
        self.check_pools()?;
        let mut owner = Table::zeroed(self.geometry.slots());
        let mapped = self.check_map(|slot, unit| owner[self.geometry.owner_index(slot)] = unit)?;
        self.owner = owner;
        Ok(mapped)
    }

    /// See [`super::Unsettled::check`].
    pub fn check_unsettled(&self, given: &[usize]) -> Checked {
        let rows = self.geometry.slots() as u32 / self.geometry.slots_per_row;
        self.unsettled.check(given, rows, self.map.len())
    }

    /// Bytes of the host's in rows that are being filled.
    pub fn open_host_bytes(&self) -> u64 {
        let open = self.pools.iter().flat_map(|pool| &pool.frontiers);
        open.map(|frontier| u64::from(frontier.host_bytes)).sum()
    }

    /// What the specification determines, and what any number may be.
    fn check_fields(&self, made: &Self) -> Checked {
        let Self {
            geometry,
            map,
            owner: _,
            valid,
            row_fill,
            counts,
            closed_at,
            blocks_closed,
            pools,
            host_pool,
            collector_stream,
            rule,
            separation,
            wear,
            free_blocks_kept,
            start_free_blocks,
            burst_blocks,
            burst_pace,
            read_ns,
            program_times,
            erase_ns,
            bus_rate,
            unsettled: _,
            copied,
            counters,
        } = self;
        same!(
            made; geometry, collector_stream, free_blocks_kept, start_free_blocks, burst_blocks,
            burst_pace, read_ns, program_times, erase_ns, bus_rate,
        );
        let fill = |row_fill: &Option<Table<u8>>| row_fill.as_ref().map(|fill| fill.len());
        let bits = |bits: &Option<Table<u64>>| bits.as_ref().map(|bits| bits.len());
        ensure(
            map.len() == made.map.len()
                && valid.len() == made.valid.len()
                && fill(row_fill) == fill(&made.row_fill)
                && bits(copied) == bits(&made.copied)
                && counts.len() == made.counts.len()
                && closed_at.len() == made.closed_at.len()
                && pools.len() == made.pools.len(),
            "the size of a table",
        )?;
        let TranslationCounters {
            host_units,
            moved_units,
            programmed_rows,
            erased_blocks,
            padded_bytes,
        } = *counters;
        ensure_counts([host_units, moved_units, programmed_rows, erased_blocks, padded_bytes])?;
        ensure_counts([*blocks_closed])?;
        ensure(closed_at.iter().all(|at| at <= blocks_closed), "when a block was closed")?;
        ensure((*host_pool as usize) < pools.len(), "the pool that takes writes")?;
        rule.check(&made.rule)?;
        match (separation, &made.separation) {
            (Some(separation), Some(made)) => separation.check(made, geometry.pools)?,
            (None, None) => {}
            _ => return Err(Broken("the streams of writes")),
        }
        wear.check(&made.wear)
    }

    /// Checks that every mapped unit has a valid slot of its own, and that the others
    /// are not valid. Visits slots and their units; returns how many there are.
    fn check_map(&self, mut visit: impl FnMut(u32, u32)) -> Result<u32, Broken> {
        let slots = self.geometry.slots();
        let mut left: Vec<u64> = self.valid.to_vec();
        let mut mapped = 0;
        for (unit, &entry) in (0..).zip(self.map.iter()) {
            let Some(slot) = entry.checked_sub(1) else {
                continue;
            };
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            ensure((slot as usize) < slots && left[word] & bit != 0, "where a unit is")?;
            left[word] &= !bit;
            visit(slot, unit);
            mapped += 1;
        }
        ensure(left.iter().all(|&word| word == 0), "a slot without a unit")?;
        Ok(mapped)
    }

    /// Checks that every good block is free, being filled, being emptied or closed,
    /// that bad ones are none of these, and that each holds what its use allows.
    fn check_pools(&self) -> Checked {
        for (number, pool) in (0..).zip(&self.pools) {
            let mut uses = vec![0; self.geometry.blocks as usize];
            let open = pool.frontiers.iter().map(|frontier| frontier.block);
            let emptied = pool.victim.iter().map(|victim| victim.block);
            for block in pool.free.iter().copied().chain(open).chain(emptied) {
                let uses = uses.get_mut(block as usize).ok_or(Broken("a block"))?;
                *uses += 1;
            }
            for (block, uses) in (0..).zip(uses) {
                let index = self.geometry.block_index(number, block);
                let closed = u32::from(self.counts[index] < NOT_CLOSED);
                let good = u32::from(!self.wear.is_bad(index));
                ensure(uses + closed == good, "the use of a block")?;
                let valid = self.count_valid(self.slots_of_block(number, block));
                ensure(self.counts[index] & !NOT_CLOSED == valid, "the valid units of a block")?;
                let held = closed == 1 || pool.victim.as_ref().is_some_and(|v| v.block == block);
                if held {
                    self.check_fill(number, block, self.geometry.rows_per_block)?;
                }
            }
            self.check_pool(number, pool)?;
        }
        Ok(())
    }

    fn check_pool(&self, number: u32, pool: &Pool) -> Checked {
        let Pool {
            free,
            frontiers,
            victim,
            units_written,
            credit,
            turn_taken_bytes,
            bursting: _,
            collecting,
            levelled: _,
            crowded: _,
        } = pool;
        let geometry = &self.geometry;
        let empty = |block: u32| self.count_valid(self.slots_of_block(number, block)) == 0;
        ensure(free.iter().all(|&block| empty(block)), "a free block")?;
        let streams: &[Stream] = match self.separation {
            None => &[Stream::Host, Stream::Collector],
            Some(_) => &[Stream::Host, Stream::Collector, Stream::HotHost, Stream::HotCollector],
        };
        ensure(frontiers.len() == streams.len(), "the open rows")?;
        // Each stream of collected units may need a block before it gives one back.
        ensure(2 * free.len() >= streams.len(), "the free blocks")?;
        for (&stream, frontier) in streams.iter().zip(frontiers) {
            let takes_host = match (stream, &self.separation) {
                (Stream::Host, _) => number == self.host_pool,
                (Stream::HotHost, Some(separation)) => number == separation.hot_pool,
                _ => false,
            };
            frontier.check(geometry, self.row_fill.is_some(), takes_host)?;
            let slots = self.slots_of_block(number, frontier.block);
            let written = frontier.row * geometry.slots_per_row + frontier.slots;
            let unwritten = slots.start + written..slots.end;
            ensure(self.count_valid(unwritten.clone()) == 0, "a slot ahead of an open row")?;
            let copied = self.copied.as_ref().map_or(0, |copied| bits::count(copied, unwritten));
            ensure(copied == 0, "a copy ahead of an open row")?;
            self.check_fill(number, frontier.block, frontier.row)?;
        }
        if let Some(victim) = victim {
            let Victim { block, next_slot, moves_per_write, slots_per_write, unsettled: _ } =
                *victim;
            let slots = self.slots_of_block(number, block);
            ensure(next_slot <= geometry.slots_per_block, "a block that is emptied")?;
            let passed = slots.start..slots.start + next_slot;
            ensure(self.count_valid(passed) == 0, "a unit that was left behind")?;
            let most = f64::from(geometry.slots_per_block);
            let paced = (0.0..=most).contains(&moves_per_write)
                && slots_per_write <= geometry.slots_per_block;
            ensure(paced, "the pace of the collector")?;
        }
        ensure(
            *units_written <= geometry.slots_per_block
                && (0.0..=1.0).contains(credit)
                && *turn_taken_bytes < geometry.row_bytes
                && !collecting,
            "what the collector owes",
        )
    }

    /// Checks of drives that compress that the first rows of a block hold no more than
    /// they have room for, and that each could hold as much as uncompressed.
    fn check_fill(&self, pool: u32, block: u32, rows: u32) -> Checked {
        let Some(fill) = &self.row_fill else {
            return Ok(());
        };
        let geometry = &self.geometry;
        let range = geometry.rows_of_block(pool, block);
        let least = geometry.row_bytes / geometry.unit_bytes;
        for row in range.start..range.start + rows {
            let room = u32::from(fill[row as usize]);
            ensure((least..=geometry.slots_per_row).contains(&room), "the room of a row")?;
            let first = row * geometry.slots_per_row;
            let valid = self.count_valid(first..first + geometry.slots_per_row);
            ensure(valid <= room, "the units of a row")?;
        }
        Ok(())
    }

    fn slots_of_block(&self, pool: u32, block: u32) -> Range<u32> {
        let first = self.geometry.first_slot(pool, block);
        first..first + self.geometry.slots_per_block
    }

    fn count_valid(&self, slots: Range<u32>) -> u32 {
        bits::count(&self.valid, slots)
    }
}
