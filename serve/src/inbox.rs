//! What other threads hear, on its way to the server's thread.

use mio::Waker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Requests that the server's thread has not taken yet.
#[derive(Debug)]
pub struct Inbox<T> {
    asked: Mutex<Vec<T>>,
    is_any: AtomicBool,
    is_over: AtomicBool,
    /// Whether the server's thread waits for the system to say something.
    sleeps: AtomicBool,
    waker: OnceLock<Arc<Waker>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self {
            asked: Mutex::default(),
            is_any: AtomicBool::default(),
            is_over: AtomicBool::default(),
            sleeps: AtomicBool::default(),
            waker: OnceLock::default(),
        }
    }
}

impl<T> Inbox<T> {
    /// Passes a request on. One that nobody will take any more is dropped, which is to be an
    /// error to whoever waits for its answer.
    pub fn push(&self, one: T) {
        {
            let Ok(mut asked) = self.asked.lock() else { return };
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            asked.push(one);
            self.is_any.store(true, Ordering::SeqCst);
        }
        if self.sleeps.swap(false, Ordering::SeqCst)
            && let Some(waker) = self.waker.get()
        {
            let _ = waker.wake();
        }
    }

    /// Moves what was asked to the end of `into`.
    pub fn take(&self, into: &mut Vec<T>) {
        if self.is_any.load(Ordering::SeqCst)
            && let Ok(mut asked) = self.asked.lock()
        {
            into.append(&mut asked);
            self.is_any.store(false, Ordering::SeqCst);
        }
    }

    /// What ends the sleep of the server's thread.
    pub fn wake_by(&self, waker: Arc<Waker>) {
        let _ = self.waker.set(waker);
    }

    /// The server's thread is about to sleep; not where something was asked.
    pub fn may_sleep(&self) -> bool {
        self.sleeps.store(true, Ordering::SeqCst);
        !self.is_any.load(Ordering::SeqCst)
    }

    /// The server's thread has slept.
    pub fn woke(&self) {
        self.sleeps.store(false, Ordering::SeqCst);
    }

    /// Nothing will be taken any more.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Ok(mut asked) = self.asked.lock() {
            asked.clear();
        }
    }
}
