//! What must hold of a loaded state before it is used.
//!
//! A state may have been changed by somebody who also mended its checksum. So
//! every model holds what was loaded against a drive that was just made from the
//! same file: what the file determines must be equal, and what changes must be
//! something that the model can go on from, without a panic and to an end.

/// What does not hold, in a few words for whoever made the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub &'static str);

/// Whether something holds.
pub type Checked = Result<(), Broken>;

/// Fails unless `holds`.
#[inline]
pub fn ensure(holds: bool, what: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(Broken(what)) }
}

/// Fails unless fields of a loaded part, bound by a pattern, are equal to those
/// of one that was just made. The pattern names all fields, so that none that
/// is added later can be forgotten.
macro_rules! same {
    ($made:expr; $($field:ident),+ $(,)?) => {
        $($crate::validity::ensure(*$field == $made.$field, stringify!($field))?;)+
    };
}
pub(crate) use same;

/// Fails unless a part that some drives have is there both as loaded and as made, and
/// can go on; or is not there.
pub fn both<'a, T>(
    loaded: Option<&'a T>,
    made: Option<&'a T>,
    check: impl FnOnce(&'a T, &'a T) -> Checked,
) -> Checked {
    match (loaded, made) {
        (Some(loaded), Some(made)) => check(loaded, made),
        (None, None) => Ok(()),
        _ => ensure(false, "a part of the drive that is missing or too many"),
    }
}

/// What counts of bytes, units or operations stay below: 2^60 can be added to
/// for ever.
const COUNT_MAX: u64 = 1 << 60;

/// Fails where a count has no room to go on.
pub fn ensure_counts(counts: impl IntoIterator<Item = u64>) -> Checked {
    ensure(counts.into_iter().all(|count| count < COUNT_MAX), "a count")
}

/// The loaded clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    now_ns: u64,
}

impl Clock {
    /// Latest time of a loaded clock: 36 years.
    const NOW_MAX_NS: u64 = 1 << 60;
    /// Longest that anything under way takes: 13 days.
    const UNDER_WAY_MAX_NS: u64 = 1 << 50;

    /// # Errors
    /// A time with hardly any left before times no longer fit 64 bits.
    pub fn new(now_ns: u64) -> Result<Self, Broken> {
        ensure(now_ns <= Self::NOW_MAX_NS, "the time")?;
        Ok(Self { now_ns })
    }

    /// The time.
    pub fn now_ns(self) -> u64 {
        self.now_ns
    }

    /// Fails unless all times are past.
    pub fn ensure_past(self, times_ns: impl IntoIterator<Item = u64>) -> Checked {
        ensure(times_ns.into_iter().all(|at_ns| at_ns <= self.now_ns), "a past time")
    }

    /// Fails unless all times are past or will come soon: when something is free.
    pub fn ensure_soon(self, times_ns: impl IntoIterator<Item = u64>) -> Checked {
        let latest_ns = self.now_ns + Self::UNDER_WAY_MAX_NS;
        ensure(times_ns.into_iter().all(|at_ns| at_ns <= latest_ns), "a time to come")
    }

    /// Fails unless all times will come soon: events.
    pub fn ensure_due(self, times_ns: impl IntoIterator<Item = u64>) -> Checked {
        let due = self.now_ns..=self.now_ns + Self::UNDER_WAY_MAX_NS;
        ensure(times_ns.into_iter().all(|at_ns| due.contains(&at_ns)), "when an event is due")
    }
}
