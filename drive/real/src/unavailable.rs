//! Why requests cannot go through io_uring.

use fourcorners_target::TargetError;

/// Why there is no ring.
pub(crate) enum Unavailable {
    /// io_uring is absent, forbidden or too old: other ways may be taken. A clause.
    Absent(&'static str),
    /// It is there and cannot do what was asked.
    Other(TargetError),
}

impl Unavailable {
    /// What is said where no other way is taken.
    pub(crate) fn refusal(self) -> TargetError {
        match self {
            Unavailable::Absent(why) => {
                TargetError(format!("{why}: use the engine \"sync\" or \"auto\""))
            }
            Unavailable::Other(error) => error,
        }
    }
}
