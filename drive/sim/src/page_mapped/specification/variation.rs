//! What differs from one operation to the next, and what heat does.

use crate::specification::{
    Bytes, BytesPerSecond, Nanoseconds, Parameter, Share, check_second, require,
};
use serde::Deserialize;

/// What differs from one operation to the next. Random numbers follow from the
/// drive's seed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// Standard deviation of the time that a die programs, over its mean
    /// (lognormal). Absent: none.
    pub program_spread: Option<Parameter<Share>>,
    /// The same of erases. Absent: none.
    pub erase_spread: Option<Parameter<Share>>,
    /// Share of the host's page reads, and of each of their repetitions, that the
    /// die has to repeat with other thresholds. Absent: none.
    pub read_retry_share: Option<Parameter<Share>>,
    /// What each repetition takes.
    pub read_retry_time: Option<Parameter<Nanoseconds>>,
    /// How long the firmware takes no command while it writes tables of its own.
    pub housekeeping_time: Option<Parameter<Nanoseconds>>,
    /// Bytes that the host writes from one such time to the next. Absent: not by
    /// volume.
    pub housekeeping_volume: Option<Parameter<Bytes>>,
    /// Time from one such time to the next. Absent: not by time.
    pub housekeeping_interval: Option<Parameter<Nanoseconds>>,
    /// Mean of what a command is late on its way to the drive (exponential); the
    /// ones behind it stay behind it. Absent: none.
    pub link_jitter: Option<Parameter<Nanoseconds>>,
}

/// Heat: a first-order model, in which the drive is as hot as it has moved data of
/// late, by the mean rate over an exponential window.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thermal {
    /// Time constant of heating up and of cooling down.
    pub time_constant: Parameter<Nanoseconds>,
    /// Rate that the drive carries for ever; it is throttled when the mean rate
    /// reaches it.
    pub limit_rate: Parameter<BytesPerSecond>,
    /// Rate of a throttled drive.
    pub throttled_rate: Parameter<BytesPerSecond>,
    /// Mean rate at which it is throttled no longer.
    pub resume_rate: Parameter<BytesPerSecond>,
}

impl Variation {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        for (name, spread) in [
            ("variation.program_spread", &self.program_spread),
            ("variation.erase_spread", &self.erase_spread),
        ] {
            let spread = spread.as_ref().map_or(0.0, |spread| spread.value.0);
            require((0.0..=1.0).contains(&spread), &format!("{name}: use 0 to 100 %"))?;
        }
        let retry = self.read_retry_share.as_ref().map_or(0.0, |share| share.value.0);
        require((0.0..=0.5).contains(&retry), "variation.read_retry_share: use 0 to 50 %")?;
        require(
            self.read_retry_share.is_some() == self.read_retry_time.is_some(),
            "variation.read_retry_share: give it together with variation.read_retry_time",
        )?;
        for (name, time) in [
            ("variation.read_retry_time", &self.read_retry_time),
            ("variation.housekeeping_time", &self.housekeeping_time),
            ("variation.link_jitter", &self.link_jitter),
        ] {
            time.as_ref().map_or(Ok(()), |time| check_second(name, time))?;
        }
        let (volume, interval) = (&self.housekeeping_volume, &self.housekeeping_interval);
        require(
            self.housekeeping_time.is_some() == (volume.is_some() || interval.is_some()),
            "variation.housekeeping_time: give it together with variation.housekeeping_volume or variation.housekeeping_interval",
        )?;
        require(
            volume.as_ref().is_none_or(|volume| (1 << 16..=1 << 50).contains(&volume.0)),
            "variation.housekeeping_volume: use 64 KiB to 1 PiB",
        )?;
        // Else there would be no time left for commands.
        let least = 2 * self.housekeeping_time.as_ref().map_or(0, |time| time.0).max(500_000);
        require(
            interval.as_ref().is_none_or(|interval| (least..=1 << 50).contains(&interval.0)),
            "variation.housekeeping_interval: use 1 ms to 13 days, and at least twice variation.housekeeping_time",
        )
    }
}

impl Thermal {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        require(
            (1_000_000..=1 << 45).contains(&self.time_constant.0),
            "thermal.time_constant: use 1 ms to 9 h",
        )?;
        require(self.throttled_rate.0 >= 1_000_000, "thermal.throttled_rate: use at least 1 MB/s")?;
        require(
            self.throttled_rate.0 < self.resume_rate.0 && self.resume_rate.0 < self.limit_rate.0,
            "thermal.resume_rate: use more than thermal.throttled_rate and less than thermal.limit_rate",
        )
    }
}
