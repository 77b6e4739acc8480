//! Where the file appears: an empty file that the drive is mounted over.

use super::asked::Asked;
use super::filesystem::OneFile;
use crate::inbox::Inbox;
use crate::listen::check_folder;
use fuser::{Config, MountOption, Session, SessionUnmounter};
use rustix::fs::FileType;
use rustix::mount::{UnmountFlags, unmount};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The source of our mounts, by which those that a killed server left are known
/// (`fourcorners/serving/mounts.py`).
const SOURCE: &str = "fourcorners";

/// How long the thread that hears the kernel may take to end. It lives on, and answers
/// with errors, while something still uses the file.
const ENDS: Duration = Duration::from_secs(1);

/// A drive that is mounted; dropping it unmounts it.
#[derive(Debug)]
pub struct Mounted {
    path: PathBuf,
    unmounter: SessionUnmounter,
    ended: Receiver<()>,
    /// Removed with it, where nobody else made it.
    placeholder: Option<Placeholder>,
}

#[derive(Debug)]
struct Placeholder(PathBuf);

impl Drop for Placeholder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Mounted {
    /// Mounts a drive of this size over the empty file at `path`, which is made where there
    /// is none, and begins to hear what the kernel asks.
    ///
    /// # Errors
    /// In one sentence: a file that is not empty, or a system that does not mount it.
    pub fn new(
        path: &Path,
        capacity_bytes: u64,
        is_read_only: bool,
        queue: Arc<Inbox<Asked>>,
    ) -> Result<Self, String> {
        let placeholder = place(path)?;
        let shown = path.display();
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName(SOURCE.into()), MountOption::NoExec];
        if is_read_only {
            config.mount_options.push(MountOption::RO);
        }
        let root = OneFile::new(capacity_bytes, is_read_only, queue);
        let mut session =
            Session::new(root, path, &config).map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    format!(
                        "{shown} cannot be mounted: FUSE (/dev/fuse, or fusermount3) is missing"
                    )
                }
                _ => format!("{shown} cannot be mounted by FUSE: {error}"),
            })?;
        let unmounter = session.unmount_callable();
        let (end, ended) = channel();
        let hear = move || {
            // An error here is the end of the mount, as its users see it.
            let _ = session.run();
            let _ = end.send(());
        };
        std::thread::Builder::new()
            .name("fuse".into())
            .spawn(hear)
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self { path: path.into(), unmounter, ended, placeholder })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What still uses the file keeps it, out of sight.
        if self.unmounter.unmount().is_err() {
            let _ = unmount(&self.path, UnmountFlags::DETACH);
        }
        let _ = self.ended.recv_timeout(ENDS);
        self.placeholder.take();
    }
}

/// An empty file to mount over.
fn place(path: &Path) -> Result<Option<Placeholder>, String> {
    let shown = path.display();
    check_folder(path, "the file")?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => return Ok(Some(Placeholder(path.into()))),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("the file {shown}: {error}")),
    }
    let about = rustix::fs::lstat(path).map_err(|error| format!("the file {shown}: {error}"))?;
    let is_ours = about.st_uid == rustix::process::getuid().as_raw();
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile if about.st_size == 0 && is_ours => Ok(None),
        _ => Err(format!("{shown} is there and is no empty file of yours: name another path")),
    }
}
