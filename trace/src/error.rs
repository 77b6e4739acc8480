//! What can go wrong with a trace, in one sentence for the user.

use std::io;
use std::path::{Path, PathBuf};

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// "read", "write".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content is not what it should be; the sentence says where.
    #[error("{0}")]
    Malformed(String),
    /// Records lie further out of order than the window of the sort (`sorted`).
    #[error("the records are far out of the order of time")]
    Disorder,
    /// Whoever called asked to stop.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// Reading a file failed. One that ends too early was packed, and a part of it is missing.
    pub fn reading(path: &Path, source: io::Error) -> Error {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return Error::Malformed(format!(
                "{} is cut off: the end of what is packed in it is missing ({source}): copy it anew",
                path.display()
            ));
        }
        Error::Io { doing: "read", path: path.to_owned(), source }
    }

    /// Writing a file failed.
    pub fn writing(path: &Path, source: io::Error) -> Error {
        Error::Io { doing: "write", path: path.to_owned(), source }
    }
}

/// What a function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
