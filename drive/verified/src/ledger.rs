//! Which write each block should hold.

use crate::stamp::{BLOCK_BYTES, Stamp};
use fourcorners_target::TargetError;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const MAGIC: u64 = u64::from_le_bytes(*b"4cledger");
const VERSION: u64 = 1;
/// Magic number, version, drive, run, capacity, latest sequence: in the first page.
const HEADER_BYTES: usize = 4096;

/// Memory is promised beyond what there is; some systems do so unasked.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const UNRESERVED: libc::c_int = libc::MAP_NORESERVE;
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
const UNRESERVED: libc::c_int = 0;

/// What is known of a block, in the two lowest bits of its entry. The others
/// are the sequence of the latest write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It holds the latest write; with sequence 0 it was never written.
    Settled = 0,
    /// The latest write has not completed.
    InFlight = 1,
    /// So too, and another one overlaps it: nobody knows which comes last.
    Overlapping = 2,
    /// Writes overlapped, and all that can be said has completed.
    Unsure = 3,
}

/// One entry of 8 bytes for each block of 4 KiB, in a file that survives the
/// process, or in memory. Threads share it without locks.
#[derive(Debug)]
pub struct Ledger {
    words: *mut AtomicU64,
    bytes: usize,
    drive: u64,
    run: u64,
    capacity_bytes: u64,
}

// SAFETY: the mapping belongs to this value alone, and is only reached through
// atomics.
unsafe impl Send for Ledger {}
// SAFETY: as above.
unsafe impl Sync for Ledger {}

impl Ledger {
    /// A ledger in memory.
    ///
    /// # Errors
    /// No memory.
    pub fn in_memory(capacity_bytes: u64, drive: u64, run: u64) -> Result<Self, TargetError> {
        Self::begin(None, capacity_bytes, drive, run)
    }

    /// A new ledger in a new file at `path`, 0.2 % of the capacity at most.
    ///
    /// # Errors
    /// The file exists already or cannot be made.
    pub fn create(
        path: &Path,
        capacity_bytes: u64,
        drive: u64,
        run: u64,
    ) -> Result<Self, TargetError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| cannot("create", path, &error))?;
        file.set_len(length_bytes(capacity_bytes) as u64)
            .map_err(|error| cannot("create", path, &error))?;
        Self::begin(Some(&file), capacity_bytes, drive, run)
    }

    /// The ledger that an earlier run left at `path`.
    ///
    /// # Errors
    /// There is none, or it is of a target of another size.
    pub fn open(path: &Path, capacity_bytes: u64) -> Result<Self, TargetError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| cannot("open", path, &error))?;
        let there = file.metadata().map_err(|error| cannot("open", path, &error))?.len();
        let is_ledger = there >= HEADER_BYTES as u64;
        let bytes = length_bytes(capacity_bytes);
        if is_ledger && there == bytes as u64 {
            let mut ledger = Self::map(Some(&file), bytes, capacity_bytes)?;
            let header = |index: usize| ledger.word(index).load(Relaxed);
            if (header(0), header(1), header(4)) == (MAGIC, VERSION, capacity_bytes) {
                (ledger.drive, ledger.run) = (header(2), header(3));
                return Ok(ledger);
            }
        }
        Err(TargetError(format!(
            "{} is not the state of a verification of a target with {capacity_bytes} bytes: name the file that the first run made for this target",
            path.display()
        )))
    }

    fn begin(
        file: Option<&File>,
        capacity_bytes: u64,
        drive: u64,
        run: u64,
    ) -> Result<Self, TargetError> {
        let mut ledger = Self::map(file, length_bytes(capacity_bytes), capacity_bytes)?;
        (ledger.drive, ledger.run) = (drive, run);
        for (index, word) in [MAGIC, VERSION, drive, run, capacity_bytes, 0].into_iter().enumerate()
        {
            ledger.word(index).store(word, Relaxed);
        }
        Ok(ledger)
    }

    fn map(file: Option<&File>, bytes: usize, capacity_bytes: u64) -> Result<Self, TargetError> {
        let (flags, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | UNRESERVED, -1),
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches no
        // existing memory.
        let words = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                descriptor,
                0,
            )
        };
        if words == libc::MAP_FAILED {
            return Err(TargetError(format!(
                "no room for the state of the verification, {bytes} bytes: {}",
                std::io::Error::last_os_error()
            )));
        }
        Ok(Self { words: words.cast(), bytes, drive: 0, run: 0, capacity_bytes })
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.bytes / 8);
        // SAFETY: the index lies inside the mapping, which is aligned to pages
        // and lives as long as this value.
        unsafe { &*self.words.add(index) }
    }

    #[inline]
    fn entry(&self, block: u64) -> &AtomicU64 {
        self.word(HEADER_BYTES / 8 + block as usize)
    }

    /// Size of the target.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Forgets every write, as a purge of the target does.
    pub fn reset(&self) {
        for block in 0..self.capacity_bytes / BLOCK_BYTES as u64 {
            self.entry(block).store(0, Relaxed);
        }
    }

    /// Number of the next write.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.word(5).fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn stamp(&self, block: u64, sequence: u64) -> Stamp {
        let address = block * BLOCK_BYTES as u64;
        Stamp { drive: self.drive, run: self.run, address, sequence }
    }

    /// The entry as it is, to be compared with a later one.
    #[inline]
    pub(crate) fn snapshot(&self, block: u64) -> u64 {
        self.entry(block).load(Relaxed)
    }

    /// The write that a block must hold, if that was certain from the time of
    /// `before` until now.
    #[inline]
    pub(crate) fn certain_since(&self, block: u64, before: u64) -> Option<u64> {
        (before != 0 && before & 3 == State::Settled as u64 && self.snapshot(block) == before)
            .then_some(before >> 2)
    }

    /// The write that a block must hold now, if that is certain.
    pub(crate) fn certain(&self, block: u64) -> Option<u64> {
        self.certain_since(block, self.snapshot(block))
    }

    /// A write is about to be submitted.
    pub(crate) fn submitted(&self, block: u64, sequence: u64) {
        self.change(block, |_, state| {
            let state = match state {
                State::Settled | State::Unsure => State::InFlight,
                State::InFlight | State::Overlapping => State::Overlapping,
            };
            (sequence, state)
        });
    }

    /// A write has completed. A failed one may have left anything.
    pub(crate) fn completed(&self, block: u64, sequence: u64, succeeded: bool) {
        self.change(block, |latest, state| {
            let state = match (latest == sequence, state) {
                (true, State::InFlight) if succeeded => State::Settled,
                (true, _) => State::Unsure,
                // An older write than the latest one: it may come last all the same.
                (false, State::InFlight | State::Overlapping) => State::Overlapping,
                (false, State::Settled | State::Unsure) => State::Unsure,
            };
            (latest, state)
        });
    }

    fn change(&self, block: u64, change: impl Fn(u64, State) -> (u64, State)) {
        let entry = self.entry(block);
        let mut before = entry.load(Relaxed);
        loop {
            let state = match before & 3 {
                0 => State::Settled,
                1 => State::InFlight,
                2 => State::Overlapping,
                _ => State::Unsure,
            };
            let (sequence, state) = change(before >> 2, state);
            let after = sequence << 2 | state as u64;
            match entry.compare_exchange_weak(before, after, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made above, and nobody uses it after
        // its owner.
        unsafe { libc::munmap(self.words.cast(), self.bytes) };
    }
}

fn length_bytes(capacity_bytes: u64) -> usize {
    HEADER_BYTES + (capacity_bytes / BLOCK_BYTES as u64) as usize * 8
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> TargetError {
    TargetError(format!("cannot {what} the state of the verification {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger::in_memory(1 << 20, 1, 1).unwrap()
    }

    #[test]
    fn writes_one_after_the_other_settle() {
        let ledger = ledger();
        assert_eq!(ledger.certain(3), None);
        for sequence in [1, 2] {
            ledger.submitted(3, sequence);
            assert_eq!(ledger.certain(3), None);
            ledger.completed(3, sequence, true);
            assert_eq!(ledger.certain(3), Some(sequence));
        }
    }

    /// Whatever the order, nothing is claimed of overlapping writes, and a later
    /// write on its own settles the block again.
    #[test]
    fn overlapping_writes_leave_the_block_unsure() {
        for (first, second) in [(1, 2), (2, 1)] {
            let ledger = ledger();
            ledger.submitted(3, 1);
            ledger.submitted(3, 2);
            ledger.completed(3, first, true);
            assert_eq!(ledger.certain(3), None);
            ledger.completed(3, second, true);
            assert_eq!(ledger.certain(3), None);
            ledger.submitted(3, 4);
            ledger.completed(3, 4, true);
            assert_eq!(ledger.certain(3), Some(4));
        }
    }

    #[test]
    fn a_write_that_is_overtaken_by_two_others_spoils_both() {
        let ledger = ledger();
        ledger.submitted(3, 1);
        ledger.submitted(3, 2);
        ledger.completed(3, 2, true);
        ledger.submitted(3, 4);
        ledger.completed(3, 4, true);
        ledger.completed(3, 1, true);
        assert_eq!(ledger.certain(3), None);
    }

    #[test]
    fn a_failed_write_leaves_the_block_unsure() {
        let ledger = ledger();
        ledger.submitted(3, 1);
        ledger.completed(3, 1, false);
        assert_eq!(ledger.certain(3), None);
    }

    #[test]
    fn a_file_keeps_the_ledger() {
        let name = format!("fourcorners-ledger-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        let ledger = Ledger::create(&path, 1 << 20, 7, 8).unwrap();
        assert_eq!(ledger.next_sequence(), 1);
        ledger.submitted(3, 1);
        ledger.completed(3, 1, true);
        ledger.submitted(4, 2);
        drop(ledger);
        assert!(Ledger::create(&path, 1 << 20, 7, 8).is_err());
        assert!(Ledger::open(&path, 1 << 21).is_err());
        let ledger = Ledger::open(&path, 1 << 20).unwrap();
        assert_eq!((ledger.certain(3), ledger.certain(4)), (Some(1), None));
        assert_eq!((ledger.stamp(3, 1).drive, ledger.stamp(3, 1).run), (7, 8));
        std::fs::remove_file(&path).unwrap();
    }
}
