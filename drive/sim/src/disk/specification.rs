//! Parameters of a hard disk drive.

use crate::specification::{
    Bytes, BytesPerSecond, Capacity, Link, Nanoseconds, Parameter, check_second, require,
};
use serde::Deserialize;

/// A hard disk drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The host it was measured on.
    pub host: Host,
    /// The cable.
    pub link: Link,
    /// User-accessible size.
    pub capacity: Capacity,
    /// Platters.
    pub geometry: Geometry,
    /// Arm.
    pub seek: Seek,
    /// Firmware.
    pub controller: Controller,
    /// The drive's own memory.
    pub cache: Cache,
}

/// The host that a disk was measured on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Software and host bus adapter time per command, not overlapped with the
    /// drive's work on the same command.
    pub overhead: Parameter<Nanoseconds>,
    /// Commands that wait at the host for a place in the drive's queue, of
    /// which the host's elevator sends the next in order of address; 1 sends
    /// them as they came. Absent: 1.
    pub elevator_window: Option<Parameter<u32>>,
}

/// Platters and their zones. Zones span the same number of cylinders each, and
/// their rates fall linearly from the outer to the inner edge, as the length of
/// a track does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Revolutions per minute.
    pub rotation_rpm: Parameter<u32>,
    /// Recording surfaces.
    pub heads: Parameter<u32>,
    /// Groups of cylinders with equal sectors per track.
    pub zones: Parameter<u32>,
    /// Sustained rate at the outer edge, track switches included.
    pub outer_rate: Parameter<BytesPerSecond>,
    /// Sustained rate at the inner edge, track switches included.
    pub inner_rate: Parameter<BytesPerSecond>,
}

/// Times of the arm. A seek over the fraction d of all cylinders takes
/// `base + stroke * sqrt(d)`: an arm that accelerates for half of the way and
/// brakes for the other half needs a time that grows with the root of the way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seek {
    /// Part of every seek that does not depend on its length.
    pub base: Parameter<Nanoseconds>,
    /// Part of a seek over all cylinders that does.
    pub stroke: Parameter<Nanoseconds>,
    /// Added before a write that the arm has to be placed for: finer settling.
    pub write_settle: Parameter<Nanoseconds>,
    /// From a cylinder's last sector to the next cylinder's first: the tracks
    /// are skewed by as much, so that a sequential transfer loses nothing else.
    pub track_switch: Parameter<Nanoseconds>,
    /// From a track's last sector to the next track's first on the same
    /// cylinder, by another head; skewed likewise. Absent: as `track_switch`.
    pub head_switch: Option<Parameter<Nanoseconds>>,
}

impl Seek {
    /// Time of a switch of heads.
    pub fn head_switch_ns(&self) -> u64 {
        self.head_switch.as_ref().unwrap_or(&self.track_switch).0
    }
}

/// Firmware times. Commands that wait in the drive overlap them with the
/// mechanical work of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Per command.
    pub command_overhead: Parameter<Nanoseconds>,
    /// Per command that needs the mechanism, before it may start.
    pub access_overhead: Parameter<Nanoseconds>,
    /// Per write without write cache, in addition.
    pub write_through_overhead: Parameter<Nanoseconds>,
    /// How long a command that needs the mechanism may wait while others that
    /// can begin sooner go before it; from then on the oldest goes first.
    /// Absent: without limit.
    pub age_limit: Option<Parameter<Nanoseconds>>,
}

/// The drive's own memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Whether a write completes when its data is in the cache.
    pub write_back: Parameter<bool>,
    /// Whether the firmware acknowledges flushes and forced writes at once, and
    /// leaves in the cache what they are to make durable. Absent: no.
    pub ignores_flush: Option<Parameter<bool>>,
    /// Bytes of writes that may wait for the mechanism.
    pub write_size: Parameter<Bytes>,
    /// Separate places that may wait, from which the nearest in time is taken.
    pub write_entries: Parameter<u32>,
    /// How far reading goes on after a read, while nothing else is to be done.
    pub read_ahead: Parameter<Bytes>,
    /// Sequences that it remembers at a time, each with as much memory as it
    /// reads ahead. Absent: 1.
    pub segments: Option<Parameter<u32>>,
}

impl Specification {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        self.link.check()?;
        self.capacity.check_sectors()?;
        check_second("host.overhead", &self.host.overhead)?;
        if let Some(window) = &self.host.elevator_window {
            require(
                (1..=65_536).contains(&window.value),
                "host.elevator_window: use 1 (no elevator) to 65536",
            )?;
        }
        let geometry = &self.geometry;
        require(
            (1_000..=100_000).contains(&geometry.rotation_rpm.value),
            "geometry.rotation_rpm: use 1000 to 100000",
        )?;
        require((1..=256).contains(&geometry.heads.value), "geometry.heads: use 1 to 256")?;
        require((1..=1024).contains(&geometry.zones.value), "geometry.zones: use 1 to 1024")?;
        require(
            (1_000_000..=10_000_000_000).contains(&geometry.inner_rate.0),
            "geometry.inner_rate: use 1 MB/s to 10 GB/s",
        )?;
        require(
            (geometry.inner_rate.0..=10_000_000_000).contains(&geometry.outer_rate.0),
            "geometry.outer_rate: use the inner rate to 10 GB/s",
        )?;
        for (name, time) in [
            ("seek.base", &self.seek.base),
            ("seek.stroke", &self.seek.stroke),
            ("seek.write_settle", &self.seek.write_settle),
            ("seek.track_switch", &self.seek.track_switch),
            ("controller.command_overhead", &self.controller.command_overhead),
            ("controller.access_overhead", &self.controller.access_overhead),
            ("controller.write_through_overhead", &self.controller.write_through_overhead),
        ] {
            check_second(name, time)?;
        }
        require(self.seek.head_switch_ns() <= 1_000_000_000, "seek.head_switch: use at most 1 s")?;
        if let Some(limit) = &self.controller.age_limit {
            require(
                (1..=3_600_000_000_000).contains(&limit.0),
                "controller.age_limit: use at most 1 h, or leave it out for none",
            )?;
        }
        require(
            (65_536..=1 << 40).contains(&self.cache.write_size.0),
            "cache.write_size: use at least 64 KiB (set cache.write_back to false for none)",
        )?;
        require(
            (1..=65_536).contains(&self.cache.write_entries.value),
            "cache.write_entries: use 1 to 65536",
        )?;
        if let Some(segments) = &self.cache.segments {
            require((1..=1024).contains(&segments.value), "cache.segments: use 1 to 1024")?;
        }
        require(self.cache.read_ahead.0 <= 1 << 40, "cache.read_ahead: use at most 1 TiB")
    }
}
