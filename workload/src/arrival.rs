//! When requests are due: the arrival process of a stream.

use crate::lane::lane_random;
use crate::stream::{WorkloadError, reject};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Highest rate of one stream, per second: one request a nanosecond.
pub const RATE_MAX: f64 = 1e9;
/// Lowest rate of one stream, per second: one request in a quarter of an hour.
pub const RATE_MIN: f64 = 1e-3;
/// Longest burst, in requests.
pub const BURST_IOS_MAX: u64 = 1 << 20;

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
    /// Open loop: bursts at equal distances, and nothing due between them.
    Bursts {
        /// Requests per second in the mean, over bursts and pauses.
        rate: f64,
        /// Requests in a burst.
        ios: u64,
        /// Requests per second inside a burst, at equal distances; `None`: all
        /// of a burst are due at once.
        #[serde(default)]
        peak: Option<f64>,
    },
}

impl Arrival {
    /// Requests per second over all workers, in the mean; `None` in a closed loop.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Arrival::Closed => None,
            Arrival::Fixed(rate) | Arrival::Poisson(rate) | Arrival::Bursts { rate, .. } => {
                Some(rate)
            }
        }
    }

    pub(crate) fn check(self) -> Result<(), WorkloadError> {
        let Some(rate) = self.rate_per_s() else { return Ok(()) };
        if !(RATE_MIN..=RATE_MAX).contains(&rate) {
            return reject(format!("rate of {rate} per second: use {RATE_MIN} to {RATE_MAX}"));
        }
        let Arrival::Bursts { ios, peak, .. } = self else { return Ok(()) };
        if !(1..=BURST_IOS_MAX).contains(&ios) {
            return reject(format!("bursts of {ios} I/Os: use 1 to {BURST_IOS_MAX}"));
        }
        if let Some(peak) = peak
            && !(rate..=RATE_MAX).contains(&peak)
        {
            return reject(format!(
                "bursts at {peak} per second: use the mean rate, {rate}, to {RATE_MAX}"
            ));
        }
        Ok(())
    }
}

/// Binary places of a time inside a second: an interval that is no whole number
/// of nanoseconds keeps its rate over days.
const FRACTION_BITS: u32 = 32;
/// A second of such times.
const SECOND: f64 = 1_000_000_000.0 * (1u64 << FRACTION_BITS) as f64;
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
    process: Process,
    start_ns: u64,
    due_ns: u64,
}

#[derive(Clone, Debug)]
enum Process {
    Fixed(Fixed),
    Poisson(Box<Poisson>),
    Bursts(Bursts),
}

/// Times in 2^-32 ns.
#[derive(Clone, Debug)]
struct Fixed {
    interval: u128,
    next: u128,
}

/// Bursts of all workers together, of which one worker takes every `step`-th
/// request. Times in 2^-32 ns.
#[derive(Clone, Debug)]
struct Bursts {
    /// Number of the next arrival among those of all workers.
    next: u64,
    step: u64,
    ios: u64,
    /// From the start of a burst to the start of the next.
    period: u128,
    /// From request to request inside a burst.
    spacing: u128,
}

#[derive(Clone, Debug)]
struct Poisson {
    /// Mean distance, in 2^-32 ns.
    interval: u128,
    /// Of the block, in 2^-32 ns.
    start: u128,
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
    /// several workers alternate, those inside a burst as well.
    pub(crate) fn new(
        arrival: Arrival,
        (seed, stream): (u64, u64),
        (worker, workers): (u32, u32),
        expected: u64,
    ) -> Option<Self> {
        let process = match arrival {
            Arrival::Closed => return None,
            Arrival::Fixed(rate) => {
                let interval = (SECOND * f64::from(workers) / rate).round() as u128;
                let next = interval * u128::from(worker) / u128::from(workers);
                Process::Fixed(Fixed { interval, next })
            }
            Arrival::Poisson(rate) => {
                let interval = (SECOND * f64::from(workers) / rate).round() as u128;
                // Times are independent of what is drawn for addresses.
                let random = lane_random(!seed, stream, u64::from(worker));
                Process::Poisson(Box::new(Poisson::new(interval, random, expected)))
            }
            Arrival::Bursts { rate, ios, peak } => Process::Bursts(Bursts {
                next: u64::from(worker),
                step: u64::from(workers),
                ios,
                period: (SECOND * ios as f64 / rate).round() as u128,
                spacing: peak.map_or(0, |peak| (SECOND / peak).round() as u128),
            }),
        };
        let mut arrivals = Self { process, start_ns: 0, due_ns: 0 };
        arrivals.advance();
        Some(arrivals)
    }

    /// The same, all of it later by `start_ns`.
    pub(crate) fn starting_at(self, start_ns: u64) -> Self {
        Self { start_ns, due_ns: self.due_ns + start_ns, ..self }
    }

    /// When the next request is due, in nanoseconds from the start.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Goes on to the request after it.
    pub fn advance(&mut self) {
        let due_ns = match &mut self.process {
            Process::Fixed(fixed) => fixed.next_ns(),
            Process::Poisson(poisson) => poisson.next_ns(),
            Process::Bursts(bursts) => bursts.next_ns(),
        };
        self.due_ns = self.start_ns + due_ns;
    }

    /// Arrivals that are due before `end_ns` and have not been passed: for
    /// Poisson arrivals the number to be expected.
    pub fn due_before(&self, end_ns: u64) -> u64 {
        let interval = match &self.process {
            Process::Bursts(bursts) => {
                return bursts.due_before(end_ns.saturating_sub(self.start_ns));
            }
            Process::Fixed(fixed) => fixed.interval,
            Process::Poisson(poisson) => poisson.interval,
        };
        let left = u128::from(end_ns.saturating_sub(self.due_ns)) << FRACTION_BITS;
        left.div_ceil(interval) as u64
    }
}
impl Fixed {
    fn next_ns(&mut self) -> u64 {
        let due = self.next;
        self.next += self.interval;
        (due >> FRACTION_BITS) as u64
    }
}

impl Bursts {
    fn next_ns(&mut self) -> u64 {
        let (burst, within) = (self.next / self.ios, self.next % self.ios);
        self.next += self.step;
        let due = self.period * u128::from(burst) + self.spacing * u128::from(within);
        (due >> FRACTION_BITS) as u64
    }

    /// From the latest arrival on.
    fn due_before(&self, end_ns: u64) -> u64 {
        let end = u128::from(end_ns) << FRACTION_BITS;
        let bursts = end / self.period;
        let left = end % self.period;
        let ios = u128::from(self.ios);
        // Where there is no spacing a burst is due as a whole at its start.
        let within = left.div_ceil(self.spacing.max(1)).min(ios);
        let due = (bursts * ios + within) as u64;
        due.saturating_sub(self.next - self.step).div_ceil(self.step)
    }
}

impl Poisson {
    fn new(interval: u128, random: Xoshiro256PlusPlus, expected: u64) -> Self {
        let blocks = expected.div_ceil(BLOCK_MAX).max(1);
        let block = expected.div_ceil(blocks).clamp(1, BLOCK_MAX);
        let spacings = Spacings(random);
        let mut ahead = spacings.clone();
        let total = (0..=block).map(|_| ahead.draw()).sum();
        Poisson {
            interval,
            start: 0,
            spacings,
            ahead,
            block,
            block_ns: ((interval * u128::from(block)) >> FRACTION_BITS) as u64,
            made: 0,
            passed: 0,
            total,
            total_ahead: 0,
        }
    }

    fn next_ns(&mut self) -> u64 {
        self.draw();
        if self.made > self.block {
            // The last spacing leads to the block's end, where nothing is due.
            self.start += self.interval * u128::from(self.block);
            self.made = 0;
            self.passed = 0;
            self.total = std::mem::take(&mut self.total_ahead);
            self.draw();
        }
        let within = u128::from(self.block_ns) * u128::from(self.passed) / u128::from(self.total);
        (self.start >> FRACTION_BITS) as u64 + within as u64
    }

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
    fn bursts_keep_their_mean_rate_and_their_workers_share_each() {
        let at_once = Arrival::Bursts { rate: 100.0, ios: 4, peak: None };
        let spread = Arrival::Bursts { rate: 100.0, ios: 4, peak: Some(1000.0) };
        let ms = |times: Vec<u64>| times.iter().map(|t| t / 1_000_000).collect::<Vec<_>>();
        assert_eq!(ms(due(at_once, 0, 1, 0, 6)), [0, 0, 0, 0, 40, 40]);
        assert_eq!(ms(due(spread, 0, 1, 0, 6)), [0, 1, 2, 3, 40, 41]);
        assert_eq!(ms(due(spread, 0, 3, 0, 3)), [0, 3, 42]);
        assert_eq!(ms(due(spread, 2, 3, 0, 3)), [2, 41, 80]);
        let thirds = due(Arrival::Bursts { rate: 3e6, ios: 1, peak: None }, 0, 1, 0, 3_000_001);
        assert!(thirds[3_000_000].abs_diff(1_000_000_000) <= 1);
    }

    #[test]
    fn bursts_that_are_left_are_counted() {
        for (peak, workers) in [(None, 1), (Some(1000.0), 1), (None, 3), (Some(250.0), 3)] {
            let arrival = Arrival::Bursts { rate: 100.0, ios: 4, peak };
            for worker in 0..workers {
                let mut arrivals = Arrivals::new(arrival, (1, 0), (worker, workers), 0).unwrap();
                let times = due(arrival, worker, workers, 0, 200);
                for (passed, _) in times.iter().enumerate().take(20) {
                    for end_ns in (0..200).map(|half_ms| half_ms * 500_000) {
                        let before = times[passed..].iter().filter(|t| **t < end_ns).count();
                        assert_eq!(arrivals.due_before(end_ns), before as u64, "{arrivals:?}");
                    }
                    arrivals.advance();
                }
            }
        }
    }

    #[test]
    fn arrivals_left_are_counted() {
        let arrivals = Arrivals::new(Arrival::Fixed(1000.0), (1, 0), (0, 1), 0).unwrap();
        assert_eq!(arrivals.due_before(10_000_000_000), 10_000);
        assert_eq!(arrivals.due_before(0), 0);
    }
}
