//! The file at the server's side: its requests become I/Os, and their ends answers.

use super::asked::Asked;
use super::mount::Mounted;
use crate::attention::Attention;
use crate::device::{About, Device};
use crate::inbox::Inbox;
use crate::injection::DeviceFault;
use crate::io::{Command, EIO, Finished, Io};
use crate::served::Served;
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use mio::Registry;
use slab::Slab;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECTOR_BYTES: u64 = 512;

/// Most bytes of an I/O without a transfer: its length has 32 bits.
const PART_BYTES_MAX: u64 = 1 << 31;

const FILE: usize = 0;

/// A drive as a file.
#[derive(Debug)]
struct File {
    path: PathBuf,
    queue: Arc<Inbox<Asked>>,
    asked: Vec<Asked>,
    in_flight: Slab<InFlight>,
    buffer: Vec<u8>,
    /// Last, so that whoever still asks while it goes has an answer.
    _mounted: Mounted,
}

/// A request in the drive.
#[derive(Debug)]
struct InFlight {
    answer: Answer,
    /// I/Os of it that have not ended.
    parts: u32,
    errno: i32,
}

#[derive(Debug)]
enum Answer {
    /// These bytes, of the sectors that hold them.
    Data(Range<u64>, ReplyData),
    /// A write of parts of sectors, whose others are being read.
    Modify {
        offset_bytes: u64,
        data: Vec<u8>,
        is_forced: bool,
        reply: ReplyWrite,
    },
    /// So many bytes are written.
    Written(u32, ReplyWrite),
    Done(ReplyEmpty),
}

/// Lets a drive of this size appear as a file at `path`.
///
/// # Errors
/// In one sentence: a file that is not empty, or a system without FUSE.
pub fn file(
    path: &Path,
    capacity_bytes: u64,
    is_read_only: bool,
) -> Result<Box<dyn Device>, String> {
    let queue: Arc<Inbox<Asked>> = Arc::default();
    let mounted = Mounted::new(path, capacity_bytes, is_read_only, Arc::clone(&queue))?;
    Ok(Box::new(File {
        path: path.into(),
        queue,
        asked: Vec::new(),
        in_flight: Slab::new(),
        buffer: Vec::new(),
        _mounted: mounted,
    }))
}

impl File {
    fn submit(&mut self, asked: Asked, served: &mut Served<'_>, of_device: &mut Vec<DeviceFault>) {
        match asked {
            Asked::Read { offset_bytes, length_bytes, reply } => {
                let range = offset_bytes..offset_bytes + u64::from(length_bytes);
                let sectors = sectors(&range);
                let answer = Answer::Data(range, reply);
                self.start(answer, Command::Read, sectors, false, served, of_device);
            }
            Asked::Write { offset_bytes, data, is_forced, reply } => {
                let range = offset_bytes..offset_bytes + data.len() as u64;
                let sectors = sectors(&range);
                if sectors == range {
                    let answer = Answer::Written(data.len() as u32, reply);
                    self.start(answer, Command::Write(data), range, is_forced, served, of_device);
                } else {
                    let answer = Answer::Modify { offset_bytes, data, is_forced, reply };
                    self.start(answer, Command::Read, sectors, false, served, of_device);
                }
            }
            // Whoever makes a hole expects zeroes, which a drive without TRIM does not make.
            Asked::Trim { reply, .. } if !served.has_trim() => reply.error(Errno::EOPNOTSUPP),
            Asked::Trim { offset_bytes, length_bytes, reply } => {
                let range = offset_bytes..offset_bytes + length_bytes;
                let answer = Answer::Done(reply);
                self.start(answer, Command::Trim, range, false, served, of_device);
            }
            Asked::Zero { offset_bytes, length_bytes, reply } => {
                let range = offset_bytes..offset_bytes + length_bytes;
                let command = Command::Zero { may_discard: false };
                self.start(Answer::Done(reply), command, range, false, served, of_device);
            }
            Asked::Flush { reply } => {
                self.start(Answer::Done(reply), Command::Flush, 0..0, false, served, of_device);
            }
            Asked::Seek { offset_bytes, to_stored, reply } => {
                match seek(served, offset_bytes, to_stored) {
                    Some(found) => reply.offset(found as i64),
                    None => reply.error(Errno::ENXIO),
                }
            }
        }
    }

    /// Hands a range to the drive, in as few I/Os as can be.
    fn start(
        &mut self,
        answer: Answer,
        command: Command,
        range: Range<u64>,
        is_forced: bool,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) {
        let parts = (range.end - range.start).div_ceil(PART_BYTES_MAX).max(1) as u32;
        let cookie = self.in_flight.insert(InFlight { answer, parts, errno: 0 }) as u64;
        let io = |command, offset_bytes, length_bytes| Io {
            client: FILE,
            cookie,
            command,
            offset_bytes,
            length_bytes,
            is_forced,
        };
        let mut offset_bytes = range.start;
        for _ in 1..parts {
            let part = io(command.clone(), offset_bytes, PART_BYTES_MAX as u32);
            of_device.extend(served.submit(part));
            offset_bytes += PART_BYTES_MAX;
        }
        let last = io(command, offset_bytes, (range.end - offset_bytes) as u32);
        of_device.extend(served.submit(last));
    }
}

impl Device for File {
    fn path(&self) -> &Path {
        &self.path
    }

    fn client(&self) -> usize {
        FILE
    }

    fn begin(&mut self, _: &About, _: &Registry, server: &Arc<Attention>) -> Result<(), String> {
        self.queue.call_for(Arc::clone(server));
        Ok(())
    }

    fn receive(
        &mut self,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) -> Result<(), String> {
        let mut asked = std::mem::take(&mut self.asked);
        self.queue.take(&mut asked);
        for one in asked.drain(..) {
            self.submit(one, served, of_device);
        }
        self.asked = asked;
        Ok(())
    }

    fn finished(
        &mut self,
        finished: &Finished,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) {
        let key = finished.cookie as usize;
        let Some(request) = self.in_flight.get_mut(key) else { return };
        request.parts -= 1;
        if request.errno == 0 {
            request.errno = finished.errno;
        }
        if request.parts > 0 {
            return;
        }
        let InFlight { answer, errno, .. } = self.in_flight.remove(key);
        match answer {
            answer if errno != 0 => answer.fail(errno),
            Answer::Done(reply) => reply.ok(),
            Answer::Written(length_bytes, reply) => reply.written(length_bytes),
            Answer::Data(range, reply) => {
                let (sectors, within) = (sectors(&range), within_sectors(&range));
                let length_bytes = (sectors.end - sectors.start) as usize;
                match served.view(sectors.start, length_bytes, &mut self.buffer) {
                    Ok(bytes) => reply.data(&bytes[within]),
                    Err(error) => reply.error(errno_of(&error)),
                }
            }
            Answer::Modify { offset_bytes, data, is_forced, reply } => {
                let range = offset_bytes..offset_bytes + data.len() as u64;
                let sectors = sectors(&range);
                let mut changed = vec![0; (sectors.end - sectors.start) as usize];
                match served.read(sectors.start, &mut changed) {
                    Ok(()) => {
                        changed[within_sectors(&range)].copy_from_slice(&data);
                        let command = Command::Write(changed);
                        let answer = Answer::Written(data.len() as u32, reply);
                        self.start(answer, command, sectors, is_forced, served, of_device);
                    }
                    Err(error) => reply.error(errno_of(&error)),
                }
            }
        }
    }

    fn fail(&mut self) {
        for request in self.in_flight.drain() {
            request.answer.fail(EIO);
        }
        self.queue.take(&mut self.asked);
        // A reply that is dropped is EIO as well.
        self.asked.clear();
    }

    fn may_attend(&self) -> bool {
        true
    }

    fn may_sleep(&mut self) -> bool {
        self.queue.is_empty()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.queue.end();
        self.fail();
    }
}

impl Answer {
    fn fail(self, errno: i32) {
        let errno = Errno::from_i32(errno);
        match self {
            Answer::Data(_, reply) => reply.error(errno),
            Answer::Modify { reply, .. } | Answer::Written(_, reply) => reply.error(errno),
            Answer::Done(reply) => reply.error(errno),
        }
    }
}

/// The sectors that hold a range.
fn sectors(range: &Range<u64>) -> Range<u64> {
    range.start / SECTOR_BYTES * SECTOR_BYTES..range.end.next_multiple_of(SECTOR_BYTES)
}

/// Where in those sectors the range is.
fn within_sectors(range: &Range<u64>) -> Range<usize> {
    let start = (range.start % SECTOR_BYTES) as usize;
    start..start + (range.end - range.start) as usize
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(EIO))
}

/// The first byte from here on that is stored, or is not; after the last one there is a hole.
fn seek(served: &Served<'_>, mut offset_bytes: u64, to_stored: bool) -> Option<u64> {
    let capacity_bytes = served.capacity_bytes();
    while offset_bytes < capacity_bytes {
        let extent = served.data().extent(offset_bytes, capacity_bytes - offset_bytes);
        if extent.is_stored == to_stored {
            return Some(offset_bytes);
        }
        offset_bytes += extent.length_bytes;
    }
    (!to_stored).then_some(capacity_bytes)
}
