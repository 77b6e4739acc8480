//! Real files and block devices through io_uring or synchronous calls, and the checks that keep
//! their data safe. Other systems than Linux have regular files and synchronous calls.
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

// What only io_uring asks for, nobody asks for there.
#![cfg_attr(any(not(target_os = "linux"), portable), allow(dead_code))]

mod access;
mod buffers;
mod claim;
mod clock;
mod content;
mod copies;
mod direct;
mod engine;
mod examine;
mod facts;
mod generating;
mod guard;
mod identity;
mod mark;
mod observed;
mod open;
mod plan;
mod refusal;
mod regular;
mod sample;
mod synchronous;
mod target;
mod transfer;
mod unavailable;
mod uses;
mod view;
mod within;

// `portable` tries on Linux what other systems have: see benches/other-systems.
#[cfg(any(not(target_os = "linux"), portable))]
mod elsewhere;
#[cfg(all(target_os = "linux", not(portable)))]
mod linux;

#[cfg(any(not(target_os = "linux"), portable))]
use elsewhere as system;
#[cfg(all(target_os = "linux", not(portable)))]
use linux as system;

pub use access::Access;
pub use engine::{Engine, Way};
pub use facts::Facts;
pub use guard::Guard;
pub use open::RealFile;
pub use plan::{Kind, Plan};
pub use target::RealTarget;
pub use within::Unprepared;

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
