//! What other threads hear, on its way to the server's thread.

use crate::attention::Attention;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Requests that the server has not taken yet.
///
/// What tells of them without the lock is ordered by the lock of [`Attention`]: whoever pushes
/// takes that afterwards, and the server before it sleeps.
#[derive(Debug)]
pub struct Inbox<T> {
    asked: Mutex<Vec<T>>,
    /// So that whoever finds nothing need not take the lock.
    is_any: AtomicBool,
    is_over: AtomicBool,
    server: OnceLock<Arc<Attention>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self {
            asked: Mutex::default(),
            is_any: AtomicBool::default(),
            is_over: AtomicBool::default(),
            server: OnceLock::default(),
        }
    }
}

impl<T> Inbox<T> {
    /// Passes a request on. One that nobody will take any more is dropped, which is to be an
    /// error to whoever waits for its answer.
    pub fn push(&self, one: T) {
        {
            let Ok(mut asked) = self.asked.lock() else { return };
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            asked.push(one);
            self.is_any.store(true, Ordering::Release);
        }
        if let Some(server) = self.server.get() {
            server.call();
        }
    }

    /// Moves what was asked to the end of `into`.
    pub fn take(&self, into: &mut Vec<T>) {
        if self.is_any.load(Ordering::Acquire)
            && let Ok(mut asked) = self.asked.lock()
        {
            into.append(&mut asked);
            self.is_any.store(false, Ordering::Release);
        }
    }

    /// Who takes what is asked from now on.
    pub fn call_for(&self, server: Arc<Attention>) {
        let _ = self.server.set(server);
    }

    /// Whether everything was taken.
    pub fn is_empty(&self) -> bool {
        !self.is_any.load(Ordering::Acquire)
    }

    /// Nothing will be taken any more.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if let Ok(mut asked) = self.asked.lock() {
            asked.clear();
        }
    }
}
