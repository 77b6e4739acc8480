//! A state of any content whose checksum fits: it is refused in a sentence, or the
//! drive goes on from it. The first byte of an input says of which drive it is; what
//! the drive was made from stands before the rest.

#![no_main]

mod small_drives;

use libfuzzer_sys::fuzz_target;
use small_drives::{COUNT, START, drive, use_drive};
use std::io::Write;
use std::sync::OnceLock;

struct Base {
    start: Vec<u8>,
    identity: Vec<u8>,
}

/// What the states of each drive begin with.
fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let base = |number| {
            let mut state = Vec::new();
            drive(number).save(&mut state).expect("memory takes it");
            let content = zstd::decode_all(&state[START..]).expect("it was just packed");
            let identity = content[..small_drives::identity_bytes(number)].to_vec();
            Base { start: state[..START].to_vec(), identity }
        };
        (0..COUNT).map(base).collect()
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&number, content)) = data.split_first() else {
        return;
    };
    let number = number as usize % COUNT;
    let base = &bases()[number];
    let mut packer = zstd::Encoder::new(base.start.clone(), 1).expect("memory takes it");
    packer.include_checksum(true).expect("it is an option");
    packer.write_all(&base.identity).expect("memory takes it");
    packer.write_all(content).expect("memory takes it");
    let state = packer.finish().expect("memory takes it");
    let mut drive = drive(number);
    match drive.load(&state[..]) {
        Ok(()) => use_drive(&mut drive, data.len() as u64, 200),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
