//! io_uring behind the [`Target`] seam: one ring, one thread, deep queues.

use crate::buffers::Buffers;
use crate::content::{ContentSource, Held};
use crate::ring::{self, RingFacts};
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Operation, Request};
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest that dropping a target waits for what is outstanding.
const DRAIN_MAX_NS: u64 = 2_000_000_000;

/// Requests that are passed to the kernel at once while a batch of answers is
/// being submitted. A drive begins with the first ones while the rest is being
/// prepared; a batch as deep as the queue makes it idle in between: 50,000
/// random reads a second at queue depth 32 became 60,000 (virtio disk, 2026-11).
const SUBMIT_AT_ONCE: u32 = 8;

/// One slot's request, as far as its completion needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    length_bytes: u32,
    held: Held,
    /// The buffer carries the content of the write that comes next.
    staged: bool,
}

/// What exists between [`Target::prepare`] and the next one.
struct Prepared {
    ring: IoUring,
    buffers: Buffers,
    slots: Vec<Slot>,
    facts: RingFacts,
    slots_per_piece: u32,
    /// Requests in the submission queue that the kernel has not seen.
    queued: u32,
    /// Requests in the submission queue or the kernel.
    outstanding: u32,
}

/// One worker's way to a [`crate::RealFile`]. It is made on any thread, but the
/// thread that calls [`Target::prepare`] must go on to use it.
pub struct RealTarget {
    file: Arc<File>,
    capacity_bytes: u64,
    /// Told to the file when buffers could not be registered.
    unregistered: Arc<AtomicBool>,
    content: ContentSource,
    /// The clock's latest reading; it serves timeouts, which need not be exact.
    clock_ns: u64,
    prepared: Option<Prepared>,
}

impl RealTarget {
    pub(crate) fn new(
        file: Arc<File>,
        capacity_bytes: u64,
        unregistered: Arc<AtomicBool>,
        seed: u64,
    ) -> Self {
        Self {
            file,
            capacity_bytes,
            unregistered,
            content: ContentSource::new(seed),
            clock_ns: monotonic_ns(),
            prepared: None,
        }
    }

    /// How I/O is passed to the kernel; `None` before [`Target::prepare`].
    pub fn ring_facts(&self) -> Option<RingFacts> {
        self.prepared.as_ref().map(|prepared| prepared.facts)
    }

    fn release(&mut self) {
        let Some(mut prepared) = self.prepared.take() else {
            return;
        };
        let give_up_ns = monotonic_ns() + DRAIN_MAX_NS;
        while prepared.outstanding > 0 && monotonic_ns() < give_up_ns {
            if prepared.enter(DRAIN_MAX_NS).is_err() {
                break;
            }
            prepared.reap(0, |_| {});
        }
        if prepared.outstanding > 0 {
            // The kernel may still write into the buffers of a request that
            // hangs: memory that is never given back cannot be corrupted.
            std::mem::forget(prepared.buffers);
        }
    }
}

impl Prepared {
    /// Passes what is queued to the kernel. What it does not take now stays
    /// queued, and the next wait passes it again or reports why not.
    fn flush(&mut self) {
        let _ = self.ring.submit();
        self.queued = self.ring.submission().len() as u32;
    }

    /// Passes what is queued to the kernel and waits for a completion, at most
    /// `timeout_ns`. Ends early without an error on a signal.
    fn enter(&mut self, timeout_ns: u64) -> Result<(), TargetError> {
        let timeout = types::Timespec::new()
            .sec(timeout_ns / 1_000_000_000)
            .nsec((timeout_ns % 1_000_000_000) as u32);
        let arguments = types::SubmitArgs::new().timespec(&timeout);
        let result = self.ring.submitter().submit_with_args(1, &arguments);
        self.queued = self.ring.submission().len() as u32;
        match result {
            Ok(_) => Ok(()),
            // The time is up, a signal came, or the kernel asks to reap first.
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(TargetError(format!("io_uring takes no more requests: {error}"))),
            },
        }
    }

    /// Hands out every completion that the kernel has posted.
    fn reap(&mut self, completed_ns: u64, mut each: impl FnMut(Completion)) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as u32;
            let result = entry.result();
            let expected = self.slots[slot as usize].length_bytes;
            let errno = match u32::try_from(result) {
                Ok(transferred) if transferred == expected => 0,
                Ok(_) => libc::EIO,
                Err(_) => -result,
            };
            self.outstanding -= 1;
            each(Completion { slot, completed_ns, errno });
        }
    }
}

impl Target for RealTarget {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn now_ns(&mut self) -> u64 {
        self.clock_ns = monotonic_ns();
        self.clock_ns
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.release();
        let mut buffers = Buffers::new(slots, block_bytes_max)?;
        // Filling takes the page faults out of the measurement as well.
        for slot in 0..slots {
            self.content.fill_fresh(buffers.bytes(slot, block_bytes_max));
        }
        let (ring, facts) = ring::build(slots, &self.file, &mut buffers)?;
        if !facts.registered_buffers {
            self.unregistered.store(true, Ordering::Relaxed);
        }
        let slot = Slot { held: Held::Fresh, ..Slot::default() };
        self.prepared = Some(Prepared {
            ring,
            slots_per_piece: buffers.slots_per_piece(),
            buffers,
            slots: vec![slot; slots as usize],
            facts,
            queued: 0,
            outstanding: 0,
        });
        Ok(())
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        let prepared = expect_prepared(&mut self.prepared);
        if request.operation == Operation::Write {
            let state = &mut prepared.slots[slot as usize];
            let bytes = prepared.buffers.bytes(slot, request.length_bytes);
            state.held = self.content.make(request.content, state.held, bytes);
            state.staged = true;
        }
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        if request.operation == Operation::Write
            && !expect_prepared(&mut self.prepared).slots[slot as usize].staged
        {
            self.stage(slot, request);
        }
        let prepared = expect_prepared(&mut self.prepared);
        let length = request.length_bytes;
        let pointer = prepared.buffers.pointer(slot, length);
        let piece = (slot / prepared.slots_per_piece) as u16;
        let offset = request.offset_bytes;
        let registered = prepared.facts.registered_buffers;
        let state = &mut prepared.slots[slot as usize];
        state.length_bytes = length;
        state.staged = false;
        let write_flags = if request.fua { libc::RWF_DSYNC } else { 0 };
        let entry = match (request.operation, registered) {
            (Operation::Read, true) => {
                opcode::ReadFixed::new(ring::FILE, pointer, length, piece).offset(offset).build()
            }
            (Operation::Read, false) => {
                opcode::Read::new(ring::FILE, pointer, length).offset(offset).build()
            }
            (Operation::Write, true) => opcode::WriteFixed::new(ring::FILE, pointer, length, piece)
                .offset(offset)
                .rw_flags(write_flags)
                .build(),
            (Operation::Write, false) => opcode::Write::new(ring::FILE, pointer, length)
                .offset(offset)
                .rw_flags(write_flags)
                .build(),
            // What it takes to read the data again, without times of access.
            (Operation::Flush, _) => {
                opcode::Fsync::new(ring::FILE).flags(types::FsyncFlags::DATASYNC).build()
            }
        };
        if request.operation == Operation::Read {
            state.held = Held::Used;
        }
        // SAFETY: the slot's buffer lies inside the mapping, is at least
        // `length` bytes long (`Buffers::pointer` asserts both), and stays
        // until the request has completed (see `release`).
        let pushed = unsafe { prepared.ring.submission().push(&entry.user_data(u64::from(slot))) };
        assert!(pushed.is_ok(), "more requests outstanding than slots");
        prepared.queued += 1;
        prepared.outstanding += 1;
        if prepared.queued == 1 {
            self.clock_ns = monotonic_ns();
        }
        let submitted_ns = self.clock_ns;
        if prepared.queued >= SUBMIT_AT_ONCE {
            prepared.flush();
        }
        submitted_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let prepared = expect_prepared(&mut self.prepared);
        let before = done.len();
        loop {
            // What the kernel posted in the meantime is handed out first, but
            // never at the price of requests that wait to be submitted.
            if prepared.queued > 0 || prepared.ring.completion().is_empty() {
                prepared.enter(deadline_ns.saturating_sub(self.clock_ns))?;
            }
            // Read after the kernel's return and before the entries: no
            // latency is shorter than it was.
            self.clock_ns = monotonic_ns();
            let completed_ns = self.clock_ns;
            prepared.reap(completed_ns, |completion| done.push(completion));
            if done.len() > before || self.clock_ns >= deadline_ns {
                return Ok(());
            }
        }
    }
}

impl Drop for RealTarget {
    fn drop(&mut self) {
        self.release();
    }
}

fn expect_prepared(prepared: &mut Option<Prepared>) -> &mut Prepared {
    prepared.as_mut().expect("Target::prepare comes before the first request")
}

/// `CLOCK_MONOTONIC`, through the vDSO: no system call on usual machines.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
