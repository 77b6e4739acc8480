#![doc = include_str!("../README.md")]

mod conformance;
mod drive;
mod hello;
mod link;
mod pipes;
mod process;
mod record;
mod rings;

pub use conformance::{Check, Outcome, conformance};
pub use drive::{ForeignDrive, SILENCE_S_MAX};
pub use hello::{Abilities, Identity};
pub use process::Command;

/// Why a child cannot be used, or can be used no longer; the message is for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// The program could not be started.
    #[error("cannot start {program}: {reason}")]
    Start {
        /// The first word of the command.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The child ended although it was needed.
    #[error("the drive's program ended ({status}){last_words}")]
    Ended {
        /// Its exit status in words.
        status: String,
        /// The last line that it wrote to its standard error, or nothing.
        last_words: String,
    },
    /// The child did not answer in time.
    #[error("the drive's program has not answered for {} s, while it was asked to {what}", .limit.as_secs_f64())]
    Hangs {
        /// How long.
        limit: std::time::Duration,
        /// What it was asked for.
        what: String,
    },
    /// The child said something that the protocol does not permit.
    #[error("the drive's program breaks the protocol: {0}")]
    Protocol(String),
    /// The child says that it cannot do what it was asked for.
    #[error("the drive's program says: {0}")]
    Refused(String),
    /// What the child never said that it can do.
    #[error("the drive's program cannot {0}")]
    Unable(&'static str),
    /// The child was told to end.
    #[error("the drive's program was ended")]
    Closed,
    /// Memory or pipes of this side.
    #[error("cannot talk to the drive's program: {0}")]
    Local(String),
}
