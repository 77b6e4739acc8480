//! What the transports take: 4 KiB random reads by fio at queue depth 32, from a drive that takes
//! no time and from a bare server that keeps its data in memory, in turns; then how late answers
//! come at half that rate. By NBD the bare server is nbdkit, by FUSE one that answers each read
//! from a file in memory (tmpfs) on the thread that hears of it.
//!
//! `cargo bench -p fourcorners-serve` needs fio, nbdkit and /dev/fuse; a minute. `-- nbd` and
//! `-- fuse` measure one of them. These figures are of the clock on the wall: server and client
//! share the machine, so that they need two processors that are free. The median of the repeats.
//! The server's processor time for an I/O is told, too: on a machine that is busy it changes less.

mod bare_fuse;

use fourcorners_serve::data::Data;
use fourcorners_serve::{Ended, Manner, Served, Server, file};
use fourcorners_target::NoopTarget;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

const REPEATS: usize = 3;
const SECONDS: u32 = 3;
const CAPACITY_BYTES: u64 = 256 << 20;

#[derive(Clone, Copy)]
enum Transport {
    Nbd,
    Fuse,
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let all = [("nbd", "nbdkit memory", Transport::Nbd), ("fuse", "bare FUSE", Transport::Fuse)];
    let some = all.iter().any(|(name, ..)| words.iter().any(|word| word == name));
    let folder = std::env::temp_dir().join(format!("fourcorners-serve-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    println!("| server | IOPS | share of bare | processor time for an I/O, us |");
    println!("| --- | ---: | ---: | ---: |");
    let mut late = Vec::new();
    for (name, bare_name, transport) in all {
        if some && !words.iter().any(|word| word == name) {
            continue;
        }
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            ours.push(served(&folder, transport, None).rate);
            bare.push(match transport {
                Transport::Nbd => nbdkit(&folder),
                Transport::Fuse => bare_fuse(&folder),
            });
        }
        let (ours, bare) = (median(ours), median(bare));
        println!("| {bare_name} | {:.0} | 1 | {:.2} |", bare.iops, bare.processor_us);
        println!(
            "| fourcorners serve --{name} | {:.0} | {:.2} | {:.2} |",
            ours.iops,
            ours.iops / bare.iops,
            ours.processor_us
        );
        let Paced { rate, late_us } = served(&folder, transport, Some(ours.iops / 2.0));
        late.push(format!(
            "{name}: at {:.0} IOPS, {late_us:.0} us at the 99th percentile",
            rate.iops
        ));
    }
    println!("\nHow late answers were, {}.", late.join("; "));
    let _ = std::fs::remove_dir_all(&folder);
}

/// What fio reached.
#[derive(Clone, Copy)]
struct Rate {
    iops: f64,
    /// Of the server, for an I/O.
    processor_us: f64,
}

/// What our server reached, and how late its answers were at the 99th percentile.
struct Paced {
    rate: Rate,
    late_us: f64,
}

/// Reads of a drive that takes no time, or at a given rate of one that takes some.
fn served(folder: &Path, transport: Transport, rate: Option<f64>) -> Paced {
    let path = folder.join("ours");
    let server = match transport {
        Transport::Nbd => {
            let place = format!("unix:{}", path.display());
            Server::new(Some(&place), None, None, Vec::new())
        }
        Transport::Fuse => {
            let file = file(&path, CAPACITY_BYTES, false).expect("FUSE is there");
            Server::new(None, None, None, vec![file])
        }
    };
    let server = server.expect("a place of our own");
    let remote = server.remote();
    // At a given rate, as long as an SSD takes: the pacer is what is measured.
    let latency_ns = if rate.is_some() { 100_000 } else { 0 };
    let serving = std::thread::spawn(move || {
        let mut drive = NoopTarget::new(CAPACITY_BYTES, latency_ns);
        let data = Data::in_memory(CAPACITY_BYTES);
        let mut served = Served::new(&mut drive, data, 1).expect("it has no needs");
        let manner = Manner {
            speed: 1.0,
            is_read_only: false,
            description: "a drive that takes no time".into(),
            restart_after_ns: None,
            saving: None,
        };
        let ended = server.run(&mut served, &manner);
        assert_eq!(ended, Ended::Stopped);
        let (_, lateness) = served.finish().finish();
        let buckets: Vec<(u64, u64, u64)> = lateness.buckets().collect();
        let mut left = buckets.iter().map(|bucket| bucket.2).sum::<u64>() * 99 / 100;
        let p99 = buckets.iter().find(|bucket| {
            let is_it = bucket.2 > left;
            left = left.saturating_sub(bucket.2);
            is_it
        });
        p99.map_or(0.0, |bucket| bucket.1 as f64 * 1e-3)
    });
    let rate = fio(transport, &path, rate, std::process::id());
    remote.stop();
    Paced { rate, late_us: serving.join().expect("the server") }
}

fn nbdkit(folder: &Path) -> Rate {
    let path = folder.join("bare");
    let mut server = Running(
        Command::new("nbdkit")
            .args(["--foreground", "--unix"])
            .arg(&path)
            .args(["memory", &CAPACITY_BYTES.to_string()])
            .spawn()
            .expect("nbdkit is installed"),
    );
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(20));
        assert!(server.0.try_wait().expect("it is our child").is_none(), "nbdkit has ended");
    }
    let rate = fio(Transport::Nbd, &path, None, server.0.id());
    drop(server);
    let _ = std::fs::remove_file(&path);
    rate
}

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bare_fuse(folder: &Path) -> Rate {
    let path = folder.join("bare");
    let mounted = bare_fuse::Mounted::new(&path, CAPACITY_BYTES);
    let rate = fio(Transport::Fuse, &path, None, std::process::id());
    drop(mounted);
    let _ = std::fs::remove_file(&path);
    rate
}

/// Random reads by fio of what the process `server` serves.
fn fio(transport: Transport, path: &Path, rate: Option<f64>, server: u32) -> Rate {
    let mut command = Command::new("fio");
    command
        .args(["--name=read", "--rw=randread", "--bs=4k", "--iodepth=32", "--time_based"])
        .args(["--output-format=json", &format!("--runtime={SECONDS}")])
        .arg(format!("--size={CAPACITY_BYTES}"));
    match transport {
        Transport::Nbd => command
            .arg("--ioengine=nbd")
            .arg(format!("--uri=nbd+unix:///?socket={}", path.display())),
        Transport::Fuse => command
            .args(["--ioengine=libaio", "--direct=1", "--allow_file_create=0"])
            .arg(format!("--filename={}", path.display())),
    };
    if let Some(rate) = rate {
        command.arg(format!("--rate_iops={rate:.0}"));
    }
    let before_us = processor_us(server);
    let done = command.current_dir(std::env::temp_dir()).output().expect("fio is installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    let start = text.find('{').expect("fio prints JSON");
    let result: serde_json::Value = serde_json::from_str(&text[start..]).expect("fio prints JSON");
    let read = &result["jobs"][0]["read"];
    let number = |name: &str| read[name].as_f64().expect("it has read");
    let took_us = processor_us(server) - before_us;
    Rate { iops: number("iops"), processor_us: took_us / number("total_ios") }
}

/// What a process has used of processors so far, by its own clock.
fn processor_us(process: u32) -> f64 {
    let mut clock = 0;
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both write to what they are given, and nothing else.
    let failed = unsafe {
        libc::clock_getcpuclockid(process as i32, &raw mut clock)
            | libc::clock_gettime(clock, &raw mut used)
    };
    assert_eq!(failed, 0, "it runs");
    used.tv_sec as f64 * 1e6 + used.tv_nsec as f64 * 1e-3
}

fn median(mut rates: Vec<Rate>) -> Rate {
    rates.sort_by(|one, other| one.iops.total_cmp(&other.iops));
    rates[rates.len() / 2]
}
