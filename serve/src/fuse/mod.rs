//! The drive as a file, by FUSE, on which a loop device can be set up.
//!
//! A thread of its own hears the kernel ([`filesystem`]) and passes on what it asks
//! ([`asked`]) to the server's thread, which answers ([`answers`]); while that sleeps, the
//! thread that hears answers by itself ([`crate::attention`]). The file is there from when
//! it is mounted ([`mount`]) until the server ends.

mod answers;
mod asked;
mod filesystem;
mod mount;

pub use answers::file;
