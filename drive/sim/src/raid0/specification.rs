//! Parameters of a RAID 0 array.

use crate::specification::{Bytes, BytesPerSecond, Nanoseconds, Parameter, check_second, require};
use serde::Deserialize;

/// Most members: each event looks at all of them.
const MEMBERS_MAX: u32 = 64;

/// A RAID 0 array.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The host that stripes.
    pub host: Host,
    /// What is striped.
    pub array: Array,
    /// Settings of the members, without the `member.` that led them here.
    #[serde(skip)]
    pub member_settings: Vec<(String, String)>,
}

/// The host. What it spends on a member's command is that member's
/// `host.overhead`; this is what the array adds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Time of the striping software per command, not overlapped with the
    /// members' work on the same command.
    pub overhead: Parameter<Nanoseconds>,
    /// Payload rate of the connection that all members share: chipset or host
    /// bus adapter. Absent: not a limit.
    pub data_rate: Option<Parameter<BytesPerSecond>>,
}

/// Members and how addresses are dealt to them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// Consecutive bytes on one member.
    pub chunk: Parameter<Bytes>,
    /// The drive file of every member, by name; with `count`.
    pub member: Option<Parameter<String>>,
    /// How many members.
    pub count: Option<Parameter<u32>>,
    /// The drive files of members that differ, by name; instead of `member`
    /// and `count`. Each member serves as much as the smallest one.
    pub members: Option<Parameter<Vec<String>>>,
}

impl Specification {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        check_second("host.overhead", &self.host.overhead)?;
        let array = &self.array;
        let chunk = array.chunk.0;
        require(
            (512..=1 << 30).contains(&chunk) && chunk.is_power_of_two(),
            "array.chunk: use a power of two from 512 B to 1 GiB",
        )?;
        require(
            match (&array.member, &array.count) {
                (Some(_), Some(_)) => array.members.is_none(),
                (None, None) => array.members.is_some(),
                _ => false,
            },
            "array: use member and count, or members",
        )?;
        let count = self.member_names().len();
        let place = if array.members.is_some() { "array.members" } else { "array.count" };
        require(
            (1..=MEMBERS_MAX as usize).contains(&count),
            &format!("{place}: use 1 to {MEMBERS_MAX} members"),
        )?;
        if let Some(rate) = &self.host.data_rate {
            require(rate.0 >= 1_000_000, "host.data_rate: use at least 1 MB/s")?;
        }
        Ok(())
    }

    /// Names of the members' drive files, in the order of the stripe.
    pub fn member_names(&self) -> Vec<&str> {
        match (&self.array.members, &self.array.member, &self.array.count) {
            (Some(members), ..) => members.iter().map(String::as_str).collect(),
            (None, Some(member), Some(count)) => {
                // One more than allowed is enough for the check to see.
                vec![member.as_str(); count.value.min(MEMBERS_MAX + 1) as usize]
            }
            _ => Vec::new(),
        }
    }
}
