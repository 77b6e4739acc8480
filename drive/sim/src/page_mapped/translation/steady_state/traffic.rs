//! What is written to a drive until it is in steady state: mapping units, told
//! apart by how often they are overwritten.

use super::population::Rates;
use crate::device::Overwriting;
use fourcorners_workload::{Pattern, Scatter, below};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Writes to what is never overwritten and lies among what is: none, in the
/// limit.
const NEVER: f64 = 1e-9;

/// Units that are written in order again and again, or at random.
#[derive(Debug)]
pub struct Traffic {
    /// Units that hold data.
    pub units: u32,
    /// Those that the stream writes.
    written: Range<u32>,
    pub in_order: bool,
    /// Units that are written together.
    pub units_per_place: u32,
    /// By class: ranks of places, and their share of the writes.
    classes: Vec<(Range<u64>, f64)>,
    scatter: Option<Scatter>,
}

impl Traffic {
    /// For a drive of `capacity_bytes` with mapping units of `unit_bytes`.
    ///
    /// # Errors
    /// A stream that does not fit the drive, or that no steady state is known
    /// of.
    pub fn new(of: &Overwriting, capacity_bytes: u64, unit_bytes: u64) -> Result<Self, String> {
        let stream = &of.stream;
        let filled_bytes = of.filled_bytes.min(capacity_bytes);
        let filled = filled_bytes.div_ceil(unit_bytes) as u32;
        let size_bytes = match stream.span_bytes {
            Some(_) => capacity_bytes,
            None => u64::from(filled) * unit_bytes,
        };
        stream.check(size_bytes).map_err(|error| error.to_string())?;
        if stream.read_fraction >= 1.0 {
            return Err("a steady state is one of writes, and the stream only reads".into());
        }
        if matches!(stream.pattern, Pattern::PartlyRandom { .. }) {
            return Err("a steady state is known of streams that are random or sequential, not of both in turn".into());
        }
        if matches!(stream.pattern, Pattern::Strided { .. }) {
            return Err(
                "a steady state is known of streams that write all of their span, not of strides"
                    .into(),
            );
        }
        if !matches!(
            stream.pattern,
            Pattern::Sequential | Pattern::Random | Pattern::Zipf { .. } | Pattern::HotCold { .. }
        ) {
            return Err("a steady state is known of patterns that are sequential, random, zipf or hot-cold, not of others".into());
        }
        if stream.sizes.is_some() || stream.strided_zones.is_some() {
            return Err(
                "a steady state is known of requests of one size, without zones apart".into()
            );
        }
        let places = stream.places(size_bytes);
        let block_bytes = u64::from(stream.block_bytes);
        if places.count > 1 && places.grid_bytes > block_bytes.max(unit_bytes) {
            return Err("a steady state is known of streams that write all of their span, not of places apart from each other (alignment_bytes)".into());
        }
        if stream.pattern == Pattern::Sequential && stream.workers > 1 {
            return Err("a steady state is known of one sequential stream, not of several workers side by side".into());
        }
        let last_bytes = places.base_bytes + (places.count - 1) * places.grid_bytes + block_bytes;
        let first = (places.base_bytes / unit_bytes) as u32;
        let written = first..last_bytes.div_ceil(unit_bytes) as u32;
        let whole = block_bytes.is_multiple_of(unit_bytes)
            && places.grid_bytes == block_bytes
            && places.base_bytes.is_multiple_of(unit_bytes);
        let (count, units_per_place) = match (whole, &stream.pattern) {
            (true, _) => (places.count, (block_bytes / unit_bytes) as u32),
            // Uniform: all units of the span are written as often.
            (false, Pattern::Random | Pattern::Sequential) => (u64::from(written.end - first), 1),
            (false, _) => {
                return Err(format!(
                    "a steady state of writes that prefer some places is known for blocks of whole mapping units, aligned: use multiples of {unit_bytes} B"
                ));
            }
        };
        let (classes, scatter) = stream.popularity(count);
        Ok(Self {
            units: filled.max(written.end) - first.saturating_sub(filled),
            written,
            in_order: stream.pattern == Pattern::Sequential,
            units_per_place,
            classes: classes.into_iter().map(|c| (c.ranks, c.accesses.max(NEVER))).collect(),
            scatter,
        })
    }

    /// Units from 0 on by class, each with its share of the writes.
    pub fn of_classes(classes: Vec<(Range<u64>, f64)>) -> Self {
        let units = classes.last().map_or(0, |(units, _)| units.end as u32);
        Self {
            units,
            written: 0..units,
            in_order: false,
            units_per_place: 1,
            classes,
            scatter: None,
        }
    }

    /// Ranges of the units that hold data, none empty.
    pub fn mapped(&self) -> impl Iterator<Item = Range<u32>> {
        let before = 0..self.written.start.min(self.lying_still());
        let after = self.written.end..self.written.end + self.lying_still() - before.end;
        [before, self.written.clone(), after].into_iter().filter(|range| !range.is_empty())
    }

    /// Units that are filled and never written again.
    pub fn lying_still(&self) -> u32 {
        self.units - (self.written.end - self.written.start)
    }

    /// The `index`th of these.
    pub fn still(&self, index: u32) -> u32 {
        if index < self.written.start {
            index
        } else {
            index - self.written.start + self.written.end
        }
    }

    /// The `index`th of the units that are written, in order.
    pub fn in_order(&self, index: u32) -> u32 {
        self.written.start + index
    }

    /// Whether all units that are written are written as often.
    pub fn is_uniform(&self) -> bool {
        self.classes.len() == 1
    }

    /// Units to lay out by class in groups of `group`, a divisor of
    /// `units_per_place`, which lie together; the last `still` of those that
    /// are never written are a class of their own.
    pub fn groups(&self, group: u32, still: u32, random: &mut Xoshiro256PlusPlus) -> Groups<'_> {
        let parts = u64::from(self.units_per_place / group);
        let mut classes: Vec<Class> = self
            .classes
            .iter()
            .map(|(ranks, writes)| Class {
                first: ranks.start,
                ranks: ranks.end - ranks.start,
                groups: ((ranks.end - ranks.start) * parts) as u32,
                writes: *writes,
            })
            .collect();
        if still > 0 {
            let first = u64::from(self.lying_still() - still);
            let groups = still.div_ceil(group);
            classes.push(Class { first, ranks: 0, groups, writes: NEVER });
        }
        let count = self.classes[0].0.end;
        let drawn = self.is_uniform().then(|| Scatter::drawn(count, random));
        let scatter = self.scatter.clone().or(drawn);
        Groups { traffic: self, group, scatter, classes }
    }
}

/// Units of a class, in groups that lie together.
struct Class {
    first: u64,
    /// None of those that are never written.
    ranks: u64,
    groups: u32,
    writes: f64,
}

/// What is to be laid out.
pub struct Groups<'a> {
    traffic: &'a Traffic,
    group: u32,
    scatter: Option<Scatter>,
    classes: Vec<Class>,
}

impl Groups<'_> {
    /// Groups of each class.
    pub fn counts(&self) -> Vec<u32> {
        self.classes.iter().map(|class| class.groups).collect()
    }

    /// How often each class is written.
    pub fn rates(&self) -> Vec<Rates> {
        let all: f64 = self.classes.iter().map(|class| f64::from(class.groups)).sum();
        let rate =
            |class: &Class| Rates { units: f64::from(class.groups) / all, writes: class.writes };
        self.classes.iter().map(rate).collect()
    }

    /// Appends the units of some of a class's groups.
    pub fn append(&self, class: usize, groups: Range<u32>, units: &mut Vec<u32>) {
        let class = &self.classes[class];
        let traffic = self.traffic;
        if class.ranks == 0 {
            let first = class.first as u32 + groups.start * self.group;
            let end = traffic.lying_still().min(class.first as u32 + groups.end * self.group);
            units.extend((first..end).map(|index| traffic.still(index)));
            return;
        }
        let place_of = |rank| self.scatter.as_ref().map_or(rank, |s| s.place(rank)) as u32;
        let first_of = |place| traffic.written.start + place * traffic.units_per_place;
        if self.group == 1 && u64::from(groups.end) <= class.ranks {
            let ranks = groups.map(|index| class.first + u64::from(index));
            units.extend(ranks.map(|rank| first_of(place_of(rank))));
            return;
        }
        for index in groups.map(u64::from) {
            // The parts of a place lie apart from each other.
            let part = (index / class.ranks) as u32;
            let first = first_of(place_of(class.first + index % class.ranks)) + part * self.group;
            units.extend(first..first + self.group);
        }
    }
}

/// A random order of some things.
pub fn shuffle<T>(things: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for index in (1..things.len()).rev() {
        things.swap(index, below(random, index as u64 + 1) as usize);
    }
}
