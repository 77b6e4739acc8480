//! A lane: one worker of one stream, as a generator of requests.

use crate::addresses::Addresses;
use crate::sizes::SizeDraw;
use crate::{Arrivals, Operation, Request, Think, Workload};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// One worker of one stream. The requests of a lane depend on nothing but the
/// workload, the lane's place in it and the capacity, so adding a stream does
/// not change another one's requests.
#[derive(Clone, Debug)]
pub struct Lane {
    random: Xoshiro256PlusPlus,
    template: Request,
    /// Reads are drawn when 32 random bits fall below this; 2^32 means always.
    read_threshold: u64,
    addresses: Addresses,
    /// Sizes of requests, where there are several.
    sizes: Option<SizeDraw>,
    /// I/Os still to issue.
    remaining: u64,
    /// Bytes still to transfer, where there are several sizes.
    remaining_bytes: u64,
    /// Writes from flush to flush; `u64::MAX` without flushes.
    writes_per_flush: u64,
    /// Writes before the next flush.
    writes_to_flush: u64,
    /// The stream that it belongs to, by its place in the workload.
    pub stream: usize,
    /// I/Os this lane keeps outstanding; with arrivals, the most that it has.
    pub queue_depth: u32,
    /// When its requests are due; `None` in a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Nothing is issued before this time, from the start of the run.
    pub start_ns: u64,
    /// Nothing is issued from this time on; `u64::MAX` without such a limit.
    pub end_ns: u64,
    /// Places of the queue that have to be free before completions are answered.
    pub answer_batch: u32,
    /// Pauses between requests.
    pub think: Option<Think>,
    /// The request after the latest one. A request is copied as a whole: were it
    /// drawn when it is asked for, the copy would wait until its parts, and all
    /// stores before them, have left the processor.
    next: Option<Request>,
}

impl Lane {
    /// All lanes of a workload that passed [`Workload::check`], stream by
    /// stream, worker by worker.
    pub fn all(workload: &Workload, capacity_bytes: u64) -> Vec<Lane> {
        let lanes: u64 = workload.streams.iter().map(|s| u64::from(s.workers)).sum();
        let mut result = Vec::with_capacity(lanes as usize);
        for (stream_index, stream) in workload.streams.iter().enumerate() {
            let block = u64::from(stream.block_bytes);
            for worker in 0..stream.workers {
                let lane_index = result.len() as u64;
                let share = |total: u64| total / lanes + u64::from(lane_index < total % lanes);
                let limits = [
                    workload.stop.ios.map(share),
                    stream.ios_per_worker,
                    // Its requests come from elsewhere.
                    stream.trace.is_some().then_some(0),
                    match stream.sizes {
                        None => workload.stop.bytes.map(|b| share(b.div_ceil(block))),
                        Some(_) => None,
                    },
                    match stream.sizes {
                        None => stream.bytes_per_worker.map(|b| b.div_ceil(block)),
                        Some(_) => None,
                    },
                ];
                let remaining = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
                let by_bytes = [workload.stop.bytes.map(share), stream.bytes_per_worker];
                let remaining_bytes = by_bytes.into_iter().flatten().min().unwrap_or(u64::MAX);
                let expected = remaining.min(workload.arrivals_in_time(stream));
                let root = (workload.seed, stream_index as u64);
                let writes_per_flush = stream.flush_every_writes.map_or(u64::MAX, u64::from);
                let mut random = lane_random(workload.seed, stream_index as u64, u64::from(worker));
                let addresses = Addresses::new(stream, capacity_bytes, worker, &mut random);
                result.push(Lane {
                    random,
                    template: Request {
                        operation: Operation::Read,
                        offset_bytes: 0,
                        length_bytes: stream.block_bytes,
                        content: stream.content,
                        fua: stream.fua,
                    },
                    read_threshold: (stream.read_fraction * (1u64 << 32) as f64).round() as u64,
                    addresses,
                    sizes: stream.sizes.as_ref().map(SizeDraw::new),
                    remaining,
                    remaining_bytes,
                    writes_per_flush,
                    writes_to_flush: writes_per_flush,
                    stream: stream_index,
                    queue_depth: stream.queue_depth_per_worker,
                    arrivals: Arrivals::new(
                        stream.arrival,
                        root,
                        (worker, stream.workers),
                        expected,
                    )
                    .map(|arrivals| arrivals.starting_at(stream.start_ns)),
                    start_ns: stream.start_ns,
                    end_ns: stream.end_ns.unwrap_or(u64::MAX),
                    answer_batch: stream.answer_batch,
                    think: stream.think,
                    next: None,
                });
            }
        }
        result.iter_mut().for_each(Lane::draw);
        result
    }

    /// The next request, or `None` when the lane has issued its share.
    #[inline]
    pub fn next_request(&mut self) -> Option<Request> {
        let request = self.next;
        self.draw();
        request
    }

    /// Draws the request after that.
    fn draw(&mut self) {
        if self.writes_to_flush == 0 {
            self.writes_to_flush = self.writes_per_flush;
            self.next = Some(Request::FLUSH);
            return;
        }
        let Some(remaining) = self.remaining.checked_sub(1) else {
            self.next = None;
            return;
        };
        self.remaining = remaining;
        let mut request = self.template;
        // Lane positions and the operation come from one draw each, so that
        // changing the mix does not move the addresses of a pure stream.
        request.operation = match self.read_threshold {
            0 => Operation::Write,
            threshold if threshold > u64::from(u32::MAX) => Operation::Read,
            threshold if u64::from(self.random.next_u32()) < threshold => Operation::Read,
            _ => Operation::Write,
        };
        if let Some(sizes) = &self.sizes {
            if self.remaining_bytes == 0 {
                self.next = None;
                return;
            }
            request.length_bytes = sizes.draw(request.operation, &mut self.random);
            let length = u64::from(request.length_bytes);
            self.remaining_bytes = self.remaining_bytes.saturating_sub(length);
        }
        request.offset_bytes =
            self.addresses.next(request.operation, request.length_bytes, &mut self.random);
        self.writes_to_flush -= u64::from(request.operation == Operation::Write);
        self.next = Some(request);
    }
}

/// Generator for worker `worker` of stream `stream`: each part of the seed goes
/// through SplitMix64, so that neighbouring seeds give unrelated sequences.
pub(crate) fn lane_random(seed: u64, stream: u64, worker: u64) -> Xoshiro256PlusPlus {
    let mut state = seed;
    for part in [stream, worker] {
        state =
            SplitMix64::seed_from_u64(state ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next_u64();
    }
    Xoshiro256PlusPlus::seed_from_u64(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, Stop, Stream};
    use proptest::prelude::*;

    fn stream(pattern: Pattern) -> Stream {
        Stream::new(0.0, pattern, 4096)
    }

    fn workload(streams: Vec<Stream>, ios: u64) -> Workload {
        Workload {
            streams,
            stop: Stop { ios: Some(ios), ..Stop::default() },
            ramp_ns: 0,
            seed: 7,
            log_ios: 0,
        }
    }

    fn requests(workload: &Workload, capacity: u64) -> Vec<Vec<Request>> {
        Lane::all(workload, capacity)
            .into_iter()
            .map(|mut lane| std::iter::from_fn(|| lane.next_request()).collect())
            .collect()
    }

    #[test]
    fn a_random_share_jumps_and_the_rest_goes_on_from_there() {
        let pattern = |random| Pattern::PartlyRandom { random };
        let jumps = |random| {
            let all = requests(&workload(vec![stream(pattern(random))], 20_000), 1 << 40);
            let next = |pair: &&[Request]| pair[1].offset_bytes == pair[0].offset_bytes + 4096;
            19_999 - all[0].windows(2).filter(next).count()
        };
        assert_eq!(jumps(0.0), 0);
        assert_eq!(jumps(1.0), 19_999);
        assert!((5_700..6_300).contains(&jumps(0.3)), "{}", jumps(0.3));
    }

    #[test]
    fn sequential_wraps_at_the_end_of_the_span() {
        let offsets: Vec<u64> = requests(&workload(vec![stream(Pattern::Sequential)], 5), 3 * 4096)
            [0]
        .iter()
        .map(|r| r.offset_bytes / 4096)
        .collect();
        assert_eq!(offsets, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_second_stream_leaves_the_first_ones_requests_alone() {
        let alone = requests(&workload(vec![stream(Pattern::Random)], 50), 1 << 30);
        let mut both = workload(vec![stream(Pattern::Random), stream(Pattern::Random)], 100);
        both.stop.ios = Some(100);
        let together = requests(&both, 1 << 30);
        assert_eq!(alone[0], together[0]);
        assert_ne!(together[0], together[1]);
    }

    #[test]
    fn limits_are_shared_by_the_workers() {
        let mut four = stream(Pattern::Random);
        four.workers = 4;
        let counts: Vec<usize> =
            requests(&workload(vec![four], 10), 1 << 30).iter().map(Vec::len).collect();
        assert_eq!(counts, [3, 3, 2, 2]);
    }

    #[test]
    fn flushes_follow_writes_and_are_not_counted() {
        let mut flushed = stream(Pattern::Random);
        flushed.flush_every_writes = Some(3);
        flushed.fua = true;
        let all = requests(&workload(vec![flushed.clone()], 6), 1 << 30).remove(0);
        let flushes: Vec<usize> =
            (0..all.len()).filter(|&index| all[index] == Request::FLUSH).collect();
        assert_eq!((flushes, all.len()), (vec![3, 7], 8));
        let forced = |r: &&Request| r.operation == Operation::Write && r.fua;
        assert_eq!(all.iter().filter(forced).count(), 6);
        // Reads do not count, and the addresses are those without flushes.
        flushed.read_fraction = 0.5;
        let mixed = requests(&workload(vec![flushed.clone()], 600), 1 << 30).remove(0);
        let writes = mixed.iter().filter(|r| r.operation == Operation::Write).count();
        let flushes = mixed.iter().filter(|r| r.operation == Operation::Flush).count();
        assert_eq!(flushes, writes / 3);
        flushed.flush_every_writes = None;
        let plain = requests(&workload(vec![flushed], 600), 1 << 30).remove(0);
        assert!(mixed.iter().filter(|r| **r != Request::FLUSH).eq(&plain));
    }

    #[test]
    fn mix_follows_the_read_fraction() {
        let mut mixed = stream(Pattern::Random);
        mixed.read_fraction = 0.3;
        let all = requests(&workload(vec![mixed], 100_000), 1 << 30).remove(0);
        let reads = all.iter().filter(|r| r.operation == Operation::Read).count();
        // 5 standard deviations of a binomial with n = 100,000 and p = 0.3.
        assert!((29_275..=30_725).contains(&reads), "{reads}");
    }

    #[test]
    fn strides_wrap_and_are_shared_by_the_workers() {
        let mut strided = stream(Pattern::Strided { stride_bytes: 3 * 4096 });
        let offsets = |strided: &Stream, ios| -> Vec<Vec<u64>> {
            requests(&workload(vec![strided.clone()], ios), 8 * 4096)
                .iter()
                .map(|lane| lane.iter().map(|r| r.offset_bytes / 4096).collect())
                .collect()
        };
        assert_eq!(offsets(&strided, 6), [[0, 3, 6, 1, 4, 7]]);
        strided.workers = 2;
        assert_eq!(offsets(&strided, 6), [[0, 6, 4], [3, 1, 7]]);
        // A stride beyond the span wraps at once.
        strided.workers = 1;
        strided.pattern = Pattern::Strided { stride_bytes: 11 * 4096 };
        assert_eq!(offsets(&strided, 3), [[0, 3, 6]]);
    }

    const PATTERNS: [Pattern; 5] = [
        Pattern::Sequential,
        Pattern::Random,
        Pattern::Zipf { exponent: 1.1 },
        Pattern::HotCold { data: 0.2, accesses: 0.8 },
        Pattern::Strided { stride_bytes: 512 },
    ];

    #[test]
    fn all_streams_have_the_same_hot_places() {
        let hottest = |seed| {
            let mut w = workload(vec![stream(Pattern::Zipf { exponent: 1.2 })], 10_000);
            w.seed = seed;
            let mut counts = std::collections::BTreeMap::new();
            for request in &requests(&w, 1 << 30)[0] {
                *counts.entry(request.offset_bytes).or_insert(0) += 1;
            }
            counts.into_iter().max_by_key(|&(_, count)| count).unwrap()
        };
        let (place, count) = hottest(1);
        assert_eq!(hottest(2).0, place);
        // One in the sum of k^-1.2 over 2^18 ranks: 1 / 5.18.
        assert!((1_800..2_070).contains(&count), "{count}");
    }

    #[test]
    fn patterns_are_written_by_name() {
        let text: Vec<String> =
            PATTERNS.iter().map(|pattern| serde_json::to_string(pattern).unwrap()).collect();
        assert_eq!(
            text,
            [
                r#""sequential""#,
                r#""random""#,
                r#"{"zipf":{"exponent":1.1}}"#,
                r#"{"hot-cold":{"data":0.2,"accesses":0.8}}"#,
                r#"{"strided":{"stride_bytes":512}}"#,
            ]
        );
    }

    #[test]
    fn impossible_patterns_are_refused() {
        for (pattern, complaint) in [
            (Pattern::Zipf { exponent: 0.0 }, "Zipf exponent 0"),
            (Pattern::Zipf { exponent: f64::NAN }, "Zipf exponent NaN"),
            (Pattern::HotCold { data: 1.0, accesses: 0.5 }, "hot-cold 1, 0.5"),
            (Pattern::HotCold { data: 0.2, accesses: 1.5 }, "hot-cold 0.2, 1.5"),
            (Pattern::Strided { stride_bytes: 0 }, "stride of 0 bytes"),
            (Pattern::Strided { stride_bytes: 6144 }, "multiple of the alignment of 4096"),
        ] {
            let error = workload(vec![stream(pattern)], 1).check(1 << 30).unwrap_err();
            assert!(error.to_string().contains(complaint), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_request_lies_on_the_grid_inside_the_span(
            block_sectors in 1u32..64, align_sectors in 1u32..64, shift in 0u32..64,
            offset in 0u64..1000, span in 200u64..5000, pattern in 0usize..5, seed: u64,
        ) {
            let mut s = stream(PATTERNS[pattern].clone());
            s.block_bytes = block_sectors * 512;
            s.alignment_bytes = Some(align_sectors * 512);
            if let Pattern::Strided { stride_bytes } = &mut s.pattern {
                *stride_bytes *= u64::from(align_sectors) * 3;
            }
            s.misalignment_bytes = shift * 512;
            s.offset_bytes = offset * 512;
            s.span_bytes = Some(span * 512);
            let mut w = workload(vec![s.clone()], 300);
            w.seed = seed;
            let capacity = (offset + span) * 512;
            prop_assert!(w.check(capacity).is_ok());
            for r in &requests(&w, capacity)[0] {
                prop_assert!(r.offset_bytes >= s.offset_bytes);
                prop_assert!(r.offset_bytes + u64::from(r.length_bytes) <= capacity);
                let from_base = r.offset_bytes - s.offset_bytes - u64::from(s.misalignment_bytes);
                let grid = if pattern == 0 { s.block_bytes } else { align_sectors * 512 };
                prop_assert_eq!(from_base % u64::from(grid), 0);
            }
        }
    }
}
