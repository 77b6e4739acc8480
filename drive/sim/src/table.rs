//! Large zeroed tables, on huge pages where the system has them.
//!
//! A page map is accessed at random: with 4 KiB pages most accesses miss the
//! TLB as well as the cache.

use std::ops::{Deref, DerefMut};

/// A fixed-size table of zeroes at first, untouched parts of which cost no
/// memory.
#[derive(Debug)]
pub struct Table<T: Zeroable> {
    pointer: *mut T,
    length: usize,
}

/// Integer types for which all-zero bytes are a value.
pub trait Zeroable: Copy {}
impl Zeroable for u8 {}
impl Zeroable for u32 {}
impl Zeroable for u64 {}

// SAFETY: the table owns its memory and T is a plain integer.
unsafe impl<T: Zeroable + Send> Send for Table<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Zeroable + Sync> Sync for Table<T> {}

impl<T: Zeroable> Table<T> {
    /// A table of `length` zeroes.
    ///
    /// # Panics
    /// When the address space is exhausted.
    pub fn zeroed(length: usize) -> Self {
        let bytes = length.max(1) * size_of::<T>();
        // SAFETY: an anonymous private mapping at an address of the kernel's
        // choice touches nothing that exists.
        let pointer = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(pointer != libc::MAP_FAILED, "no address space for {bytes} bytes");
        #[cfg(target_os = "linux")]
        // SAFETY: the range was just mapped; advice never changes contents.
        unsafe {
            libc::madvise(pointer, bytes, libc::MADV_HUGEPAGE);
        }
        Self { pointer: pointer.cast(), length }
    }
}

impl<T: Zeroable> Table<T> {
    /// Makes all entries zero, which gives their memory back.
    pub fn clear(&mut self) {
        #[cfg(target_os = "linux")]
        {
            let bytes = self.length.max(1) * size_of::<T>();
            // SAFETY: the range was mapped in `zeroed` with this size; private
            // anonymous pages read as zeroes after this advice.
            let failed = unsafe { libc::madvise(self.pointer.cast(), bytes, libc::MADV_DONTNEED) };
            if failed == 0 {
                return;
            }
        }
        // SAFETY: the mapping holds `length` entries, for which zero is a value.
        unsafe { self.pointer.write_bytes(0, self.length) };
    }
}

impl<T: Zeroable> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `zeroed` with this size.
        unsafe { libc::munmap(self.pointer.cast(), self.length.max(1) * size_of::<T>()) };
    }
}

impl<T: Zeroable> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `length` zeroed, hence valid, values.
        unsafe { std::slice::from_raw_parts(self.pointer, self.length) }
    }
}

impl<T: Zeroable> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.length) }
    }
}
