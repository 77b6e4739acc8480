//! When requests are due: the arrival process of a stream.

use crate::lane::lane_random;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Highest rate of one stream, per second: one request a nanosecond.
pub const RATE_MAX: f64 = 1e9;
/// Lowest rate of one stream, per second: one request in a quarter of an hour.
pub const RATE_MIN: f64 = 1e-3;

/// What makes a stream issue its next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Closed loop: a completion is answered by the next request at once, so
    /// that the queue depth is always outstanding.
    #[default]
    Closed,
    /// Open loop: so many requests are due per second, at equal distances.
    Fixed(f64),
    /// Open loop: so many are due per second, as a Poisson process.
    Poisson(f64),
}

impl Arrival {
    /// Requests per second over all workers; `None` in a closed loop.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Arrival::Closed => None,
            Arrival::Fixed(rate) | Arrival::Poisson(rate) => Some(rate),
        }
    }
}

/// Binary places of a time inside a second: an interval that is no whole number
/// of nanoseconds keeps its rate over days.
const FRACTION_BITS: u32 = 32;
/// Most arrivals of a Poisson process whose number is fixed in advance.
const BLOCK_MAX: u64 = 1 << 20;

/// The times at which one worker's requests are due, in ascending order.
///
/// A Poisson process is conditioned on its count: in a run of up to 2^20
/// arrivals their number is exactly rate times time, and given that number they
/// lie as those of any Poisson process do. Without it a run of 10,000 would
/// offer its rate to within 1 % only. Longer runs are cut into blocks.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Mean distance, in 2^-32 ns.
    interval: u128,
    /// Of the next fixed arrival, or of the block's start, in 2^-32 ns.
    start: u128,
    poisson: Option<Box<Poisson>>,
    due_ns: u64,
}

#[derive(Clone, Debug)]
struct Poisson {
    spacings: Spacings,
    /// The same spacings, a block ahead: their sum scales the next block.
    ahead: Spacings,
    block: u64,
    block_ns: u64,
    /// Arrivals made in this block, and their spacings' sum.
    made: u64,
    passed: u64,
    total: u64,
    total_ahead: u64,
}

impl Arrivals {
    /// Arrivals of worker `worker` of `workers`, `expected` in number, at its
    /// share of `arrival`'s rate; `None` for a closed loop. Fixed arrivals of
    /// several workers alternate.
    pub(crate) fn new(
        arrival: Arrival,
        (seed, stream): (u64, u64),
        (worker, workers): (u32, u32),
        expected: u64,
    ) -> Option<Self> {
        let rate_per_s = arrival.rate_per_s()?;
        let second = (1_000_000_000u64 << FRACTION_BITS) as f64;
        let interval = (second * f64::from(workers) / rate_per_s).round() as u128;
        let mut arrivals = match arrival {
            Arrival::Poisson(_) => {
                let blocks = expected.div_ceil(BLOCK_MAX).max(1);
                let block = expected.div_ceil(blocks).clamp(1, BLOCK_MAX);
                // Times are independent of what is drawn for addresses.
                let random = lane_random(!seed, stream, u64::from(worker));
                let spacings = Spacings(random);
                let mut ahead = spacings.clone();
                let total = (0..=block).map(|_| ahead.draw()).sum();
                let poisson = Poisson {
                    spacings,
                    ahead,
                    block,
                    block_ns: ((interval * u128::from(block)) >> FRACTION_BITS) as u64,
                    made: 0,
                    passed: 0,
                    total,
                    total_ahead: 0,
                };
                Self { interval, start: 0, poisson: Some(Box::new(poisson)), due_ns: 0 }
            }
            _ => {
                let start = interval * u128::from(worker) / u128::from(workers);
                Self { interval, start, poisson: None, due_ns: 0 }
            }
        };
        arrivals.advance();
        Some(arrivals)
    }

    /// When the next request is due, in nanoseconds from the start.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Goes on to the request after it.
    pub fn advance(&mut self) {
        let Some(poisson) = &mut self.poisson else {
            self.due_ns = (self.start >> FRACTION_BITS) as u64;
            self.start += self.interval;
            return;
        };
        poisson.draw();
        if poisson.made > poisson.block {
            // The last spacing leads to the block's end, where nothing is due.
            self.start += self.interval * u128::from(poisson.block);
            poisson.made = 0;
            poisson.passed = 0;
            poisson.total = std::mem::take(&mut poisson.total_ahead);
            poisson.draw();
        }
        let within =
            u128::from(poisson.block_ns) * u128::from(poisson.passed) / u128::from(poisson.total);
        self.due_ns = (self.start >> FRACTION_BITS) as u64 + within as u64;
    }

    /// Arrivals that are due before `end_ns` and have not been passed: for
    /// Poisson arrivals the number to be expected.
    pub fn due_before(&self, end_ns: u64) -> u64 {
        let left = u128::from(end_ns.saturating_sub(self.due_ns)) << FRACTION_BITS;
        left.div_ceil(self.interval) as u64
    }
}

impl Poisson {
    fn draw(&mut self) {
        self.passed += self.spacings.draw();
        self.total_ahead += self.ahead.draw();
        self.made += 1;
    }
}

/// Exponential variates of mean 1, in 2^-32, by comparisons alone (von Neumann,
/// "Various techniques used in connection with random digits", 1951): the same
/// on every machine, which a logarithm is not.
#[derive(Clone, Debug)]
struct Spacings(Xoshiro256PlusPlus);

impl Spacings {
    fn draw(&mut self) -> u64 {
        let mut whole = 0;
        loop {
            let first = self.0.next_u32();
            let (mut previous, mut descends_odd) = (first, true);
            loop {
                let next = self.0.next_u32();
                if next >= previous {
                    break;
                }
                previous = next;
                descends_odd = !descends_odd;
            }
            if descends_odd {
                return (whole << FRACTION_BITS) + u64::from(first);
            }
            whole += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(arrival: Arrival, worker: u32, workers: u32, expected: u64, count: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(arrival, (1, 0), (worker, workers), expected).unwrap();
        std::iter::repeat_with(|| {
            let due_ns = arrivals.due_ns();
            arrivals.advance();
            due_ns
        })
        .take(count)
        .collect()
    }

    #[test]
    fn fixed_arrivals_keep_their_rate_and_alternate() {
        let third = due(Arrival::Fixed(3e6), 0, 1, 0, 3_000_001);
        assert_eq!(third[..4], [0, 333, 666, 999]);
        assert!(third[3_000_000].abs_diff(1_000_000_000) <= 1, "{}", third[3_000_000]);
        assert_eq!(due(Arrival::Fixed(1000.0), 0, 2, 0, 2), [0, 2_000_000]);
        assert_eq!(due(Arrival::Fixed(1000.0), 1, 2, 0, 2), [1_000_000, 3_000_000]);
    }

    #[test]
    fn poisson_arrivals_keep_their_count_and_have_exponential_spacings() {
        let times = due(Arrival::Poisson(1000.0), 0, 1, 100_000, 300_000);
        assert!(times.is_sorted());
        for block in [1u64, 2, 3] {
            let before = times.partition_point(|t| *t < block * 100_000_000_000);
            assert!(before.abs_diff(block as usize * 100_000) <= 1, "{before}");
        }
        let spacings: Vec<f64> =
            times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        // Kolmogorov and Smirnov against 1 - exp(-x): above 1.95 / sqrt(n) once
        // in a thousand seeds.
        let mut ordered = spacings.clone();
        ordered.sort_by(f64::total_cmp);
        let n = ordered.len() as f64;
        let distance = ordered
            .iter()
            .enumerate()
            .map(|(rank, x)| ((1.0 - (-x).exp()) - rank as f64 / n).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
        // Neighbours are independent: their correlation is a few 1 / sqrt(n).
        let correlation =
            spacings.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>() / n;
        assert!(correlation.abs() < 4.0 / n.sqrt(), "{correlation}");
    }

    #[test]
    fn a_second_window_holds_a_poisson_number_of_arrivals() {
        let times = due(Arrival::Poisson(100.0), 0, 1, 1_000_000, 1_000_000);
        let mut counts = vec![0f64; 10_000];
        for time in times {
            counts[(time / 1_000_000_000).min(9_999) as usize] += 1.0;
        }
        let variance = counts.iter().map(|c| (c - 100.0).powi(2)).sum::<f64>() / 10_000.0;
        // The variance equals the mean, 100; its own deviation is 1.4 %.
        assert!((93.0..107.0).contains(&variance), "{variance}");
    }

    #[test]
    fn arrivals_left_are_counted() {
        let arrivals = Arrivals::new(Arrival::Fixed(1000.0), (1, 0), (0, 1), 0).unwrap();
        assert_eq!(arrivals.due_before(10_000_000_000), 10_000);
        assert_eq!(arrivals.due_before(0), 0);
    }
}
