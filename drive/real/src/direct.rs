//! Whether a file passes by the page cache, and on which grid.

/// Smallest unit that any target is addressed in.
pub(crate) const SECTOR_BYTES: u32 = 512;

/// What direct I/O on an open file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectIo {
    pub available: bool,
    /// Grid of offsets and lengths, in bytes; a sector where there is no
    /// direct I/O.
    pub alignment_bytes: u32,
}

impl DirectIo {
    pub(crate) const NONE: DirectIo = DirectIo { available: false, alignment_bytes: SECTOR_BYTES };
}
