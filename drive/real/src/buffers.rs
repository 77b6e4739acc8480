//! The memory that I/O goes through: one mapping, one aligned piece per slot.

use crate::system::memory;
use fourcorners_target::TargetError;

/// Alignment of every slot's buffer: the largest that direct I/O asks for.
const SLOT_ALIGNMENT_BYTES: u64 = 4096;
/// Most memory for one target's buffers. 512 MiB at queue depth 1 (the
/// reviews' largest transfer) takes a quarter of it.
const TOTAL_BYTES_MAX: u64 = 2 << 30;
/// Mappings from this size on are worth huge pages: fewer pages to pin.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// io_uring registers no buffer larger than this.
const REGISTERED_BYTES_MAX: u64 = 1 << 30;

/// Buffers of all slots, in one anonymous mapping.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: *mut u8,
    total_bytes: u64,
    stride_bytes: u64,
    slots: u32,
}

// SAFETY: the mapping belongs to this value alone and moves with it; all
// access goes through `&mut self` or is the kernel's.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps `slots` buffers of `block_bytes` each, with `huge` in reserved huge
    /// pages.
    ///
    /// # Errors
    /// More than [`TOTAL_BYTES_MAX`] or than half of the available memory, or
    /// no memory.
    pub(crate) fn new(slots: u32, block_bytes: u32, huge: bool) -> Result<Self, TargetError> {
        let stride_bytes = u64::from(block_bytes).next_multiple_of(SLOT_ALIGNMENT_BYTES);
        let mut total_bytes = stride_bytes * u64::from(slots);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let flags = match memory::HUGE_PAGES {
            Some(huge_pages) if huge => flags | huge_pages,
            None if huge => {
                return Err(TargetError(
                    "only Linux has huge pages to reserve: leave out huge-pages".into(),
                ));
            }
            _ => flags,
        };
        if huge {
            total_bytes = total_bytes.next_multiple_of(HUGE_PAGE_BYTES);
        }
        let limit_bytes = TOTAL_BYTES_MAX.min(memory::available_bytes() / 2);
        if total_bytes > limit_bytes {
            return Err(TargetError(format!(
                "{slots} outstanding requests of {block_bytes} bytes need {} MiB of buffers, and at most {} MiB are taken: use smaller blocks or a lower queue depth",
                total_bytes.div_ceil(1 << 20),
                limit_bytes >> 20
            )));
        }
        // SAFETY: an anonymous mapping at an address of the kernel's choice
        // touches no existing memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total_bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED && huge {
            return Err(TargetError(format!(
                "{0} huge pages for buffers are not free: reserve them with `sysctl vm.nr_hugepages={0}`, or leave out huge-pages",
                total_bytes / HUGE_PAGE_BYTES
            )));
        }
        if base == libc::MAP_FAILED {
            return Err(TargetError(format!(
                "no memory for {} MiB of buffers ({}): use smaller blocks or a lower queue depth",
                total_bytes.div_ceil(1 << 20),
                std::io::Error::last_os_error()
            )));
        }
        if total_bytes >= HUGE_PAGE_BYTES && !huge {
            // SAFETY: the range is the mapping made above.
            unsafe { memory::prefer_large_pages(base, total_bytes as usize) };
        }
        Ok(Self { base: base.cast(), total_bytes, stride_bytes, slots })
    }

    /// Start of a slot's buffer, which holds at least `length_bytes`.
    #[inline]
    pub(crate) fn pointer(&mut self, slot: u32, length_bytes: u32) -> *mut u8 {
        assert!(slot < self.slots && u64::from(length_bytes) <= self.stride_bytes);
        // SAFETY: `slots` strides lie inside the mapping.
        unsafe { self.base.add((u64::from(slot) * self.stride_bytes) as usize) }
    }

    /// The first `length_bytes` of a slot's buffer. No I/O of the slot may be
    /// outstanding.
    pub(crate) fn bytes(&mut self, slot: u32, length_bytes: u32) -> &mut [u8] {
        let pointer = self.pointer(slot, length_bytes);
        // SAFETY: the range lies inside the slot's stride of a live, readable
        // and writable mapping, which anonymous memory initializes with
        // zeros; the borrow of `self` keeps other slices away, and the caller
        // keeps the kernel away.
        unsafe { std::slice::from_raw_parts_mut(pointer, length_bytes as usize) }
    }

    /// Slots per registered piece: pieces are as large as the kernel takes.
    pub(crate) fn slots_per_piece(&self) -> u32 {
        (REGISTERED_BYTES_MAX / self.stride_bytes).clamp(1, u64::from(self.slots)) as u32
    }

    /// The mapping cut into pieces for registration.
    pub(crate) fn pieces(&mut self) -> Vec<libc::iovec> {
        let piece = self.slots_per_piece();
        (0..self.slots)
            .step_by(piece as usize)
            .map(|first| libc::iovec {
                iov_len: (u64::from(piece.min(self.slots - first)) * self.stride_bytes) as usize,
                iov_base: self.pointer(first, 0).cast(),
            })
            .collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping of `new`, and nobody uses it after
        // its owner: see `RealTarget`'s drop.
        unsafe { libc::munmap(self.base.cast(), self.total_bytes as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reviews_largest_transfer_fits_and_a_deep_queue_of_it_does_not() {
        assert!(Buffers::new(1, 512 << 20, false).is_ok());
        let error = Buffers::new(31, 512 << 20, false).unwrap_err().to_string();
        assert!(error.contains("lower queue depth"), "{error}");
    }

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 512, false).unwrap();
        buffers.bytes(0, 512).fill(1);
        buffers.bytes(1, 512).fill(2);
        assert_eq!(buffers.bytes(0, 512), [1; 512]);
        assert_eq!(buffers.pointer(2, 512) as usize % 4096, 0);
        let pieces = buffers.pieces();
        assert_eq!(pieces.iter().map(|p| p.iov_len).sum::<usize>(), 3 * 4096);
    }
}
