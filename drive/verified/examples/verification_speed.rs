//! What verification costs: `cargo run --release -p fourcorners-verified --example
//! verification_speed` prints nanoseconds of CPU time for a block of 4 KiB.

use fourcorners_verified::{BLOCK_BYTES, Stamp};
use std::hint::black_box;

/// As many blocks as are outstanding at queue depth 32: they stay in the cache,
/// as the buffers of a run do.
const BLOCKS: usize = 32;
const ROUNDS: usize = 20_000;

fn main() {
    let mut blocks = vec![0; BLOCKS * BLOCK_BYTES];
    for _ in 0..3 {
        let write_ns = each(|round, index| {
            let block = &mut blocks[index * BLOCK_BYTES..][..BLOCK_BYTES];
            let address = (index * BLOCK_BYTES) as u64;
            Stamp { drive: 1, run: 2, address, sequence: round as u64 }.write(black_box(block));
        });
        let check_ns = each(|round, index| {
            let block = &blocks[index * BLOCK_BYTES..][..BLOCK_BYTES];
            let stamp = Stamp::read(black_box(block)).expect("the block is whole");
            assert_eq!((stamp.address, round < ROUNDS), ((index * BLOCK_BYTES) as u64, true));
        });
        println!("write {write_ns:.0} ns, check {check_ns:.0} ns");
    }
}

fn each(mut work: impl FnMut(usize, usize)) -> f64 {
    let started_ns = thread_cpu_ns();
    for round in 0..ROUNDS {
        for index in 0..BLOCKS {
            work(round, index);
        }
    }
    (thread_cpu_ns() - started_ns) as f64 / (ROUNDS * BLOCKS) as f64
}

fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
