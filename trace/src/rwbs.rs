//! What Linux calls an I/O in block events: letters such as `WFS` (a synchronous FUA write).

use fourcorners_workload::Operation;

/// What the letters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None` for what moves no block: commands of the driver, operations on zones.
    pub(crate) operation: Option<Operation>,
    pub(crate) fua: bool,
    /// A flush comes before the write.
    pub(crate) preflush: bool,
}

/// The letters of the kernel's `blk_fill_rwbs` and of blkparse: an `F` before the operation is a
/// flush before it, one behind it is FUA. A flush alone is `F`, `FF` or `FN`; write-zeroes are
/// `WZ`, and before Linux 6.18 `N`, which has a length then.
pub(crate) fn parse(letters: &[u8], length_bytes: u64) -> Option<Rwbs> {
    let (preflush, rest) = match letters.strip_prefix(b"F") {
        Some(rest) => (true, rest),
        None => (false, letters),
    };
    let operation = match rest {
        [b'W', b'Z', ..] => Some(Operation::WriteZeroes),
        [b'R', ..] => Some(Operation::Read),
        [b'W', ..] => Some(Operation::Write),
        [b'D', ..] => Some(Operation::Discard),
        [b'Z', ..] => None,
        [b'N', ..] if !preflush && length_bytes > 0 => Some(Operation::WriteZeroes),
        [] | [b'F' | b'N' | b'S' | b'M' | b'A' | b'B', ..] if preflush => {
            return Some(Rwbs { operation: Some(Operation::Flush), fua: false, preflush: false });
        }
        [b'N', ..] => None,
        _ => return None,
    };
    let flags = rest.get(1..).unwrap_or_default();
    let fua = flags.contains(&b'F')
        && matches!(operation, Some(Operation::Write | Operation::WriteZeroes));
    Some(Rwbs { operation, fua, preflush })
}
