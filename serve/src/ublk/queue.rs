//! The kernel's requests on the server's thread: each has a tag, a descriptor that the
//! kernel fills in, and a buffer for its data.

use super::abi::{self, Descriptor, IoCommand};
use super::control::patient;
use io_uring::{IoUring, opcode, types};
use memmap2::{MmapMut, MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// A ring of requests of one device. Only the thread that made it may use it: the kernel
/// knows the server by its thread.
pub struct Queue {
    ring: IoUring,
    device: RawFd,
    descriptors: MmapRaw,
    buffers: MmapMut,
    buffer_bytes: usize,
}

/// What the kernel says of a tag.
pub enum Event {
    /// A request, which is the server's now.
    Asked(u16, Descriptor),
    /// Nothing more will be asked with it: the device is stopped.
    Over,
    /// The driver refuses to go on with it; an errno.
    Refused(i32),
}

impl Queue {
    /// Takes every request of a device from now on.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(device: &File, depth: u16, buffer_bytes: u32) -> io::Result<Self> {
        let ring = IoUring::builder().setup_single_issuer().build(depth.into())?;
        let length_bytes = usize::from(depth) * size_of::<Descriptor>();
        let descriptors =
            MmapOptions::new().offset(0).len(length_bytes).map_raw_read_only(device)?;
        // A child that saves the drive's state would keep the device open with it.
        descriptors.advise(memmap2::Advice::DontFork)?;
        // Pages that no request has used take no room.
        let buffer_bytes = buffer_bytes as usize;
        let buffers = MmapMut::map_anon(usize::from(depth) * buffer_bytes)?;
        let device = device.as_raw_fd();
        let mut queue = Self { ring, device, descriptors, buffers, buffer_bytes };
        for tag in 0..depth {
            queue.push(abi::FETCH, tag, 0);
        }
        queue.submit()?;
        Ok(queue)
    }

    /// What becomes readable when something is asked.
    pub fn descriptor(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    /// The next thing that the kernel says.
    pub fn next(&mut self) -> Option<Event> {
        let entry = self.ring.completion().next()?;
        let tag = entry.user_data() as u16;
        Some(match entry.result() {
            0 => Event::Asked(tag, self.read_descriptor(tag)),
            abi::ABORTED => Event::Over,
            result => Event::Refused(-result),
        })
    }

    fn read_descriptor(&self, tag: u16) -> Descriptor {
        let descriptors: *const Descriptor = self.descriptors.as_ptr().cast();
        // SAFETY: the tag is one of ours, and the driver has written its descriptor before it
        // said so. It is read as a whole, once.
        unsafe { descriptors.add(tag.into()).read_volatile() }
    }

    /// The data of a tag's request.
    pub fn buffer(&mut self, tag: u16, length_bytes: u32) -> &mut [u8] {
        let start = usize::from(tag) * self.buffer_bytes;
        &mut self.buffers[start..start + length_bytes as usize]
    }

    /// Answers a request: bytes of a transfer, 0, or less an errno. It is sent by
    /// [`Queue::submit`].
    pub fn answer(&mut self, tag: u16, result: i32) {
        self.push(abi::COMMIT_AND_FETCH, tag, result);
    }

    /// Sends what was answered.
    ///
    /// # Errors
    /// What the system says.
    pub fn submit(&mut self) -> io::Result<()> {
        if !self.ring.submission().is_empty() {
            patient(|| self.ring.submit())?;
        }
        Ok(())
    }

    /// Whether the kernel has said nothing that was not heard.
    pub fn is_quiet(&mut self) -> bool {
        self.ring.completion().is_empty()
    }

    fn push(&mut self, command: u32, tag: u16, result: i32) {
        let addr = self.buffers.as_ptr() as u64 + u64::from(tag) * self.buffer_bytes as u64;
        let told = IoCommand { queue_id: 0, tag, result, addr };
        // SAFETY: both are 16 bytes without gaps.
        let told: [u8; 16] = unsafe { std::mem::transmute(told) };
        let entry = opcode::UringCmd16::new(types::Fd(self.device), command)
            .cmd(told)
            .build()
            .user_data(tag.into());
        // SAFETY: the buffer lives as long as the ring; the kernel uses it until it gives the
        // tag back.
        unsafe { self.ring.submission().push(&entry) }.expect("there is a place for each tag");
    }
}
