//! Where rows are: data blocks mapped by block, the latest writes in log blocks
//! mapped by row, and the merges that make data blocks out of logs.
//!
//! A merge of a data block gathers its latest rows. Where a log block holds
//! them from the start in order and nothing newer exists, the log block becomes
//! the data block: as it is (*switch*), or after the rest was copied behind it
//! (*partial*). Otherwise all rows are copied into an erased block (*full*).

use super::flash::Operation;
use super::specification::{Sharing, Specification};
use crate::table::Table;
use crate::validity::{Checked, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};

/// Work for a die.
pub type Work = (u32, Operation);

/// A log block and what was written to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Log {
    /// The data block that it is for; `None`: free, or shared by all.
    owner: Option<u32>,
    /// Logical rows in the order in which they were written.
    rows: Vec<u32>,
    /// Those of them that are the latest.
    valid: u32,
    /// Whether row `i` of the data block is the `i`-th of the log.
    in_order: bool,
    /// When it was last written, counted in writes of its bank.
    written: u64,
}

/// A group of dies and its log blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Bank {
    /// With shared logs, the first is for writes in order.
    logs: Vec<Log>,
    /// The shared log that takes writes.
    open: usize,
    writes: u64,
}

/// What was done since the drive was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub host_rows: u64,
    pub copied_rows: u64,
    pub switch_merges: u64,
    pub partial_merges: u64,
    pub full_merges: u64,
    pub erased_blocks: u64,
}

/// The mapping.
#[derive(Debug, Serialize, Deserialize)]
pub struct Translation {
    rows_per_block: u32,
    dies_per_block: u32,
    sharing: Sharing,
    logs_per_bank: u32,
    banks: Vec<Bank>,
    /// By logical row: one more than its place among the logs, or 0.
    place: Table<u32>,
    /// By logical row: a bit that says whether its data block holds it.
    in_data: Vec<u64>,
    counts: Counts,
}

impl Translation {
    /// Nothing is written.
    pub fn new(specification: &Specification) -> Self {
        let rows = specification.capacity.user.0.div_ceil(specification.flash.row_bytes());
        let rows_per_block = specification.rows_per_block();
        let logs_per_bank = specification.log_blocks_per_bank();
        let sharing = specification.translation.sharing.value;
        let bank = Bank { logs: vec![Log::default(); logs_per_bank as usize], open: 1, writes: 0 };
        let whole = rows.next_multiple_of(u64::from(rows_per_block));
        Self {
            rows_per_block,
            dies_per_block: specification.translation.dies_per_block.value,
            sharing,
            logs_per_bank,
            banks: vec![bank; specification.banks() as usize],
            place: Table::zeroed(whole as usize),
            in_data: vec![0; whole.div_ceil(64) as usize],
            counts: Counts::default(),
        }
    }

    /// Fails unless a loaded mapping can go on as one that was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self {
            rows_per_block,
            dies_per_block,
            sharing,
            logs_per_bank,
            banks,
            place,
            in_data,
            counts,
        } = self;
        same!(made; rows_per_block, dies_per_block, sharing, logs_per_bank);
        ensure(
            banks.len() == made.banks.len()
                && place.len() == made.place.len()
                && in_data.len() == made.in_data.len(),
            "the size of a table",
        )?;
        let Counts {
            host_rows,
            copied_rows,
            switch_merges,
            partial_merges,
            full_merges,
            erased_blocks,
        } = *counts;
        ensure_counts([host_rows, copied_rows, switch_merges, partial_merges, full_merges])?;
        ensure_counts([erased_blocks])?;
        let mut in_logs = 0;
        for (number, bank) in banks.iter().enumerate() {
            let Bank { logs, open, writes } = bank;
            ensure(logs.len() == *logs_per_bank as usize, "the logs of a bank")?;
            ensure_counts([*writes])?;
            let shared = *sharing == Sharing::Shared;
            ensure(*open == 1 || shared && (1..logs.len()).contains(open), "the open log")?;
            for (index, log) in logs.iter().enumerate() {
                ensure(log.written <= *writes, "when a log was written")?;
                self.check_log(number, index, log)?;
                in_logs += log.valid as usize;
            }
            let mut owners: Vec<u32> = logs.iter().filter_map(|log| log.owner).collect();
            owners.sort_unstable();
            ensure(owners.windows(2).all(|pair| pair[0] < pair[1]), "the owner of a log")?;
        }
        ensure(in_logs == place.iter().filter(|&&place| place > 0).count(), "the place of a row")
    }

    fn check_log(&self, bank: usize, index: usize, log: &Log) -> Checked {
        let Log { owner, rows, valid, in_order, written: _ } = log;
        ensure(rows.len() <= self.rows_per_block as usize, "the rows of a log")?;
        let blocks = self.place.len() as u32 / self.rows_per_block;
        let block_of = |row: u32| row / self.rows_per_block;
        let fits = |&row: &u32| {
            let block = block_of(row);
            let owned = owner.is_none_or(|owner| owner == block);
            block < blocks && self.bank_of(block) == bank && owned
        };
        ensure(rows.iter().all(fits), "a row in a log")?;
        let first = (bank * self.logs_per_bank as usize + index) * self.rows_per_block as usize;
        let latest =
            |&(slot, &row): &(usize, &u32)| self.place[row as usize] as usize == first + slot + 1;
        let count = rows.iter().enumerate().filter(latest).count();
        ensure(count == *valid as usize, "the valid rows of a log")?;
        let Some(owner) = *owner else {
            // Only shared logs have rows of anybody.
            let shared = self.sharing == Sharing::Shared && index > 0;
            return ensure(shared || rows.is_empty(), "a log without an owner");
        };
        ensure(owner < blocks && self.bank_of(owner) == bank, "the owner of a log")?;
        ensure(self.sharing == Sharing::PerBlock || index == 0, "the owner of a shared log")?;
        let ordered = (0..).zip(rows).all(|(slot, row)| row % self.rows_per_block == slot);
        ensure(*in_order == ordered, "the order of a log")
    }

    /// The die that holds a row; `None` when it was never written.
    #[inline]
    pub fn die(&self, row: u32) -> Option<u32> {
        let bank_die = self.bank_of(row / self.rows_per_block) as u32 * self.dies_per_block;
        let within = match self.place[row as usize] {
            0 if self.is_in_data(row) => row % self.rows_per_block,
            0 => return None,
            place => (place - 1) % self.rows_per_block,
        };
        Some(bank_die + within % self.dies_per_block)
    }

    /// Writes a row from the buffer; appends the work that this causes.
    pub fn write(&mut self, row: u32, work: &mut Vec<Work>) {
        let block = row / self.rows_per_block;
        let offset = row % self.rows_per_block;
        let bank = self.bank_of(block);
        self.counts.host_rows += 1;
        let index = match self.sharing {
            Sharing::Shared => self.shared_log(bank, block, offset, work),
            Sharing::PerBlock => self.own_log(bank, block, work),
        };
        self.append(bank, index, row, work);
        let log = &self.banks[bank].logs[index];
        if log.owner.is_some() && log.in_order && log.valid == self.rows_per_block {
            self.merge(block, work);
        }
    }

    /// Log blocks that hold nothing.
    pub fn free_logs(&self) -> usize {
        let logs = self.banks.iter().flat_map(|bank| &bank.logs);
        logs.filter(|log| log.rows.is_empty()).count()
    }

    /// What was done since the drive was made.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// FAST: a write that begins a block or goes on in the log in order goes
    /// there, any other to the open shared log.
    fn shared_log(&mut self, bank: usize, block: u32, offset: u32, work: &mut Vec<Work>) -> usize {
        let in_order = &self.banks[bank].logs[0];
        if in_order.owner == Some(block) && in_order.rows.len() as u32 == offset {
            return 0;
        }
        if offset == 0 {
            if let Some(displaced) = in_order.owner {
                self.merge(displaced, work);
            }
            self.take(bank, 0, block);
            return 0;
        }
        let open = self.banks[bank].open;
        if (self.banks[bank].logs[open].rows.len() as u32) < self.rows_per_block {
            return open;
        }
        // The next one round is the oldest.
        let next = if open + 1 == self.logs_per_bank as usize { 1 } else { open + 1 };
        self.banks[bank].open = next;
        self.reclaim(bank, next, work);
        next
    }

    /// BAST: every log block is for one data block; the one written least
    /// recently gives way.
    fn own_log(&mut self, bank: usize, block: u32, work: &mut Vec<Work>) -> usize {
        let rows_per_block = self.rows_per_block as usize;
        let logs = &self.banks[bank].logs;
        let own = logs.iter().position(|log| log.owner == Some(block));
        if let Some(index) = own.filter(|&index| logs[index].rows.len() < rows_per_block) {
            return index;
        }
        let free = || logs.iter().position(|log| log.owner.is_none());
        let index = own.or_else(free).unwrap_or_else(|| {
            (0..logs.len()).min_by_key(|&index| logs[index].written).unwrap_or(0)
        });
        if let Some(displaced) = logs[index].owner {
            self.merge(displaced, work);
        }
        self.take(bank, index, block);
        index
    }

    fn take(&mut self, bank: usize, index: usize, block: u32) {
        let log = &mut self.banks[bank].logs[index];
        debug_assert!(log.rows.is_empty() && log.owner.is_none());
        log.owner = Some(block);
        log.in_order = true;
    }

    fn append(&mut self, bank: usize, index: usize, row: u32, work: &mut Vec<Work>) {
        self.leave_log(row);
        let first_die = bank as u32 * self.dies_per_block;
        let first_place = (bank as u32 * self.logs_per_bank + index as u32) * self.rows_per_block;
        let writes = &mut self.banks[bank].writes;
        *writes += 1;
        let written = *writes;
        let log = &mut self.banks[bank].logs[index];
        let slot = log.rows.len() as u32;
        log.in_order &= row % self.rows_per_block == slot;
        log.rows.push(row);
        log.valid += 1;
        log.written = written;
        self.place[row as usize] = first_place + slot + 1;
        let die = first_die + slot % self.dies_per_block;
        work.push((die, Operation::Program { row: Some(row) }));
    }

    /// A row's place in a log, if it has one, no longer holds the latest.
    fn leave_log(&mut self, row: u32) {
        if let Some(place) = self.place[row as usize].checked_sub(1) {
            let log = place / self.rows_per_block;
            let bank = (log / self.logs_per_bank) as usize;
            self.banks[bank].logs[(log % self.logs_per_bank) as usize].valid -= 1;
            self.place[row as usize] = 0;
        }
    }

    /// Makes a data block of its latest rows.
    fn merge(&mut self, block: u32, work: &mut Vec<Work>) {
        let bank = self.bank_of(block);
        let first_row = block * self.rows_per_block;
        let rows = first_row..first_row + self.rows_per_block;
        let first_die = bank as u32 * self.dies_per_block;
        let held_data = rows.clone().any(|row| self.is_in_data(row));
        let own = self.banks[bank].logs.iter().position(|log| log.owner == Some(block));
        let in_place = own.and_then(|index| {
            let log = &self.banks[bank].logs[index];
            let written = log.rows.len() as u32;
            (log.in_order && log.valid == written).then_some(written)
        });
        let mut copied = 0;
        for row in rows.clone().skip(in_place.unwrap_or(0) as usize) {
            if let Some(source) = self.die(row) {
                let target = first_die + (row - first_row) % self.dies_per_block;
                work.push((source, Operation::Fetch));
                work.push((target, Operation::Program { row: None }));
                copied += 1;
            }
        }
        for row in rows {
            if self.place[row as usize] > 0 {
                self.leave_log(row);
                self.in_data[row as usize / 64] |= 1 << (row % 64);
            }
        }
        self.counts.copied_rows += copied;
        match in_place {
            Some(_) if copied == 0 => self.counts.switch_merges += 1,
            Some(_) => self.counts.partial_merges += 1,
            None => self.counts.full_merges += 1,
        }
        if held_data {
            self.erase(bank, work);
        }
        if let Some(index) = own {
            if in_place.is_none() {
                self.erase(bank, work);
            }
            self.clear(bank, index);
        }
    }

    /// Empties a shared log: merges every data block that has rows in it.
    fn reclaim(&mut self, bank: usize, index: usize, work: &mut Vec<Work>) {
        let rows = std::mem::take(&mut self.banks[bank].logs[index].rows);
        if rows.is_empty() {
            return;
        }
        let first_place = (bank as u32 * self.logs_per_bank + index as u32) * self.rows_per_block;
        for (slot, &row) in (0..).zip(&rows) {
            if self.place[row as usize] == first_place + slot + 1 {
                self.merge(row / self.rows_per_block, work);
            }
        }
        self.erase(bank, work);
        self.banks[bank].logs[index].rows = rows;
        self.clear(bank, index);
    }

    fn clear(&mut self, bank: usize, index: usize) {
        let log = &mut self.banks[bank].logs[index];
        debug_assert_eq!(log.valid, 0, "a log that still holds data is given up");
        log.rows.clear();
        log.owner = None;
    }

    fn erase(&mut self, bank: usize, work: &mut Vec<Work>) {
        self.counts.erased_blocks += 1;
        let first_die = bank as u32 * self.dies_per_block;
        work.extend((first_die..first_die + self.dies_per_block).map(|d| (d, Operation::Erase)));
    }

    fn bank_of(&self, block: u32) -> usize {
        block as usize % self.banks.len()
    }

    fn is_in_data(&self, row: u32) -> bool {
        (self.in_data[row as usize / 64] >> (row % 64)) & 1 == 1
    }
}

#[cfg(test)]
impl Translation {
    /// Every row that was written is in one place, and logs know what they
    /// hold. `written` says by row whether it was.
    pub fn assert_consistent(&self, written: &[bool]) {
        for (row, &written) in written.iter().enumerate() {
            assert_eq!(self.die(row as u32).is_some(), written, "row {row}");
        }
        let mut in_logs = 0;
        for (bank, index) in (0..self.banks.len())
            .flat_map(|bank| (0..self.logs_per_bank as usize).map(move |index| (bank, index)))
        {
            let log = &self.banks[bank].logs[index];
            let first = (bank * self.logs_per_bank as usize + index) * self.rows_per_block as usize;
            let holds =
                |(slot, &row): (usize, &u32)| self.place[row as usize] as usize == first + slot + 1;
            let valid = log.rows.iter().enumerate().filter(|&entry| holds(entry)).count();
            assert_eq!(valid, log.valid as usize, "log {index} of bank {bank}");
            assert!(log.rows.len() <= self.rows_per_block as usize);
            let blocks = || log.rows.iter().map(|row| row / self.rows_per_block);
            assert!(log.owner.is_none_or(|owner| blocks().all(|block| block == owner)));
            assert!(blocks().all(|block| self.bank_of(block) == bank));
            in_logs += valid;
        }
        assert_eq!(in_logs, self.place.iter().filter(|&&place| place > 0).count());
    }
}
