//! Power: what the drive draws in rest, and what each part adds while it works.

use super::flash::ArrayTime;
use super::specification;
use crate::validity::{Checked, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};

/// Energy of one milliwatt for one nanosecond, in joules.
const MILLIWATT_NANOSECOND_J: f64 = 1e-12;

/// Powers in milliwatts, and the times that only this module keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Power {
    idle_mw: f64,
    interface_mw: f64,
    controller_mw: f64,
    read_mw: f64,
    program_mw: f64,
    erase_mw: f64,
    /// Since when there are commands in the drive.
    busy_since_ns: Option<u64>,
    /// Before that.
    busy_ns: u64,
    /// Spent beyond idling before the last secure erase.
    spent_j: f64,
}

impl Power {
    /// From the specification.
    pub fn new(power: &specification::Power) -> Self {
        let milliwatts = |value: u64| value as f64;
        Self {
            idle_mw: milliwatts(power.idle.0),
            interface_mw: milliwatts(power.interface.0),
            controller_mw: milliwatts(power.controller.0),
            read_mw: milliwatts(power.read.0),
            program_mw: milliwatts(power.program.0),
            erase_mw: milliwatts(power.erase.0),
            busy_since_ns: None,
            busy_ns: 0,
            spent_j: 0.0,
        }
    }

    /// Fails unless a loaded account, while no command is in the drive, can be one
    /// of a drive with the powers of one that was `made`.
    pub fn check(&self, made: &Self) -> Checked {
        let Self {
            idle_mw,
            interface_mw,
            controller_mw,
            read_mw,
            program_mw,
            erase_mw,
            busy_since_ns,
            busy_ns,
            spent_j,
        } = self;
        same!(made; idle_mw, interface_mw, controller_mw, read_mw, program_mw, erase_mw);
        ensure(busy_since_ns.is_none(), "a command that keeps the drive busy")?;
        ensure(spent_j.is_finite() && *spent_j >= 0.0, "the energy")?;
        ensure_counts([*busy_ns])
    }

    /// A command comes while there was none.
    pub fn busy(&mut self, now_ns: u64) {
        self.busy_since_ns = Some(now_ns);
    }

    /// The last command is done.
    pub fn rest(&mut self, now_ns: u64) {
        self.busy_ns += self.busy_for_ns(now_ns);
        self.busy_since_ns = None;
    }

    /// How long the commands that are in the drive have kept it busy. The first
    /// one may still be on its way.
    fn busy_for_ns(&self, now_ns: u64) -> u64 {
        self.busy_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }

    /// What was spent beyond idling so far.
    fn work_j(&self, now_ns: u64, link_ns: u64, array: &ArrayTime) -> f64 {
        let parts = [
            (self.interface_mw, link_ns),
            (self.controller_mw, self.busy_ns + self.busy_for_ns(now_ns)),
            (self.read_mw, array.read_ns),
            (self.program_mw, array.program_ns),
            (self.erase_mw, array.erase_ns),
        ];
        let sum: f64 = parts.iter().map(|&(milliwatts, ns)| milliwatts * ns as f64).sum();
        self.spent_j + sum * MILLIWATT_NANOSECOND_J
    }

    /// Energy since the drive was made.
    pub fn energy_j(&self, now_ns: u64, link_ns: u64, array: &ArrayTime) -> f64 {
        let idling_j = self.idle_mw * now_ns as f64 * MILLIWATT_NANOSECOND_J;
        idling_j + self.work_j(now_ns, link_ns, array)
    }

    /// The account after a secure erase or a loss of power, which start the other
    /// times anew; no command is in the drive.
    pub fn carried_over(&self, now_ns: u64, link_ns: u64, array: &ArrayTime) -> Self {
        let spent_j = self.work_j(now_ns, link_ns, array);
        Self { busy_since_ns: None, busy_ns: 0, spent_j, ..self.clone() }
    }
}
