//! What the controller has to do besides commands, and what holds them up: jitter
//! of the link, housekeeping, and heat.
//!
//! Housekeeping stands for tables that a firmware writes: it takes no command
//! meanwhile. What that programs is part of the time that the file gives, and no
//! work of the dies. By time, it is due whether or not the drive is used; what was
//! due while it was idle held nobody up.
//!
//! Heat is a first-order model: its level follows the rate of data, read and
//! written, through an exponential window, as the temperature of a body with one
//! heat capacity and one thermal resistance follows its power. From its limit on a
//! drive is throttled until it has cooled down.

use super::PageMapped;
use super::specification::{self, Specification};
use crate::host_interface::{HostInterface, transfer_ns};
use crate::truth::seconds;
use crate::validity::{Checked, Clock, both, ensure, ensure_counts, same};
use fourcorners_workload::{Operation, Request, below};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Sets these random numbers apart from others that follow from the seed.
const SALT: u64 = 0x6c69_6e6b;

/// What comes between the host and the firmware.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Upkeep {
    jitter_ns: u64,
    random: Xoshiro256PlusPlus,
    housekeeping: Option<Housekeeping>,
    heat: Option<Heat>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Housekeeping {
    time_ns: u64,
    /// 0: not by volume, not by time.
    volume_bytes: u64,
    interval_ns: u64,
    /// Written since the last time.
    written_bytes: u64,
    /// When the next time is.
    due_ns: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Heat {
    time_constant_s: f64,
    limit: f64,
    resume: f64,
    throttled_rate: u64,
    /// Mean rate, in bytes per second, at `at_ns`.
    level: f64,
    at_ns: u64,
    throttled: bool,
}

impl Upkeep {
    /// Where the specification has any of it.
    pub fn new(specification: &Specification, seed: u64) -> Option<Self> {
        let variation = specification.variation.as_ref();
        let jitter_ns = variation.and_then(|v| v.link_jitter.as_ref()).map_or(0, |time| time.0);
        let housekeeping = variation.and_then(Housekeeping::new);
        let heat = specification.thermal.as_ref().map(Heat::new);
        (jitter_ns > 0 || housekeeping.is_some() || heat.is_some()).then(|| Self {
            jitter_ns,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ SALT),
            housekeeping,
            heat,
        })
    }

    /// Fails unless what was loaded can go on as what was `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { jitter_ns, random, housekeeping, heat } = self;
        same!(made; jitter_ns);
        let mut random = random.clone();
        ensure((0..4).any(|_| random.next_u64() != 0), "the randomness of the link")?;
        both(housekeeping.as_ref(), made.housekeeping.as_ref(), |h, made| h.check(made, clock))?;
        both(heat.as_ref(), made.heat.as_ref(), |heat, made| heat.check(made, clock))
    }

    /// The firmware takes up a command that comes at `arrival_ns` and costs it
    /// `overhead_ns`; returns until when it works on it.
    pub fn take_up(
        &mut self,
        interface: &mut HostInterface,
        arrival_ns: u64,
        overhead_ns: u64,
        request: &Request,
    ) -> u64 {
        let bytes = match request.operation {
            Operation::Flush => 0,
            _ => u64::from(request.length_bytes),
        };
        let arrival_ns = arrival_ns + self.late_ns();
        if let Some(housekeeping) = &mut self.housekeeping {
            let written = if request.operation == Operation::Write { bytes } else { 0 };
            housekeeping.hold_up(interface, arrival_ns, written);
        }
        let slowed_ns = self.heat.as_ref().map_or(0, |heat| heat.slows_ns(bytes));
        let taken_up_ns = interface.take_up(arrival_ns, overhead_ns.max(slowed_ns));
        if let Some(heat) = &mut self.heat {
            heat.moved(taken_up_ns, bytes);
        }
        taken_up_ns
    }

    /// How late a command is.
    fn late_ns(&mut self) -> u64 {
        if self.jitter_ns == 0 {
            return 0;
        }
        let uniform = (below(&mut self.random, 1 << 53) + 1) as f64 / (1u64 << 53) as f64;
        (-libm::log(uniform) * self.jitter_ns as f64) as u64
    }
}

impl PageMapped {
    /// The firmware takes up a command, after what else it has to do.
    // Apart from the way of most drives, which is shorter without it.
    #[inline(never)]
    pub(super) fn take_up_after_upkeep(
        &mut self,
        arrival_ns: u64,
        overhead_ns: u64,
        tag: u32,
    ) -> u64 {
        let request = &self.commands[tag].request;
        match &mut self.upkeep {
            None => self.interface.take_up(arrival_ns, overhead_ns),
            Some(upkeep) => upkeep.take_up(&mut self.interface, arrival_ns, overhead_ns, request),
        }
    }

    /// Goes on with the randomness and the heat of a drive that is replaced.
    pub(super) fn inherit_variation(&mut self, used: &mut Self) {
        self.flash.inherit(&mut used.flash);
        self.upkeep = used.upkeep.take();
    }
}

impl Housekeeping {
    fn new(variation: &specification::Variation) -> Option<Self> {
        let time = variation.housekeeping_time.as_ref()?;
        let interval_ns = variation.housekeeping_interval.as_ref().map_or(0, |time| time.0);
        Some(Self {
            time_ns: time.0,
            volume_bytes: variation.housekeeping_volume.as_ref().map_or(0, |volume| volume.0),
            interval_ns,
            written_bytes: 0,
            due_ns: interval_ns,
        })
    }

    fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { time_ns, volume_bytes, interval_ns, written_bytes, due_ns } = self;
        same!(made; time_ns, volume_bytes, interval_ns);
        ensure_counts([*written_bytes])?;
        clock.ensure_soon([*due_ns])
    }

    /// What is due when a command comes that writes so much keeps the firmware busy.
    fn hold_up(&mut self, interface: &mut HostInterface, arrival_ns: u64, written: u64) {
        if self.interval_ns > 0 && arrival_ns >= self.due_ns {
            let last_ns = arrival_ns - (arrival_ns - self.due_ns) % self.interval_ns;
            self.due_ns = last_ns + self.interval_ns;
            interface.take_up(last_ns, self.time_ns);
        }
        self.written_bytes += written;
        if let Some(times @ 1..) = self.written_bytes.checked_div(self.volume_bytes) {
            self.written_bytes %= self.volume_bytes;
            interface.take_up(arrival_ns, times * self.time_ns);
        }
    }
}

impl Heat {
    fn new(thermal: &specification::Thermal) -> Self {
        Self {
            time_constant_s: seconds(thermal.time_constant.0),
            limit: thermal.limit_rate.0 as f64,
            resume: thermal.resume_rate.0 as f64,
            throttled_rate: thermal.throttled_rate.0,
            level: 0.0,
            at_ns: 0,
            throttled: false,
        }
    }

    fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { time_constant_s, limit, resume, throttled_rate, level, at_ns, throttled: _ } =
            self;
        same!(made; time_constant_s, limit, resume, throttled_rate);
        ensure((0.0..1e18).contains(level), "the heat")?;
        clock.ensure_soon([*at_ns])
    }

    /// The least that a command takes of a throttled drive.
    fn slows_ns(&self, bytes: u64) -> u64 {
        if self.throttled { transfer_ns(bytes, self.throttled_rate) } else { 0 }
    }

    /// So much is moved.
    fn moved(&mut self, now_ns: u64, bytes: u64) {
        let passed_s = seconds(now_ns.saturating_sub(self.at_ns));
        self.at_ns = self.at_ns.max(now_ns);
        self.level *= libm::exp(-passed_s / self.time_constant_s);
        self.level += bytes as f64 / self.time_constant_s;
        self.throttled = match self.throttled {
            true => self.level > self.resume,
            false => self.level >= self.limit,
        };
    }
}
