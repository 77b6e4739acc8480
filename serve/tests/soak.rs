//! A served drive's life against a shadow copy; `benches/serve_soak.rs` has the long ones.

mod support;

use support::life::{Life, live};
use support::{ARRAY, CORE, DISK, LOG_BLOCK, SECOND_NS, SHARED, VECTOR};

#[test]
fn minutes_of_random_io_faults_and_restarts_leave_no_difference() {
    let folder = std::env::temp_dir().join(format!("fourcorners-life-{}", std::process::id()));
    for (number, drive) in (1..).zip([VECTOR, CORE, DISK, LOG_BLOCK, ARRAY, SHARED]) {
        std::fs::create_dir_all(&folder).unwrap();
        let life = Life {
            drive,
            settings: &[],
            seed: number,
            virtual_ns: 200 * SECOND_NS,
            span_bytes: 2 << 20,
            mean_pause_ns: 30_000_000,
            mean_session_ns: 40 * SECOND_NS,
            fault_every: 100,
        };
        let met = live(&life, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(met.ios > 500 && met.read_bytes > 1 << 20, "{met:?}");
        assert!(met.power_cuts > 1 && met.restarts > 1 && met.corrupted_writes > 0, "{met:?}");
    }
}
