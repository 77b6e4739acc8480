//! What data takes on flash: compression and deduplication.

use crate::specification::{Bytes, Parameter, Share};
use serde::Deserialize;

/// Compression before storing (SandForce).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compression {
    /// Smallest stored share of a mapping unit.
    pub smallest: Parameter<Share>,
}

/// Deduplication before storing: a mapping unit that repeats one that the drive
/// holds is stored as a reference to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deduplication {
    /// What a reference takes on flash.
    pub reference_size: Parameter<Bytes>,
}
