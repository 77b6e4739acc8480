//! The time that making the data of writes takes.

use crate::clock::monotonic_ns;

/// From this size on, reading the clock twice is nothing beside making the data.
const TIMED_ALWAYS_BYTES: u32 = 64 << 10;
/// Of smaller requests one in so many is timed and stands for all of them.
const TIMED_ONE_IN: u32 = 16;

/// The sum over a worker's writes.
#[derive(Debug, Default)]
pub(crate) struct Generating {
    pub total_ns: u64,
    untimed: u32,
}

impl Generating {
    pub(crate) fn time<R>(&mut self, length_bytes: u32, make: impl FnOnce() -> R) -> R {
        let weight = if length_bytes >= TIMED_ALWAYS_BYTES {
            1
        } else {
            self.untimed += 1;
            if self.untimed < TIMED_ONE_IN {
                return make();
            }
            self.untimed = 0;
            u64::from(TIMED_ONE_IN)
        };
        let started_ns = monotonic_ns();
        let made = make();
        self.total_ns += weight * (monotonic_ns() - started_ns);
        made
    }
}
