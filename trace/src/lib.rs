//! Traces of block I/O as a stream of records in bounded memory.
//!
//! [`Input`] tells a file's format by its content and reads through gzip, zstd, bzip2, xz and tar;
//! [`Reader`] is the seam that all formats share, and [`write`](mod@write) has what a trace can
//! become. A format of our own, in Parquet, keeps everything that a [`Record`] has.

mod error;
mod file_system;
pub mod formats;
mod input;
mod lines;
mod merge;
mod pairing;
mod plausible;
mod reader;
mod record;
mod replay;
mod rwbs;
mod sorted;
pub mod statistics;
mod steps;
mod transform;
mod visible;
pub mod write;

pub use error::{Error, Result};
pub use file_system::{Layout, Mode};
pub use formats::Format;
pub use fourcorners_workload::Operation;
pub use input::{Header, Input};
pub use merge::Merge;
pub use reader::{BATCH, InMemory, Reader, VOLUMES_MAX, Volumes, read_all};
pub use record::Record;
pub use replay::{Source, Survey, survey};
pub use sorted::in_order;
pub use statistics::inform;
pub use steps::{Extents, Step};
pub use transform::{GoOn, Transformed, transform};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
