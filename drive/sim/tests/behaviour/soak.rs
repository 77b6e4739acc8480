//! Ten seconds of the soak: other seeds, and as long as one likes, with
//! `cargo bench -p fourcorners-sim --bench soak`.

use crate::support::soak::soak;

#[test]
fn random_drives_hold_under_random_workloads() {
    for seed in 0..150 {
        // Shown when a check fails.
        println!("seed {seed}");
        soak(seed, 15);
    }
}
