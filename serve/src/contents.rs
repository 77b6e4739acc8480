//! What a served drive holds, what it held when it was durable last, and what its
//! faults make of both.

use crate::data::Data;
use crate::injection::DataFault;
use crate::pages::PAGE_BYTES;
use crate::undo::{Epoch, Undo};
use fourcorners_target::VirtualDrive;
use std::io;
use std::ops::Range;

/// Copies of what is not durable may grow to so much before the drive is asked what
/// is still at risk; then to twice what remained.
const UNDO_BYTES: u64 = 64 << 20;

/// For each copy that is made then, so many are looked at: a quarter of them are new ones when
/// all have been.
const SEARCHED: u64 = 4;

/// Most that stale reads keep of what was there before.
const STALE_BYTES_MAX: usize = 64 << 20;

/// Data with its past.
#[derive(Debug)]
pub struct Contents {
    data: Data,
    /// Where the drive can lose what it has acknowledged.
    undo: Option<Undo>,
    undo_limit_bytes: u64,
    /// What reads return once in place of what is stored.
    stale: Vec<(u64, Vec<u8>)>,
}

impl Contents {
    /// Of a drive that can lose what it has acknowledged, or cannot.
    pub fn new(data: Data, can_lose: bool) -> Self {
        let undo = can_lose.then(Undo::default);
        Self { data, undo, undo_limit_bytes: UNDO_BYTES, stale: Vec::new() }
    }

    /// What is stored.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// A flush is submitted.
    pub fn begin_epoch(&mut self) -> Epoch {
        self.undo.as_mut().map_or(0, Undo::begin_epoch)
    }

    /// It has completed.
    pub fn durable_before(&mut self, epoch: Epoch) {
        if let Some(undo) = &mut self.undo {
            undo.durable_before(epoch, self.data.pages());
        }
    }

    /// Gives the room of a range back. What is gone stays gone, as a drive may have it.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn discard(&mut self, range: Range<u64>) -> io::Result<()> {
        self.replaced(&range);
        self.data.discard(range.start, range.end - range.start)?;
        if let Some(undo) = &mut self.undo {
            undo.durable(range, self.data.pages());
        }
        Ok(())
    }

    /// Zeroes that a cache may hold.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn zero(
        &mut self,
        drive: &dyn VirtualDrive,
        range: Range<u64>,
        is_durable: bool,
    ) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            let extent = self.data.extent(at, range.end - at);
            let part = at..at + extent.length_bytes;
            at = part.end;
            // Of zeroes over zeroes nothing need be known.
            if extent.is_stored {
                self.keep(drive, &part, true)?;
            }
        }
        self.replaced(&range);
        self.data.discard(range.start, range.end - range.start)?;
        self.kept(range, is_durable);
        Ok(())
    }

    /// Stores what a write brings, or what its fault makes of that.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn write(
        &mut self,
        drive: &dyn VirtualDrive,
        offset_bytes: u64,
        bytes: &mut [u8],
        fault: Option<DataFault>,
        is_durable: bool,
    ) -> io::Result<()> {
        let range = offset_bytes..offset_bytes + bytes.len() as u64;
        self.keep(drive, &range, fault.is_none())?;
        self.replaced(&range);
        match fault {
            None => self.data.write(offset_bytes, bytes)?,
            Some(DataFault::Lost) => {}
            Some(DataFault::Torn(kept)) => {
                self.data.write(offset_bytes, &bytes[..kept as usize])?
            }
            Some(DataFault::Flipped(bit)) => {
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
                self.data.write(offset_bytes, bytes)?;
            }
            Some(DataFault::Misplaced(distance)) => {
                // It overwrites a neighbour, whose old data no power cut brings back.
                let last = self.data.capacity_bytes() - bytes.len() as u64;
                self.data.write(misplaced(offset_bytes, distance, last), bytes)?;
            }
            Some(DataFault::Stale) => {
                let known: usize = self.stale.iter().map(|(_, old)| old.len()).sum();
                if known + bytes.len() <= STALE_BYTES_MAX {
                    let mut old = vec![0; bytes.len()];
                    self.data.read(offset_bytes, &mut old)?;
                    self.stale.push((offset_bytes, old));
                }
                self.data.write(offset_bytes, bytes)?;
            }
        }
        self.kept(range, is_durable);
        Ok(())
    }

    /// What a read returns: what is stored, or once what was there before.
    ///
    /// # Errors
    /// A data file that cannot be read.
    pub fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        self.data.read(offset_bytes, into)?;
        let end = offset_bytes + into.len() as u64;
        self.stale.retain(|(at, old)| {
            let (from, until) = ((*at).max(offset_bytes), (at + old.len() as u64).min(end));
            if from >= until {
                return true;
            }
            let part = &old[(from - at) as usize..(until - at) as usize];
            into[(from - offset_bytes) as usize..(until - offset_bytes) as usize]
                .copy_from_slice(part);
            false
        });
        Ok(())
    }

    /// What a read returns, where that is in memory as it is.
    pub fn lent(&self, offset_bytes: u64, length_bytes: usize) -> Option<&[u8]> {
        self.stale.is_empty().then(|| self.data.lent(offset_bytes, length_bytes)).flatten()
    }

    /// Power is gone: what is lost is what it was when it was durable last. Returns how
    /// many bytes that changed.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn roll_back(&mut self, lost: &[Range<u64>]) -> io::Result<u64> {
        self.stale.clear();
        self.undo.as_mut().map_or(Ok(0), |undo| undo.roll_back(&mut self.data, lost))
    }

    /// These bytes had reached the medium when power failed, and nobody was told.
    ///
    /// # Errors
    /// A data file that cannot be written.
    pub fn reach(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.data.write(offset_bytes, bytes)
    }

    fn replaced(&mut self, range: &Range<u64>) {
        self.stale.retain(|(at, old)| *at >= range.end || at + old.len() as u64 <= range.start);
    }

    /// Keeps what is about to be written, or all `replaced`.
    fn keep(
        &mut self,
        drive: &dyn VirtualDrive,
        range: &Range<u64>,
        replaced: bool,
    ) -> io::Result<()> {
        let Some(undo) = &mut self.undo else { return Ok(()) };
        if undo.is_searching() {
            let copies = (range.end - range.start) / PAGE_BYTES as u64 * SEARCHED;
            undo.search(copies.max(SEARCHED) as usize, self.data.pages());
            if !undo.is_searching() {
                self.undo_limit_bytes = UNDO_BYTES.max(2 * undo.bytes());
            }
        } else if undo.bytes() > self.undo_limit_bytes {
            match drive.at_risk() {
                Some(at_risk) => undo.search_outside(at_risk),
                None => self.undo_limit_bytes = 2 * undo.bytes(),
            }
        }
        undo.keep(&mut self.data, range, replaced)
    }

    fn kept(&mut self, range: Range<u64>, is_durable: bool) {
        if let Some(undo) = &mut self.undo
            && is_durable
        {
            undo.durable(range, self.data.pages());
        }
    }
}

/// Where a write at `offset_bytes` is stored instead: as far behind it as told, before it
/// where the drive has no room there, and else as its `last` range that has.
fn misplaced(offset_bytes: u64, distance_bytes: u64, last: u64) -> u64 {
    let behind = offset_bytes.saturating_add(distance_bytes);
    if behind <= last {
        return behind;
    }
    offset_bytes.checked_sub(distance_bytes).unwrap_or(last / 512 * 512)
}

#[cfg(test)]
mod tests {
    use super::misplaced;

    #[test]
    fn a_misplaced_write_at_the_end_goes_before_it() {
        assert_eq!(misplaced(0, 4096, 1 << 20), 4096);
        assert_eq!(misplaced((1 << 20) - 4096, 4096, 1 << 20), 1 << 20);
        // In its own place nothing would be wrong.
        assert_eq!(misplaced(1 << 20, 4096, 1 << 20), (1 << 20) - 4096);
        assert_eq!(misplaced(512, 4096, 4000), 3584);
    }
}
