//! Memory for buffers: how much there is, and large pages.

/// Flag of a mapping in reserved huge pages.
pub(crate) const HUGE_PAGES: Option<libc::c_int> = Some(libc::MAP_HUGETLB);

/// `MemAvailable` of this machine; without it no limit.
pub(crate) fn available_bytes() -> u64 {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(u64::MAX, |kib| kib * 1024)
}

/// Asks for large pages where nobody reserved any. Refusal costs speed only.
///
/// # Safety
/// The range is a mapping of the caller's.
pub(crate) unsafe fn prefer_large_pages(start: *mut libc::c_void, bytes: usize) {
    // SAFETY: the caller's promise; the advice changes no content.
    unsafe { libc::madvise(start, bytes, libc::MADV_HUGEPAGE) };
}
