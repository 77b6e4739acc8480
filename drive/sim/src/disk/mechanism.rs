//! Arm and platters: when an access starts and ends.

use super::geometry::{Geometry, Place};
use super::specification::Specification;
use crate::validity::{Checked, Clock, ensure, same};
use serde::{Deserialize, Serialize};

/// The arm over the turning platters. It has one piece of work at a time.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mechanism {
    geometry: Geometry,
    base_ns: f64,
    /// Stroke part of a seek over one cylinder: `stroke / sqrt(cylinders)`.
    stroke_ns: f64,
    write_settle_ns: u64,
    head_switch_ns: u64,
    /// The sector that would continue the latest transfer.
    next_sector: u64,
    /// Where and when that transfer ended (or will).
    at: Place,
    at_ns: u64,
}

impl Mechanism {
    /// Arm at the outer edge.
    pub fn new(specification: &Specification) -> Self {
        let geometry = Geometry::new(specification);
        let longest = geometry.cylinders().saturating_sub(1).max(1) as f64;
        Self {
            base_ns: specification.seek.base.0 as f64,
            stroke_ns: specification.seek.stroke.0 as f64 / longest.sqrt(),
            write_settle_ns: specification.seek.write_settle.0,
            head_switch_ns: specification.seek.head_switch_ns(),
            next_sector: 0,
            at: geometry.start_of(0),
            at_ns: 0,
            geometry,
        }
    }

    /// Fails unless a loaded arm can go on as one that was `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self {
            geometry,
            base_ns,
            stroke_ns,
            write_settle_ns,
            head_switch_ns,
            next_sector,
            at,
            at_ns,
        } = self;
        same!(made; geometry, base_ns, stroke_ns, write_settle_ns, head_switch_ns);
        let next = *next_sector;
        ensure(next <= geometry.sectors(), "where the arm is")?;
        let ended = next > 0 && *at == geometry.end_of(next);
        ensure(ended || *at == geometry.start_of(next), "where the arm is")?;
        clock.ensure_soon([*at_ns])
    }

    /// The platters.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The sector that would continue the latest transfer.
    pub fn next_sector(&self) -> u64 {
        self.next_sector
    }

    /// Whether a transfer from `sector` at `now_ns` would just go on.
    #[inline]
    pub fn continues(&self, now_ns: u64, sector: u64) -> bool {
        sector == self.next_sector && now_ns == self.at_ns
    }

    /// When a transfer from `sector` at `place` would begin if the arm were
    /// sent at `now_ns`: seek, settle and rotation.
    #[inline]
    pub fn begin_ns(&self, now_ns: u64, sector: u64, place: &Place, write: bool) -> u64 {
        if self.continues(now_ns, sector) {
            return now_ns + (place.pass_ns - self.at.pass_ns);
        }
        let distance = self.at.cylinder.abs_diff(place.cylinder);
        let seek_ns = if distance > 0 {
            (self.base_ns + self.stroke_ns * (distance as f64).sqrt()) as u64
        } else if self.at.track != place.track {
            self.head_switch_ns
        } else {
            0
        };
        let settle_ns = if write { self.write_settle_ns } else { 0 };
        let on_track_ns = now_ns + seek_ns + settle_ns;
        let revolution_ns = self.geometry.revolution_ns();
        let angle_ns = on_track_ns % revolution_ns;
        let ahead_ns = place.angle_ns + revolution_ns - angle_ns;
        let wait_ns = if ahead_ns >= revolution_ns { ahead_ns - revolution_ns } else { ahead_ns };
        on_track_ns + wait_ns
    }

    /// Sends the arm to transfer sectors from `sector` at `place` up to
    /// `end_sector`; returns when the last one has passed.
    pub fn transfer(
        &mut self,
        now_ns: u64,
        sector: u64,
        place: &Place,
        end_sector: u64,
        write: bool,
    ) -> u64 {
        let begin_ns = self.begin_ns(now_ns, sector, place, write);
        self.pass(begin_ns, place.pass_ns, end_sector)
    }

    /// Goes on with the latest transfer, which has not stopped, to
    /// `end_sector`; returns when its last sector has passed.
    pub fn go_on(&mut self, end_sector: u64) -> u64 {
        self.pass(self.at_ns, self.at.pass_ns, end_sector)
    }

    /// Goes on with the latest transfer for as long as `now_ns` and
    /// `limit_sector` allow; returns the sector after the last one that passed.
    pub fn go_on_until(&mut self, now_ns: u64, limit_sector: u64) -> u64 {
        if now_ns > self.at_ns {
            let passed = self.geometry.passed_at(self.at.pass_ns + (now_ns - self.at_ns));
            let end_sector = passed.min(limit_sector);
            if end_sector > self.next_sector {
                self.go_on(end_sector);
            }
        }
        self.next_sector
    }

    /// Sends the arm back to where the latest transfer ended, to go on with it
    /// as soon as the place comes round.
    pub fn resume(&mut self, now_ns: u64) {
        let place = self.geometry.start_of(self.next_sector);
        self.at_ns = self.begin_ns(now_ns, self.next_sector, &place, false);
        self.at = place;
    }

    fn pass(&mut self, begin_ns: u64, begin_pass_ns: u64, end_sector: u64) -> u64 {
        self.at = self.geometry.end_of(end_sector);
        self.at_ns = begin_ns + (self.at.pass_ns - begin_pass_ns);
        self.next_sector = end_sector;
        self.at_ns
    }
}
