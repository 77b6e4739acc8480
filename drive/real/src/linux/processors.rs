//! Processors: which are free, and binding threads to them.

use std::fs;
use std::io;
use std::time::Duration;

/// Processors that a set can name.
pub(crate) const COUNT_MAX: u32 = libc::CPU_SETSIZE as u32;

/// Looks at what runs, one short moment after the other: what is seen of others is the
/// most of them.
const LOOKS: u32 = 4;
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Processors that this thread may use and others leave free at this moment, for this
/// process' own threads that run now as well; 0 where the system does not tell.
pub(crate) fn free() -> u32 {
    let mut others_most = 0;
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(LOOK_INTERVAL);
        }
        let Some(others) = running().and_then(|all| Some(all.saturating_sub(own_running()?)))
        else {
            return 0;
        };
        others_most = others_most.max(others);
    }
    allowed().saturating_sub(others_most)
}

/// Threads of the machine that run or could (proc_pid_loadavg(5), the fourth field).
fn running() -> Option<u32> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Those of them that are this process'.
fn own_running() -> Option<u32> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let stats = threads.filter_map(|one| fs::read_to_string(one.ok()?.path().join("stat")).ok());
    // The name before it may hold anything.
    let runs =
        |stat: &String| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" R"));
    Some(stats.filter(runs).count() as u32)
}

fn allowed() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

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
