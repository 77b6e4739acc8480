//! Any bytes as the state of a verification: they are refused in a sentence, or a
//! verified run goes on with what they say.

#![no_main]

#[allow(dead_code, reason = "this target uses a part")]
mod small_drives;

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::with_model;
use fourcorners_verified::{Damages, Ledger, Memory, Remembering, Verified, resolve};
use fourcorners_workload::Workload;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

/// Of the target that the seeds are states of.
const CAPACITY_BYTES: u64 = 1 << 22;
/// The number of a drive of that size.
const DRIVE: usize = small_drives::LOG_BLOCK;

fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("fourcorners-ledger-{}", std::process::id()));
    std::fs::write(&path, data).expect("there is room for some KiB");
    let opened = Ledger::open(&path, CAPACITY_BYTES);
    let ledger = match opened {
        Ok(ledger) => Arc::new(ledger),
        Err(error) => return assert!(!error.0.contains('\n')),
    };
    let workload = r#"{"streams": [{"read_fraction": 0.5, "block_bytes": 4096,
        "pattern": "random", "queue_depth": 4}], "stop": {"ios": 200}, "seed": 1}"#;
    let workload = Workload::from_json(workload).expect("it is a workload");
    let damages: Arc<Damages> = Arc::default();
    let mut memory = Memory::default();
    let mut drive = small_drives::drive(DRIVE);
    with_model!(&mut drive.model, model => {
        let remembering = Remembering::new(&mut **model, &mut memory);
        let mut verified = Verified::new(remembering, Arc::clone(&ledger), Arc::clone(&damages));
        execute(&workload, &mut verified, &Progress::default())
    })
    .expect("the workload fits the drive");
    resolve(Vec::new(), damages.take(), &ledger);
});
