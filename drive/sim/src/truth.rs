//! What is true of a drive, said by its model: what a measurement of it should
//! find.

/// One thing that is true of a drive. A value of 0 says that the drive does not
/// have the thing; what a drive does not mention does not apply to it, or follows
/// from no parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// What it is about.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// Units of truths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Revolutions per minute.
    RevolutionsPerMinute,
    /// A share or ratio.
    Share,
    /// 1 for yes, 0 for no.
    YesNo,
}

impl Unit {
    /// Its symbol; empty for numbers.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Count | Self::Share => "",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::Seconds => "s",
            Self::RevolutionsPerMinute => "1/min",
            Self::YesNo => "yes/no",
        }
    }
}

/// What is done to a drive: some truths are about that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Treatment {
    /// Written in one burst to the erased drive.
    pub burst_bytes: u64,
    /// How long the drive rests after the burst.
    pub rest_ns: u64,
    /// Written between two flushes.
    pub flushed_bytes: u64,
    /// Size of the random writes that have the drive collect.
    pub overwrite_block_bytes: u64,
    /// Share of the blocks collected meanwhile that was still valid, where it was
    /// counted.
    pub collected_valid_share: Option<f64>,
}

/// Truths of one drive while they are put together.
#[derive(Debug, Default)]
pub struct Truths(Vec<Truth>);

impl Truths {
    /// A value.
    pub fn add(&mut self, name: &'static str, value: f64, unit: Unit) {
        self.0.push(Truth { name, value, unit });
    }

    /// A value, if it applies.
    pub fn add_some(&mut self, name: &'static str, value: Option<f64>, unit: Unit) {
        self.0.extend(value.map(|value| Truth { name, value, unit }));
    }

    /// Whether the drive has something.
    pub fn add_whether(&mut self, name: &'static str, value: bool) {
        self.add(name, f64::from(u8::from(value)), Unit::YesNo);
    }

    /// All of them.
    pub fn into_list(self) -> Vec<Truth> {
        self.0
    }
}

/// Seconds of a time of a drive file.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
