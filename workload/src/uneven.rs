//! Uneven access that is no law of ranks like Zipf's: self-similar, normal, and
//! by zones of the span. A draw is a rank, or of zones a place.

use crate::skew::{Class, below};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A part of the span, and how much of the access it gets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the accesses, 0 to 1.
    pub accesses: f64,
    /// Share of the positions, 0 to 1.
    pub data: f64,
}

/// Uniform, from 0 to below 1, in steps of 2^-53.
#[inline]
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The self-similar distribution (Gray et al., "Quickly generating billion-record
/// synthetic databases", 1994): rank `n u^(log h / log(1 - h))` of a uniform u.
#[derive(Clone, Debug)]
pub(crate) struct Pareto {
    places: u64,
    power: f64,
}

impl Pareto {
    pub(crate) fn new(places: u64, skew: f64) -> Self {
        Self { places, power: libm::log(skew) / libm::log1p(-skew) }
    }

    pub(crate) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let share = libm::pow(uniform(random), self.power);
        ((self.places as f64 * share) as u64).min(self.places - 1)
    }
}

/// The mean of twelve uniform draws, and a uniform one around it.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    places: u64,
    width: f64,
}

/// Draws that make a sum look normal; fio's number.
const NORMAL_DRAWS: u32 = 12;

impl Normal {
    pub(crate) fn new(places: u64, width: f64) -> Self {
        Self { places, width }
    }

    pub(crate) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let sum: f64 = (0..NORMAL_DRAWS).map(|_| uniform(random)).sum();
        let around = self.width * (uniform(random) - 0.5);
        let share = (sum / f64::from(NORMAL_DRAWS) + around).clamp(0.0, 1.0);
        ((self.places as f64 * share) as u64).min(self.places - 1)
    }
}

/// Zones by cumulated shares.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    /// Of each zone: the random number, of 2^32, below which it or one before it
    /// is meant, its first place and how many it has.
    zones: Vec<(u64, u64, u64)>,
}

impl Zones {
    pub(crate) fn new(places: u64, zones: &[Zone]) -> Self {
        let (mut accesses, mut data, mut first) = (0.0, 0.0, 0);
        let mut found = Vec::new();
        for zone in zones {
            accesses += zone.accesses;
            data += zone.data;
            let end = ((places as f64 * data).round() as u64).min(places);
            if zone.accesses > 0.0 {
                // A zone that is smaller than a place has the place that it begins in.
                let start = first.min(places - 1);
                let threshold = (accesses * (1u64 << 32) as f64).round() as u64;
                found.push((threshold, start, end.max(start + 1) - start));
            }
            first = end;
        }
        if let Some(last) = found.last_mut() {
            last.0 = 1 << 32;
        }
        Self { zones: found }
    }

    pub(crate) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let drawn = u64::from(random.next_u32());
        let zone = self.zones.partition_point(|zone| zone.0 <= drawn);
        let (_, first, count) = self.zones[zone];
        first + below(random, count)
    }

    /// The zones, as classes of places.
    pub(crate) fn classes(&self) -> Vec<Class> {
        let mut before = 0;
        let mut class = |&(threshold, first, count): &(u64, u64, u64)| {
            let accesses = (threshold - before) as f64 / (1u64 << 32) as f64;
            before = threshold;
            Class { ranks: first..first + count, accesses }
        };
        self.zones.iter().map(&mut class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    const DRAWS: u32 = 200_000;

    fn share_below(limit: u64, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> u64) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let below = (0..DRAWS).filter(|_| draw(&mut random) < limit).count();
        below as f64 / f64::from(DRAWS)
    }

    /// Five standard deviations of a share of so many draws.
    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 5.0 * (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt()
    }

    #[test]
    fn a_fifth_takes_four_fifths_and_a_fifth_of_it_four_fifths_of_that() {
        let pareto = Pareto::new(1_000_000, 0.2);
        for (limit, expected) in [(200_000, 0.8), (40_000, 0.64), (8_000, 0.512)] {
            let found = share_below(limit, |random| pareto.draw(random));
            assert!(close(found, expected), "{limit}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_normal_distribution_has_its_mean_and_deviation() {
        for width in [0.0f64, 0.1, 0.4] {
            let normal = Normal::new(1 << 40, width);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            let draws: Vec<f64> =
                (0..DRAWS).map(|_| normal.draw(&mut random) as f64 / (1u64 << 40) as f64).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(DRAWS);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(DRAWS);
            let expected = (1.0 / 144.0 + width.powi(2) / 12.0).sqrt();
            assert!((mean - 0.5).abs() < 5.0 * expected / f64::from(DRAWS).sqrt(), "{mean}");
            let relative = variance.sqrt() / expected - 1.0;
            assert!(relative.abs() < 0.01, "{width}: {relative}");
        }
    }

    #[test]
    fn zones_get_their_shares_and_lie_in_order() {
        let zone = |accesses, data| Zone { accesses, data };
        let shares = [zone(0.6, 0.1), zone(0.3, 0.2), zone(0.0, 0.3), zone(0.1, 0.4)];
        let zones = Zones::new(1_000, &shares);
        for (limit, expected) in [(100, 0.6), (300, 0.9), (50, 0.3), (800, 0.95)] {
            let found = share_below(limit, |random| zones.draw(random));
            assert!(close(found, expected), "{limit}: {found}, not {expected}");
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        assert!((0..DRAWS).all(|_| !(300..600).contains(&zones.draw(&mut random))));
        let classes = zones.classes();
        assert_eq!(classes.len(), 3);
        assert_eq!(classes[2].ranks, 600..1_000);
        assert!((classes[2].accesses - 0.1).abs() < 1e-9);
    }
}
