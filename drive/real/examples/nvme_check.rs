//! Whether NVMe commands (`--engine nvme`) and the block layer mean the same blocks:
//! what one writes the other has to read. `nvme_check /dev/nvme0n1` destroys what is
//! on the namespace.

use fourcorners_real::{Access, Plan, RealFile, RealTarget};
use fourcorners_target::{Target, TargetError};
use fourcorners_workload::{Content, Operation, Request};
use std::error::Error;
use std::path::Path;

const LENGTH_BYTES_MAX: u32 = 65_536;
const WAIT_NS: u64 = 10_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: nvme_check DEVICE")?;
    let pairs = [("nvme", "io_uring"), ("io_uring", "nvme"), ("nvme,batch=4", "nvme,sqpoll")];
    for (round, (writer, reader)) in pairs.into_iter().enumerate() {
        carry_out(&path, writer, |target, place| {
            let data = content(round, place.offset_bytes, place.length_bytes);
            let buffer = target.write_data(0, place.length_bytes).ok_or("no buffer")?;
            buffer.copy_from_slice(&data);
            serve(target, Request { operation: Operation::Write, ..place })?;
            serve(target, Request::FLUSH)
        })?;
        carry_out(&path, reader, |target, place| {
            serve(target, place)?;
            let data = target.read_data(0, place.length_bytes).ok_or("no buffer")?;
            let same = data == content(round, place.offset_bytes, place.length_bytes);
            if same { Ok(()) } else { Err(format!("other data at {place:?}").into()) }
        })?;
        println!("{path}: written with {writer}, read with {reader}: the same");
    }
    Ok(())
}

/// Does something at some places of the device, opened with an engine.
fn carry_out(
    path: &str,
    engine: &str,
    action: impl Fn(&mut RealTarget, Request) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let access = Access { destroy_data: Some(path.into()), ..Access::default() };
    let file = RealFile::open(Plan::examine(Path::new(path), &access)?)?;
    let file = file.with_engine(engine.parse()?)?;
    let mut target = file.target(1);
    target.prepare(1, LENGTH_BYTES_MAX)?;
    let end = file.plan().capacity_bytes;
    for (offset_bytes, length_bytes, fua) in [
        (0, 4096, false),
        (77 * 4096, 8192, false),
        (1 << 20, LENGTH_BYTES_MAX, true),
        (end - 4096, 4096, false),
    ] {
        let (operation, content) = (Operation::Read, Content::Incompressible);
        action(&mut target, Request { operation, offset_bytes, length_bytes, content, fua })?;
    }
    Ok(())
}

/// Carries out one request.
fn serve(target: &mut RealTarget, request: Request) -> Result<(), Box<dyn Error>> {
    target.submit(0, &request);
    let mut done = Vec::new();
    let give_up_ns = target.now_ns() + WAIT_NS;
    target.wait(give_up_ns, &mut done)?;
    match done.first().map(|completion| completion.errno) {
        Some(0) => Ok(()),
        Some(errno) => Err(std::io::Error::from_raw_os_error(errno).into()),
        None => Err(TargetError(format!("{request:?} hangs")).into()),
    }
}

/// Bytes that follow from the round and their place.
fn content(round: usize, offset_bytes: u64, length_bytes: u32) -> Vec<u8> {
    (0..u64::from(length_bytes))
        .map(|index| {
            let word = (offset_bytes + index).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (word >> 56) as u8 ^ round as u8
        })
        .collect()
}
