//! Which position of its span a lane accesses next.

use crate::skew::{HotCold, Scatter, Zipf, below};
use crate::stream::{Places, Stream, StridedZones};
use crate::uneven::{Normal, Pareto, Zones};
use crate::{Operation, Pattern, Sizes};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Where the requests of a lane begin: positions on a grid.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    next: Next,
    base_bytes: u64,
    grid_bytes: u64,
    /// What random reads and writes begin at multiples of, where their sizes differ.
    own_grids_bytes: Option<[u64; 2]>,
    strided_zones: Option<InZones>,
}

/// Which position comes next.
#[derive(Clone, Debug)]
enum Next {
    /// `cursor`, then the next, then from the start again.
    Sequential { cursor: u64, positions: u64 },
    /// Any position below a threshold of 32 random bits, else as sequential.
    PartlyRandom { threshold: u64, cursor: u64, positions: u64 },
    /// On from where the one before ended, unless it jumps.
    Walk(Walk),
    /// `cursor`, then `step` further on, both modulo `positions`.
    Strided { cursor: u64, step: u64, positions: u64 },
    /// Any position.
    Uniform { positions: u64 },
    /// The `cursor`th position in an order that is drawn anew when all are through.
    Permuted { cursor: u64, positions: u64, order: Scatter },
    /// A rank, scattered.
    Zipf(Zipf, Scatter),
    /// A rank, scattered.
    HotCold(HotCold, Scatter),
    /// A rank, scattered.
    Pareto(Pareto, Scatter),
    /// A rank, scattered.
    Normal(Normal, Scatter),
    /// A place.
    Zoned(Zones),
}

/// Sequential access of requests of several sizes, with jumps, or with a place of
/// their own for reads and for writes. In grid units.
#[derive(Clone, Debug)]
struct Walk {
    jumps: Jumps,
    /// By operation; all in the first where reads and writes go on from each other.
    cursors: [u64; 2],
    separate: bool,
    /// From the start of the span, where the largest request ends at its end at the latest.
    end: u64,
    /// Where a jump may lead.
    positions: u64,
    grid_bytes: u64,
}

#[derive(Clone, Debug)]
enum Jumps {
    Never,
    /// Below a threshold of 32 random bits.
    Sometimes(u64),
    /// Of so many accesses the first.
    Every {
        ios: u32,
        left: u32,
    },
}

impl Jumps {
    fn next(&mut self, random: &mut Xoshiro256PlusPlus) -> bool {
        match self {
            Jumps::Never => false,
            Jumps::Sometimes(threshold) => u64::from(random.next_u32()) < *threshold,
            Jumps::Every { ios, left } => {
                let jumps = *left == 0;
                *left = if jumps { *ios - 1 } else { *left - 1 };
                jumps
            }
        }
    }
}

impl Walk {
    fn next(
        &mut self,
        operation: Operation,
        length_bytes: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        let jumps = self.jumps.next(random);
        let cursor = &mut self.cursors[usize::from(self.separate && operation == Operation::Write)];
        let length = u64::from(length_bytes).div_ceil(self.grid_bytes);
        let position = match *cursor {
            _ if jumps => below(random, self.positions),
            cursor if cursor + length > self.end => 0,
            cursor => cursor,
        };
        *cursor = position + length;
        position
    }
}

/// The zone of fio's `zonemode=strided` that a lane is in.
#[derive(Clone, Debug)]
struct InZones {
    zones: StridedZones,
    first_bytes: u64,
    end_bytes: u64,
    transferred_bytes: u64,
    /// The addresses at the start of a zone.
    fresh: Box<Next>,
}

impl Addresses {
    /// Those of worker `worker` of a stream on a target of `capacity_bytes`.
    pub(crate) fn new(
        stream: &Stream,
        capacity_bytes: u64,
        worker: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let Places { base_bytes, grid_bytes, count } = stream.places(capacity_bytes);
        let next = Next::new(stream, &stream.places(capacity_bytes), worker, random);
        let strided_zones = stream.strided_zones.map(|zones| InZones {
            zones,
            first_bytes: base_bytes,
            end_bytes: stream.offset_bytes + stream.span_bytes(capacity_bytes),
            transferred_bytes: 0,
            fresh: Box::new(next.clone()),
        });
        debug_assert!(count > 0);
        let natural = stream.alignment_bytes.is_none() && !stream.pattern.walks();
        let own_grids_bytes = stream.sizes.as_ref().filter(|_| natural).map(Sizes::own_grids_bytes);
        Self { next, base_bytes, grid_bytes, own_grids_bytes, strided_zones }
    }

    /// The first byte of the next request.
    #[inline]
    pub(crate) fn next(
        &mut self,
        operation: Operation,
        length_bytes: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        if self.strided_zones.is_some() {
            self.enter_zone(length_bytes);
        }
        let from_base = self.next.position(operation, length_bytes, random) * self.grid_bytes;
        let rest = match self.own_grids_bytes {
            None => 0,
            Some([read, _]) if operation == Operation::Read => from_base % read,
            Some([_, write]) => from_base % write,
        };
        self.base_bytes + from_base - rest
    }

    /// Goes on to the next zone when enough was transferred in this one.
    fn enter_zone(&mut self, length_bytes: u32) {
        let Some(inside) = &mut self.strided_zones else { return };
        if inside.transferred_bytes >= inside.zones.transferred_bytes {
            inside.transferred_bytes = 0;
            self.base_bytes += inside.zones.range_bytes + inside.zones.skip_bytes;
            if self.base_bytes + inside.zones.range_bytes > inside.end_bytes {
                self.base_bytes = inside.first_bytes;
            }
            self.next = (*inside.fresh).clone();
        }
        inside.transferred_bytes += u64::from(length_bytes);
    }
}

impl Next {
    fn new(stream: &Stream, places: &Places, worker: u32, random: &mut Xoshiro256PlusPlus) -> Self {
        let positions = places.count;
        let start = |count: u64| count * u64::from(worker) / u64::from(stream.workers);
        let threshold = |share: f64| (share * (1u64 << 32) as f64).round() as u64;
        let jumps = match stream.pattern {
            Pattern::PartlyRandom { random } => Jumps::Sometimes(threshold(random)),
            Pattern::Runs { ios } => Jumps::Every { ios, left: 0 },
            _ => Jumps::Never,
        };
        let varied = stream.sizes.is_some() || stream.separate_cursors;
        match stream.pattern {
            Pattern::Sequential if !varied => {
                Next::Sequential { cursor: start(positions), positions }
            }
            Pattern::PartlyRandom { random } if !varied => Next::PartlyRandom {
                threshold: threshold(random),
                cursor: start(positions),
                positions,
            },
            Pattern::Sequential | Pattern::PartlyRandom { .. } | Pattern::Runs { .. } => {
                let block = u64::from(stream.block_bytes) / places.grid_bytes;
                let end = positions + block - 1;
                Next::Walk(Walk {
                    jumps,
                    cursors: [start(end); 2],
                    separate: stream.separate_cursors,
                    end,
                    positions,
                    grid_bytes: places.grid_bytes,
                })
            }
            Pattern::Strided { stride_bytes } => {
                let stride = stride_bytes / places.grid_bytes % positions;
                let walked = |accesses: u32| {
                    (u128::from(stride) * u128::from(accesses) % u128::from(positions)) as u64
                };
                Next::Strided { cursor: walked(worker), step: walked(stream.workers), positions }
            }
            Pattern::Random => Next::Uniform { positions },
            Pattern::Permuted => {
                Next::Permuted { cursor: 0, positions, order: Scatter::drawn(positions, random) }
            }
            Pattern::Zipf { exponent } => {
                Next::Zipf(Zipf::new(positions, exponent), Scatter::fixed(positions))
            }
            Pattern::HotCold { data, accesses } => {
                Next::HotCold(HotCold::new(positions, data, accesses), Scatter::fixed(positions))
            }
            Pattern::Pareto { skew } => {
                Next::Pareto(Pareto::new(positions, skew), Scatter::fixed(positions))
            }
            Pattern::Normal { width } => {
                Next::Normal(Normal::new(positions, width), Scatter::fixed(positions))
            }
            Pattern::Zoned { ref zones } => Next::Zoned(Zones::new(positions, zones)),
        }
    }

    #[inline]
    fn position(
        &mut self,
        operation: Operation,
        length_bytes: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        match self {
            Next::Sequential { cursor, positions } => {
                let position = *cursor;
                *cursor = if position + 1 == *positions { 0 } else { position + 1 };
                position
            }
            Next::PartlyRandom { threshold, cursor, positions } => {
                let jumps = u64::from(random.next_u32()) < *threshold;
                let position = if jumps { below(random, *positions) } else { *cursor };
                *cursor = if position + 1 == *positions { 0 } else { position + 1 };
                position
            }
            Next::Strided { cursor, step, positions } => {
                let position = *cursor;
                let next = position + *step;
                *cursor = if next >= *positions { next - *positions } else { next };
                position
            }
            Next::Uniform { positions } => below(random, *positions),
            Next::Zipf(zipf, scatter) => scatter.place(zipf.draw(random)),
            Next::HotCold(parts, scatter) => scatter.place(parts.draw(random)),
            Next::Walk(walk) => walk.next(operation, length_bytes, random),
            Next::Permuted { cursor, positions, order } => {
                if *cursor == *positions {
                    *cursor = 0;
                    *order = Scatter::drawn(*positions, random);
                }
                let position = order.place(*cursor);
                *cursor += 1;
                position
            }
            Next::Pareto(pareto, scatter) => scatter.place(pareto.draw(random)),
            Next::Normal(normal, scatter) => scatter.place(normal.draw(random)),
            Next::Zoned(zones) => zones.draw(random),
        }
    }
}
