//! Where a sector lies, and when it passes the head.
//!
//! Both follow from one number. *Track time* counts nanoseconds of an
//! undisturbed sequential pass from sector 0: a track takes one revolution and
//! the switch to the next track, by another head or, after a cylinder's last
//! one, on the next cylinder. Tracks are skewed by the time of that switch, so
//! a sector's track time modulo a revolution is its angular position, and the
//! difference of two track times is the time of a sequential transfer.

use super::specification;
use serde::{Deserialize, Serialize};

/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 512;

/// A place on the platters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Track, counted surface by surface, cylinder by cylinder.
    pub track: u64,
    /// Cylinder of the track.
    pub cylinder: u64,
    /// Track time.
    pub pass_ns: u64,
    /// Angular position: track time modulo a revolution.
    pub angle_ns: u64,
}

/// Cylinders with equal sectors per track.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Zone {
    first_sector: u64,
    first_track: u64,
    sectors_per_track: u64,
}

/// Zones from the outer edge inwards.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    cylinders: u64,
    sectors: u64,
    revolution_ns: u64,
    head_switch_ns: u64,
    cylinder_ns: u64,
}

impl Geometry {
    /// Lays zones until the capacity is reached.
    pub fn new(specification: &specification::Specification) -> Self {
        let geometry = &specification.geometry;
        let heads = u64::from(geometry.heads.value);
        let zones = u64::from(geometry.zones.value);
        let sectors = specification.capacity.user.0 / SECTOR_BYTES;
        let revolution_ns = 60_000_000_000 / u64::from(geometry.rotation_rpm.value);
        let head_switch_ns = specification.seek.head_switch_ns();
        let cylinder_ns = heads * revolution_ns
            + (heads - 1) * head_switch_ns
            + specification.seek.track_switch.0;

        let (outer, inner) = (geometry.outer_rate.0 as f64, geometry.inner_rate.0 as f64);
        let sectors_per_track = |zone: u64| {
            let inwards = (zone as f64 + 0.5) / zones as f64;
            let rate = outer - inwards * (outer - inner);
            let track_ns = cylinder_ns as f64 / heads as f64;
            ((rate * track_ns * 1e-9 / SECTOR_BYTES as f64).round() as u64).max(1)
        };
        let sectors_of_all: u64 = (0..zones).map(sectors_per_track).sum();
        let cylinders_of_zone = sectors.div_ceil(sectors_of_all * heads);
        let mut first_sector = 0;
        let zones: Vec<Zone> = (0..zones)
            .map(|zone| {
                let sectors_per_track = sectors_per_track(zone);
                let first_track = zone * cylinders_of_zone * heads;
                let laid = Zone { first_sector, first_track, sectors_per_track };
                first_sector += cylinders_of_zone * heads * sectors_per_track;
                laid
            })
            .collect();
        let cylinders = cylinders_of_zone * zones.len() as u64;
        Self { zones, heads, cylinders, sectors, revolution_ns, head_switch_ns, cylinder_ns }
    }

    /// Sectors that the host can address.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Cylinders.
    pub fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// Time of a revolution.
    pub fn revolution_ns(&self) -> u64 {
        self.revolution_ns
    }

    /// The leading edge of a sector.
    #[inline]
    pub fn start_of(&self, sector: u64) -> Place {
        let zone = self.zone_of(sector);
        let inside = sector - zone.first_sector;
        let track = inside / zone.sectors_per_track;
        let along = inside - track * zone.sectors_per_track;
        self.place(zone, track, along)
    }

    /// The trailing edge of the sector before `sector`: where a transfer ends
    /// that `sector` would continue.
    #[inline]
    pub fn end_of(&self, sector: u64) -> Place {
        let zone = self.zone_of(sector - 1);
        let inside = sector - 1 - zone.first_sector;
        let track = inside / zone.sectors_per_track;
        let along = inside - track * zone.sectors_per_track + 1;
        self.place(zone, track, along)
    }

    /// How many sectors have passed completely at a track time.
    pub fn passed_at(&self, pass_ns: u64) -> u64 {
        let cylinder = pass_ns / self.cylinder_ns;
        let inside_ns = pass_ns - cylinder * self.cylinder_ns;
        let track_ns = self.revolution_ns + self.head_switch_ns;
        let head = (inside_ns / track_ns).min(self.heads - 1);
        let track = cylinder * self.heads + head;
        let along_ns = (inside_ns - head * track_ns).min(self.revolution_ns);
        let index = self.zones.partition_point(|zone| zone.first_track <= track) - 1;
        let zone = &self.zones[index];
        let along = along_ns * zone.sectors_per_track / self.revolution_ns;
        let passed =
            zone.first_sector + (track - zone.first_track) * zone.sectors_per_track + along;
        passed.min(self.sectors)
    }

    /// Sectors of the track that holds a sector.
    #[inline]
    pub fn sectors_per_track(&self, sector: u64) -> u64 {
        self.zone_of(sector).sectors_per_track
    }

    #[inline]
    fn zone_of(&self, sector: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1]
    }

    #[inline]
    fn place(&self, zone: &Zone, track_in_zone: u64, along: u64) -> Place {
        let track = zone.first_track + track_in_zone;
        let cylinder = track / self.heads;
        let head = track - cylinder * self.heads;
        let pass_ns = cylinder * self.cylinder_ns
            + head * (self.revolution_ns + self.head_switch_ns)
            + along * self.revolution_ns / zone.sectors_per_track;
        Place { track, cylinder, pass_ns, angle_ns: pass_ns % self.revolution_ns }
    }
}
