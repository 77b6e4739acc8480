//! Draws from a discrete distribution.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws classes by their probability, in one step each (Walker's alias
/// method, as Vose builds it: IEEE Transactions on Software Engineering 17,
/// 1991).
pub struct Alias {
    /// Of 2^32, and the class drawn beyond it.
    columns: Vec<(u32, u32)>,
}

impl Alias {
    /// Of weights of which one is above 0.
    pub fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut weights: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut columns = vec![(u32::MAX, 0); weights.len()];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&class| weights[class] < 1.0);
        while let (Some(class), Some(&full)) = (small.pop(), large.last()) {
            columns[class] = ((weights[class] * 4_294_967_296.0) as u32, full as u32);
            weights[full] -= 1.0 - weights[class];
            if weights[full] < 1.0 {
                small.push(full);
                large.pop();
            }
        }
        Self { columns }
    }

    /// A class.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let bits = random.next_u64();
        let column = (((bits >> 32) * self.columns.len() as u64) >> 32) as usize;
        let (threshold, other) = self.columns[column];
        if bits as u32 <= threshold { column } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn classes_are_drawn_by_their_weight() {
        let weights: Vec<f64> = (1..=40).map(|k| 1.0 / f64::from(k * k)).collect();
        let alias = Alias::new(&weights);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (draws, sum) = (1_000_000, weights.iter().sum::<f64>());
        let mut counts = vec![0; weights.len()];
        for _ in 0..draws {
            counts[alias.draw(&mut random)] += 1;
        }
        for (count, weight) in counts.into_iter().zip(weights) {
            let expected = f64::from(draws) * weight / sum;
            let off = (f64::from(count) - expected).abs();
            assert!(off < 4.5 * expected.sqrt(), "{count} for {expected:.0}");
        }
    }
}
