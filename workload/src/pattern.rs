//! Order of addresses inside the span of a stream.

use crate::stream::{WorkloadError, reject};
use crate::uneven::Zone;
use serde::{Deserialize, Serialize};

/// Order of addresses inside the span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ascending from the start of the span, wrapping at its end. Workers of
    /// one stream start at equal distances.
    Sequential,
    /// Uniform over every aligned position at which a whole block fits.
    Random,
    /// Every position once in random order, then all again in another one, as
    /// fio's random I/O with its map of blocks. Each worker has an order of its own.
    Permuted,
    /// A share of the accesses goes to a whole block anywhere, each of the
    /// others to the block after the one before (Iometer's percent random).
    PartlyRandom {
        /// Share of the accesses that jump, 0 to 1.
        random: f64,
    },
    /// Every so-manieth access of a worker goes to a whole block anywhere, each
    /// of the others to the block after the one before (fio's `rw=randread:8`).
    Runs {
        /// Accesses of a run, from 1.
        ios: u32,
    },
    /// The k-th access is k strides after the start of the span, wrapping at
    /// the last position at which a whole block fits. Workers of one stream
    /// take the accesses in turn.
    Strided {
        /// From one access to the next, a multiple of the alignment.
        stride_bytes: u64,
    },
    /// Random by Zipf's law: the k-th most popular position is drawn in
    /// proportion to `k^-exponent`. Popular positions are scattered over the
    /// span, and are the same for every stream with the same positions.
    Zipf {
        /// Above 0; 0.99 is usual for key-value stores.
        exponent: f64,
    },
    /// Random: a fraction `data` of the positions takes a share `accesses`,
    /// uniform within both parts. Positions are scattered as for Zipf's law.
    HotCold {
        /// Fraction of the positions that is hot, between 0 and 1.
        data: f64,
        /// Share of the accesses that hits hot positions, 0 to 1.
        accesses: f64,
    },
    /// Random and self-similar: the fraction `skew` of the positions takes a
    /// share 1 - `skew` of the accesses, and so does that fraction of these, and
    /// so on: fio's `pareto`. Scattered as for Zipf's law.
    Pareto {
        /// Above 0, below 1; 0.2 is the rule of 80 to 20.
        skew: f64,
    },
    /// Random, around the middle of the ranks: the mean of twelve uniform draws,
    /// and a uniform one of `width` times the positions around it, as fio's
    /// `normal` has it: a deviation of `sqrt(1/144 + width^2/12)` of the
    /// positions. Scattered as for Zipf's law.
    Normal {
        /// From 0 to 0.5.
        width: f64,
    },
    /// Random, uniform within each of several zones that lie one after the
    /// other in the span.
    Zoned {
        /// The zones, from the start of the span.
        zones: Vec<Zone>,
    },
}

/// Largest exponent of Zipf's law; beyond it nearly all accesses hit one place.
pub const ZIPF_EXPONENT_MAX: f64 = 10.0;
/// Most zones of one stream: fio takes 64.
const ZONES_MAX: usize = 256;

impl Pattern {
    /// Whether an access depends on where the one before ended.
    pub fn walks(&self) -> bool {
        matches!(self, Pattern::Sequential | Pattern::PartlyRandom { .. } | Pattern::Runs { .. })
    }

    pub(crate) fn check(&self, alignment_bytes: u64) -> Result<(), WorkloadError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let within = |value: f64| value > 0.0 && value < 1.0;
        match *self {
            Pattern::Zipf { exponent }
                if exponent.is_nan() || exponent <= 0.0 || exponent > ZIPF_EXPONENT_MAX =>
            {
                reject(format!(
                    "Zipf exponent {exponent}: use more than 0, up to {ZIPF_EXPONENT_MAX}"
                ))
            }
            Pattern::PartlyRandom { random } if !share(random) => {
                reject(format!("random share {random}: use 0 to 1"))
            }
            Pattern::Runs { ios: 0 } => reject("runs of 0 I/Os: use at least 1"),
            Pattern::HotCold { data, accesses } if !within(data) || !share(accesses) => {
                reject(format!(
                    "hot-cold {data}, {accesses}: use a fraction of the data between 0 and 1 and a share of the accesses from 0 to 1"
                ))
            }
            Pattern::Pareto { skew } if !within(skew) => {
                reject(format!("Pareto skew {skew}: use more than 0, and less than 1"))
            }
            Pattern::Normal { width } if !(0.0..=0.5).contains(&width) => {
                reject(format!("normal distribution of width {width}: use 0 to 0.5"))
            }
            Pattern::Zoned { ref zones } => check_zones(zones),
            Pattern::Strided { stride_bytes }
                if stride_bytes == 0 || !stride_bytes.is_multiple_of(alignment_bytes) =>
            {
                reject(format!(
                    "stride of {stride_bytes} bytes: use a multiple of the alignment of {alignment_bytes} bytes"
                ))
            }
            _ => Ok(()),
        }
    }
}

fn check_zones(zones: &[Zone]) -> Result<(), WorkloadError> {
    if zones.is_empty() || zones.len() > ZONES_MAX {
        return reject(format!("{} zones: use 1 to {ZONES_MAX}", zones.len()));
    }
    let sum = |of: fn(&Zone) -> f64| zones.iter().map(of).sum::<f64>();
    let fits = |sum: f64| (sum - 1.0).abs() < 1e-6;
    let shares = zones.iter().flat_map(|zone| [zone.accesses, zone.data]);
    if !shares.into_iter().all(|share| (0.0..=1.0).contains(&share))
        || !fits(sum(|zone| zone.accesses))
        || !fits(sum(|zone| zone.data))
    {
        return reject("zones: use shares of accesses and of data that add up to 1 each");
    }
    if zones.iter().any(|zone| zone.accesses > 0.0 && zone.data == 0.0) {
        return reject(
            "zones: a zone without data cannot be accessed; give it a share of the data",
        );
    }
    Ok(())
}
