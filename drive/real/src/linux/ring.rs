//! io_uring: one ring, one thread, deep queues.

use super::queues::Queues;
use crate::buffers::Buffers;
use crate::clock::{WATCHED_NS, monotonic_ns};
use crate::engine::Engine;
use crate::transfer::Transfer;
use crate::unavailable::Unavailable;
use fourcorners_target::{Completion, TargetError};
use io_uring::squeue::EntryMarker as _;
use io_uring::{CompletionQueue, IoUring, cqueue, squeue, types};
use std::fs::File;
use std::os::fd::AsRawFd;

/// The one registered file.
pub(crate) const FILE: types::Fixed = types::Fixed(0);
/// Largest submission queue that the kernel makes.
const ENTRIES_MAX: u32 = 32_768;

/// Requests that are passed to the kernel at once while a batch of answers is
/// being submitted. A drive begins with the first ones while the rest is being
/// prepared; a batch as deep as the queue makes it idle in between: 50,000
/// random reads a second at queue depth 32 became 60,000 (virtio disk, 2026-11).
const GROUP: u32 = 8;
/// Waits between two looks at whether requests complete while they are passed on.
const WAITS_PER_PROBE: u32 = 16;
/// Time without requests after which a kernel thread that polls goes to sleep.
const SQ_POLL_IDLE_MS: u32 = 1000;
/// Longest sleep where the kernel's wait takes no time limit (`IOPOLL`).
const NAP_NS: u64 = 1_000_000;

/// How transfers are written into a ring, and what became of them is read.
pub(crate) trait Protocol {
    type Entry: squeue::EntryMarker + 'static;
    type Posted: cqueue::EntryMarker + 'static;

    /// A transfer on [`FILE`], with its piece of registered memory or without; `None`
    /// where there is no such operation.
    fn entry(&self, transfer: &Transfer, registered_buffers: bool) -> Option<Self::Entry>;

    /// 0 or the errno of a transfer of `length_bytes` that ended with `result`.
    fn errno(result: i32, length_bytes: u32) -> i32;
}

/// A ring, and what was passed to it.
///
/// A request that completes while it is being passed on (page cache, memory)
/// would get the latency of the whole group that it is passed on with. Such
/// requests are therefore passed on one by one, and the clock is read after
/// each; [`Engine::batch`] overrides that. Where the device completes later,
/// groups cost it nothing.
pub(crate) struct Ring<P: Protocol> {
    queues: Queues<P::Entry, P::Posted>,
    protocol: P,
    /// Buffers are pinned once, not at every I/O. False where the limit on
    /// locked memory (`ulimit -l`) is too small: more CPU time per I/O.
    pub(crate) registered_buffers: bool,
    io_poll: bool,
    sq_poll: bool,
    batch: Option<u32>,
    /// Lengths by slot.
    expected_bytes: Vec<u32>,
    /// Completed while being passed on, not yet handed out.
    ready: Vec<Completion>,
    /// The latest request completed while it was passed on.
    inline: bool,
    latest_slot: u32,
    waits_to_probe: u32,
    /// Requests in the submission queue that the kernel has not seen.
    queued: u32,
    /// Requests in the submission queue or the kernel.
    pub(crate) outstanding: u32,
    clock_ns: u64,
    /// The reading still serves as a submission time: nothing that takes time
    /// has happened since.
    clock_is_current: bool,
}

impl<P: Protocol> Ring<P> {
    /// A ring for `slots` outstanding requests on `file` through `buffers`.
    ///
    /// # Errors
    /// See [`Unavailable`].
    pub(crate) fn new(
        slots: u32,
        file: &File,
        buffers: &mut Buffers,
        engine: &Engine,
        protocol: P,
    ) -> Result<Self, Unavailable> {
        let slots_max = ENTRIES_MAX / if engine.sq_poll { 2 } else { 1 };
        if slots > slots_max {
            return Err(Unavailable::Other(TargetError(format!(
                "{slots} outstanding requests in one worker are more than io_uring's {slots_max}: use a lower queue depth or more workers"
            ))));
        }
        let ring = build(slots, engine)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(Unavailable::Absent(
                "this kernel's io_uring cannot wait with a time limit: Linux 5.11 or newer is needed",
            ));
        }
        let queues = Queues::new(ring);
        queues.submitter.register_files(&[file.as_raw_fd()]).map_err(|error| {
            let message = format!("io_uring takes no registered file: {error}");
            Unavailable::Other(TargetError(message))
        })?;
        let pieces = buffers.pieces();
        // SAFETY: the pieces cover the mapping of `buffers`, which outlives the
        // requests of this ring (see `RealTarget::release`).
        let registered = unsafe { queues.submitter.register_buffers(&pieces) };
        Ok(Self {
            queues,
            protocol,
            registered_buffers: registered.is_ok(),
            io_poll: engine.io_poll,
            sq_poll: engine.sq_poll,
            batch: engine.batch,
            expected_bytes: vec![0; slots as usize],
            ready: Vec::with_capacity(slots as usize),
            inline: false,
            latest_slot: 0,
            waits_to_probe: 0,
            queued: 0,
            outstanding: 0,
            clock_ns: monotonic_ns(),
            clock_is_current: false,
        })
    }

    /// The clock, read now.
    pub(crate) fn now_ns(&mut self) -> u64 {
        self.clock_ns = monotonic_ns();
        self.clock_ns
    }

    /// Something that takes time is done between two submissions.
    #[inline]
    pub(crate) fn time_passes(&mut self) {
        self.clock_is_current = false;
    }

    /// Takes a transfer and returns its submission time.
    #[inline]
    pub(crate) fn submit(&mut self, transfer: &Transfer) -> u64 {
        self.expected_bytes[transfer.slot as usize] = transfer.moved_bytes();
        let Some(mut entry) = self.protocol.entry(transfer, self.registered_buffers) else {
            let (slot, completed_ns, errno) = (transfer.slot, self.now_ns(), libc::EOPNOTSUPP);
            self.ready.push(Completion { slot, completed_ns, errno });
            return completed_ns;
        };
        entry.set_user_data(u64::from(transfer.slot));
        // SAFETY: the buffer holds the length, as `Buffers::pointer` asserts, and
        // stays until the request has completed (see `RealTarget::release`).
        let pushed = unsafe { self.queues.submission.push(&entry) };
        assert!(pushed.is_ok(), "more requests outstanding than slots");
        if !self.clock_is_current {
            self.clock_ns = monotonic_ns();
            self.clock_is_current = true;
        }
        let submitted_ns = self.clock_ns;
        self.latest_slot = transfer.slot;
        self.queued += 1;
        self.outstanding += 1;
        if self.queued >= self.group() {
            self.pass_on();
        }
        submitted_ns
    }

    /// Passes on what is queued, unless it is given in batches as asked.
    pub(crate) fn hand_over(&mut self) {
        if self.queued > 0 && self.batch.is_none() {
            self.pass_on();
        }
    }

    fn group(&self) -> u32 {
        self.batch.unwrap_or(if self.inline { 1 } else { GROUP })
    }

    /// Passes what is queued to the kernel, and takes note of what completed
    /// meanwhile. What the kernel does not take now stays queued, and the next
    /// wait passes it again or reports why not.
    fn pass_on(&mut self) {
        self.queues.submission.sync();
        let _ = self.queues.submitter.submit();
        self.count_queued();
        let before = self.ready.len();
        self.reap_ready();
        let completed = &self.ready[before..];
        self.clock_is_current = !completed.is_empty();
        self.inline = completed.iter().any(|completion| completion.slot == self.latest_slot);
    }

    /// With a kernel thread that polls, what was queued counts as passed on.
    fn count_queued(&mut self) {
        self.queues.submission.sync();
        self.queued = if self.sq_poll { 0 } else { self.queues.submission.len() as u32 };
    }

    /// Takes what the kernel has posted for the next wait.
    fn reap_ready(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.reap(&mut ready);
        self.ready = ready;
    }

    /// Appends every completion that the kernel has posted. The clock is read
    /// after the kernel has posted them, so that no latency is too short.
    fn reap(&mut self, done: &mut Vec<Completion>) {
        let posted = &mut self.queues.completion;
        posted.sync();
        if CompletionQueue::is_empty(posted) {
            return;
        }
        self.clock_ns = monotonic_ns();
        let completed_ns = self.clock_ns;
        for entry in posted {
            let entry: cqueue::Entry = entry.into();
            let slot = entry.user_data() as u32;
            let errno = P::errno(entry.result(), self.expected_bytes[slot as usize]);
            self.outstanding -= 1;
            done.push(Completion { slot, completed_ns, errno });
        }
    }

    /// See [`fourcorners_target::Target::wait`].
    pub(crate) fn wait(
        &mut self,
        deadline_ns: u64,
        done: &mut Vec<Completion>,
    ) -> Result<(), TargetError> {
        let before = done.len();
        self.clock_is_current = false;
        if self.batch.is_none() && self.queued > 1 {
            self.waits_to_probe = self.waits_to_probe.checked_sub(1).unwrap_or(WAITS_PER_PROBE);
            if self.waits_to_probe == 0 {
                self.pass_on();
            }
        }
        loop {
            if !self.ready.is_empty() {
                // Others may have completed meanwhile: the kernel is asked only
                // if it says so.
                if self.queued > 0 || self.queues.submission.taskrun() {
                    self.pass_on();
                } else {
                    self.reap_ready();
                }
                self.clock_is_current = false;
                done.append(&mut self.ready);
                return Ok(());
            }
            // What the kernel posted in the meantime is handed out first, but
            // never at the price of requests that wait to be submitted.
            self.queues.completion.sync();
            if self.queued > 0 || self.queues.completion.is_empty() {
                if !self.io_poll && self.now_ns().saturating_add(WATCHED_NS) >= deadline_ns {
                    self.watch(deadline_ns);
                } else {
                    self.enter(deadline_ns - WATCHED_NS.min(deadline_ns))?;
                }
            }
            self.reap(done);
            if done.len() > before || self.now_ns() >= deadline_ns {
                return Ok(());
            }
        }
    }

    /// Passes what is queued to the kernel, and looks for completions without a
    /// sleep until `deadline_ns`.
    fn watch(&mut self, deadline_ns: u64) {
        if self.queued > 0 {
            self.pass_on();
        } else if self.sq_poll && self.queues.submission.need_wakeup() {
            // What will be due then finds it awake.
            let _ = self.queues.submitter.submit();
        }
        while self.ready.is_empty() && self.now_ns() < deadline_ns {
            self.queues.completion.sync();
            if !self.queues.completion.is_empty() {
                return;
            }
            if self.queues.submission.taskrun() {
                let _ = self.queues.submitter.submit();
                self.reap_ready();
            }
            std::hint::spin_loop();
        }
    }

    /// Passes what is queued to the kernel and waits for a completion, or a batch
    /// of them, at most until `deadline_ns`. Ends early without an error on a signal.
    fn enter(&mut self, deadline_ns: u64) -> Result<(), TargetError> {
        let timeout_ns = deadline_ns.saturating_sub(self.clock_ns);
        if self.io_poll && self.outstanding == 0 {
            // The kernel polls for completions without a limit in time.
            std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.min(NAP_NS)));
            return Ok(());
        }
        let timeout = types::Timespec::new()
            .sec(timeout_ns / 1_000_000_000)
            .nsec((timeout_ns % 1_000_000_000) as u32);
        let arguments = types::SubmitArgs::new().timespec(&timeout);
        let wanted = self.batch.unwrap_or(1).min(self.outstanding).max(1);
        self.queues.submission.sync();
        let result = self.queues.submitter.submit_with_args(wanted as usize, &arguments);
        self.count_queued();
        match result {
            Ok(_) => Ok(()),
            // The time is up, a signal came, or the kernel asks to reap first.
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
                _ => Err(TargetError(format!("io_uring takes no more requests: {error}"))),
            },
        }
    }
}

impl<P: Protocol> Drop for Ring<P> {
    fn drop(&mut self) {
        // The kernel takes a ring apart some time later, and would keep the file,
        // with its claims, until then.
        let _ = self.queues.submitter.unregister_files();
    }
}

fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    slots: u32,
    engine: &Engine,
) -> Result<IoUring<S, C>, Unavailable> {
    let mut builder = IoUring::<S, C>::builder();
    if engine.io_poll {
        builder.setup_iopoll();
    }
    if engine.sq_poll {
        builder.setup_sqpoll(SQ_POLL_IDLE_MS);
        // A request may complete before its thread has cleared its entry.
        return builder.build(2 * slots).map_err(|error| unavailable(&error));
    }
    // Completions are posted while this thread waits, without interrupting it
    // (Linux 6.1), and entries are taken in order without an array that says so
    // (6.6); older kernels do both in their own way.
    let mut deferring = builder.clone();
    deferring.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    let ring = deferring.clone().setup_no_sqarray().build(slots);
    let ring = ring.or_else(|_| deferring.build(slots)).or_else(|_| builder.build(slots));
    ring.map_err(|error| unavailable(&error))
}

fn unavailable(error: &std::io::Error) -> Unavailable {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => Unavailable::Absent("this kernel has no io_uring"),
        Some(libc::EPERM | libc::EACCES) => Unavailable::Absent(
            "io_uring is forbidden here (`sysctl kernel.io_uring_disabled`, or a container's seccomp profile)",
        ),
        Some(libc::ENOMEM) => Unavailable::Other(TargetError(
            "no locked memory for io_uring: raise the limit (`ulimit -l`) or use a lower queue depth".into(),
        )),
        _ => Unavailable::Other(TargetError(format!("io_uring cannot be set up: {error}"))),
    }
}
