//! How the requests of a stream follow one another: sizes, distributions, zones,
//! runs and limits of its own, by closed forms.

use fourcorners_workload::{
    Lane, Operation, Pattern, Request, SizeShare, Sizes, Stop, Stream, StridedZones, Workload, Zone,
};
use std::collections::{HashMap, HashSet};

const KIB: u64 = 1024;

fn requests(stream: &Stream, ios: u64, capacity_bytes: u64) -> Vec<Vec<Request>> {
    let workload = Workload {
        streams: vec![stream.clone()],
        stop: Stop { ios: Some(ios), ..Stop::default() },
        ramp_ns: 0,
        seed: 3,
        log_ios: 0,
    };
    workload.check(capacity_bytes).unwrap();
    Lane::all(&workload, capacity_bytes)
        .into_iter()
        .map(|mut lane| std::iter::from_fn(|| lane.next_request()).collect())
        .collect()
}

fn offsets_kib(stream: &Stream, ios: u64, capacity_kib: u64) -> Vec<u64> {
    requests(stream, ios, capacity_kib * KIB)[0].iter().map(|r| r.offset_bytes / KIB).collect()
}

fn size(bytes: u32, share: f64) -> SizeShare {
    SizeShare { bytes, share, bytes_max: None }
}

fn two_sizes(pattern: Pattern, read_fraction: f64) -> Stream {
    let sizes = vec![size(4096, 0.75), size(16_384, 0.25)];
    Stream {
        sizes: Some(Sizes { read: sizes.clone(), write: sizes }),
        ..Stream::new(read_fraction, pattern, 16_384)
    }
}

#[test]
fn every_place_comes_once_before_any_comes_again() {
    let permuted = Stream::new(0.0, Pattern::Permuted, 4096);
    let all = offsets_kib(&permuted, 2_000, 4_000);
    let (first, second) = all.split_at(1_000);
    for pass in [first, second] {
        assert_eq!(pass.iter().collect::<HashSet<_>>().len(), 1_000);
    }
    assert_ne!(first, second);
    assert!(!first.is_sorted());
    let workers = Stream { workers: 2, ..permuted };
    let both = requests(&workers, 100, 4_000 * KIB);
    assert_ne!(both[0], both[1]);
}

#[test]
fn sequential_requests_of_several_sizes_lie_end_to_end() {
    let all = requests(&two_sizes(Pattern::Sequential, 0.0), 10_000, 1 << 30).remove(0);
    for pair in all.windows(2) {
        let end = pair[0].offset_bytes + u64::from(pair[0].length_bytes);
        assert!(pair[1].offset_bytes == end || pair[1].offset_bytes == 0);
    }
    let small = all.iter().filter(|r| r.length_bytes == 4096).count();
    // 5 standard deviations of a binomial with n = 10,000 and p = 0.75.
    assert!(small.abs_diff(7_500) < 217, "{small}");
    // In a narrow span it wraps before a request would pass the end.
    let narrow = requests(&two_sizes(Pattern::Sequential, 0.0), 1_000, 36 * KIB).remove(0);
    assert!(narrow.iter().all(|r| r.offset_bytes + u64::from(r.length_bytes) <= 36 * KIB));
}

#[test]
fn random_requests_of_several_sizes_lie_on_the_common_grid() {
    let all = requests(&two_sizes(Pattern::Random, 0.5), 5_000, 1 << 30).remove(0);
    assert!(all.iter().all(|r| r.offset_bytes % 4096 == 0));
    assert!(all.iter().any(|r| r.length_bytes == 16_384 && r.offset_bytes % 16_384 != 0));
    let ends = all.iter().map(|r| r.offset_bytes + u64::from(r.length_bytes));
    assert!(ends.max().unwrap() <= 1 << 30);
}

#[test]
fn random_reads_and_writes_begin_at_multiples_of_their_own_sizes() {
    let of = |alignment_bytes| Stream {
        alignment_bytes,
        sizes: Some(Sizes { read: vec![size(4096, 1.0)], write: vec![size(16_384, 1.0)] }),
        ..Stream::new(0.5, Pattern::Random, 16_384)
    };
    let unaligned = |alignment_bytes, operation| {
        let all = requests(&of(alignment_bytes), 4_000, 1 << 30).remove(0);
        let off = |r: &&Request| r.operation == operation && !r.offset_bytes.is_multiple_of(16_384);
        all.iter().filter(off).count()
    };
    assert_eq!(unaligned(None, Operation::Write), 0);
    // Three of four reads, of two thousand; 5 standard deviations.
    assert!(unaligned(None, Operation::Read).abs_diff(1_500) < 180);
    assert!(unaligned(Some(4096), Operation::Write).abs_diff(1_500) < 180);
}

#[test]
fn reads_and_writes_walk_apart_where_that_is_asked_for() {
    let apart = Stream { separate_cursors: true, ..Stream::new(0.5, Pattern::Sequential, 4096) };
    let all = requests(&apart, 1_000, 1 << 30).remove(0);
    for operation in [Operation::Read, Operation::Write] {
        let own = all.iter().filter(|r| r.operation == operation);
        assert!(own.enumerate().all(|(index, r)| r.offset_bytes == 4096 * index as u64));
    }
}

#[test]
fn a_run_goes_on_from_where_it_jumped_to() {
    let runs = Stream::new(1.0, Pattern::Runs { ios: 8 }, 4096);
    let all = offsets_kib(&runs, 8_000, 1 << 30);
    for run in all.chunks(8) {
        assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 4));
    }
    let goes_on = all.chunks(8).zip(all.chunks(8).skip(1)).filter(|(a, b)| b[0] == a[7] + 4);
    assert!(goes_on.count() < 3);
}

#[test]
fn strided_zones_are_left_when_enough_was_transferred() {
    let zones = |range: u64, transferred: u64, skip: u64| {
        Some(StridedZones {
            range_bytes: range * KIB,
            transferred_bytes: transferred * KIB,
            skip_bytes: skip * KIB,
        })
    };
    let sequential = Stream::new(1.0, Pattern::Sequential, 4096);
    let in_order = Stream { strided_zones: zones(8, 8, 4), ..sequential.clone() };
    // The zone at 24 KiB would end at 32, the capacity; the next one would not fit.
    assert_eq!(offsets_kib(&in_order, 8, 32), [0, 4, 12, 16, 24, 28, 0, 4]);
    // More is transferred than a zone has: it is read again.
    let again = Stream { strided_zones: zones(8, 12, 4), ..sequential };
    assert_eq!(offsets_kib(&again, 5, 32), [0, 4, 0, 12, 16]);
    let random =
        Stream { strided_zones: zones(64, 32, 64), ..Stream::new(1.0, Pattern::Permuted, 4096) };
    let all = offsets_kib(&random, 16, 256);
    assert!(all[..8].iter().all(|&kib| kib < 64) && all[8..].iter().all(|&kib| kib >= 128));
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 16);
}

#[test]
fn uneven_patterns_are_scattered_over_the_span_and_zones_are_not() {
    for pattern in [Pattern::Pareto { skew: 0.2 }, Pattern::Normal { width: 0.0 }] {
        let all = offsets_kib(&Stream::new(1.0, pattern.clone(), 4096), 20_000, 4_096_000);
        let first_half = all.iter().filter(|&&kib| kib < 2_048_000).count();
        // The hottest places do not lie together.
        assert!((4_000..16_000).contains(&first_half), "{pattern:?}: {first_half}");
    }
    let pareto = offsets_kib(&Stream::new(1.0, Pattern::Pareto { skew: 0.2 }, 4096), 50_000, 4_000);
    let mut counts: HashMap<u64, u32> = HashMap::new();
    pareto.iter().for_each(|&kib| *counts.entry(kib).or_default() += 1);
    let mut by_count: Vec<u32> = counts.into_values().collect();
    by_count.sort_unstable_by(|a, b| b.cmp(a));
    let hottest: u32 = by_count[..200].iter().sum();
    // A fifth of 1000 places takes four fifths: 5 standard deviations.
    assert!(hottest.abs_diff(40_000) < 450, "{hottest}");
    let zone = |accesses, data| Zone { accesses, data };
    let zoned = Pattern::Zoned { zones: vec![zone(0.9, 0.1), zone(0.1, 0.9)] };
    let all = offsets_kib(&Stream::new(1.0, zoned, 4096), 20_000, 4_000_000);
    let hot = all.iter().filter(|&&kib| kib < 400_000).count();
    assert!(hot.abs_diff(18_000) < 212, "{hot}");
}

#[test]
fn a_stream_has_limits_of_its_own() {
    let limited = |stream: Stream| -> Vec<(usize, u64)> {
        let workload = Workload {
            streams: vec![Stream { workers: 2, ..stream }],
            stop: Stop::default(),
            ramp_ns: 0,
            seed: 3,
            log_ios: 0,
        };
        workload.check(1 << 30).unwrap();
        Lane::all(&workload, 1 << 30)
            .into_iter()
            .map(|mut lane| {
                let all: Vec<_> = std::iter::from_fn(|| lane.next_request()).collect();
                (all.len(), all.iter().map(|r| u64::from(r.length_bytes)).sum())
            })
            .collect()
    };
    let plain = Stream::new(0.0, Pattern::Random, 4096);
    let by_ios = Stream { ios_per_worker: Some(7), ..plain.clone() };
    assert_eq!(limited(by_ios), [(7, 28_672); 2]);
    let by_bytes = Stream { bytes_per_worker: Some(40_000), ..plain };
    assert_eq!(limited(by_bytes), [(10, 40_960); 2]);
    let varied = Stream { bytes_per_worker: Some(1_000_000), ..two_sizes(Pattern::Random, 0.0) };
    for (_, bytes) in limited(varied) {
        assert!((1_000_000..1_000_000 + 16_384).contains(&bytes), "{bytes}");
    }
}

#[test]
fn impossible_courses_are_refused() {
    let plain = Stream::new(0.5, Pattern::Random, 4096);
    let deep = Stream { queue_depth_per_worker: 4, ..plain.clone() };
    let zones = |range_bytes, transferred_bytes| {
        Some(StridedZones { range_bytes, transferred_bytes, skip_bytes: 0 })
    };
    for (stream, complaint) in [
        (Stream { answer_batch: 5, ..deep }, "use 1 to the queue depth, 4"),
        (Stream { separate_cursors: true, ..plain.clone() }, "for sequential access"),
        (Stream { strided_zones: zones(4096, 0), ..plain.clone() }, "more than 0 to transfer"),
        (
            Stream { strided_zones: zones(2048, 1), ..plain.clone() },
            "does not fit in a span of 2048",
        ),
        (Stream { strided_zones: zones(2 << 30, 1), ..plain.clone() }, "does not fit in a span"),
        (Stream { start_ns: 5, end_ns: Some(5), ..plain.clone() }, "ends before it begins"),
        (Stream { ios_per_worker: Some(0), ..plain.clone() }, "limit of zero"),
        (Stream { pattern: Pattern::Pareto { skew: 1.0 }, ..plain.clone() }, "Pareto skew 1"),
        (Stream { pattern: Pattern::Normal { width: 0.6 }, ..plain.clone() }, "width 0.6"),
        (Stream { pattern: Pattern::Runs { ios: 0 }, ..plain.clone() }, "runs of 0"),
        (Stream { pattern: Pattern::Zoned { zones: vec![] }, ..plain }, "0 zones"),
        (two_sizes(Pattern::Permuted, 0.0), "for one size"),
    ] {
        let error = stream.check(1 << 30).unwrap_err().to_string();
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
}
