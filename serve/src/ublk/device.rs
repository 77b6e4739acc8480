//! The device at the server's side: its requests become I/Os, and their ends answers.

use super::abi;
use super::control::{Control, open};
use super::queue::{Event, Queue};
use super::request::{TRANSFER_BYTES_MAX, params, read};
use crate::attention::Attention;
use crate::device::{About, Asked, Device};
use crate::injection::DeviceFault;
use crate::io::{Command, EIO, Finished, Io};
use crate::served::Served;
use crate::server::DEVICE;
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const UBLK: usize = 1;

/// Requests that the kernel may have here at a time: as many as one NBD client.
const DEPTH: u16 = 256;

/// How long a device whose drive has ended may take to go.
const ENDS: Duration = Duration::from_secs(5);

/// A drive as a block device.
struct BlockDevice {
    path: PathBuf,
    number: u32,
    control: Control,
    stage: Stage,
    /// As it is to the server; nobody else can open it.
    device: Option<File>,
    queue: Option<Queue>,
    about: Option<About>,
    requests: Vec<Request>,
    of_driver: Result<(), String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is there for the server only.
    Added,
    /// The kernel makes the block device, and reads its partitions.
    Starting,
    Live,
    /// The kernel writes what it has, and takes the block device away.
    Stopping,
    Stopped,
}

/// What a tag stands for.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    is_in_drive: bool,
    is_read: bool,
    offset_bytes: u64,
    /// Of a transfer; 0 of what has none.
    length_bytes: u32,
    /// Counts the tag's requests, so that the end of one that was given up is not another's.
    number: u32,
}

/// Makes a block device, which appears when the server begins to serve. Devices that killed
/// servers left are removed.
///
/// # Errors
/// In one sentence: a kernel without ublk, or who is not root.
pub fn block_device() -> Result<Box<dyn Device>, String> {
    let mut control = Control::open()?;
    control.remove_left();
    let number = control.add(DEPTH, TRANSFER_BYTES_MAX)?;
    let mut device = BlockDevice {
        path: format!("/dev/ublkb{number}").into(),
        number,
        control,
        stage: Stage::Added,
        device: None,
        queue: None,
        about: None,
        requests: vec![Request::default(); DEPTH.into()],
        of_driver: Ok(()),
    };
    let opened = open(number).map_err(|error| format!("/dev/ublkc{number}: {error}"))?;
    device.device = Some(opened);
    Ok(Box::new(device))
}

impl BlockDevice {
    /// Takes note of commands to the driver that have ended.
    fn hear(&mut self) {
        while let Some((command, result)) = self.control.ended() {
            match command {
                abi::START_DEV if result < 0 => {
                    let error = std::io::Error::from_raw_os_error(-result);
                    self.of_driver =
                        Err(format!("{} does not start: {error}", self.path.display()));
                    self.stage = Stage::Stopped;
                }
                abi::START_DEV if self.stage == Stage::Starting => self.stage = Stage::Live,
                abi::STOP_DEV => self.stage = Stage::Stopped,
                _ => {}
            }
        }
    }

    /// The next request that the kernel has, with its tag; one that makes no sense is refused.
    fn next(&mut self) -> Option<(u16, Asked)> {
        let (queue, about) = (self.queue.as_mut()?, self.about.as_ref()?);
        loop {
            match queue.next()? {
                Event::Asked(tag, descriptor) => match read(&descriptor, about) {
                    Ok(asked) => return Some((tag, asked)),
                    Err(errno) => queue.answer(tag, -errno),
                },
                Event::Over => {}
                Event::Refused(errno) => {
                    let error = std::io::Error::from_raw_os_error(errno);
                    self.of_driver = Err(format!("the driver of {}: {error}", self.path.display()));
                }
            }
        }
    }

    /// Stops the device without a drive, and waits until it has gone.
    fn end(&mut self) {
        if matches!(self.stage, Stage::Starting | Stage::Live) {
            self.leave();
        }
        let began = Instant::now();
        while self.stage == Stage::Stopping && began.elapsed() < ENDS {
            self.fail();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Device for BlockDevice {
    fn path(&self) -> &Path {
        &self.path
    }

    fn client(&self) -> usize {
        UBLK
    }

    fn begin(
        &mut self,
        about: &About,
        registry: &Registry,
        _: &Arc<Attention>,
    ) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("ublk: {error}");
        let device = self.device.as_ref().ok_or("the device has ended")?;
        let (command, mut params) = (abi::SET_PARAMS, params(about));
        self.control.about(command, self.number, &mut params).map_err(failed)?;
        let queue = Queue::new(device, DEPTH, TRANSFER_BYTES_MAX).map_err(failed)?;
        for descriptor in [queue.descriptor(), self.control.descriptor()] {
            registry
                .register(&mut SourceFd(&descriptor), DEVICE, Interest::READABLE)
                .map_err(failed)?;
        }
        (self.queue, self.about) = (Some(queue), Some(*about));
        let pid = std::process::id();
        self.control.begin(abi::START_DEV, self.number, pid.into()).map_err(failed)?;
        self.stage = Stage::Starting;
        Ok(())
    }

    fn receive(
        &mut self,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) -> Result<(), String> {
        self.hear();
        while let Some((tag, asked)) = self.next() {
            let request = &mut self.requests[usize::from(tag)];
            request.number = request.number.wrapping_add(1);
            request.is_in_drive = true;
            request.is_read = asked.command == Command::Read;
            request.offset_bytes = asked.offset_bytes;
            request.length_bytes = match asked.command {
                Command::Read | Command::Write(_) => asked.length_bytes,
                _ => 0,
            };
            let cookie = u64::from(request.number) << 16 | u64::from(tag);
            let mut command = asked.command;
            if let (Command::Write(bytes), Some(queue)) = (&mut command, &mut self.queue) {
                *bytes = queue.buffer(tag, asked.length_bytes).to_vec();
            }
            of_device.extend(served.submit(Io {
                client: UBLK,
                cookie,
                command,
                offset_bytes: asked.offset_bytes,
                length_bytes: asked.length_bytes,
                is_forced: asked.is_forced,
            }));
        }
        std::mem::replace(&mut self.of_driver, Ok(()))
    }

    fn finished(&mut self, finished: &Finished, served: &mut Served<'_>, _: &mut Vec<DeviceFault>) {
        let (tag, number) = (finished.cookie as u16, (finished.cookie >> 16) as u32);
        let request = &mut self.requests[usize::from(tag)];
        let Some(queue) = &mut self.queue else { return };
        if !request.is_in_drive || request.number != number {
            return;
        }
        request.is_in_drive = false;
        let mut errno = finished.errno;
        if errno == 0
            && request.is_read
            && let Err(error) =
                served.read(request.offset_bytes, queue.buffer(tag, request.length_bytes))
        {
            errno = error.raw_os_error().unwrap_or(EIO);
        }
        queue.answer(tag, if errno == 0 { request.length_bytes as i32 } else { -errno });
    }

    fn fail(&mut self) {
        self.hear();
        while let Some((tag, _)) = self.next() {
            self.requests[usize::from(tag)].is_in_drive = true;
        }
        let Some(queue) = &mut self.queue else { return };
        for (tag, request) in self.requests.iter_mut().enumerate() {
            if std::mem::take(&mut request.is_in_drive) {
                queue.answer(tag as u16, -EIO);
            }
        }
        self.flush();
    }

    fn flush(&mut self) {
        if let Some(queue) = &mut self.queue
            && let Err(error) = queue.submit()
        {
            self.of_driver = Err(format!("the ring of {}: {error}", self.path.display()));
        }
    }

    fn may_sleep(&mut self) -> bool {
        self.queue.as_mut().is_none_or(Queue::is_quiet)
    }

    fn leave(&mut self) -> bool {
        if matches!(self.stage, Stage::Starting | Stage::Live) {
            let begun = self.control.begin(abi::STOP_DEV, self.number, 0);
            self.stage = if begun.is_ok() { Stage::Stopping } else { Stage::Stopped };
        }
        self.stage != Stage::Stopping
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        self.end();
        // The kernel keeps the device as long as any of these is there.
        self.queue = None;
        self.device = None;
        self.control.remove(self.number);
    }
}
