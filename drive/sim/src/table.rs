//! Large zeroed tables, on huge pages where the system has them.
//!
//! A page map is accessed at random: with 4 KiB pages most accesses miss the
//! TLB as well as the cache.

use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Memory is promised beyond what there is; some systems do so unasked.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const UNRESERVED: libc::c_int = libc::MAP_NORESERVE;
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
const UNRESERVED: libc::c_int = 0;

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
        Self::try_zeroed(length).unwrap_or_else(|| panic!("no address space for {length} entries"))
    }

    /// A table of `length` zeroes; `None` when the address space is exhausted.
    fn try_zeroed(length: usize) -> Option<Self> {
        let bytes = length.max(1).checked_mul(size_of::<T>())?;
        // SAFETY: an anonymous private mapping at an address of the kernel's
        // choice touches nothing that exists.
        let pointer = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | UNRESERVED,
                -1,
                0,
            )
        };
        if pointer == libc::MAP_FAILED {
            return None;
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the range was just mapped; advice never changes contents.
        unsafe {
            libc::madvise(pointer, bytes, libc::MADV_HUGEPAGE);
        }
        Some(Self { pointer: pointer.cast(), length })
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

// As runs of bytes: element by element it would take many times as long. As
// several, so that whoever loads them needs memory for one at a time.
#[cfg(target_endian = "big")]
compile_error!("saved tables are little-endian");

/// Most bytes of a saved table that follow each other.
pub const CHUNK_BYTES: usize = 1 << 20;

/// A part of a saved table.
struct Chunk<'a>(&'a [u8]);

impl Serialize for Chunk<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<T: Zeroable> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // SAFETY: the mapping holds `length` plain integers.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.pointer.cast::<u8>(), self.length * size_of::<T>())
        };
        let chunks = bytes.chunks(CHUNK_BYTES);
        let mut parts = serializer.serialize_seq(Some(1 + chunks.len()))?;
        parts.serialize_element(&(self.length as u64))?;
        for chunk in chunks {
            parts.serialize_element(&Chunk(chunk))?;
        }
        parts.end()
    }
}

impl<'de, T: Zeroable> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);
        impl<'de, T: Zeroable> Visitor<'de> for Parts<T> {
            type Value = Table<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "a table's length and its bytes")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Table<T>, A::Error> {
                let length: u64 =
                    parts.next_element()?.ok_or_else(|| Error::invalid_length(0, &self))?;
                // A damaged length may be any number.
                let table: Table<T> = (length.try_into().ok())
                    .and_then(Table::try_zeroed)
                    .ok_or_else(|| Error::custom("a table too large"))?;
                let bytes = table.length * size_of::<T>();
                let mut start = 0;
                while start < bytes {
                    let end = bytes.min(start + CHUNK_BYTES);
                    // SAFETY: the range is a part of the mapping, which is
                    // nobody else's; any bytes are valid integers.
                    let room = unsafe {
                        let first = table.pointer.cast::<u8>().add(start);
                        std::slice::from_raw_parts_mut(first, end - start)
                    };
                    let read = parts.next_element_seed(Room(room))?;
                    read.ok_or_else(|| Error::invalid_length(start, &self))?;
                    start = end;
                }
                Ok(table)
            }
        }
        deserializer.deserialize_seq(Parts(PhantomData))
    }
}

/// Where a saved chunk goes.
struct Room<'a>(&'a mut [u8]);

impl<'de> DeserializeSeed<'de> for Room<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_byte_buf(self)
    }
}

impl Visitor<'_> for Room<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} bytes of a table", self.0.len())
    }
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
        if bytes.len() != self.0.len() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        // Zeroes are there already; writing them would take memory.
        if bytes.iter().any(|&byte| byte != 0) {
            self.0.copy_from_slice(bytes);
        }
        Ok(())
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
