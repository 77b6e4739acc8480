//! What is true of a disk; of flash, that it has none.

use super::geometry::SECTOR_BYTES;
use super::specification::Specification;
use crate::host_interface::host_truths;
use crate::truth::{Truth, Truths, Unit, seconds};

/// Places that stand for all of a zone's cylinders, which hold the same; fewer of
/// a disk of very many zones.
const PLACES_PER_ZONE: u32 = 50;
const PLACES_MAX: u32 = 2_000;

/// The drive passes data on while it reads: this much is still in it when the last
/// sector has passed the head.
const LAST_BYTES: f64 = 4096.0;

impl Specification {
    /// See [`crate::SimulatedDrive::truths`].
    pub fn truths(&self) -> Vec<Truth> {
        let mut truths = Truths::default();
        host_truths(&mut truths, &self.link, self.host.overhead.0);
        self.absent_truths(&mut truths);
        self.cache_truths(&mut truths);
        self.access_truths(&mut truths);
        self.platter_truths(&mut truths);
        truths.into_list()
    }

    /// What a disk does not have.
    fn absent_truths(&self, truths: &mut Truths) {
        for name in ["log_blocks", "power_loss_protection", "compression", "deduplication"] {
            truths.add_whether(name, false);
        }
        for name in ["dies", "channels", "parallel_units"] {
            truths.add(name, 0.0, Unit::Count);
        }
        for name in ["mapping_unit", "stripe_bytes", "page_bytes", "slc_cache_bytes"] {
            truths.add(name, 0.0, Unit::Bytes);
        }
    }

    fn cache_truths(&self, truths: &mut Truths) {
        let cache = &self.cache;
        let segments = cache.segments.as_ref().map_or(1, |segments| segments.value);
        let read_ahead = cache.read_ahead.0 as f64;
        truths.add_whether("read_ahead", true);
        truths.add("read_ahead_bytes", read_ahead, Unit::Bytes);
        truths.add("read_ahead_streams", f64::from(segments), Unit::Count);
        truths.add("read_cache_bytes", f64::from(segments) * read_ahead, Unit::Bytes);
        truths.add_whether("volatile_write_cache", cache.write_back.value);
        let buffered = cache.write_back.value.then_some(cache.write_size.0 as f64);
        truths.add_some("write_buffer_bytes", buffered, Unit::Bytes);
        truths.add_whether("reordering", self.link.queue_depth.value > 1);
    }

    fn access_truths(&self, truths: &mut Truths) {
        let controller = &self.controller;
        let rates = self.zone_rates();
        let mean_rate = rates.iter().sum::<f64>() / rates.len() as f64;
        let seek_s = self.mean_seek_s(&rates);
        // Firmware, a seek between two random places, and half a turn.
        let access_s = seconds(
            self.host.overhead.0 + controller.command_overhead.0 + controller.access_overhead.0,
        ) + seek_s
            + 30.0 / f64::from(self.geometry.rotation_rpm.value);
        let last_s = LAST_BYTES / self.link.interface.payload_rate();
        truths.add("read_access_penalty", access_s + last_s, Unit::Seconds);
        truths.add("read_sequential_rate", mean_rate, Unit::BytesPerSecond);
        // A write cache chooses among what waits, and what that saves follows from no
        // parameter alone.
        if !self.cache.write_back.value {
            let more_s = seconds(self.seek.write_settle.0 + controller.write_through_overhead.0);
            truths.add("write_access_penalty", access_s + more_s, Unit::Seconds);
            truths.add("write_sequential_rate", mean_rate, Unit::BytesPerSecond);
        }
        truths.add("seek_base", seconds(self.seek.base.0), Unit::Seconds);
        truths.add("seek_stroke", seconds(self.seek.stroke.0), Unit::Seconds);
        truths.add("seek_mean", seek_s, Unit::Seconds);
        truths.add("track_switch", seconds(self.seek.track_switch.0), Unit::Seconds);
        truths.add("head_switch", seconds(self.seek.head_switch_ns()), Unit::Seconds);
    }

    fn platter_truths(&self, truths: &mut Truths) {
        let geometry = &self.geometry;
        truths.add("zones", f64::from(geometry.zones.value), Unit::Count);
        truths.add("heads", f64::from(geometry.heads.value), Unit::Count);
        let rpm = f64::from(geometry.rotation_rpm.value);
        truths.add("rotation_rpm", rpm, Unit::RevolutionsPerMinute);
        let rates = self.zone_rates();
        // A turn and the way to the next track, on the average of a cylinder.
        let switches_ns = self.seek.track_switch.0
            + u64::from(geometry.heads.value - 1) * self.seek.head_switch_ns();
        let track_s = 60.0 / rpm + seconds(switches_ns) / f64::from(geometry.heads.value);
        // A track holds whole sectors.
        let sector_bytes = SECTOR_BYTES as f64;
        let track_bytes = |rate: f64| (rate * track_s / sector_bytes).round() * sector_bytes;
        for (name, rate) in [("outer_rate", rates.first()), ("inner_rate", rates.last())] {
            let rate = rate.map(|&rate| track_bytes(rate) / track_s);
            truths.add_some(name, rate, Unit::BytesPerSecond);
        }
        truths.add_some("track_bytes", rates.first().map(|&rate| track_bytes(rate)), Unit::Bytes);
        // A host addresses the sectors of the medium, so that none is covered only in part.
        truths.add("physical_sector_bytes", sector_bytes, Unit::Bytes);
        truths.add("partial_sector_penalty", 0.0, Unit::Seconds);
    }

    /// Rate of each zone from the outer edge, in bytes per second.
    fn zone_rates(&self) -> Vec<f64> {
        let geometry = &self.geometry;
        let (outer, inner) = (geometry.outer_rate.0 as f64, geometry.inner_rate.0 as f64);
        let zones = geometry.zones.value;
        let inwards = |zone: u32| (f64::from(zone) + 0.5) / f64::from(zones);
        (0..zones).map(|zone| outer - inwards(zone) * (outer - inner)).collect()
    }

    /// A seek between two places that are drawn by bytes, of which outer cylinders
    /// have more.
    fn mean_seek_s(&self, rates: &[f64]) -> f64 {
        let zones = self.geometry.zones.value;
        let per_zone = PLACES_PER_ZONE.min(PLACES_MAX / zones).max(1);
        let places = f64::from(zones * per_zone);
        let weights: Vec<f64> =
            rates.iter().flat_map(|&rate| std::iter::repeat_n(rate, per_zone as usize)).collect();
        let sum: f64 = weights.iter().sum();
        let root: f64 = (weights.iter().enumerate())
            .map(|(from, weight)| {
                let to_all: f64 = (weights.iter().enumerate())
                    .map(|(to, weight)| weight * (from.abs_diff(to) as f64 / places).sqrt())
                    .sum();
                weight * to_all
            })
            .sum();
        seconds(self.seek.base.0) + seconds(self.seek.stroke.0) * root / (sum * sum)
    }
}
