//! State that one thread works on, and that another may take away while the
//! first hangs in a call.
//!
//! The worker pays two stores and a load per call, and no barrier: the other
//! thread makes up for that with `membarrier`, which interrupts every processor
//! that runs this process. The pattern is that of asymmetric fences (Linux'
//! membarrier(2), "Examples").

use crate::barrier;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state was taken while the worker hung: there is nothing left to do.
#[derive(Debug)]
pub(crate) struct Taken;

/// The worker's side. Without `WATCHED` nobody can take the state, and calls
/// cost nothing.
pub(crate) struct Custody<S, const WATCHED: bool> {
    shared: Arc<Shared<S>>,
    calls: u64,
    lost: bool,
}

/// The other side.
pub(crate) struct Watch<S> {
    shared: Arc<Shared<S>>,
}

struct Shared<S> {
    state: UnsafeCell<Option<S>>,
    /// Number of the call that the worker is in, or 0.
    call: AtomicU64,
    /// The state is about to be taken.
    claimed: AtomicBool,
    /// Whether it was; locked while that is being decided.
    taken: Mutex<bool>,
}

// SAFETY: the state is reached by the worker alone, outside its calls, until
// `Watch::take` hands it to another thread, from when on the worker leaves it.
unsafe impl<S: Send> Sync for Shared<S> {}

impl<S> Shared<S> {
    fn taken(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S, const WATCHED: bool> Custody<S, WATCHED> {
    pub(crate) fn new(state: S) -> Self {
        let shared = Shared {
            state: UnsafeCell::new(Some(state)),
            call: AtomicU64::new(0),
            claimed: AtomicBool::new(false),
            taken: Mutex::new(false),
        };
        Self { shared: Arc::new(shared), calls: 0, lost: false }
    }

    #[inline]
    pub(crate) fn get(&mut self) -> &mut S {
        assert!(!self.lost, "state that was taken is not used");
        // SAFETY: the state was not taken when the latest call ended, and is
        // not taken outside calls; `self` is borrowed while it is used. It is
        // there until it is taken.
        unsafe { (*self.shared.state.get()).as_mut().unwrap_unchecked() }
    }

    /// The state, for good.
    pub(crate) fn take(&mut self) -> S {
        assert!(!self.lost, "state that was taken is not used");
        self.lost = true;
        // SAFETY: as in `get`; from now on it is not used here.
        let state = unsafe { (*self.shared.state.get()).take() };
        state.expect("it is there until it is taken")
    }

    /// Makes a call that may hang.
    ///
    /// # Errors
    /// It did, and the state was taken meanwhile.
    #[inline]
    pub(crate) fn call<R>(&mut self, call: impl FnOnce() -> R) -> Result<R, Taken> {
        if !WATCHED {
            return Ok(call());
        }
        self.calls += 1;
        self.shared.call.store(self.calls, Ordering::Release);
        let result = call();
        self.shared.call.store(0, Ordering::Release);
        // The processor may still exchange this store and this load: then the
        // barrier in `Watch::take` comes before both or after both.
        compiler_fence(Ordering::SeqCst);
        if self.shared.claimed.load(Ordering::Acquire) && *self.shared.taken() {
            self.lost = true;
            return Err(Taken);
        }
        Ok(result)
    }
}

impl<S> Custody<S, true> {
    pub(crate) fn watch(&self) -> Watch<S> {
        Watch { shared: Arc::clone(&self.shared) }
    }
}

impl<S> Watch<S> {
    /// Number of the call that the worker is in; `None` outside.
    pub(crate) fn call(&self) -> Option<u64> {
        match self.shared.call.load(Ordering::Acquire) {
            0 => None,
            call => Some(call),
        }
    }

    /// Takes the state if the worker is still in this call; `None` if it is not,
    /// or where the system has no such barrier.
    pub(crate) fn take(&self, call: u64) -> Option<S> {
        if !barrier::is_there() {
            return None;
        }
        let mut taken = self.shared.taken();
        self.shared.claimed.store(true, Ordering::SeqCst);
        let ordered = barrier::pass();
        if ordered && self.call() == Some(call) {
            *taken = true;
            // SAFETY: the worker was in the call after the claim was visible to
            // it, so that it finds the claim when the call ends and, once
            // `taken` is unlocked, leaves the state alone.
            unsafe { (*self.shared.state.get()).take() }
        } else {
            self.shared.claimed.store(false, Ordering::SeqCst);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::mpsc;

    #[test]
    fn what_hangs_in_a_call_loses_its_state_and_is_told() {
        let mut custody = Custody::<_, true>::new(vec![1]);
        let watch = custody.watch();
        assert_eq!(watch.call(), None);
        let (entered, enters) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            custody.get().push(2);
            let result = custody.call(|| {
                entered.send(()).unwrap();
                released.recv().unwrap();
            });
            assert!(result.is_err());
        });
        enters.recv().unwrap();
        let call = watch.call().unwrap();
        assert!(watch.take(call + 1).is_none());
        assert_eq!(watch.take(call), Some(vec![1, 2]));
        release.send(()).unwrap();
        worker.join().unwrap();
    }

    #[test]
    fn exactly_one_side_has_the_state_however_calls_and_claims_meet() {
        for round in 0..2_000u64 {
            let mut custody = Custody::<_, true>::new(0u64);
            let watch = custody.watch();
            let worker = std::thread::spawn(move || {
                for _ in 0..200 {
                    *custody.get() += 1;
                    if custody.call(|| std::hint::black_box(())).is_err() {
                        return None;
                    }
                }
                Some(*custody.get())
            });
            let mut stolen = None;
            for _ in 0..=round % 7 {
                stolen = stolen.or_else(|| watch.take(watch.call()?));
            }
            match (worker.join().unwrap(), stolen) {
                (Some(200), None) => {}
                (None, Some(count)) => assert!((1..=200).contains(&count)),
                both => panic!("{both:?}"),
            }
        }
    }

    /// A store of the worker reaches other processors behind all those before it,
    /// and its later loads do not wait for that. Here those before it go to memory
    /// that the other processor has just written, so that the end of a call is
    /// known there after the worker has looked for a claim. Without the barrier the
    /// worker goes on after a call in which its state was taken: in every fifth
    /// round on two busy processors (x86-64).
    #[test]
    fn the_end_of_a_call_is_known_before_its_state_is_taken() {
        const ROUNDS: u32 = 150;
        const CALLS: u64 = 2_000;
        const LINES: usize = 40;
        for _ in 0..ROUNDS {
            let far: Arc<[Line; LINES]> = Arc::new(std::array::from_fn(|_| Line::default()));
            let mut custody = Custody::<_, true>::new(());
            let (watch, worker_far) = (custody.watch(), Arc::clone(&far));
            let worker = std::thread::spawn(move || {
                (1..=CALLS).find(|&call| {
                    let write = || worker_far.iter().for_each(|line| line.0.store(call, Relaxed));
                    custody.call(write).is_err()
                })
            });
            let mut taken = None;
            while taken.is_none() && !worker.is_finished() {
                far.iter().for_each(|line| line.0.store(0, Relaxed));
                taken = watch.call().filter(|&call| watch.take(call).is_some());
            }
            let lost = worker.join().unwrap();
            assert_eq!(lost, taken, "the call after which a side knew that the state was taken");
        }
    }

    /// Memory that shares no cache line with another.
    #[derive(Default)]
    #[repr(align(128))]
    struct Line(AtomicU64);
}
