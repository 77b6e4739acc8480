//! Skewed access: some places are asked for more often than others.
//!
//! A draw is a rank, 0 for the place most asked for; a fixed bijection scatters
//! ranks over the span, so that every stream and every seed has the same hot
//! places and a drive sees no pattern in them.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Ranks that are asked for about as often as each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The ranks.
    pub ranks: Range<u64>,
    /// Share of all accesses that they get together.
    pub accesses: f64,
}

/// From the first to the last of the ranks that are put into one class.
const RANKS_ALIKE: f64 = 1.25;

/// Zipf's law over `n` ranks: rank k - 1 is drawn in proportion to k^-s.
///
/// Rejection-inversion (Hörmann and Derflinger, ACM Transactions on Modeling
/// and Computer Simulation 6, 1996): exact for any n, without tables, about 1.1
/// draws per rank. Addresses must be the same on every machine, so exponential
/// and logarithm are `libm`'s, which is plain Rust, not the system's.
#[derive(Clone, Debug)]
pub struct Zipf {
    exponent: f64,
    ranks: f64,
    /// Integral of the density's hat at the ends of its range.
    low: f64,
    high: f64,
    /// A draw so little below its rank is accepted without a further look.
    sure: f64,
}

impl Zipf {
    /// `ranks` from 1, `exponent` above 0.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf = Self { exponent, ranks: ranks as f64, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// A rank, from 0.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let uniform = (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let area = self.high + uniform * (self.low - self.high);
            let x = self.inverse(area);
            let k = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            if k - x <= self.sure || area >= self.integral(k + 0.5) - self.weight(k) {
                return k as u64 - 1;
            }
        }
    }

    /// All ranks, in classes of which no rank is drawn much more often than
    /// another one.
    pub fn classes(&self) -> Vec<Class> {
        let ranks = self.ranks as u64;
        let mut classes = Vec::new();
        let mut sum = 0.0;
        let mut first = 1u64;
        while first <= ranks {
            let end = ((first as f64 * RANKS_ALIKE) as u64 + 1).min(ranks + 1);
            // The hat's area over a rank is its weight but for the curvature,
            // which counts for the first ranks only.
            let weight = match end {
                0..100 => (first..end).map(|rank| self.weight(rank as f64)).sum(),
                _ => self.integral(end as f64 - 0.5) - self.integral(first as f64 - 0.5),
            };
            sum += weight;
            classes.push(Class { ranks: first - 1..end - 1, accesses: weight });
            first = end;
        }
        classes.iter_mut().for_each(|class| class.accesses /= sum);
        classes
    }

    /// x^-s.
    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Integral of x^-s from 1: (x^(1-s) - 1) / (1 - s), which is log x at
    /// s = 1 and stays exact near it.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let power = (1.0 - self.exponent) * log;
        if power == 0.0 { log } else { libm::expm1(power) / power * log }
    }

    /// The x of an [`Self::integral`].
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may take the argument of the logarithm below -1.
        let power = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if power == 0.0 { area } else { libm::log1p(power) / power * area };
        libm::exp(log)
    }
}

/// Some places take a share of the accesses, the others the rest; uniform
/// within both.
#[derive(Clone, Debug)]
pub struct HotCold {
    hot: u64,
    places: u64,
    /// Hot when 32 random bits fall below this.
    threshold: u64,
}

impl HotCold {
    /// A fraction `data` of `places` takes a share `accesses`.
    pub fn new(places: u64, data: f64, accesses: f64) -> Self {
        // At least one place is hot and, where there are two, one is cold.
        let most = places.saturating_sub(1).max(1);
        let hot = ((places as f64 * data).round() as u64).clamp(1, most);
        Self { hot, places, threshold: (accesses * (1u64 << 32) as f64).round() as u64 }
    }

    /// The hot places and the cold ones.
    pub fn classes(&self) -> Vec<Class> {
        let accesses =
            if self.hot == self.places { 1.0 } else { self.threshold as f64 / (1u64 << 32) as f64 };
        let hot = Class { ranks: 0..self.hot, accesses };
        let cold = Class { ranks: self.hot..self.places, accesses: 1.0 - accesses };
        [hot, cold].into_iter().filter(|class| !class.ranks.is_empty()).collect()
    }

    /// A rank, from 0; those below the number of hot places are hot.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let hot = u64::from(random.next_u32()) < self.threshold || self.hot == self.places;
        if hot { below(random, self.hot) } else { self.hot + below(random, self.places - self.hot) }
    }
}

/// A number below `limit`. Multiply-shift: 64 random bits against at most 2^55
/// positions leave a bias below 2^-9 of one position, far under what any run
/// can show.
#[inline]
pub fn below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// A bijection of the numbers below a limit that looks random: one on the next
/// power of two, applied until it falls below the limit.
#[derive(Clone, Debug)]
pub struct Scatter {
    limit: u64,
    mask: u64,
    shift: u32,
    /// Odd, so invertible modulo a power of two.
    factors: [u64; 3],
}

/// The fractional parts of the golden ratio and of the square roots of 3 and 5,
/// in 64 bits.
const FACTORS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B];

impl Scatter {
    /// The same for every seed; for numbers below `limit`, from 1.
    pub fn fixed(limit: u64) -> Self {
        Self::new(limit, FACTORS)
    }

    /// One of many; for numbers below `limit`, from 1.
    pub fn drawn(limit: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        Self::new(limit, [(); 3].map(|()| random.next_u64() | 1))
    }

    fn new(limit: u64, factors: [u64; 3]) -> Self {
        let mask = limit.next_power_of_two() - 1;
        Self { limit, mask, shift: mask.count_ones() / 2 + 1, factors }
    }

    /// The place of a number.
    #[inline]
    pub fn place(&self, number: u64) -> u64 {
        let mut value = number;
        loop {
            // Zero would stay where it is.
            value = value.wrapping_add(self.factors[0]) & self.mask;
            for factor in self.factors {
                value = value.wrapping_mul(factor) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.limit {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(11)
    }

    /// Fails unless counts fit probabilities: chi-square with one degree less
    /// than there are bins has its mean there and a variance of twice that; 4.5
    /// standard deviations.
    #[track_caller]
    fn assert_fits(what: &str, counts: &[u64], probabilities: &[f64]) {
        let draws = counts.iter().sum::<u64>() as f64;
        let chi_square: f64 = counts
            .iter()
            .zip(probabilities)
            .map(|(&count, p)| (count as f64 - draws * p).powi(2) / (draws * p))
            .sum();
        let degrees = counts.len() as f64 - 1.0;
        let limit = degrees + 4.5 * (2.0 * degrees).sqrt();
        assert!(chi_square < limit, "{what}: {chi_square:.0}, at most {limit:.0}");
    }

    #[test]
    fn ranks_follow_zipfs_law() {
        for exponent in [0.3, 0.8, 0.99, 1.0, 1.2, 2.0] {
            for ranks in [1u64, 2, 7, 500] {
                let weights: Vec<f64> = (1..=ranks).map(|k| (k as f64).powf(-exponent)).collect();
                let sum: f64 = weights.iter().sum();
                let probabilities: Vec<f64> = weights.iter().map(|w| w / sum).collect();
                let zipf = Zipf::new(ranks, exponent);
                let mut counts = vec![0u64; ranks as usize];
                let mut random = random();
                for _ in 0..1_000_000 {
                    counts[zipf.draw(&mut random) as usize] += 1;
                }
                if ranks > 1 {
                    assert_fits(&format!("s = {exponent}, {ranks} ranks"), &counts, &probabilities);
                }
            }
        }
    }

    /// Sum of k^-s from 1 to n, by Euler and Maclaurin beyond 1000.
    fn zipf_sum(n: f64, s: f64) -> f64 {
        let exact: f64 = (1..1_000u32).map(|k| f64::from(k).powf(-s)).sum();
        let integral = |x: f64| if s == 1.0 { x.ln() } else { x.powf(1.0 - s) / (1.0 - s) };
        let ends = 0.5 * (1_000f64.powf(-s) + n.powf(-s));
        let slopes = s / 12.0 * (1_000f64.powf(-s - 1.0) - n.powf(-s - 1.0));
        exact + integral(n) - integral(1_000.0) + ends + slopes
    }

    #[test]
    fn spans_of_any_size_follow_zipfs_law() {
        // 2^44 sectors are 9 PB. Bins from one power of ten to the next.
        let ranks = 1u64 << 44;
        for exponent in [0.5, 1.0, 1.1] {
            let zipf = Zipf::new(ranks, exponent);
            let mut bounds: Vec<f64> = (3..=13).map(|e| 10f64.powi(e)).collect();
            bounds.push(ranks as f64);
            let all = zipf_sum(ranks as f64, exponent);
            let below: Vec<f64> =
                bounds.iter().map(|&bound| zipf_sum(bound, exponent) / all).collect();
            let mut probabilities = vec![below[0]];
            probabilities.extend(below.windows(2).map(|pair| pair[1] - pair[0]));
            let mut counts = vec![0u64; bounds.len()];
            let mut random = random();
            for _ in 0..500_000 {
                let rank = zipf.draw(&mut random) + 1;
                counts[bounds.partition_point(|&bound| bound < rank as f64)] += 1;
            }
            // Bins too rare for chi-square are joined with the next.
            let (mut rare, mut expected) = (0, 0.0);
            let (mut joined, mut chances) = (Vec::new(), Vec::new());
            for (count, chance) in counts.into_iter().zip(probabilities) {
                (rare, expected) = (rare + count, expected + chance);
                if expected * 5e5 >= 10.0 {
                    joined.push(std::mem::take(&mut rare));
                    chances.push(std::mem::take(&mut expected));
                }
            }
            assert_fits(&format!("s = {exponent}"), &joined, &chances);
        }
    }

    #[test]
    fn hot_places_take_their_share() {
        let mut random = random();
        let places = 100;
        let hot_cold = HotCold::new(places, 0.2, 0.8);
        let mut counts = vec![0u64; places as usize];
        for _ in 0..1_000_000 {
            counts[hot_cold.draw(&mut random) as usize] += 1;
        }
        let mut probabilities = vec![0.8 / 20.0; 20];
        probabilities.resize(100, 0.2 / 80.0);
        assert_fits("20/80", &counts, &probabilities);
        assert_eq!(HotCold::new(1, 0.2, 0.8).draw(&mut random), 0);
    }

    #[test]
    fn classes_get_what_is_drawn() {
        let mut random = random();
        for exponent in [0.5, 0.99, 1.0, 2.0] {
            let ranks = 100_000;
            let zipf = Zipf::new(ranks, exponent);
            let classes = zipf.classes();
            let mut counts = vec![0u64; classes.len()];
            for _ in 0..500_000 {
                let rank = zipf.draw(&mut random);
                counts[classes.partition_point(|class| class.ranks.end <= rank)] += 1;
            }
            // The rare ones are checked as one.
            let drawn = |class: &&Class| class.accesses >= 1e-4;
            let often = classes.iter().filter(drawn).count();
            assert!(classes[..often].iter().all(|class| class.accesses >= 1e-4));
            let mut chances: Vec<f64> =
                classes[..often].iter().map(|class| class.accesses).collect();
            let rest: u64 = counts.drain(often..).sum();
            if often < classes.len() {
                chances.push(classes[often..].iter().map(|class| class.accesses).sum());
                counts.push(rest);
            }
            assert_fits(&format!("s = {exponent}"), &counts, &chances);
            assert_eq!(
                classes.iter().map(|class| class.ranks.end - class.ranks.start).sum::<u64>(),
                ranks
            );
        }
        let classes = HotCold::new(100, 0.2, 0.75).classes();
        assert_eq!(classes[0], Class { ranks: 0..20, accesses: 0.75 });
        assert_eq!(classes[1], Class { ranks: 20..100, accesses: 0.25 });
    }

    #[test]
    fn every_rank_has_a_place_of_its_own() {
        for limit in [1, 2, 3, 5, 100, 4096, 4097] {
            let scatter = Scatter::fixed(limit);
            let mut places: Vec<u64> = (0..limit).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..limit), "{limit}");
        }
    }

    #[test]
    fn neighbours_in_rank_are_not_neighbours_in_place() {
        // Sixteen equal parts of the span: the first 1600 ranks fill them alike.
        let limit = 62_500_000;
        let scatter = Scatter::fixed(limit);
        let mut counts = vec![0u64; 16];
        for rank in 0..1_600 {
            counts[(scatter.place(rank) * 16 / limit) as usize] += 1;
        }
        assert_fits("parts", &counts, &[1.0 / 16.0; 16]);
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        let zipf = Zipf::new(62_500_000, 0.99);
        let mut random = random();
        let mut digest = 0u64;
        for _ in 0..10_000 {
            digest = digest.wrapping_mul(FACTORS[0]).wrapping_add(zipf.draw(&mut random));
        }
        // Noted on x86-64 Linux.
        assert_eq!(digest, 14_975_904_018_565_004_706);
    }
}
