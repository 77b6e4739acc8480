//! Numbers with units, as drive files write them: `"60 us"`, `"4 KiB"`,
//! `"300 MB/s"`. MB is 10^6 bytes, MiB is 2^20.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// Time in nanoseconds: `ns`, `us`, `ms`, `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanoseconds(pub u64);

/// Size in bytes: `B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB`, `TiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Data rate in bytes per second: any size unit and `/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytesPerSecond(pub u64);

/// Line rate in bits per second: `Gb/s`, as link generations are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitsPerSecond(pub u64);

/// Power in milliwatts: `mW`, `W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Milliwatts(pub u64);

const TIME_UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const RATE_UNITS: &[(&str, f64)] = &[
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
const BIT_RATE_UNITS: &[(&str, f64)] = &[("Mb/s", 1e6), ("Gb/s", 1e9)];
const POWER_UNITS: &[(&str, f64)] = &[("mW", 1.0), ("W", 1e3)];

/// Parses a number, a space and a unit into the smallest unit, up to `most`, a
/// number with a unit as well.
///
/// # Errors
/// One sentence that says what was expected.
fn parse(
    text: &str,
    what: &str,
    example: &str,
    most: &str,
    units: &[(&str, f64)],
) -> Result<u64, String> {
    let known = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let expected = || format!("expected {what} such as \"{example}\", found \"{text}\"");
    let (number, unit) = text.trim().split_once(char::is_whitespace).ok_or_else(|| {
        format!("{}: write a number, a space and a unit ({})", expected(), known())
    })?;
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| format!("{}: \"{number}\" is not a number", expected()))?;
    let factor =
        units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| factor).ok_or_else(
            || format!("{}: unknown unit \"{}\", use one of {}", expected(), unit.trim(), known()),
        )?;
    let value = number * factor;
    // The limit itself is a plain number of its unit.
    let (number, unit) = most.split_once(' ').unwrap_or((most, ""));
    let factor = units.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, factor)| *factor);
    let most_value = number.parse::<f64>().unwrap_or(f64::INFINITY) * factor;
    if !(0.0..=most_value).contains(&value) {
        return Err(format!("{}: {what} cannot be negative or beyond {most}", expected()));
    }
    Ok(value.round() as u64)
}

macro_rules! quantity {
    ($type:ident, $what:literal, $example:literal, $most:literal, $units:ident) => {
        impl $type {
            /// Parses a number with a unit.
            ///
            /// # Errors
            /// One sentence that says what was expected.
            pub fn parse(text: &str) -> Result<Self, String> {
                parse(text, $what, $example, $most, $units).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        write!(f, "{} with its unit, such as \"{}\"", $what, $example)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::parse(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

quantity!(Nanoseconds, "a time", "60 us", "3600 s", TIME_UNITS);
quantity!(Bytes, "a size", "4 KiB", "1000 TB", SIZE_UNITS);
quantity!(BytesPerSecond, "a data rate", "300 MB/s", "1000 GB/s", RATE_UNITS);
quantity!(BitsPerSecond, "a line rate", "3 Gb/s", "1000 Gb/s", BIT_RATE_UNITS);
quantity!(Milliwatts, "a power", "3 W", "1000 W", POWER_UNITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_what_they_say() {
        assert_eq!(Nanoseconds::parse("60 us"), Ok(Nanoseconds(60_000)));
        assert_eq!(Nanoseconds::parse("0.3 ms"), Ok(Nanoseconds(300_000)));
        assert_eq!(Bytes::parse("64 GB"), Ok(Bytes(64_000_000_000)));
        assert_eq!(Bytes::parse("4 MiB"), Ok(Bytes(4 << 20)));
        assert_eq!(BytesPerSecond::parse("33.3 MB/s"), Ok(BytesPerSecond(33_300_000)));
        assert_eq!(BitsPerSecond::parse("3 Gb/s"), Ok(BitsPerSecond(3_000_000_000)));
    }

    #[test]
    fn errors_name_the_mistake() {
        let error = |text| Nanoseconds::parse(text).unwrap_err();
        assert!(error("60 MB").contains("unknown unit \"MB\""));
        assert!(error("60").contains("write a number, a space and a unit"));
        assert!(error("-60 us").contains("cannot be negative"));
        assert!(error("sixty us").contains("is not a number"));
    }
}
