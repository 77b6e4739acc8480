//! Reading on after a read: the one segment of the cache that holds read data.

use super::mechanism::Mechanism;
use serde::{Deserialize, Serialize};

/// What a read finds in the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Find {
    /// All of it.
    Hit,
    /// The head is on the way to its last sector.
    Coming,
    /// Nothing that helps.
    Miss,
}

/// The sectors around the latest read. While the mechanism has nothing else to
/// do it reads on, up to a limit beyond what the host has fetched. How far it
/// has come is worked out when somebody asks.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadAhead {
    size_sectors: u64,
    start: u64,
    end: u64,
    limit: u64,
    rolling: bool,
}

impl ReadAhead {
    /// Empty.
    pub fn new(size_sectors: u64) -> Self {
        Self { size_sectors, start: 0, end: 0, limit: 0, rolling: false }
    }

    /// Forgets everything and stops.
    pub fn clear(&mut self) {
        (self.start, self.end, self.limit, self.rolling) = (0, 0, 0, false);
    }

    /// Sectors have been overwritten: they must not be served from here.
    pub fn overwritten(&mut self, start: u64, end: u64) {
        if start < self.limit && self.start < end {
            self.clear();
        }
    }

    /// The mechanism is wanted elsewhere at `now_ns`.
    pub fn stop(&mut self, mechanism: &mut Mechanism, now_ns: u64) {
        self.advance(mechanism, now_ns);
        self.rolling = false;
    }

    /// A read from the platters ended; the mechanism goes on behind it.
    pub fn read(&mut self, mechanism: &Mechanism, start: u64, end: u64) {
        if start < self.start || start > self.end {
            self.start = start;
        }
        self.end = end;
        self.fetched(mechanism, end);
        self.rolling = self.limit > end;
    }

    /// Looks a read up. `idle` says that the mechanism has no other work.
    pub fn find(
        &mut self,
        mechanism: &mut Mechanism,
        now_ns: u64,
        start: u64,
        end: u64,
        idle: bool,
    ) -> Find {
        self.advance(mechanism, now_ns);
        if start < self.start || start > self.end {
            return Find::Miss;
        }
        if end > self.end {
            // Joined to a read, reading ahead becomes that read's work.
            let rolling = idle && std::mem::replace(&mut self.rolling, false);
            return if rolling { Find::Coming } else { Find::Miss };
        }
        self.fetched(mechanism, end);
        // Fetching made room: reading goes on once half of the segment is free,
        // since each start costs a turn of the platters.
        let ahead = self.end - end;
        let in_place = idle && !self.rolling && mechanism.next_sector() == self.end;
        if in_place && ahead < self.size_sectors / 2 && self.limit > self.end {
            mechanism.resume(now_ns);
            self.rolling = true;
        }
        Find::Hit
    }

    /// The host has fetched everything up to `end`.
    fn fetched(&mut self, mechanism: &Mechanism, end: u64) {
        self.limit = (end + self.size_sectors).min(mechanism.geometry().sectors()).max(self.end);
        self.start = self.start.max(end.saturating_sub(self.size_sectors));
    }

    fn advance(&mut self, mechanism: &mut Mechanism, now_ns: u64) {
        if self.rolling {
            self.end = mechanism.go_on_until(now_ns, self.limit);
            self.rolling = self.end < self.limit;
        }
    }
}
