//! Which write each block should hold.

use crate::stamp::{BLOCK_BYTES, Stamp};
use fourcorners_target::TargetError;
use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use twox_hash::XxHash3_64;

const MAGIC: u64 = u64::from_le_bytes(*b"4cledger");
const VERSION: u64 = 2;
/// Magic number, version, drive, run, capacity, and the checksum of these: in the
/// first page.
const HEADER_BYTES: usize = 4096;
const HEADER_WORDS: usize = 5;
/// Bytes that are read from a file at a time.
const READ_BYTES: usize = 1 << 20;

/// An entry is a checksum above, the sequence of the latest write (46 bits: a
/// million writes a second for two years), and the state in the two lowest bits.
const CHECKSUM_BITS: u32 = 16;
const KNOWN_BITS: u32 = 64 - CHECKSUM_BITS;
const KNOWN: u64 = (1 << KNOWN_BITS) - 1;

/// Memory is promised beyond what there is; some systems do so unasked.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const UNRESERVED: libc::c_int = libc::MAP_NORESERVE;
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
const UNRESERVED: libc::c_int = 0;

/// What is known of a block.
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
/// process, or in memory. Threads share it without locks. Each entry has its own
/// checksum, so that a process may be killed at any moment and an entry that was
/// damaged later says nothing about its block.
#[derive(Debug)]
pub struct Ledger {
    words: *mut AtomicU64,
    bytes: usize,
    latest: AtomicU64,
    damaged: u64,
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

    /// A new ledger in a new file at `path`, 0.2 % of the capacity at most, with
    /// room for the entries of the first `span_bytes`.
    ///
    /// # Errors
    /// The file exists already, cannot be made, or finds no room.
    pub fn create(
        path: &Path,
        capacity_bytes: u64,
        span_bytes: u64,
        drive: u64,
        run: u64,
    ) -> Result<Self, TargetError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| cannot("create", path, &error))?;
        let room = length_bytes(span_bytes.min(capacity_bytes));
        file.set_len(length_bytes(capacity_bytes) as u64)
            .and_then(|()| allocate(&file, room))
            .map_err(|error| cannot("create", path, &error))
            .and_then(|()| Self::begin(Some(&file), capacity_bytes, drive, run))
            .inspect_err(|_| {
                let _ = remove_file(path);
            })
    }

    /// The ledger that an earlier run left at `path`, as a copy: the file may
    /// change or go, and stays as it is.
    ///
    /// # Errors
    /// There is none, it is of a target of another size, or its beginning is
    /// damaged.
    pub fn open(path: &Path, capacity_bytes: u64) -> Result<Self, TargetError> {
        // Without waiting for whoever writes to a pipe.
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|error| cannot("open", path, &error))?;
        let there = file.metadata().map_err(|error| cannot("open", path, &error))?;
        let bytes = length_bytes(capacity_bytes);
        let name = path.display();
        if !there.is_file() || there.len() != bytes as u64 {
            return Err(TargetError(format!(
                "{name} is not the state of a verification of a target with {capacity_bytes} bytes: name the file that the first run made for this target"
            )));
        }
        let mut ledger = Self::map(None, bytes, capacity_bytes)?;
        ledger.read(&mut file).map_err(|error| cannot("read", path, &error))?;
        let header: [u64; HEADER_WORDS] =
            std::array::from_fn(|index| ledger.word(index).load(Relaxed));
        let [magic, version, drive, run, capacity] = header;
        let reason = if magic != MAGIC {
            "is not the state of a verification: name the file that the first run made for this target"
        } else if version == 1 {
            "was made by an earlier version of this program: verify the target anew"
        } else if ledger.word(HEADER_WORDS).load(Relaxed) != header_checksum(&header) {
            "is damaged at its beginning, so that nothing in it can be relied on: put it back from a copy, or verify the target anew"
        } else if version != VERSION {
            "was made by another version of this program: use that one, or verify the target anew"
        } else if capacity != capacity_bytes {
            "is of a target of another size: name the file that the first run made for this target"
        } else {
            (ledger.drive, ledger.run) = (drive, run);
            for block in 0..capacity_bytes / BLOCK_BYTES as u64 {
                match known(ledger.snapshot(block)) {
                    Some((sequence, _)) => {
                        ledger.latest.fetch_max(sequence, Relaxed);
                    }
                    None => ledger.damaged += 1,
                }
            }
            return Ok(ledger);
        };
        Err(TargetError(format!("{name} {reason}")))
    }

    /// Takes over a file of the ledger's length. What is zero is not touched, and
    /// so needs no memory.
    fn read(&mut self, file: &mut File) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut word = 0;
        while word < self.bytes / 8 {
            let part = READ_BYTES.min(self.bytes - word * 8);
            file.read_exact(&mut buffer[..part])?;
            for bytes in buffer[..part].as_chunks::<8>().0 {
                let value = u64::from_le_bytes(*bytes);
                if value != 0 {
                    self.word(word).store(value, Relaxed);
                }
                word += 1;
            }
        }
        Ok(())
    }

    fn begin(
        file: Option<&File>,
        capacity_bytes: u64,
        drive: u64,
        run: u64,
    ) -> Result<Self, TargetError> {
        let mut ledger = Self::map(file, length_bytes(capacity_bytes), capacity_bytes)?;
        (ledger.drive, ledger.run) = (drive, run);
        let header = [MAGIC, VERSION, drive, run, capacity_bytes];
        for (index, word) in header.into_iter().chain([header_checksum(&header)]).enumerate() {
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
        let (words, latest) = (words.cast(), AtomicU64::new(0));
        Ok(Self { words, bytes, latest, damaged: 0, drive: 0, run: 0, capacity_bytes })
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

    /// Entries that were damaged in the file when it was opened: what their blocks
    /// should hold is not known.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Forgets every write, as a purge of the target does.
    pub fn reset(&self) {
        for block in 0..self.capacity_bytes / BLOCK_BYTES as u64 {
            self.entry(block).store(0, Relaxed);
        }
    }

    /// Number of the next write.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.latest.fetch_add(1, Relaxed) + 1
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
        match known(before) {
            Some((sequence, State::Settled)) if sequence != 0 && self.snapshot(block) == before => {
                Some(sequence)
            }
            _ => None,
        }
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
            // Of a damaged entry no write is known; the next one settles it.
            let (sequence, state) = known(before).unwrap_or((0, State::Unsure));
            let (sequence, state) = change(sequence, state);
            let after = entry_of(sequence, state);
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

/// An entry: what is known of a block, with its checksum.
#[inline]
fn entry_of(sequence: u64, state: State) -> u64 {
    debug_assert!(sequence <= KNOWN >> 2);
    let known = (sequence << 2 | state as u64) & KNOWN;
    known | checksum(known) << KNOWN_BITS
}

/// Sequence and state of an entry; `None` if it is damaged. Zero is a block that
/// was never written: so is what a file system returns of a file that it lost a
/// part of.
#[inline]
fn known(entry: u64) -> Option<(u64, State)> {
    let known = entry & KNOWN;
    if entry >> KNOWN_BITS != checksum(known) {
        return None;
    }
    let state = match known & 3 {
        0 => State::Settled,
        1 => State::InFlight,
        2 => State::Overlapping,
        _ => State::Unsure,
    };
    Some((known >> 2, state))
}

/// The upper bits of a product (multiplicative hashing: Knuth, The Art of
/// Computer Programming, volume 3, section 6.4). One flipped bit changes the
/// factor by a power of two, and no product of one with this constant has all of
/// its upper bits alike, so that it never passes; of other damage one case in
/// 65,536 does.
#[inline]
fn checksum(known: u64) -> u64 {
    known.wrapping_mul(MIXER) >> KNOWN_BITS
}

/// 2^64 divided by the golden ratio, odd.
const MIXER: u64 = 0x9E37_79B9_7F4A_7C15;

fn header_checksum(words: &[u64; HEADER_WORDS]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    XxHash3_64::oneshot(&bytes)
}

/// Takes room for the first bytes of a file from the file system now: a mapping
/// that finds none later ends the process (SIGBUS).
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn allocate(file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    loop {
        // SAFETY: the descriptor is open for writing, and no memory is passed.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// The same where the system has no call for it: by writing.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn allocate(mut file: &File, bytes: usize) -> io::Result<()> {
    let zeros = vec![0; READ_BYTES];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(READ_BYTES);
        io::Write::write_all(&mut file, &zeros[..part])?;
        left -= part;
    }
    Ok(())
}

fn length_bytes(capacity_bytes: u64) -> usize {
    HEADER_BYTES + (capacity_bytes / BLOCK_BYTES as u64) as usize * 8
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> TargetError {
    TargetError(format!("cannot {what} the state of the verification {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
