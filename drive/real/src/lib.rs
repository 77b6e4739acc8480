//! Real files and block devices through io_uring or synchronous calls, and the checks that keep
//! their data safe.
//!
//! Three steps, each a type: a [`Plan`] examines a path and refuses what could
//! hurt, changing nothing; a [`RealFile`] opens (or creates) what was planned
//! and claims it; a [`RealTarget`] is one worker's way to it.
//!
//! ```no_run
//! # use fourcorners_real::{Access, Plan, RealFile};
//! let plan = Plan::examine("/dev/sdb".as_ref(), &Access::default())?;
//! let file = RealFile::open(plan)?;
//! let target = file.target(1);
//! # Ok::<(), fourcorners_target::TargetError>(())
//! ```

mod access;
mod buffers;
mod claim;
mod clock;
mod content;
mod copies;
mod device;
mod direct;
mod engine;
mod extents;
mod generating;
mod identity;
mod in_use;
mod nvme;
mod observed;
mod open;
mod operations;
mod plan;
mod queues;
mod regular;
mod ring;
mod signature;
mod synchronous;
mod target;
mod transfer;
mod within;

pub use access::Access;
pub use engine::{Engine, Way};
pub use open::RealFile;
pub use plan::{Kind, Plan};
pub use target::RealTarget;
pub use within::Unprepared;
