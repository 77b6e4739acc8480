//! Numbers with units, as drive files and options write them: `"60 us"`,
//! `"4 KiB"`, `"300MB/s"`. MB is 10^6 bytes, MiB is 2^20; the space may be left out.
//!
//! `fourcorners/units.py` reads what people write elsewhere by the same rules;
//! `quantities.toml` beside this file holds both to them.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// Time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanoseconds(pub u64);

/// Size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Data rate in bytes per second: any size unit and `/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BytesPerSecond(pub u64);

/// Line rate in bits per second, as link generations are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitsPerSecond(pub u64);

/// Power in milliwatts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Milliwatts(pub u64);

/// A share of something: a number such as 0.07, or `"7 %"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

// Both letters for micro are in use: the sign and the Greek letter.
const TIME_UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
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
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("TiB/s", 1_099_511_627_776.0),
];
const BIT_RATE_UNITS: &[(&str, f64)] = &[("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9)];
const POWER_UNITS: &[(&str, f64)] = &[("mW", 1.0), ("W", 1e3)];
const SHARE_UNITS: &[(&str, f64)] = &[("%", 1.0)];

/// A kind of quantity.
struct Kind {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64)],
    /// The largest one, in the smallest unit, and as it is written.
    most: (f64, &'static str),
}

impl Kind {
    /// Parses a number and a unit into the smallest unit.
    ///
    /// # Errors
    /// One sentence that says what is wrong and what was expected.
    fn parse(&self, text: &str) -> Result<f64, String> {
        let Self { what, example, .. } = self;
        let refuse = |why: &str| Err(format!("\"{text}\" is not {what}: {why}, such as {example}"));
        let Some((number, unit)) = split(text.trim()) else {
            return refuse("write a number and a unit");
        };
        let known = || {
            let names = self.units.iter().map(|(name, _)| *name);
            // The two letters for micro look the same.
            names.filter(|name| !name.contains('\u{3bc}')).collect::<Vec<_>>().join(", ")
        };
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let said = match unit {
                "" => "the unit is missing".to_string(),
                _ => format!("unknown unit \"{unit}\""),
            };
            return refuse(&format!("{said}; use one of {}", known()));
        };
        let value = number * factor;
        let (most, written) = self.most;
        if !(0.0..=most).contains(&value) {
            return Err(format!("\"{text}\" is not {what}: use at most {written}"));
        }
        Ok(value)
    }
}

/// Number and unit; `None` where no number comes first.
fn split(text: &str) -> Option<(f64, &str)> {
    let digits = |from: usize| {
        let rest = text[from..].bytes();
        from + rest.take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count()
    };
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    let number = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim_start()))
}

const TIME: Kind =
    Kind { what: "a time", example: "60 us", units: TIME_UNITS, most: (3600e9, "3600 s") };
const SIZE: Kind =
    Kind { what: "a size", example: "4 KiB", units: SIZE_UNITS, most: (1e15, "1000 TB") };
const RATE: Kind =
    Kind { what: "a data rate", example: "300 MB/s", units: RATE_UNITS, most: (1e12, "1000 GB/s") };
const BIT_RATE: Kind = Kind {
    what: "a line rate",
    example: "3 Gb/s",
    units: BIT_RATE_UNITS,
    most: (1e12, "1000 Gb/s"),
};
const POWER: Kind =
    Kind { what: "a power", example: "3 W", units: POWER_UNITS, most: (1e6, "1000 W") };
const SHARE: Kind =
    Kind { what: "a share", example: "7 %", units: SHARE_UNITS, most: (100.0, "100 %") };

macro_rules! quantity {
    ($type:ident, $kind:ident) => {
        impl $type {
            /// Parses a number with a unit.
            ///
            /// # Errors
            /// One sentence that says what was expected.
            pub fn parse(text: &str) -> Result<Self, String> {
                $kind.parse(text).map(|value| Self(value.round() as u64))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        write!(f, "{} with its unit, such as \"{}\"", $kind.what, $kind.example)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::parse(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}

quantity!(Nanoseconds, TIME);
quantity!(Bytes, SIZE);
quantity!(BytesPerSecond, RATE);
quantity!(BitsPerSecond, BIT_RATE);
quantity!(Milliwatts, POWER);

impl Share {
    /// Parses a number and `%`.
    ///
    /// # Errors
    /// One sentence that says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        SHARE.parse(text).map(|percent| Self(percent / 100.0))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Share;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a share such as 0.07 or \"7 %\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                Share::parse(text).map_err(E::custom)
            }
            fn visit_f64<E>(self, share: f64) -> Result<Share, E> {
                Ok(Share(share))
            }
            fn visit_i64<E>(self, share: i64) -> Result<Share, E> {
                Ok(Share(share as f64))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One table for this crate and for Python: `tests/test_units.py`.
    #[test]
    fn quantities_are_read_as_everywhere() {
        let table: toml::Table = include_str!("quantities.toml").parse().unwrap();
        let mut count = 0;
        for (kind, cases) in &table {
            let kind = match kind.as_str() {
                "time" => TIME,
                "size" => SIZE,
                "rate" => RATE,
                "line_rate" => BIT_RATE,
                "power" => POWER,
                "share" => SHARE,
                other => panic!("{other}"),
            };
            for case in cases.as_array().unwrap() {
                let text = case["text"].as_str().unwrap();
                let read = kind
                    .parse(text)
                    .map(|read| if kind.what == SHARE.what { read / 100.0 } else { read });
                match case.get("value") {
                    Some(value) => {
                        let value = value.as_float().or(value.as_integer().map(|v| v as f64));
                        assert_eq!(read, Ok(value.unwrap()), "{text}");
                    }
                    None => {
                        let complaint = case["complaint"].as_str().unwrap();
                        let error = read.unwrap_err();
                        assert!(error.contains(complaint), "{text}: {error}");
                    }
                }
                count += 1;
            }
        }
        assert!(count > 50, "{count} cases");
    }
}
