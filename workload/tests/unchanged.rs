//! Requests of plain streams are what they have always been: a change here
//! changes every simulated recording that anybody has kept.

use fourcorners_workload::{
    Arrival, Content, Lane, Operation, Pattern, Request, Stop, Stream, Workload,
};

const PATTERNS: [Pattern; 6] = [
    Pattern::Sequential,
    Pattern::Random,
    Pattern::PartlyRandom { random: 0.3 },
    Pattern::Strided { stride_bytes: 12_288 },
    Pattern::Zipf { exponent: 0.99 },
    Pattern::HotCold { data: 0.2, accesses: 0.8 },
];

fn mixed(digest: &mut u64, value: u64) {
    *digest = (*digest ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
}

fn of_request(digest: &mut u64, request: &Request) {
    mixed(digest, request.operation as u64);
    mixed(digest, request.offset_bytes);
    mixed(digest, u64::from(request.length_bytes));
    mixed(digest, u64::from(request.fua));
}

#[test]
fn plain_streams_make_the_requests_that_they_always_made() {
    let mut digest = 0;
    for pattern in &PATTERNS {
        for read_fraction in [0.0, 0.7, 1.0] {
            let plain = Stream {
                queue_depth_per_worker: 4,
                ..Stream::new(read_fraction, pattern.clone(), 4096)
            };
            let special = Stream {
                offset_bytes: 1 << 20,
                span_bytes: Some(100 << 20),
                misalignment_bytes: 512,
                workers: 3,
                content: Content::Repeated,
                flush_every_writes: (read_fraction < 1.0).then_some(5),
                fua: read_fraction < 1.0,
                arrival: Arrival::Poisson(1000.0),
                ..plain.clone()
            };
            for stop in [
                Stop { ios: Some(1_000), ..Stop::default() },
                Stop { bytes: Some(3_000_000), ..Stop::default() },
            ] {
                let workload = Workload {
                    streams: vec![plain.clone(), special.clone()],
                    stop,
                    ramp_ns: 0,
                    seed: 5,
                    log_ios: 0,
                };
                workload.check(1 << 30).unwrap();
                for mut lane in Lane::all(&workload, 1 << 30) {
                    let mut ios = 0;
                    while let Some(request) = lane.next_request() {
                        of_request(&mut digest, &request);
                        ios += u64::from(request.operation != Operation::Flush);
                        if let Some(arrivals) = &mut lane.arrivals {
                            mixed(&mut digest, arrivals.due_ns());
                            arrivals.advance();
                        }
                    }
                    mixed(&mut digest, ios);
                }
            }
        }
    }
    // Noted on x86-64 Linux, before streams had sizes, zones and limits of their own.
    assert_eq!(digest, 15_659_142_243_286_860_060);
}
