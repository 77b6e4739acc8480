//! Memory for buffers, of which the system alone knows how much there is.

/// No mapping in reserved huge pages.
pub(crate) const HUGE_PAGES: Option<libc::c_int> = None;

/// No limit is known.
pub(crate) fn available_bytes() -> u64 {
    u64::MAX
}

/// The system chooses by itself.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn prefer_large_pages(_start: *mut libc::c_void, _bytes: usize) {}
