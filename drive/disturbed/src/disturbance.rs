//! What disturbs: strengths and random numbers.

use fourcorners_workload::below;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sets these random numbers apart from others that follow from the seed.
const SALT: u64 = 0x006e_6f69_7365;
/// Random numbers between 0 and 1 are of so many bits.
const UNIFORM_BITS: u32 = 53;
/// Time in which a drift forgets where it was: minutes, as a case that warms up.
const DRIFT_TIME_NS: f64 = 60e9;
/// The drift takes a step when so much time has passed.
const DRIFT_STEP_NS: u64 = 100_000_000;
/// An outlier takes so many times as long, evenly by the logarithm.
const OUTLIER_FACTORS: (f64, f64) = (10.0, 100.0);
/// Of what the host takes, the share that spreads (exponentially).
const OVERHEAD_RANDOM_SHARE: f64 = 0.2;

/// How strong each disturbance is; 0: there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strength {
    /// Standard deviation of the time between two events of the drive, over its mean
    /// (lognormal): of a drive that serves one command at a time, of its service time.
    pub spread: f64,
    /// Standard deviation of the drive's pace over minutes.
    pub drift: f64,
    /// Share of the commands that take 10 to 100 times as long, apart from what they wait
    /// for others.
    pub outlier_share: f64,
    /// Share of the time in which somebody else reads 4 KiB from somewhere.
    pub load_share: f64,
    /// What the host takes for a command, half of it one command after the other
    /// before the drive gets it, and half of it after the drive is done.
    pub overhead_ns: u64,
}

/// Disturbances of one target, which go on from run to run.
#[derive(Clone, Debug)]
pub struct Disturbance {
    pub(crate) strength: Strength,
    random: Xoshiro256PlusPlus,
    /// Of its stationary distribution, which is standard normal.
    drift: f64,
    drifted_ns: u64,
    /// The last service time of the other load's reads.
    pub(crate) load_service_ns: u64,
}

impl Disturbance {
    /// Of this strength; the same seed gives the same disturbances.
    pub fn new(strength: Strength, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ SALT);
        let drift = normal(&mut random);
        Self { strength, random, drift, drifted_ns: 0, load_service_ns: 0 }
    }

    /// How many times as long as the drive takes it takes from now on.
    pub(crate) fn pace(&mut self, now_ns: u64) -> f64 {
        let Strength { spread, drift, .. } = self.strength;
        if drift > 0.0 && now_ns >= self.drifted_ns + DRIFT_STEP_NS {
            let kept = libm::exp(-((now_ns - self.drifted_ns) as f64) / DRIFT_TIME_NS);
            let random = normal(&mut self.random);
            self.drift = kept * self.drift + libm::sqrt(1.0 - kept * kept) * random;
            self.drifted_ns = now_ns;
        }
        let mut logarithm = drift * self.drift;
        if spread > 0.0 {
            let variance = libm::log1p(spread * spread);
            logarithm += libm::sqrt(variance) * normal(&mut self.random) - variance / 2.0;
        }
        libm::exp(logarithm)
    }

    /// What a command that was served for so long takes in addition as an outlier; mostly 0.
    pub(crate) fn outlier_ns(&mut self, took_ns: u64) -> u64 {
        if self.strength.outlier_share == 0.0
            || uniform(&mut self.random) >= self.strength.outlier_share
        {
            return 0;
        }
        let (least, most) = OUTLIER_FACTORS;
        let factor = least * libm::exp(libm::log(most / least) * uniform(&mut self.random));
        ((factor - 1.0) * took_ns as f64) as u64
    }

    /// Half of what the host takes for a command.
    pub(crate) fn overhead_ns(&mut self) -> u64 {
        if self.strength.overhead_ns == 0 {
            return 0;
        }
        let varied = 1.0 - OVERHEAD_RANDOM_SHARE + OVERHEAD_RANDOM_SHARE * self.exponential();
        (self.strength.overhead_ns as f64 / 2.0 * varied) as u64
    }

    /// Until the next read of the other load, which was served in `load_service_ns`.
    pub(crate) fn pause_ns(&mut self) -> u64 {
        let share = self.strength.load_share;
        let mean_ns = self.load_service_ns as f64 * (1.0 - share) / share;
        (mean_ns * self.exponential()) as u64
    }

    /// A block below a number of them.
    pub(crate) fn block(&mut self, blocks: u64) -> u64 {
        below(&mut self.random, blocks)
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(uniform(&mut self.random))
    }
}

/// Above 0 and up to 1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (below(random, 1 << UNIFORM_BITS) + 1) as f64 / (1u64 << UNIFORM_BITS) as f64
}

/// A standard normal number (Box and Muller, Annals of Mathematical Statistics
/// 29(2), 1958).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(uniform(random)));
    radius * libm::cos(core::f64::consts::TAU * uniform(random))
}
