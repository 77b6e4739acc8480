//! No drive appears as a file where the kernel has no FUSE of Linux's kind.

use crate::injection::DeviceFault;
use crate::io::Finished;
use crate::served::Served;
use mio::Waker;
use std::path::Path;
use std::sync::Arc;

/// What [`crate::Io::client`] would be of the file's I/Os.
pub(crate) const FILE: usize = 0;

/// A drive as a file, of which there is none here.
#[derive(Debug)]
pub enum File {}

impl File {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &Path, _: u64, _: bool) -> Result<Self, String> {
        Err("a drive is served as a file on Linux only: serve it by NBD".into())
    }

    pub(crate) fn wake_by(&self, _: Arc<Waker>) {
        match *self {}
    }

    pub(crate) fn may_sleep(&self) -> bool {
        match *self {}
    }

    pub(crate) fn woke(&self) {
        match *self {}
    }

    pub(crate) fn receive(&mut self, _: &mut Served<'_>, _: &mut Vec<DeviceFault>) {
        match *self {}
    }

    pub(crate) fn finished(&mut self, _: &Finished, _: &mut Served<'_>, _: &mut Vec<DeviceFault>) {
        match *self {}
    }

    pub(crate) fn fail(&mut self) {
        match *self {}
    }
}
