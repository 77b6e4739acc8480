//! The text half of the protocol: the greeting, and what is asked for rarely. One
//! JSON document a line.

use crate::ForeignError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the protocol.
pub const VERSION: u32 = 1;

/// What the host says first.
#[derive(Debug, Serialize)]
pub struct Greeting<'a> {
    /// Version of the protocol.
    pub fourcorners_drive: u32,
    /// Root of the drive's own randomness.
    pub seed: u64,
    /// A file with the rings, which the child may map.
    pub rings: Option<&'a str>,
}

/// What a drive can do beside reading and writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Forget all data (secure erase).
    pub purge: bool,
    /// Be told which data nobody needs.
    pub trim: bool,
    /// Make a range zeroes without being sent any.
    pub write_zeroes: bool,
    /// Lose power, and say what was lost.
    pub power_cut: bool,
    /// Save its state to a file and load it.
    pub save: bool,
    /// Count what happens inside.
    pub counters: bool,
}

impl Abilities {
    const NAMES: [&'static str; 6] =
        ["purge", "trim", "write-zeroes", "power-cut", "save", "counters"];

    fn of(names: &[String]) -> Result<Self, ForeignError> {
        if let Some(unknown) = names.iter().find(|name| !Self::NAMES.contains(&name.as_str())) {
            return Err(ForeignError::Protocol(format!(
                "its greeting has \"can\" with {unknown:?}: use some of {}",
                Self::NAMES.join(", ")
            )));
        }
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        Ok(Self {
            purge: has("purge"),
            trim: has("trim"),
            write_zeroes: has("write-zeroes"),
            power_cut: has("power-cut"),
            save: has("save"),
            counters: has("counters"),
        })
    }
}

/// What the child says of its drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// For people.
    pub name: String,
    /// One sentence; may be empty.
    pub summary: String,
    /// User-accessible bytes.
    pub capacity_bytes: u64,
    /// Whether earlier writes change later speed.
    pub keeps_state: bool,
    /// Whether the child has mapped the rings.
    pub rings: bool,
    /// What it can do.
    pub abilities: Abilities,
    /// What is true of it, by the names of findings, as JSON; empty where it does not say.
    pub truths: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    fourcorners_drive: u32,
    name: String,
    #[serde(default)]
    summary: String,
    capacity_bytes: u64,
    #[serde(default = "yes")]
    keeps_state: bool,
    #[serde(default)]
    rings: bool,
    #[serde(default)]
    can: Vec<String>,
    #[serde(default)]
    truths: serde_json::Map<String, Value>,
}

fn yes() -> bool {
    true
}

/// What tells a greeting from other documents.
const VERSION_KEY: &str = "fourcorners_drive";
/// Enough to know which program says so.
const EXCERPT_CHARS: usize = 60;

fn excerpt(line: &str) -> String {
    let shown: String = line.chars().take(EXCERPT_CHARS).collect();
    format!("{shown:?}{}", if shown.len() < line.len() { " and more" } else { "" })
}

impl Identity {
    /// What the child's first line says.
    ///
    /// # Errors
    /// A line that is no such document, of another version, or of a drive that cannot be.
    pub fn parse(line: &str, rings_offered: bool) -> Result<Self, ForeignError> {
        let wrong = |why: String| ForeignError::Protocol(format!("its greeting {why}"));
        let known: Value = serde_json::from_str(line)
            .map_err(|_| wrong(format!("is no JSON: {}", excerpt(line))))?;
        if known.get(VERSION_KEY).is_none() {
            return Err(wrong(format!(
                "says no {VERSION_KEY}, as a drive does: {}",
                excerpt(line)
            )));
        }
        if known.get("seed").is_some() {
            return Err(wrong(
                "is the one that was sent to it: it gives back what it gets, and is no drive"
                    .into(),
            ));
        }
        let answer: Answer = serde_json::from_value(known).map_err(|error| {
            // What else could stand there helps nobody who has read what does.
            let told = error.to_string();
            wrong(format!(
                "is not what is expected: {}",
                told.split(", expected").next().unwrap_or("")
            ))
        })?;
        if answer.fourcorners_drive != VERSION {
            return Err(wrong(format!(
                "has version {}, and this program speaks version {VERSION}",
                answer.fourcorners_drive
            )));
        }
        if answer.capacity_bytes == 0
            || !answer.capacity_bytes.is_multiple_of(512)
            || answer.capacity_bytes > CAPACITY_BYTES_MAX
        {
            return Err(wrong(format!(
                "has capacity_bytes = {}: use a multiple of 512, up to 2^60",
                answer.capacity_bytes
            )));
        }
        if answer.name.is_empty() || answer.name.len() > NAME_BYTES_MAX {
            return Err(wrong(format!("has a name of {} bytes: use 1 to 200", answer.name.len())));
        }
        if answer.rings && !rings_offered {
            return Err(wrong("says that it has mapped rings, and none were offered".into()));
        }
        Ok(Self {
            abilities: Abilities::of(&answer.can)?,
            truths: serde_json::to_string(&answer.truths).expect("a map of JSON values"),
            name: answer.name,
            summary: answer.summary,
            capacity_bytes: answer.capacity_bytes,
            keeps_state: answer.keeps_state,
            rings: answer.rings,
        })
    }
}

/// A quintillion bytes: sums of offsets and lengths stay within 64 bits.
const CAPACITY_BYTES_MAX: u64 = 1 << 60;
const NAME_BYTES_MAX: usize = 200;

/// What is asked for rarely.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Wish<'a> {
    /// Secure erase.
    Purge,
    /// Power fails and comes back.
    PowerCut,
    /// Write the state to a file that is not there yet.
    Save {
        /// Where to.
        path: &'a str,
    },
    /// Take over a state.
    Load {
        /// Where from.
        path: &'a str,
    },
    /// What was counted.
    Counters,
    /// Nothing more is needed.
    End,
}

/// The child's answer to a [`Wish`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Why it could not be done.
    #[serde(default)]
    pub error: Option<String>,
    /// Offset and length of each range whose latest write was lost.
    #[serde(default)]
    pub lost: Vec<(u64, u64)>,
    /// By name.
    #[serde(default)]
    pub counters: std::collections::BTreeMap<String, f64>,
    /// Nothing to say.
    #[serde(default, rename = "done")]
    pub _done: bool,
}

impl Reply {
    /// What a line says.
    ///
    /// # Errors
    /// A line that is no such document, and what the child refuses.
    pub fn parse(line: &str) -> Result<Self, ForeignError> {
        let reply: Self = serde_json::from_str(line)
            .map_err(|error| ForeignError::Protocol(format!("its answer is not JSON: {error}")))?;
        match reply.error {
            Some(error) => Err(ForeignError::Refused(error)),
            None => Ok(reply),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_that_cannot_be_is_one_sentence() {
        let cases = [
            ("hello", "is no JSON: \"hello\""),
            (r#"{"seed":1}"#, r#"says no fourcorners_drive, as a drive does: "{\"seed\":1}""#),
            (r#"{"fourcorners_drive":1,"seed":1}"#, "is the one that was sent to it"),
            (r#"{"fourcorners_drive":1,"name":"x","capacity_bytes":512,"wings":2}"#, "`wings`"),
            (r#"{"fourcorners_drive":1,"name":3,"capacity_bytes":512}"#, "integer `3`"),
            (r#"{"fourcorners_drive":2,"name":"x","capacity_bytes":512}"#, "version 2"),
            (r#"{"fourcorners_drive":1,"name":"x","capacity_bytes":0}"#, "capacity_bytes = 0"),
            (r#"{"fourcorners_drive":1,"name":"x","capacity_bytes":513}"#, "capacity_bytes = 513"),
            (r#"{"fourcorners_drive":1,"name":"","capacity_bytes":512}"#, "a name of 0 bytes"),
            (r#"{"fourcorners_drive":1,"name":"x","capacity_bytes":512,"can":["fly"]}"#, "\"fly\""),
            (
                r#"{"fourcorners_drive":1,"name":"x","capacity_bytes":512,"rings":true}"#,
                "none were offered",
            ),
        ];
        for (line, expected) in cases {
            let error = Identity::parse(line, false).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
