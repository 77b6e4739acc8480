//! Makes the ring that a target uses, with as much as the kernel grants.

use crate::buffers::Buffers;
use fourcorners_target::TargetError;
use io_uring::{IoUring, types};
use std::fs::File;
use std::os::fd::AsRawFd;

/// The one registered file.
pub(crate) const FILE: types::Fixed = types::Fixed(0);
/// Largest submission queue that the kernel makes.
const SLOTS_MAX: u32 = 32_768;

/// How I/O is passed to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFacts {
    /// Buffers are pinned once, not at every I/O. False where the limit on
    /// locked memory (`ulimit -l`) is too small: more CPU time per I/O.
    pub registered_buffers: bool,
    /// Completions are posted in the waiting thread (Linux 6.1), without
    /// interrupting it.
    pub deferred_completions: bool,
}

/// A ring for `slots` outstanding requests on `file` through `buffers`.
///
/// # Errors
/// io_uring is absent, forbidden or too old; too many slots.
pub(crate) fn build(
    slots: u32,
    file: &File,
    buffers: &mut Buffers,
) -> Result<(IoUring, RingFacts), TargetError> {
    if slots > SLOTS_MAX {
        return Err(TargetError(format!(
            "{slots} outstanding requests in one worker are more than io_uring's {SLOTS_MAX}: use a lower queue depth or more workers"
        )));
    }
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(slots);
    let deferred_completions = deferred.is_ok();
    let ring = deferred.or_else(|_| IoUring::new(slots)).map_err(|error| unavailable(&error))?;
    if !ring.params().is_feature_ext_arg() {
        return Err(TargetError(
            "this kernel's io_uring cannot wait with a time limit: Linux 5.11 or newer is needed"
                .into(),
        ));
    }
    ring.submitter()
        .register_files(&[file.as_raw_fd()])
        .map_err(|error| TargetError(format!("io_uring takes no registered file: {error}")))?;
    let pieces = buffers.pieces();
    // SAFETY: the pieces cover the mapping of `buffers`, which outlives the
    // requests of this ring (see `RealTarget::release`).
    let registered = unsafe { ring.submitter().register_buffers(&pieces) };
    Ok((ring, RingFacts { registered_buffers: registered.is_ok(), deferred_completions }))
}

fn unavailable(error: &std::io::Error) -> TargetError {
    TargetError(match error.raw_os_error() {
        Some(libc::ENOSYS) => {
            "this kernel has no io_uring: Linux 5.11 or newer is needed to measure real files and devices".into()
        }
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here: allow it with `sysctl kernel.io_uring_disabled=0`, or in the container's seccomp profile".into()
        }
        Some(libc::ENOMEM) => {
            "no locked memory for io_uring: raise the limit (`ulimit -l`) or use a lower queue depth".into()
        }
        _ => format!("io_uring cannot be set up: {error}"),
    })
}
