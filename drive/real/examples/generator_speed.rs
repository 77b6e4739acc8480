//! How fast the data of writes is made: GB (10^9 bytes) per second of CPU time, by
//! content and block size.

use fourcorners_real::{Access, Plan, RealFile};
use fourcorners_target::Target;
use fourcorners_workload::{Content, Operation, Request};
use std::error::Error;

const BYTES_EACH: u64 = 8 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("generator-speed-{}", std::process::id()));
    let access = Access { size_bytes: Some(4 << 20), ..Access::default() };
    let file = RealFile::open(Plan::examine(&path, &access)?)?;
    std::fs::remove_file(&path)?;
    for content in [Content::Incompressible, Content::Compressible(50), Content::Duplicated(50)] {
        for length_bytes in [4096, 131_072, 1 << 20] {
            let mut target = file.target(1);
            target.prepare(1, length_bytes)?;
            let request = Request {
                operation: Operation::Write,
                offset_bytes: 0,
                length_bytes,
                content,
                fua: false,
            };
            let count = BYTES_EACH / u64::from(length_bytes);
            let before_ns = cpu_time_ns();
            for _ in 0..count {
                target.stage(0, &request);
            }
            let bytes = (count * u64::from(length_bytes)) as f64;
            let speed = bytes / (cpu_time_ns() - before_ns) as f64;
            println!("{content:?}, blocks of {length_bytes} bytes: {speed:.1} GB/s");
        }
    }
    Ok(())
}

/// What this thread has used of a processor.
fn cpu_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
