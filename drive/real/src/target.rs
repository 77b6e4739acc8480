//! A file or device behind the [`Target`] seam: one worker's way to it.

use crate::buffers::Buffers;
use crate::claim::ClaimedFile;
use crate::clock::monotonic_ns;
use crate::content::{ContentSource, Held};
use crate::engine::{Engine, Way, bind_to_cpu};
use crate::generating::Generating;
use crate::observed::Observed;
use crate::synchronous::{Inline, Threads};
use crate::system::asynchronous::{Asynchronous, Namespace};
use crate::system::{interrupts, processors};
use crate::transfer::Transfer;
use crate::unavailable::Unavailable;
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Operation, Request};
use std::sync::Arc;

/// Longest that dropping a target waits for what is outstanding.
const DRAIN_MAX_NS: u64 = 2_000_000_000;

/// What a slot's buffer holds.
#[derive(Clone, Copy, Debug)]
struct Slot {
    held: Held,
    /// The buffer carries the content of the write that comes next.
    staged: bool,
    /// The registered piece of memory that the buffer lies in.
    piece: u16,
}

/// What exists between [`Target::prepare`] and the next one.
struct Prepared {
    path: Path,
    buffers: Buffers,
    slots: Vec<Slot>,
}

/// How requests reach the system.
enum Path {
    Asynchronous(Box<Asynchronous>),
    Inline(Inline),
    Threads(Threads),
}

impl Path {
    fn outstanding(&self) -> u32 {
        match self {
            Path::Asynchronous(rings) => rings.outstanding(),
            Path::Inline(_) => 0,
            Path::Threads(threads) => threads.outstanding,
        }
    }

    #[inline]
    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        match self {
            Path::Asynchronous(rings) => rings.wait(deadline_ns, done)?,
            Path::Inline(inline) => inline.wait(deadline_ns, done),
            Path::Threads(threads) => threads.wait(deadline_ns, done),
        }
        Ok(())
    }
}

/// One worker's way to a [`crate::RealFile`]. It is made on any thread, but the
/// thread that calls [`Target::prepare`] must go on to use it.
pub struct RealTarget {
    file: Arc<ClaimedFile>,
    capacity_bytes: u64,
    engine: Arc<Engine>,
    namespace: Option<Arc<Namespace>>,
    /// How many targets the file had before: it chooses the processor.
    index: u64,
    observed: Arc<Observed>,
    /// See [`crate::RealFile::punctual_target`].
    pub(crate) is_punctual: bool,
    content: ContentSource,
    generating: Generating,
    prepared: Option<Prepared>,
}

impl RealTarget {
    pub(crate) fn new(
        file: Arc<ClaimedFile>,
        capacity_bytes: u64,
        engine: Arc<Engine>,
        namespace: Option<Arc<Namespace>>,
        index: u64,
        observed: Arc<Observed>,
        seed: u64,
    ) -> Self {
        Self {
            file,
            capacity_bytes,
            engine,
            namespace,
            index,
            observed,
            is_punctual: false,
            content: ContentSource::new(seed),
            generating: Generating::default(),
            prepared: None,
        }
    }

    fn path(&self, slots: u32, buffers: &mut Buffers) -> Result<Path, TargetError> {
        if self.engine.way != Way::Synchronous {
            let namespace = self.namespace.as_deref();
            let rings = Asynchronous::new(slots, &self.file, namespace, buffers, &self.engine);
            match rings {
                Ok(rings) => {
                    if !rings.has_registered_buffers() {
                        self.observed.unregistered();
                    }
                    return Ok(Path::Asynchronous(Box::new(rings)));
                }
                Err(Unavailable::Absent(why)) if self.engine.way == Way::Automatic => {
                    self.observed.no_io_uring(why);
                }
                Err(unavailable) => return Err(unavailable.refusal()),
            }
        }
        Ok(match slots {
            1 => Path::Inline(Inline::new(Arc::clone(&self.file))),
            _ => Path::Threads(Threads::new(slots, &self.file)?),
        })
    }

    fn make_data(&mut self, slot: u32, request: &Request) {
        let prepared = expect_prepared(&mut self.prepared);
        let state = &mut prepared.slots[slot as usize];
        let bytes = prepared.buffers.bytes(slot, request.length_bytes);
        let content = &mut self.content;
        state.held = self
            .generating
            .time(request.length_bytes, || content.make(request.content, state.held, bytes));
        state.staged = true;
        match &mut prepared.path {
            Path::Asynchronous(rings) => rings.time_passes(),
            Path::Inline(_) | Path::Threads(_) => {}
        }
    }

    fn release(&mut self) {
        let Some(mut prepared) = self.prepared.take() else {
            return;
        };
        let give_up_ns = monotonic_ns() + DRAIN_MAX_NS;
        let mut done = Vec::new();
        while prepared.path.outstanding() > 0 && monotonic_ns() < give_up_ns {
            if prepared.path.wait(give_up_ns, &mut done).is_err() {
                break;
            }
        }
        if prepared.path.outstanding() > 0 {
            // The kernel may still write into the buffers of a request that
            // hangs: memory that is never given back cannot be corrupted.
            std::mem::forget(prepared.buffers);
        }
    }
}

impl Target for RealTarget {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn now_ns(&mut self) -> u64 {
        match &mut self.prepared {
            Some(Prepared { path: Path::Asynchronous(rings), .. }) => rings.now_ns(),
            _ => monotonic_ns(),
        }
    }

    fn clock(&self) -> Option<fn() -> u64> {
        Some(monotonic_ns)
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.release();
        if let Some(namespace) = &self.namespace
            && block_bytes_max > namespace.command_bytes_max()
        {
            return Err(TargetError(format!(
                "one NVMe command of this drive transfers at most {} bytes: use smaller blocks, or leave out --engine",
                namespace.command_bytes_max()
            )));
        }
        if !self.engine.cpus.is_empty() {
            bind_to_cpu(self.engine.cpus[(self.index % self.engine.cpus.len() as u64) as usize])?;
        }
        // A kernel thread that polls would be kept to what is left of processors as well.
        if self.is_punctual && self.engine.cpus.is_empty() && !self.engine.sq_poll {
            processors::keep_off(&interrupts::processors(&self.file));
        }
        let mut buffers = Buffers::new(slots, block_bytes_max, self.engine.huge_pages)?;
        // Filling takes the page faults out of the measurement as well.
        for slot in 0..slots {
            self.content.fill_fresh(buffers.bytes(slot, block_bytes_max));
        }
        self.generating = Generating::default();
        let path = self.path(slots, &mut buffers)?;
        let of_piece = buffers.slots_per_piece();
        let slot =
            |slot| Slot { held: Held::Fresh, staged: false, piece: (slot / of_piece) as u16 };
        self.prepared = Some(Prepared { path, buffers, slots: (0..slots).map(slot).collect() });
        Ok(())
    }

    #[inline]
    fn stage(&mut self, slot: u32, request: &Request) {
        if request.operation == Operation::Write {
            self.make_data(slot, request);
        }
    }

    fn write_data(&mut self, slot: u32, length_bytes: u32) -> Option<&mut [u8]> {
        let prepared = expect_prepared(&mut self.prepared);
        let state = &mut prepared.slots[slot as usize];
        (state.held, state.staged) = (Held::Used, true);
        Some(prepared.buffers.bytes(slot, length_bytes))
    }

    fn read_data(&mut self, slot: u32, length_bytes: u32) -> Option<&[u8]> {
        Some(expect_prepared(&mut self.prepared).buffers.bytes(slot, length_bytes))
    }

    fn generating_ns(&self) -> u64 {
        self.generating.total_ns
    }

    #[inline]
    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        if request.operation == Operation::Write
            && !expect_prepared(&mut self.prepared).slots[slot as usize].staged
        {
            self.stage(slot, request);
        }
        let prepared = expect_prepared(&mut self.prepared);
        let state = &mut prepared.slots[slot as usize];
        state.staged = false;
        if request.operation == Operation::Read {
            state.held = Held::Used;
        }
        let moved_bytes = if request.operation.transfers() { request.length_bytes } else { 0 };
        let transfer = Transfer {
            slot,
            operation: request.operation,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            fua: request.fua,
            pointer: prepared.buffers.pointer(slot, moved_bytes),
            piece: state.piece,
        };
        match &mut prepared.path {
            Path::Asynchronous(rings) => rings.submit(&transfer),
            Path::Inline(inline) => inline.submit(&transfer),
            Path::Threads(threads) => threads.submit(transfer),
        }
    }

    fn pass_on(&mut self) {
        if let Path::Asynchronous(rings) = &mut expect_prepared(&mut self.prepared).path {
            rings.pass_on();
        }
    }

    #[inline]
    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        expect_prepared(&mut self.prepared).path.wait(deadline_ns, done)
    }
}

impl Drop for RealTarget {
    fn drop(&mut self) {
        self.release();
    }
}

#[inline]
fn expect_prepared(prepared: &mut Option<Prepared>) -> &mut Prepared {
    prepared.as_mut().expect("Target::prepare comes before the first request")
}
