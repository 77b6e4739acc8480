//! Writes the seeds of the targets `state` and `ledger`: of each small drive a state
//! after some work, without what it was made from, and what a verified run left.

mod small_drives;

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::with_model;
use fourcorners_verified::{Damages, Ledger, Memory, Remembering, Verified};
use fourcorners_workload::Workload;
use small_drives::{COUNT, LOG_BLOCK, START, drive, identity_bytes};
use std::path::Path;
use std::sync::Arc;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("the folder to write to");
    for number in 0..COUNT {
        for (ios, block) in [(0, 4096), (60, 4096), (3_000, 512), (900, 65_536)] {
            let mut drive = drive(number);
            let workload = format!(
                r#"{{"streams": [{{"read_fraction": 0.3, "block_bytes": {block},
                    "pattern": "random", "queue_depth": 4}}], "stop": {{"ios": {ios}}}, "seed": 1}}"#
            );
            if ios > 0 {
                let workload = Workload::from_json(&workload).expect("it is a workload");
                with_model!(&mut drive.model, model => {
                    execute(&workload, &mut **model, &Progress::default())
                })
                .expect("the workload fits the drive");
            }
            let mut state = Vec::new();
            drive.save(&mut state).expect("memory takes it");
            let content = zstd::decode_all(&state[START..])?;
            let mut seed = vec![number as u8];
            seed.extend(&content[identity_bytes(number)..]);
            std::fs::write(format!("{folder}/state/{number}-{ios}"), seed)?;
        }
    }
    for ios in [0, 40, 2_000] {
        let path = format!("{folder}/ledger/{ios}");
        let _ = std::fs::remove_file(&path);
        verified_run(Path::new(&path), ios);
    }
    Ok(())
}

/// What is known of the blocks of a drive after so many I/Os.
fn verified_run(path: &Path, ios: u32) {
    let mut drive = drive(LOG_BLOCK);
    let capacity = drive.capacity_bytes();
    let ledger = Ledger::create(path, capacity, capacity, 1, 2).expect("there is room");
    if ios == 0 {
        return;
    }
    let workload = format!(
        r#"{{"streams": [{{"read_fraction": 0.2, "block_bytes": 4096, "pattern": "random",
            "queue_depth": 4}}], "stop": {{"ios": {ios}}}, "seed": 1}}"#
    );
    let workload = Workload::from_json(&workload).expect("it is a workload");
    let mut memory = Memory::default();
    let damages: Arc<Damages> = Arc::default();
    with_model!(&mut drive.model, model => {
        let remembering = Remembering::new(&mut **model, &mut memory);
        let mut verified = Verified::new(remembering, Arc::new(ledger), damages);
        execute(&workload, &mut verified, &Progress::default())
    })
    .expect("the workload fits the drive");
}
