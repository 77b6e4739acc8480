//! Small numerical methods, in the same steps on every machine.

/// Halvings of an interval: what is left of it is of no account to anything
/// that is counted in units.
const STEPS: u32 = 48;

/// Where a condition that holds from `low` on ceases to hold.
pub fn bisect(mut low: f64, mut high: f64, mut holds: impl FnMut(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// `base` to the power of `exponent`, in the same steps on every machine.
pub fn power(base: f64, mut exponent: u32) -> f64 {
    let (mut square, mut result) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

/// The levels of `blocks` blocks, ascending, where `shares[i]` of them hold
/// `i` valid units.
pub fn at_quantiles(shares: &[f64], blocks: u32) -> Vec<u32> {
    let mut level = 0;
    let mut below = shares[0];
    (0..blocks)
        .map(|block| {
            let quantile = (f64::from(block) + 0.5) / f64::from(blocks);
            while quantile > below && level + 1 < shares.len() {
                level += 1;
                below += shares[level];
            }
            level as u32
        })
        .collect()
}
