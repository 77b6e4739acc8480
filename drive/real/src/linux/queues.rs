//! An io_uring whose two queues stay open, and which the kernel finds without
//! looking up a descriptor.

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, squeue};
use std::ptr::NonNull;
use std::thread::ThreadId;

/// A ring taken apart for as long as it lives. What is pushed is seen by the kernel,
/// and what it posted is seen here, after `sync` of the queue.
pub(crate) struct Queues<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static> {
    pub(crate) submitter: Submitter<'static>,
    pub(crate) submission: SubmissionQueue<'static, S>,
    pub(crate) completion: CompletionQueue<'static, C>,
    /// The thread whose table of rings has this one.
    registered_by: Option<ThreadId>,
    /// Dropped last: the others refer to it.
    _ring: Owned<S, C>,
}

// SAFETY: the parts are one ring, which is `Send`, and move together.
unsafe impl<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static> Send
    for Queues<S, C>
{
}

impl<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static> Queues<S, C> {
    /// Opens the queues. The ring is registered for the calling thread where the
    /// kernel can (Linux 5.18): of several threads each looks up its descriptor
    /// with two atomic operations at every call.
    pub(crate) fn new(ring: IoUring<S, C>) -> Self {
        let ring = NonNull::from(Box::leak(Box::new(ring)));
        // SAFETY: the box was leaked a moment ago, and nothing else refers to it
        // until `Owned` takes it back, after its parts are gone.
        let (mut submitter, submission, completion) = unsafe { &mut *ring.as_ptr() }.split();
        let registered = submitter.register_ring_fd().is_ok();
        Self {
            submitter,
            submission,
            completion,
            registered_by: registered.then(|| std::thread::current().id()),
            _ring: Owned(ring),
        }
    }
}

impl<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static> Drop for Queues<S, C> {
    fn drop(&mut self) {
        // The table keeps the ring, and the ring its file with its claims, until
        // then; that of another thread goes with that thread.
        if self.registered_by == Some(std::thread::current().id()) {
            let _ = self.submitter.unregister_ring_fd();
        }
    }
}

struct Owned<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static>(
    NonNull<IoUring<S, C>>,
);

impl<S: squeue::EntryMarker + 'static, C: cqueue::EntryMarker + 'static> Drop for Owned<S, C> {
    fn drop(&mut self) {
        // SAFETY: it comes from the box that `Queues::new` leaked, once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_registers_any_number_of_rings_one_after_another() {
        // Its table has 16 places.
        let registered: Vec<bool> = (0..40)
            .filter_map(|_| IoUring::new(2).ok())
            .map(|ring| Queues::new(ring).registered_by.is_some())
            .collect();
        // Where the kernel can at all.
        assert!(registered.windows(2).all(|pair| pair[0] == pair[1]), "{registered:?}");
    }
}
