//! Writes the seeds of the target `state`: of each small drive a state after some
//! work, without what it was made from.

mod small_drives;

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::with_model;
use fourcorners_workload::Workload;
use small_drives::{COUNT, START, drive, identity_bytes};

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
            std::fs::write(format!("{folder}/{number}-{ios}"), seed)?;
        }
    }
    Ok(())
}
