//! What the tests of real files and devices share: a folder that goes away,
//! and loop devices.

// Each test binary uses a part of this.
#![allow(dead_code)]

use fourcorners_real::{Access, Plan, RealFile};
use fourcorners_workload::{Pattern, Stop, Stream, Workload};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

pub const MIB: u64 = 1 << 20;

/// For what does not hang.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A folder of one test, removed with all that is in it.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Below `parent`, which decides the file system.
    pub fn below(parent: impl AsRef<Path>) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fourcorners-test-{}-{number}", std::process::id());
        let path = parent.as_ref().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn new() -> Folder {
        Folder::below(std::env::temp_dir())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of `size_bytes` of zeros that fourcorners did not make.
    pub fn foreign_file(&self, name: &str, size_bytes: u64) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, vec![0; size_bytes as usize]).unwrap();
        path
    }

    /// An open test file of our own.
    pub fn own_file(&self, name: &str, size_bytes: u64) -> RealFile {
        RealFile::open(plan(&self.path(name), &sized(size_bytes)).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A loop device over a new file. Only one test at a time has one: they are
/// few on some machines.
pub struct Loop {
    pub device: PathBuf,
    pub backing: PathBuf,
    _folder: Folder,
    _turn: MutexGuard<'static, ()>,
}

impl Loop {
    /// `None`, after a visible line, where loop devices cannot be had.
    pub fn attach(size_bytes: u64, options: &[&str]) -> Option<Loop> {
        Loop::attach_with(size_bytes, &[], options)
    }

    /// The same, with `content` at its start.
    pub fn attach_with(size_bytes: u64, content: &[u8], options: &[&str]) -> Option<Loop> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let folder = Folder::new();
        let backing = folder.path("disk");
        std::fs::write(&backing, content).unwrap();
        std::fs::OpenOptions::new()
            .write(true)
            .open(&backing)
            .unwrap()
            .set_len(size_bytes)
            .unwrap();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(backing.to_str().unwrap());
        let Some(device) = run("losetup", &arguments) else {
            skip("loop devices need root and losetup");
            return None;
        };
        Some(Loop { device: device.into(), backing, _folder: folder, _turn: turn })
    }

    pub fn name(&self) -> &str {
        self.device.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", self.name()]);
    }
}

/// Runs a program; its output, trimmed, if it succeeded.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One visible line: the handle itself is not captured by the test harness.
pub fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

pub fn is_root() -> bool {
    run("id", &["-u"]).as_deref() == Some("0")
}

pub fn plan(path: &Path, access: &Access) -> Result<Plan, String> {
    Plan::examine(path, access).map_err(|error| error.0)
}

/// The sentence with which a plan is refused.
pub fn refused(path: &Path, access: &Access) -> String {
    plan(path, access).expect_err("the plan should be refused")
}

pub fn sized(size_bytes: u64) -> Access {
    Access { size_bytes: Some(size_bytes), ..Access::default() }
}

pub fn overwriting(path: &Path) -> Access {
    Access { overwrite: Some(path.to_owned()), ..Access::default() }
}

pub fn destroying(path: &Path) -> Access {
    Access { destroy_data: Some(path.to_owned()), ..Access::default() }
}

/// Random I/O of `block_bytes` at `queue_depth`.
pub fn workload(read_fraction: f64, block_bytes: u32, queue_depth: u32, stop: Stop) -> Workload {
    let stream = Stream {
        queue_depth_per_worker: queue_depth,
        ..Stream::new(read_fraction, Pattern::Random, block_bytes)
    };
    Workload { streams: vec![stream], stop, ramp_ns: 0, seed: 3, log_ios: 0 }
}

pub fn ios(count: u64) -> Stop {
    Stop { ios: Some(count), ..Stop::default() }
}
