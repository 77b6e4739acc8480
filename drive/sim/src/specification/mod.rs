//! What drive files of all kinds are made of: parameters with a source,
//! quantities with units, the sections that several kinds have, limits, and the
//! words in which a mistake is told. No model is known here.

mod common;
pub(crate) mod limits;
mod link;
mod quantity;
pub(crate) mod settings;
pub(crate) mod wording;

pub use common::{Capacity, Host, RowController, check_bus_rate, check_page_size};
pub(crate) use limits::{check_memory, check_second};
pub use link::{Interface, Link};
pub use quantity::{BitsPerSecond, Bytes, BytesPerSecond, Milliwatts, Nanoseconds, Share};

use serde::Deserialize;
use std::ops::Deref;

/// Why a drive file cannot be used: where and what, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecificationError(pub String);

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter<T> {
    /// The value; its type says the unit.
    pub value: T,
    /// Datasheet, review, derived, or "fitted to ...".
    pub source: String,
}

impl<T> Deref for Parameter<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Fails unless `good`; the message names the parameter and the rule.
pub(crate) fn require(good: bool, message: &str) -> Result<(), String> {
    if good { Ok(()) } else { Err(message.to_string()) }
}
