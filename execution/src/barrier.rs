//! A barrier that one thread makes all threads of the process pass (`membarrier` of
//! Linux 4.14): other systems have none.

#[cfg(target_os = "linux")]
mod of_the_system {
    use std::sync::OnceLock;

    pub(crate) fn is_there() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    }

    pub(crate) fn pass() -> bool {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod of_the_system {
    pub(crate) fn is_there() -> bool {
        false
    }

    pub(crate) fn pass() -> bool {
        false
    }
}

/// Whether [`pass`] will do it.
pub(crate) use of_the_system::is_there;
/// Every thread of this process passes a barrier before this returns; false if not.
pub(crate) use of_the_system::pass;
