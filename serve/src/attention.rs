//! How other threads have the server's attention.
//!
//! While the server's thread sleeps, it lends its state to a thread that hears the kernel:
//! that does what was asked, and answers what is due by then, without waking anybody. It
//! wakes the server's thread only where that has to see to what comes of it.

use mio::Waker;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// The server's state.
pub(crate) trait Host: Send {
    /// Whether nothing was asked that it has not begun with.
    fn is_quiet(&mut self) -> bool;

    /// Does what was asked; whether the server's thread has to go on with it.
    fn attend(&mut self) -> bool;
}

/// By which devices call the server.
#[derive(Debug)]
pub struct Attention {
    server: Mutex<Server>,
    waker: Arc<Waker>,
}

/// What the server's thread does.
#[derive(Debug)]
enum Server {
    /// It will look by itself.
    Works,
    Sleeps,
    /// It sleeps, and its state can be used.
    Lends(Lent),
}

/// A host that [`Attention::sleep`] was given, which has not returned.
#[derive(Debug)]
struct Lent(NonNull<dyn Host>);

// SAFETY: it stands for a mutable reference to a host, which is Send.
unsafe impl Send for Lent {}

impl Attention {
    /// Of a server that works, and is woken by this from its sleep.
    pub(crate) fn new(waker: Arc<Waker>) -> Self {
        Self { server: Mutex::new(Server::Works), waker }
    }

    /// Something was asked: it is done on this thread, or the server's thread wakes for it
    /// unless it works.
    pub fn call(&self) {
        let Ok(mut server) = self.server.lock() else { return };
        let wakes = match &mut *server {
            Server::Works => false,
            Server::Sleeps => true,
            // SAFETY: the host outlives `sleep`, which ends this state before it returns, and
            // uses nothing of it meanwhile; nobody else does without the lock.
            Server::Lends(Lent(host)) => unsafe { host.as_mut() }.attend(),
        };
        if wakes {
            *server = Server::Works;
            drop(server);
            let _ = self.waker.wake();
        }
    }

    /// The server's thread sleeps, by calling `sleep`; whether others may use its state meanwhile
    /// is `lends`. What was asked before is done first. Without a loan the thread does not sleep
    /// then, nor where it has to go on with that.
    ///
    /// # Errors
    /// Those of `sleep`.
    ///
    /// # Panics
    /// If the host did meanwhile.
    pub(crate) fn sleep<E>(
        &self,
        host: &mut dyn Host,
        lends: bool,
        sleep: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        /// Ends the loan, whatever happens.
        struct Awake<'a>(&'a Attention);
        impl Drop for Awake<'_> {
            fn drop(&mut self) {
                *self.0.server.lock().unwrap_or_else(PoisonError::into_inner) = Server::Works;
            }
        }
        let mut server = self.server.lock().expect("nobody has panicked with it");
        // With a loan it does so itself, once. If it went on until nobody asks, a program that
        // always does would never let it sleep, and two threads would do the work of one. What
        // is asked from here on is done by who asks, who waits for the lock.
        if !host.is_quiet() && (!lends || host.attend()) {
            return Ok(());
        }
        let awake = Awake(self);
        *server = if lends {
            let host: NonNull<dyn Host + '_> = host.into();
            // SAFETY: only how long it lives is changed, and `awake` ends its use before.
            Server::Lends(Lent(unsafe {
                std::mem::transmute::<NonNull<dyn Host + '_>, NonNull<dyn Host>>(host)
            }))
        } else {
            Server::Sleeps
        };
        drop(server);
        let result = sleep();
        drop(awake);
        assert!(!self.server.is_poisoned(), "what a device asked has failed");
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::{Events, Poll, Token};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Takes numbers, and wants the server's thread for 9.
    struct Taker {
        asked: Arc<Mutex<Vec<u32>>>,
        taken: Vec<u32>,
    }

    impl Host for Taker {
        fn is_quiet(&mut self) -> bool {
            self.asked.lock().unwrap().is_empty()
        }

        fn attend(&mut self) -> bool {
            let asked = std::mem::take(&mut *self.asked.lock().unwrap());
            assert_ne!(asked, [13], "it fails");
            self.taken.extend(&asked);
            asked == [9]
        }
    }

    /// What the host took while it slept, what it has still to take, and whether it was woken.
    fn slept(lends: bool, numbers: [u32; 3]) -> (Vec<u32>, Vec<u32>, bool) {
        let mut poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
        let attention = Arc::new(Attention::new(waker));
        let asked: Arc<Mutex<Vec<u32>>> = Arc::default();
        let mut host = Taker { asked: Arc::clone(&asked), taken: Vec::new() };
        let (begin, begun) = channel();
        let hearing = Arc::clone(&attention);
        let thread = std::thread::spawn(move || {
            begun.recv().unwrap();
            for number in numbers {
                asked.lock().unwrap().push(number);
                hearing.call();
            }
        });
        let sleep = || {
            begin.send(()).unwrap();
            let _ = thread.join();
            Ok::<(), ()>(())
        };
        attention.sleep(&mut host, lends, sleep).unwrap();
        let mut events = Events::with_capacity(1);
        poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
        let left = host.asked.lock().unwrap().clone();
        (host.taken, left, !events.is_empty())
    }

    #[test]
    fn requests_are_done_in_the_servers_sleep_until_it_has_to_wake() {
        assert_eq!(slept(true, [1, 2, 3]), (vec![1, 2, 3], vec![], false));
        assert_eq!(slept(true, [1, 9, 3]), (vec![1, 9], vec![3], true));
        assert_eq!(slept(false, [1, 2, 3]), (vec![], vec![1, 2, 3], true));
    }

    /// What the host took of a number that was there before, and whether it slept.
    fn slept_over(lends: bool, number: u32) -> (Vec<u32>, bool) {
        let poll = Poll::new().unwrap();
        let attention = Attention::new(Arc::new(Waker::new(poll.registry(), Token(0)).unwrap()));
        let mut host = Taker { asked: Arc::new(Mutex::new(vec![number])), taken: Vec::new() };
        let mut sleeps = false;
        let sleep = || {
            sleeps = true;
            Ok::<(), ()>(())
        };
        attention.sleep(&mut host, lends, sleep).unwrap();
        (host.taken, sleeps)
    }

    #[test]
    fn nobody_sleeps_over_a_request_that_others_cannot_do() {
        assert_eq!(slept_over(false, 1), (vec![], false));
        assert_eq!(slept_over(true, 9), (vec![9], false));
    }

    #[test]
    fn a_request_from_before_does_not_keep_the_servers_thread_from_sleeping() {
        assert_eq!(slept_over(true, 1), (vec![1], true));
    }

    #[test]
    #[should_panic(expected = "what a device asked has failed")]
    fn what_fails_in_a_request_fails_the_server() {
        slept(true, [1, 13, 2]);
    }
}
