//! Levels of blocks when victims are the emptiest of some drawn at random.

use super::numerics::{bisect, power};

/// The emptiest of `candidates` blocks drawn at random: shares of the blocks by
/// level. What sinks below a level, i f(i), equals the victims from below it
/// that come back full, v (1 - Q(i)^d), Q(i) being the share of blocks with at
/// least i valid units (Van Houdt, SIGMETRICS 2013).
pub fn shares_of_choices(slots: u32, mean: f64, candidates: u32) -> Vec<f64> {
    let shares = |victims: f64| {
        let mut shares = vec![0.0; slots as usize + 1];
        let mut above = 0.0;
        for level in (1..=slots as usize).rev() {
            let flow = victims / level as f64;
            // Newton's method on a convex function, from its right.
            let mut share = flow.min(1.0 - above);
            for _ in 0..50 {
                let lower = power(above + share, candidates - 1);
                let value = share - flow * (1.0 - lower * (above + share));
                let step = value / (1.0 + flow * f64::from(candidates) * lower);
                share -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            shares[level] = share;
            above += share;
        }
        shares[0] = (1.0 - above).max(0.0);
        shares
    };
    let mean_of = |shares: &[f64]| -> f64 {
        shares.iter().enumerate().map(|(level, share)| level as f64 * share).sum()
    };
    // The more victims, the fuller the blocks; all of them full is the limit.
    shares(bisect(0.0, f64::from(slots) * f64::from(slots), |victims| {
        mean_of(&shares(victims)) < mean
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_among_ten_choices_are_those_of_the_literature() {
        // Write amplification b / (b - mean victim) at 7, 12 and 28 % of spare
        // area with 256 pages per block (simulated after Van Houdt).
        for (spare, expected) in [(0.07, 7.830), (0.12, 4.896), (0.28, 2.521)] {
            let shares = shares_of_choices(256, 256.0 / (1.0 + spare), 10);
            let (mut victim, mut at_least) = (0.0, 0.0);
            for (level, share) in shares.iter().enumerate().rev() {
                let chance = power(at_least + share, 10) - power(at_least, 10);
                victim += level as f64 * chance;
                at_least += share;
            }
            let amplification = 256.0 / (256.0 - victim);
            assert!((amplification / expected - 1.0).abs() < 2e-3, "{spare}: {amplification}");
        }
    }
}
