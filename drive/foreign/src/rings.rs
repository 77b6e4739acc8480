//! Two rings of records in shared memory, one in each direction. An empty line on a
//! pipe wakes who sleeps.
//!
//! | offset | is |
//! | ---: | --- |
//! | 0 | `4CORNERS` |
//! | 8 | version, 32 bits |
//! | 12 | records of a ring, 32 bits, a power of two |
//! | 64 | records ever written to the drive, 64 bits |
//! | 128 | records that the drive has taken, 64 bits |
//! | 192 | records ever written to the host, 64 bits |
//! | 256 | records that the host has taken, 64 bits |
//! | 320 | not 0 while the drive sleeps, 32 bits |
//! | 384 | not 0 while the host sleeps, 32 bits |
//! | 4096 | the ring to the drive, then the ring to the host |

use crate::ForeignError;
use crate::hello::VERSION;
use crate::pipes::{Pipes, Silence};
use crate::record::{RECORD_BYTES, Record};
use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// As many as a workload may have outstanding, and a command beside each.
const RECORDS: u64 = 1 << 17;
const HEADER_BYTES: usize = 4096;
const TO_DRIVE_WRITTEN: usize = 64;
const TO_DRIVE_TAKEN: usize = 128;
const TO_HOST_WRITTEN: usize = 192;
const TO_HOST_TAKEN: usize = 256;
const DRIVE_SLEEPS: usize = 320;
const HOST_SLEEPS: usize = 384;
/// Looks at the ring before the host sleeps: some 50 us, what two changes of context take on a
/// busy machine.
const LOOKS_MAX: u32 = 2000;
/// Where looking was in vain, all processors have other work, and looking keeps the child from its
/// own: the next time half as many looks. So often all of them are tried again.
const TRIED_AGAIN: u32 = 1000;

/// The host's side of the rings.
#[derive(Debug)]
pub struct Rings {
    memory: MmapRaw,
    _file: File,
    path: String,
    /// Records written, the ones that were not published yet among them.
    written: u64,
    taken: u64,
    looks: u32,
    waits: u32,
}

impl Rings {
    /// Makes the memory.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn new() -> Result<Self, ForeignError> {
        let failed = |error: String| ForeignError::Local(format!("no shared memory: {error}"));
        let bytes = HEADER_BYTES + 2 * RECORDS as usize * RECORD_BYTES;
        let file: File = memfd_create("fourcorners-rings", MemfdFlags::CLOEXEC)
            .map_err(|error| failed(error.to_string()))?
            .into();
        ftruncate(&file, bytes as u64).map_err(|error| failed(error.to_string()))?;
        let memory = MmapRaw::map_raw(&file).map_err(|error| failed(error.to_string()))?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let rings =
            Self { memory, _file: file, path, written: 0, taken: 0, looks: LOOKS_MAX, waits: 0 };
        // SAFETY: the mapping is longer than the header, and nobody else has it yet.
        unsafe {
            let start = rings.memory.as_mut_ptr();
            start.copy_from_nonoverlapping(b"4CORNERS".as_ptr(), 8);
            start.add(8).cast::<u32>().write(VERSION.to_le());
            start.add(12).cast::<u32>().write((RECORDS as u32).to_le());
        }
        Ok(rings)
    }

    /// Where the child finds them.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds a record that the drive sees after [`Self::publish`].
    pub fn push(&mut self, record: &Record) {
        let at = HEADER_BYTES + (self.written % RECORDS) as usize * RECORD_BYTES;
        // SAFETY: `at` is a record of the first ring. The drive reads records only up to the
        // count that `publish` stores, and `push` is not called with a full ring (`is_full`).
        unsafe {
            let place = self.memory.as_mut_ptr().add(at);
            place.copy_from_nonoverlapping(record.to_bytes().as_ptr(), RECORD_BYTES);
        }
        self.written += 1;
    }

    /// Whether there is no room for another record.
    pub fn is_full(&self) -> bool {
        let taken = self.count(TO_DRIVE_TAKEN).load(Ordering::Acquire);
        self.written.wrapping_sub(taken) >= RECORDS
    }

    /// Shows the drive what was added, and wakes it.
    ///
    /// # Errors
    /// A child that is not there any more.
    pub fn publish(&mut self, pipes: &mut Pipes) -> Result<(), Silence> {
        self.count(TO_DRIVE_WRITTEN).store(self.written, Ordering::Release);
        fence(Ordering::SeqCst);
        let sleeps = self.flag(DRIVE_SLEEPS);
        if sleeps.load(Ordering::Relaxed) != 0 {
            sleeps.store(0, Ordering::Relaxed);
            pipes.write(b"\n")?;
        }
        Ok(())
    }

    /// The next record of the drive.
    ///
    /// # Errors
    /// A child that is silent for too long, or gone.
    pub fn take(&mut self, pipes: &mut Pipes) -> Result<Record, Silence> {
        if !self.look() {
            self.wait(pipes)?;
        }
        let at = HEADER_BYTES + (RECORDS + self.taken % RECORDS) as usize * RECORD_BYTES;
        let mut bytes = [0; RECORD_BYTES];
        // SAFETY: `at` is a record of the second ring. What a child that breaks the protocol
        // writes there meanwhile is copied bytewise and checked as any other record.
        unsafe {
            let place = self.memory.as_ptr().add(at);
            place.copy_to_nonoverlapping(bytes.as_mut_ptr(), RECORD_BYTES);
        }
        self.taken += 1;
        self.count(TO_HOST_TAKEN).store(self.taken, Ordering::Release);
        Ok(Record::from_bytes(&bytes))
    }

    fn look(&self) -> bool {
        self.count(TO_HOST_WRITTEN).load(Ordering::Acquire) != self.taken
    }

    fn wait(&mut self, pipes: &mut Pipes) -> Result<(), Silence> {
        self.waits = (self.waits + 1) % TRIED_AGAIN;
        if self.waits == 0 {
            self.looks = LOOKS_MAX;
        }
        for _ in 0..self.looks {
            std::hint::spin_loop();
            if self.look() {
                self.looks = LOOKS_MAX;
                return Ok(());
            }
        }
        self.looks /= 2;
        loop {
            self.flag(HOST_SLEEPS).store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.look() {
                self.flag(HOST_SLEEPS).store(0, Ordering::Relaxed);
                return Ok(());
            }
            pipes.sleep()?;
            if self.look() {
                return Ok(());
            }
        }
    }

    fn count(&self, at: usize) -> &AtomicU64 {
        // SAFETY: aligned, within the header, and only ever used as an atomic.
        unsafe { AtomicU64::from_ptr(self.memory.as_mut_ptr().add(at).cast()) }
    }

    fn flag(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as `count`.
        unsafe { AtomicU32::from_ptr(self.memory.as_mut_ptr().add(at).cast()) }
    }
}
