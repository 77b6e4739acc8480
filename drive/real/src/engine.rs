//! How I/O is to be passed to the system: the choices that a caller has.

use crate::plan::{Kind, Plan};
use crate::system::processors;
use fourcorners_target::TargetError;
use std::str::FromStr;

/// Requests of one batch at most: a whole queue.
const BATCH_MAX: u32 = 4096;

/// The way that requests take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// io_uring, or where it is absent or forbidden the synchronous calls.
    #[default]
    Automatic,
    /// io_uring or nothing.
    IoUring,
    /// io_uring with NVMe commands, past the block layer.
    Nvme,
    /// `pread` and `pwrite`: at queue depth 1 by the worker itself, at others by
    /// one more thread for each outstanding request.
    Synchronous,
}

/// An engine and its options, as `NAME[,OPTION...]`: see `docs/real-targets.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// The way that requests take.
    pub way: Way,
    /// Completions are polled for, without interrupts (`IORING_SETUP_IOPOLL`).
    pub io_poll: bool,
    /// A kernel thread per worker takes requests (`IORING_SETUP_SQPOLL`).
    pub sq_poll: bool,
    /// Requests that are passed to the kernel, and waited for, at a time, whatever
    /// that does to latency; `None` lets the target decide.
    pub batch: Option<u32>,
    /// Buffers lie in reserved huge pages (`MAP_HUGETLB`).
    pub huge_pages: bool,
    /// I/O goes through the page cache.
    pub buffered: bool,
    /// Processors that workers are bound to, in turn; none binds nothing.
    pub cpus: Vec<u32>,
}

impl Engine {
    /// Whether what was planned can be reached this way at all, before a file is made for it.
    ///
    /// # Errors
    /// NVMe commands to a file.
    pub fn check(&self, plan: &Plan) -> Result<(), TargetError> {
        if self.way == Way::Nvme && plan.kind == Kind::File {
            return Err(TargetError(format!(
                "the engine nvme sends commands to whole NVMe namespaces, and {} is none: leave out --engine",
                plan.path.display()
            )));
        }
        Ok(())
    }
}

impl FromStr for Engine {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let fail = |why: String| Err(TargetError(format!("engine \"{text}\": {why}")));
        let mut parts = text.split(',').map(str::trim);
        let way = match parts.next() {
            Some("auto") => Way::Automatic,
            Some("io_uring") => Way::IoUring,
            Some("nvme") => Way::Nvme,
            Some("sync") => Way::Synchronous,
            other => {
                let name = other.unwrap_or_default();
                return fail(format!("there is no \"{name}\": use auto, io_uring, nvme or sync"));
            }
        };
        let mut engine = Engine { way, ..Engine::default() };
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match (name, value) {
                ("iopoll", "") => engine.io_poll = true,
                ("sqpoll", "") => engine.sq_poll = true,
                ("huge-pages", "") => engine.huge_pages = true,
                ("buffered", "") => engine.buffered = true,
                ("batch", value) => match value.parse() {
                    Ok(batch) if (1..=BATCH_MAX).contains(&batch) => engine.batch = Some(batch),
                    _ => return fail(format!("batch={value}: use 1 to {BATCH_MAX}")),
                },
                ("cpus", value) => match cpu_list(value) {
                    Some(cpus) => engine.cpus = cpus,
                    None => {
                        return fail(format!("cpus={value}: write numbers and ranges as in 0-3+6"));
                    }
                },
                _ => {
                    return fail(format!(
                        "no option \"{part}\": there are iopoll, sqpoll, batch=N, huge-pages, buffered and cpus=LIST"
                    ));
                }
            }
        }
        let of_the_ring = engine.sq_poll || engine.io_poll || engine.batch.is_some();
        if of_the_ring && !matches!(engine.way, Way::IoUring | Way::Nvme) {
            return fail("iopoll, sqpoll and batch are options of io_uring: name it".into());
        }
        if engine.way == Way::Nvme && engine.io_poll {
            return fail("polling for a flush command crashes some kernels (seen with Linux 6.1): leave iopoll out".into());
        }
        if engine.way == Way::Nvme && engine.buffered {
            return fail("commands pass by the page cache: leave buffered out".into());
        }
        if engine.io_poll && engine.buffered {
            return fail("iopoll polls a device, and buffered I/O need not reach one".into());
        }
        Ok(engine)
    }
}

/// `0-3+6` as numbers; `None` if it is no such list.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= processors::COUNT_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Binds the calling thread to one processor.
///
/// # Errors
/// There is no such processor here, or it is forbidden.
pub(crate) fn bind_to_cpu(cpu: u32) -> Result<(), TargetError> {
    processors::bind_to(cpu).map_err(|error| {
        TargetError(format!(
            "a worker cannot be bound to processor {cpu} ({error}): name others with cpus=LIST"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_options_are_read() {
        let engine: Engine = "io_uring,sqpoll, batch=32,huge-pages,cpus=0-1+3".parse().unwrap();
        assert_eq!(engine.way, Way::IoUring);
        assert!(engine.sq_poll && engine.huge_pages && !engine.io_poll && !engine.buffered);
        assert_eq!((engine.batch, engine.cpus), (Some(32), vec![0, 1, 3]));
        assert_eq!("auto".parse::<Engine>().unwrap(), Engine::default());
    }

    #[test]
    fn what_is_wrong_is_told_in_a_sentence() {
        for (text, says) in [
            ("libaio", "use auto, io_uring, nvme or sync"),
            ("", "use auto"),
            ("sync,fast", "no option \"fast\""),
            ("io_uring,batch=0", "use 1 to 4096"),
            ("io_uring,cpus=3-1", "as in 0-3+6"),
            ("io_uring,cpus=99999", "as in 0-3+6"),
            ("sync,sqpoll", "options of io_uring"),
            ("auto,batch=8", "options of io_uring"),
            ("io_uring,iopoll,buffered", "need not reach"),
            ("nvme,buffered", "pass by the page cache"),
            ("nvme,iopoll", "crashes some kernels"),
            ("io_uring,sqpoll=1", "no option"),
        ] {
            let error = text.parse::<Engine>().unwrap_err().0;
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
