//! What a drive was made from: only a drive made from the same takes its state.

use serde::{Deserialize, Serialize};

/// What a drive was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The drive's name.
    pub name: String,
    /// Its drive file.
    pub text: String,
    /// Names and drive files of an array's members.
    pub members: Vec<(String, String)>,
    /// Parameters that were replaced, and their values.
    pub settings: Vec<(String, String)>,
    /// Root of the drive's own randomness: which blocks are bad from the factory,
    /// and which victims the collector draws. A drive that takes over a state takes
    /// over this as well.
    pub seed: u64,
}
