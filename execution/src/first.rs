//! A thread that goes before others that want its processor.

/// While it lives, the thread that made it goes first, where the system permits that: on Linux with
/// root's rights or `RLIMIT_NICE`, where others have a second processor, and it was not put behind
/// others on purpose.
///
/// Linux shares processors between sessions first (autogroups, sched(7)), and niceness decides
/// within one only: beside 22 busy processes of other sessions 88 % of 50,000 I/Os a second were
/// late on two processors by the thread's own niceness, and 2.5 % since its session goes first as
/// well (Linux 6.18). A real-time priority would do no better: the system takes the processor from
/// it for 50 ms of each second while others wait, as it never sleeps, and what completes I/O on that
/// processor would wait for all the rest.
pub(crate) struct First {
    #[cfg(target_os = "linux")]
    before: of_the_system::Before,
}

impl First {
    /// The calling thread goes first.
    pub(crate) fn go() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            before: of_the_system::go(),
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for First {
    fn drop(&mut self) {
        of_the_system::restore(&self.before);
    }
}

#[cfg(target_os = "linux")]
mod of_the_system {
    use std::fs::{read_to_string, write};

    /// The most that a thread may be put before others without taking all from them.
    const MOST: i32 = -20;
    /// Of the session, whose niceness is the last word in it.
    const SESSION: &str = "/proc/self/autogroup";

    /// Niceness that was changed.
    #[derive(Default)]
    pub(super) struct Before {
        thread: Option<i32>,
        session: Option<i32>,
    }

    pub(super) fn go() -> Before {
        let others_have_some = processors() > 1;
        let (thread, session) = (of_thread(), of_session());
        if !others_have_some || thread > 0 || session.is_some_and(|nice| nice > 0) {
            return Before::default();
        }
        if !set_thread(MOST) {
            return Before::default();
        }
        // Another replay of the session may have done it, and puts it back.
        let session = session.filter(|nice| *nice > MOST && set_session(MOST));
        Before { thread: Some(thread), session }
    }

    pub(super) fn restore(before: &Before) {
        if let Some(nice) = before.session {
            set_session(nice);
        }
        if let Some(nice) = before.thread {
            set_thread(nice);
        }
    }

    /// Those of the process, whatever this thread is bound to.
    pub(super) fn processors() -> i32 {
        // SAFETY: the set is ours, of which zeroes are an empty one.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(libc::getpid(), size_of::<libc::cpu_set_t>(), &mut set);
            libc::CPU_COUNT(&set)
        }
    }

    /// On Linux niceness is a thread's.
    pub(super) fn of_thread() -> i32 {
        // SAFETY: the call takes no memory. An error cannot be told from -1, and there is none for
        // the calling thread.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }

    pub(super) fn set_thread(nice: i32) -> bool {
        // SAFETY: the call takes no memory.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
    }

    /// `None` where the system has no such groups.
    pub(super) fn of_session() -> Option<i32> {
        read_to_string(SESSION).ok()?.split_ascii_whitespace().next_back()?.parse().ok()
    }

    fn set_session(nice: i32) -> bool {
        write(SESSION, nice.to_string()).is_ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::First;
    use super::of_the_system::{of_session, of_thread, processors, set_thread};

    fn in_a_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(run).join().unwrap()
    }

    #[test]
    fn a_thread_goes_first_where_it_may_and_everything_is_as_before_afterwards() {
        let several = processors() > 1;
        let may = in_a_thread(|| set_thread(-20) && of_thread() == -20);
        let (own, session) = (of_thread(), of_session());
        let (within, after) = in_a_thread(|| {
            let first = First::go();
            let within = of_thread();
            drop(first);
            (within, of_thread())
        });
        let goes = may && several && own <= 0 && session.is_none_or(|nice| nice <= 0);
        assert_eq!(within, if goes { -20 } else { own });
        assert_eq!((after, of_thread(), of_session()), (own, own, session));
    }

    #[test]
    fn who_was_put_behind_others_stays_there() {
        let found = in_a_thread(|| {
            set_thread(19);
            let _first = First::go();
            of_thread()
        });
        assert_eq!(found, 19);
    }
}
