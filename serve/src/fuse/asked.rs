//! What the kernel asks, on its way to the server's thread.

use fuser::{ReplyData, ReplyEmpty, ReplyLseek, ReplyWrite};
use mio::Waker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// One request of the kernel, with whom to answer.
#[derive(Debug)]
pub enum Asked {
    /// A transfer from the drive. The range lies within it, in bytes.
    Read { offset_bytes: u64, length_bytes: u32, reply: ReplyData },
    /// A transfer to the drive, in bytes as well.
    Write { offset_bytes: u64, data: Vec<u8>, is_forced: bool, reply: ReplyWrite },
    /// The range, whole sectors, is no longer needed.
    Trim { offset_bytes: u64, length_bytes: u64, reply: ReplyEmpty },
    /// The range, whole sectors, is to be zeroes.
    Zero { offset_bytes: u64, length_bytes: u64, reply: ReplyEmpty },
    /// What was acknowledged is to be durable.
    Flush { reply: ReplyEmpty },
    /// Where the next byte is that is stored, or is not.
    Seek { offset_bytes: u64, to_stored: bool, reply: ReplyLseek },
}

/// Requests that the server's thread has not taken yet.
#[derive(Debug, Default)]
pub struct Queue {
    asked: Mutex<Vec<Asked>>,
    is_any: AtomicBool,
    is_over: AtomicBool,
    /// Whether the server's thread waits for the system to say something.
    sleeps: AtomicBool,
    waker: OnceLock<Arc<Waker>>,
}

impl Queue {
    /// Passes a request on. One that nobody will take any more is dropped, and a reply
    /// that is dropped is an error to the kernel (EIO).
    pub fn push(&self, one: Asked) {
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
    pub fn take(&self, into: &mut Vec<Asked>) {
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
