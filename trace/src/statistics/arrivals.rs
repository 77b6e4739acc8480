//! When I/Os come: gaps, bursts, and the time between what makes data durable.

use super::Quantiles;
use crate::record::Record;
use fourcorners_recording::Latencies;
use fourcorners_workload::Operation;
use serde::Serialize;

/// Windows in which arrivals are counted, from a ms to 1000 s.
const WINDOWS_NS: [u64; 7] = [
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
];

/// Gaps longer than these are counted: what drives take for idle lies among them.
const IDLE_NS: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Windows of a scale below which their variance says little.
const WINDOWS_MIN: u64 = 10;

/// How bursty arrivals are on a scale: variance over mean of the counts in windows (Gusella 1991);
/// 1 of a Poisson process on all scales.
#[derive(Clone, Debug, Serialize)]
pub struct Dispersion {
    /// Length of a window.
    pub window_ns: u64,
    /// Windows, of which there are ten at least.
    pub windows: u64,
    /// Variance over mean.
    pub index: f64,
}

/// When I/Os come.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ArrivalFigures {
    /// Time from one I/O to the next, in ns.
    pub gap_ns: Option<Quantiles>,
    /// By scale; those below the step of the clock are left out.
    pub dispersion: Vec<Dispersion>,
    /// Gaps of at least so many ns: how many, and their share of the whole time.
    pub idle: Vec<(u64, u64, f64)>,
}

#[derive(Default)]
struct Scale {
    window: u64,
    count: u64,
    sum_of_squares: f64,
}

#[derive(Default)]
pub(super) struct Arrivals {
    first_ns: Option<u64>,
    last_ns: u64,
    gaps: Latencies,
    scales: [Scale; WINDOWS_NS.len()],
    idle: [(u64, u64); IDLE_NS.len()],
}

impl Arrivals {
    pub(super) fn count(&mut self, time_ns: u64) {
        let first_ns = match self.first_ns {
            Some(first_ns) => {
                let gap_ns = time_ns - self.last_ns;
                self.gaps.record(gap_ns);
                for ((count, sum_ns), least_ns) in self.idle.iter_mut().zip(IDLE_NS) {
                    if gap_ns >= least_ns {
                        *count += 1;
                        *sum_ns += gap_ns;
                    }
                }
                first_ns
            }
            None => *self.first_ns.insert(time_ns),
        };
        self.last_ns = time_ns;
        for (scale, window_ns) in self.scales.iter_mut().zip(WINDOWS_NS) {
            let window = (time_ns - first_ns) / window_ns;
            if window != scale.window {
                scale.sum_of_squares += (scale.count as f64).powi(2);
                scale.window = window;
                scale.count = 0;
            }
            scale.count += 1;
        }
    }

    pub(super) fn finish(self, step_ns: u64) -> ArrivalFigures {
        let length_ns = self.last_ns - self.first_ns.unwrap_or(0);
        let ios = Quantiles::of(&self.gaps).map_or(0, |gaps| gaps.count + 1);
        let mut dispersion = Vec::new();
        for (scale, window_ns) in self.scales.iter().zip(WINDOWS_NS) {
            // Only windows that are whole.
            let windows = scale.window;
            if windows < WINDOWS_MIN || window_ns < step_ns {
                continue;
            }
            let mean = (ios - scale.count) as f64 / windows as f64;
            let variance = scale.sum_of_squares / windows as f64 - mean * mean;
            dispersion.push(Dispersion { window_ns, windows, index: variance / mean });
        }
        let share = |sum_ns: u64| sum_ns as f64 / length_ns.max(1) as f64;
        ArrivalFigures {
            gap_ns: Quantiles::of(&self.gaps),
            dispersion,
            idle: IDLE_NS
                .into_iter()
                .zip(self.idle)
                .map(|(least_ns, (count, sum_ns))| (least_ns, count, share(sum_ns)))
                .collect(),
        }
    }
}

/// What is made durable, and when.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DurabilityFigures {
    /// Time from one flush to the next, in ns.
    pub flush_interval_ns: Option<Quantiles>,
    /// Bytes that were written between flushes.
    pub bytes_between_flushes: Option<Quantiles>,
    /// Time from one FUA write to the next, in ns.
    pub fua_interval_ns: Option<Quantiles>,
    /// Share of the writes that have FUA.
    pub fua_share: Option<f64>,
}

#[derive(Default)]
pub(super) struct Durability {
    last_flush_ns: Option<u64>,
    last_fua_ns: Option<u64>,
    flushes: Latencies,
    fuas: Latencies,
    written_bytes: u64,
    between: Latencies,
    writes: u64,
    fua_writes: u64,
}

impl Durability {
    pub(super) fn count(&mut self, record: &Record) {
        if record.operation == Operation::Write {
            self.writes += 1;
            self.written_bytes += record.length_bytes;
        }
        if record.fua {
            self.fua_writes += u64::from(record.operation == Operation::Write);
            if let Some(last_ns) = self.last_fua_ns.replace(record.time_ns) {
                self.fuas.record(record.time_ns - last_ns);
            }
        }
        if record.operation == Operation::Flush {
            if let Some(last_ns) = self.last_flush_ns.replace(record.time_ns) {
                self.flushes.record(record.time_ns - last_ns);
                self.between.record(self.written_bytes);
            }
            self.written_bytes = 0;
        }
    }

    pub(super) fn finish(self) -> DurabilityFigures {
        DurabilityFigures {
            flush_interval_ns: Quantiles::of(&self.flushes),
            bytes_between_flushes: Quantiles::of(&self.between),
            fua_interval_ns: Quantiles::of(&self.fuas),
            fua_share: (self.writes > 0).then(|| self.fua_writes as f64 / self.writes as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_have_no_dispersion_and_bursts_have_their_size() {
        let mut even = Arrivals::default();
        let mut bursts = Arrivals::default();
        for number in 0..10_000 {
            even.count(number * 100_000);
            // Ten at once every ms.
            bursts.count(number / 10 * 1_000_000);
        }
        let figures = even.finish(1);
        assert_eq!(figures.dispersion[0].window_ns, 1_000_000);
        assert!(figures.dispersion[0].index.abs() < 1e-9, "{figures:?}");
        let figures = bursts.finish(1);
        assert!(figures.dispersion[0].index.abs() < 1e-9, "{figures:?}");
        assert_eq!(figures.idle[0].1, 999);
        let mut rare = Arrivals::default();
        for number in 0..10_000 {
            // A hundred at once every 10 ms: in a window of a ms there are 100 or none.
            rare.count(number / 100 * 10_000_000);
        }
        let index = rare.finish(1).dispersion[0].index;
        assert!((index - 90.0).abs() < 1.0, "{index}");
    }
}
