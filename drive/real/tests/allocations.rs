//! Issuing, serving and recording an I/O takes no memory from the allocator.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_target::{NoopTarget, Target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use support::*;

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all calls are passed on as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that it asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a run of so many I/Os, reads and writes.
fn allocations(mut target: impl Target, queue_depth: u32, count: u64) -> u64 {
    let mixed = workload(0.5, 4096, queue_depth, ios(count));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let recording = execute(&mixed, &mut target, &Progress::default()).unwrap();
    assert_eq!(recording.operations.iter().map(|operation| operation.ios).sum::<u64>(), count);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn an_io_allocates_nothing() {
    const FEW: u64 = 1_000;
    const MANY: u64 = 21_000;
    // What grows with the seconds that a run takes.
    const SLACK: u64 = 100;
    let noop = || NoopTarget::new(1 << 30, 1_000);
    let (few, many) = (allocations(noop(), 32, FEW), allocations(noop(), 32, MANY));
    assert!(many <= few + SLACK, "no-op target: {few} and {many}");
    let folder = Folder::new();
    for (engine, queue_depth) in
        [("auto,buffered", 1), ("io_uring,buffered,batch=32", 64), ("sync,buffered", 1)]
    {
        let file = folder.own_file(&format!("{queue_depth}-{engine}"), MIB);
        let file = file.with_engine(engine.parse().unwrap()).unwrap();
        let (few, many) = (
            allocations(file.target(1), queue_depth, FEW),
            allocations(file.target(1), queue_depth, MANY),
        );
        assert!(many <= few + SLACK, "{engine}: {few} and {many}");
    }
}
