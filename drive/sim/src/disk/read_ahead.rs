//! Reading on after a read: the segments of the cache that hold read data.

use super::mechanism::Mechanism;
use crate::validity::{Checked, ensure, ensure_counts, same};
use serde::{Deserialize, Serialize};

/// What a read finds in the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Find {
    /// All of it.
    Hit,
    /// The head is on the way to its last sector.
    Coming,
    /// Nothing that helps.
    Miss,
}

/// The sectors around the latest read of a sequence.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Segment {
    start: u64,
    end: u64,
    limit: u64,
    /// Number of the look-up or read that used it last.
    used: u64,
}

impl Segment {
    fn holds(&self, sector: u64) -> bool {
        self.start <= sector && sector <= self.end
    }

    /// The host has fetched everything up to `end`.
    fn fetched(&mut self, size_sectors: u64, sectors: u64, end: u64) {
        self.limit = (end + size_sectors).min(sectors).max(self.end);
        self.start = self.start.max(end.saturating_sub(size_sectors));
    }
}

/// Segments of the cache, each about one sequence of reads. While the mechanism
/// has nothing else to do it reads on behind the latest one, up to a limit
/// beyond what the host has fetched. How far it has come is worked out when
/// somebody asks.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadAhead {
    size_sectors: u64,
    /// How many segments there may be.
    most: usize,
    /// At least one.
    segments: Vec<Segment>,
    /// The segment that grows.
    rolling: Option<usize>,
    uses: u64,
}

impl ReadAhead {
    /// Empty.
    pub fn new(size_sectors: u64, segments: u32) -> Self {
        Self {
            size_sectors,
            most: segments as usize,
            segments: vec![Segment::default()],
            rolling: None,
            uses: 0,
        }
    }

    /// Fails unless loaded segments can go on as those that were `made`.
    pub fn check(&self, made: &Self, mechanism: &Mechanism) -> Checked {
        let Self { size_sectors, most, segments, rolling, uses } = self;
        same!(made; size_sectors, most);
        ensure((1..=*most).contains(&segments.len()), "the segments of the cache")?;
        ensure_counts([*uses])?;
        let sectors = mechanism.geometry().sectors();
        for Segment { start, end, limit, used } in segments {
            let ordered = start <= end && end <= limit && *limit <= sectors && used <= uses;
            ensure(ordered, "a segment of the cache")?;
        }
        let Some(rolling) = *rolling else {
            return Ok(());
        };
        let grows = segments.get(rolling).is_some_and(|s| s.end == mechanism.next_sector());
        ensure(grows, "the segment that grows")
    }

    /// Whether the mechanism reads on.
    pub fn is_rolling(&self) -> bool {
        self.rolling.is_some()
    }

    /// Forgets everything and stops.
    pub fn clear(&mut self) {
        (self.segments, self.rolling) = (vec![Segment::default()], None);
    }

    /// Sectors have been overwritten: they must not be served from here.
    pub fn overwritten(&mut self, start: u64, end: u64) {
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if start < segment.limit && segment.start < end {
                *segment = Segment::default();
                self.rolling = self.rolling.filter(|&rolling| rolling != index);
            }
        }
    }

    /// The mechanism is wanted elsewhere at `now_ns`.
    pub fn stop(&mut self, mechanism: &mut Mechanism, now_ns: u64) {
        self.advance(mechanism, now_ns);
        self.rolling = None;
    }

    /// A read from the platters ended; the mechanism goes on behind it.
    pub fn read(&mut self, mechanism: &Mechanism, start: u64, end: u64) {
        let index = self.segment_of(start).unwrap_or_else(|| {
            let index = self.least_recent();
            self.segments[index].start = start;
            index
        });
        self.uses += 1;
        let segment = &mut self.segments[index];
        (segment.end, segment.used) = (end, self.uses);
        segment.fetched(self.size_sectors, mechanism.geometry().sectors(), end);
        self.rolling = (segment.limit > end).then_some(index);
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
        let Some(index) = self.segment_of(start) else {
            return Find::Miss;
        };
        self.uses += 1;
        let segment = &mut self.segments[index];
        segment.used = self.uses;
        if end > segment.end {
            // Joined to a read, reading ahead becomes that read's work.
            if idle && self.rolling == Some(index) {
                self.rolling = None;
                return Find::Coming;
            }
            return Find::Miss;
        }
        segment.fetched(self.size_sectors, mechanism.geometry().sectors(), end);
        // Fetching made room: reading goes on once half of the segment is free,
        // since each start costs a turn of the platters.
        let ahead = segment.end - end;
        let in_place = idle && self.rolling.is_none() && mechanism.next_sector() == segment.end;
        if in_place && ahead < self.size_sectors / 2 && segment.limit > segment.end {
            mechanism.resume(now_ns);
            self.rolling = Some(index);
        }
        Find::Hit
    }

    /// The segment that holds a sector or ends before it; the latest of several.
    fn segment_of(&self, sector: u64) -> Option<usize> {
        (0..self.segments.len())
            .filter(|&index| self.segments[index].holds(sector))
            .max_by_key(|&index| self.segments[index].used)
    }

    /// A segment for another sequence: a new one, or the one not used for longest.
    fn least_recent(&mut self) -> usize {
        if self.segments.len() < self.most && self.segments[0].used > 0 {
            self.segments.push(Segment::default());
            return self.segments.len() - 1;
        }
        (0..self.segments.len()).min_by_key(|&index| self.segments[index].used).unwrap_or(0)
    }

    fn advance(&mut self, mechanism: &mut Mechanism, now_ns: u64) {
        if let Some(index) = self.rolling {
            let segment = &mut self.segments[index];
            segment.end = mechanism.go_on_until(now_ns, segment.limit);
            self.rolling = self.rolling.filter(|_| segment.end < segment.limit);
        }
    }
}
