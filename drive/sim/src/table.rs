//! Large zeroed tables, on huge pages where the system has them.
//!
//! A page map is accessed at random: with 4 KiB pages most accesses miss the
//! TLB as well as the cache.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
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

impl<T: Zeroable> Default for Table<T> {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

// As one run of bytes: element by element it would take many times as long.
#[cfg(target_endian = "big")]
compile_error!("saved tables are little-endian");

impl<T: Zeroable> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // SAFETY: the mapping holds `length` plain integers.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.pointer.cast::<u8>(), self.length * size_of::<T>())
        };
        serializer.serialize_bytes(bytes)
    }
}

impl<'de, T: Zeroable> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes<T>(PhantomData<T>);
        impl<T: Zeroable> Visitor<'_> for Bytes<T> {
            type Value = Table<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "the bytes of a table")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Table<T>, E> {
                if !bytes.len().is_multiple_of(size_of::<T>()) {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                let table: Table<T> = Table::zeroed(bytes.len() / size_of::<T>());
                // SAFETY: the table has room for these bytes and is nobody
                // else's; any bytes are valid integers.
                unsafe {
                    let target = table.pointer.cast::<u8>();
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
                }
                Ok(table)
            }
        }
        deserializer.deserialize_bytes(Bytes(PhantomData))
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

/// Brings a place in memory closer to the processor.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
