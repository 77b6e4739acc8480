//! Binding threads to processors.

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
