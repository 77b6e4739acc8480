//! Makes and removes devices.

use super::abi::{self, ControlCommand, DeviceInfo};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};

const PATH: &str = "/dev/ublk-control";

/// Marks devices as ours; below it is the number of the process that serves one.
const MARK: u64 = 0x4643_7562 << 32;

/// A hold on the driver.
pub struct Control {
    device: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Control {
    /// # Errors
    /// In one sentence: a kernel without ublk, and who may not use it.
    pub fn open() -> Result<Self, String> {
        let device = OpenOptions::new().read(true).write(true).open(PATH).map_err(|error| {
            match error.kind() {
                ErrorKind::NotFound => format!(
                    "this kernel has no ublk ({PATH} is missing): Linux 6.4 or later has it, \
                     perhaps after modprobe ublk_drv; --fuse FILE --loop gives a block device, too"
                ),
                ErrorKind::PermissionDenied => only_root(),
                _ => format!("ublk cannot be used: {PATH}: {error}"),
            }
        })?;
        let ring = IoUring::builder().build(4).map_err(|error| {
            format!("ublk needs io_uring, which this system does not permit: {error}")
        })?;
        Ok(Self { device, ring })
    }

    /// What becomes readable when a command has ended that was begun.
    pub fn descriptor(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    /// Adds a device of one queue, marked as ours, and returns its number.
    ///
    /// # Errors
    /// In one sentence.
    pub fn add(&mut self, queue_depth: u16, io_bytes_max: u32) -> Result<u32, String> {
        let mut info = DeviceInfo {
            hardware_queues: 1,
            queue_depth,
            io_bytes_max,
            dev_id: abi::ANY_DEVICE,
            flags: abi::COMPLETES_IN_TASK | abi::IOCTL_ENCODED,
            server_flags: MARK | u64::from(std::process::id()),
            ..DeviceInfo::default()
        };
        match self.about(abi::ADD_DEV, abi::ANY_DEVICE, &mut info) {
            Ok(()) => Ok(info.dev_id),
            Err(error) => Err(match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => only_root(),
                Some(libc::EOPNOTSUPP | libc::EINVAL) => {
                    "this kernel's ublk is too old: Linux 6.4 or later is needed".into()
                }
                _ => format!("ublk makes no device: {error}"),
            }),
        }
    }

    /// Does a command about a device that has a structure to read or write.
    ///
    /// # Errors
    /// What the driver says.
    pub fn about<T>(&mut self, command: u32, device: u32, about: &mut T) -> io::Result<()> {
        let told = ControlCommand {
            dev_id: device,
            queue_id: abi::NO_QUEUE,
            len: size_of::<T>() as u16,
            addr: std::ptr::from_mut(about) as u64,
            ..ControlCommand::default()
        };
        self.done(command, told)
    }

    /// Begins a command about a device, whose end [`Control::ended`] tells.
    ///
    /// # Errors
    /// A ring that takes nothing.
    pub fn begin(&mut self, command: u32, device: u32, data: u64) -> io::Result<()> {
        let queue_id = abi::NO_QUEUE;
        self.push(command, ControlCommand { dev_id: device, queue_id, data, ..Default::default() });
        patient(|| self.ring.submit()).map(drop)
    }

    /// A command that has ended since: which one, and 0 or less what the driver says.
    pub fn ended(&mut self) -> Option<(u32, i32)> {
        let ended = self.ring.completion().next()?;
        Some((ended.user_data() as u32, ended.result()))
    }

    /// Removes a device that serves nothing. What still has it open does not hold this up,
    /// where the kernel can do that.
    pub fn remove(&mut self, device: u32) {
        let told =
            ControlCommand { dev_id: device, queue_id: abi::NO_QUEUE, ..ControlCommand::default() };
        if let Err(error) = self.done(abi::DEL_DEV_ASYNC, told)
            && matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL))
        {
            let _ = self.done(abi::DEL_DEV, told);
        }
    }

    /// Removes what killed servers left.
    pub fn remove_left(&mut self) {
        let Ok(entries) = std::fs::read_dir("/dev") else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("ublkc")?.parse().ok());
            let Some(device) = number else { continue };
            if self.is_left(device) {
                self.remove(device);
            }
        }
    }

    /// Whether a device is one that a killed server of ours left.
    fn is_left(&mut self, device: u32) -> bool {
        let mut info = DeviceInfo::default();
        if self.about(abi::GET_DEV_INFO, device, &mut info).is_err()
            || info.server_flags >> 32 != MARK >> 32
        {
            return false;
        }
        // Only a server has the device open, which one at a time can; but one that has just
        // added it has not opened it yet.
        !is_alive(info.server_flags as u32) && open(device).is_ok()
    }

    /// Does a command and waits for its end.
    fn done(&mut self, command: u32, told: ControlCommand) -> io::Result<()> {
        self.push(command, told);
        loop {
            patient(|| self.ring.submit_and_wait(1))?;
            match self.ended() {
                Some((ended, result)) if ended == command && result < 0 => {
                    return Err(io::Error::from_raw_os_error(-result));
                }
                Some((ended, _)) if ended == command => return Ok(()),
                _ => {}
            }
        }
    }

    fn push(&mut self, command: u32, told: ControlCommand) {
        // SAFETY: both are 32 bytes without gaps.
        let told: [u8; 32] = unsafe { std::mem::transmute(told) };
        let mut words = [0; 80];
        words[..32].copy_from_slice(&told);
        let entry = opcode::UringCmd80::new(types::Fd(self.device.as_raw_fd()), command)
            .cmd(words)
            .build()
            .user_data(command.into());
        // SAFETY: what the command points to outlives it, since whoever passes that waits.
        unsafe { self.ring.submission().push(&entry) }.expect("one or two at a time");
    }
}

/// Whether a process is there, and not only what is left of it until somebody asks.
fn is_alive(pid: u32) -> bool {
    let Ok(told) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // After the name, which may contain anything.
    let state = told.rsplit_once(')').map_or("", |(_, rest)| rest.trim_start());
    !state.starts_with(['Z', 'X'])
}

/// The device as the server sees it, which one process at a time can open.
///
/// # Errors
/// What the system says.
pub fn open(device: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/dev/ublkc{device}"))
}

fn only_root() -> String {
    "only root may make a block device with ublk: use sudo, or --fuse FILE".into()
}

/// Does it again where a signal came between.
pub fn patient(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
