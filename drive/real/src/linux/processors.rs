//! Binding threads to processors, and which of them goes first.

use rustix::process::{getpriority_process, setpriority_process};
use std::io;

/// Processors that a set can name.
pub(crate) const COUNT_MAX: u32 = libc::CPU_SETSIZE as u32;

/// Keeps the calling thread off some processors, as far as others are left to it.
pub(crate) fn keep_off(some: &[u32]) {
    // SAFETY: both calls act on the calling thread, and on a set that is ours.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return;
        }
        for &cpu in some.iter().filter(|&&cpu| cpu < COUNT_MAX) {
            libc::CPU_CLR(cpu as usize, &mut set);
        }
        if libc::CPU_COUNT(&set) > 0 {
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
        }
    }
}

/// The most that a thread may be put before others without taking all from them.
const FIRST: i32 = -20;

/// Puts the calling thread before others that want its processor, where the system permits that
/// (root, `RLIMIT_NICE`), others are left to them, and it was not put behind them on purpose.
/// Beside 26 busy processes on two processors it then waits a thousandth as long (Linux 6.18). A
/// real-time priority would do no better: the system takes the processor from it for 50 ms of
/// each second, as it never sleeps.
pub(crate) fn go_first() {
    let others_have_some = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    // On Linux these are of a thread.
    if others_have_some && getpriority_process(None).is_ok_and(|nice| nice <= 0) {
        let _ = setpriority_process(None, FIRST);
    }
}

/// Binds the calling thread to one processor, whose number is below [`COUNT_MAX`].
///
/// # Errors
/// There is no such processor here, or it is forbidden.
pub(crate) fn bind_to(cpu: u32) -> io::Result<()> {
    assert!(cpu < COUNT_MAX);
    // SAFETY: the set is ours, and `cpu` lies inside it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_a_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(run).join().unwrap()
    }

    fn nice() -> i32 {
        getpriority_process(None).unwrap()
    }

    #[test]
    fn a_thread_goes_first_where_it_may_and_takes_nobody_with_it() {
        let several = std::thread::available_parallelism().unwrap().get() > 1;
        let (may, before) =
            in_a_thread(|| (setpriority_process(None, FIRST).is_ok() && nice() == FIRST, nice()));
        let own = nice();
        let found = in_a_thread(|| {
            go_first();
            nice()
        });
        assert_eq!(found, if may && several && own <= 0 { before } else { own });
        assert_eq!(nice(), own);
    }

    #[test]
    fn who_was_put_behind_others_stays_there() {
        let found = in_a_thread(|| {
            setpriority_process(None, 19).unwrap();
            go_first();
            nice()
        });
        assert_eq!(found, 19);
    }
}
