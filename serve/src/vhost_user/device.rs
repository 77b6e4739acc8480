//! The device at the server's side: guests' requests become I/Os, and their ends answers.

use super::backend::{Backend, Memory, Place, Request};
use super::request::{FAILED, OK};
use crate::attention::Attention;
use crate::device::{About, Device};
use crate::inbox::Inbox;
use crate::injection::DeviceFault;
use crate::io::{Command, Finished, Io};
use crate::listen::Listener;
use crate::served::Served;
use mio::Registry;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use slab::Slab;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use vhost_user_backend::{ShutdownHandle, VhostUserDaemon};
use vm_memory::GuestMemoryMmap;

const VHOST_USER: usize = 2;

/// Between two tries to take up a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// A drive behind a socket of vhost-user.
struct Socket {
    path: PathBuf,
    inbox: Arc<Inbox<Request>>,
    requests: Vec<Request>,
    in_flight: Slab<InFlight>,
    /// Counts requests, so that the end of one that was given up is not another's.
    number: u32,
    /// Where guests are to be told that something was answered.
    answered: Vec<Place>,
    buffer: Vec<u8>,
    hearing: Option<Hearing>,
    /// It is removed with its path.
    listener: Listener,
}

struct InFlight {
    place: Place,
    /// What a read reads.
    range: Option<(u64, u32)>,
    number: u32,
}

/// The thread that waits for virtual machines.
struct Hearing {
    thread: JoinHandle<()>,
    end: Arc<End>,
}

/// How that thread is told to end.
struct End {
    is_near: OwnedFd,
    connection: Mutex<Option<ShutdownHandle>>,
}

/// Listens for virtual machines at a socket that only this user may connect to.
///
/// # Errors
/// In one sentence: a path that is in use, or a folder where others could put another
/// socket in its place.
pub fn socket(path: &Path) -> Result<Box<dyn Device>, String> {
    let listener = Listener::at_path(path)?;
    Ok(Box::new(Socket {
        path: path.into(),
        inbox: Arc::default(),
        requests: Vec::new(),
        in_flight: Slab::new(),
        number: 0,
        answered: Vec::new(),
        buffer: Vec::new(),
        hearing: None,
        listener,
    }))
}

impl Hearing {
    fn begin(listener: &Listener, backend: Backend) -> std::io::Result<Self> {
        let listener = listener.another()?;
        let end = Arc::new(End {
            is_near: eventfd(0, EventfdFlags::CLOEXEC)?,
            connection: Mutex::default(),
        });
        let told = Arc::clone(&end);
        let thread = std::thread::Builder::new()
            .name("vhost-user".into())
            .spawn(move || hear(&listener, &Arc::new(backend), &told))?;
        Ok(Self { thread, end })
    }

    fn end(self) {
        let _ = rustix::io::write(&self.end.is_near, &1_u64.to_ne_bytes());
        if let Ok(connection) = self.end.connection.lock()
            && let Some(connection) = &*connection
        {
            connection.shutdown();
        }
        let _ = self.thread.join();
    }
}

/// Serves one virtual machine after the other, until the end is near.
fn hear(listener: &UnixListener, backend: &Arc<Backend>, end: &End) {
    let Ok(accepting) = listener.try_clone() else { return };
    let mut accepting = vhost::vhost_user::Listener::from(accepting);
    loop {
        let mut waited =
            [PollFd::new(&end.is_near, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        match poll(&mut waited, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(_) if waited[0].revents().is_empty() => {}
            _ => return,
        }
        let memory = Memory::new(GuestMemoryMmap::new());
        let daemon = VhostUserDaemon::new("vhost-user".into(), Arc::clone(backend), memory);
        let Ok(mut daemon) = daemon else { return };
        if daemon.start(&mut accepting).is_err() {
            // Who connected has gone, or the machine has no thread to spare for the moment.
            std::thread::sleep(AGAIN);
            continue;
        }
        if let Ok(mut connection) = end.connection.lock() {
            *connection = daemon.shutdown_handle();
        }
        // The end may have come in between.
        let mut near = [PollFd::new(&end.is_near, PollFlags::IN)];
        if poll(&mut near, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            daemon.request_shutdown();
        }
        // How it ends is the virtual machine's own affair.
        let _ = daemon.wait();
    }
}

impl Socket {
    fn fail_all(&mut self) {
        for request in self.in_flight.drain() {
            request.place.answer(FAILED, &[]);
            request.place.notify();
        }
        self.inbox.take(&mut self.requests);
        for request in self.requests.drain(..) {
            request.place.answer(FAILED, &[]);
            request.place.notify();
        }
    }
}

impl Device for Socket {
    fn path(&self) -> &Path {
        &self.path
    }

    fn client(&self) -> usize {
        VHOST_USER
    }

    fn begin(
        &mut self,
        about: &About,
        _: &Registry,
        server: &Arc<Attention>,
    ) -> Result<(), String> {
        self.inbox.call_for(Arc::clone(server));
        let backend = Backend::new(*about, Arc::clone(&self.inbox));
        let hearing = Hearing::begin(&self.listener, backend)
            .map_err(|error| format!("vhost-user at {}: {error}", self.path.display()))?;
        self.hearing = Some(hearing);
        Ok(())
    }

    fn receive(
        &mut self,
        served: &mut Served<'_>,
        of_device: &mut Vec<DeviceFault>,
    ) -> Result<(), String> {
        let mut requests = std::mem::take(&mut self.requests);
        self.inbox.take(&mut requests);
        for Request { asked, place } in requests.drain(..) {
            self.number = self.number.wrapping_add(1);
            let range = (asked.command == Command::Read)
                .then_some((asked.offset_bytes, asked.length_bytes));
            let key = self.in_flight.insert(InFlight { place, range, number: self.number });
            of_device.extend(served.submit(Io {
                client: VHOST_USER,
                cookie: u64::from(self.number) << 32 | key as u64,
                command: asked.command,
                offset_bytes: asked.offset_bytes,
                length_bytes: asked.length_bytes,
                is_forced: asked.is_forced,
            }));
        }
        self.requests = requests;
        Ok(())
    }

    fn finished(&mut self, finished: &Finished, served: &mut Served<'_>, _: &mut Vec<DeviceFault>) {
        let (key, number) = (finished.cookie as u32 as usize, (finished.cookie >> 32) as u32);
        if self.in_flight.get(key).is_none_or(|request| request.number != number) {
            return;
        }
        let request = self.in_flight.remove(key);
        let (offset_bytes, length_bytes) = request.range.unwrap_or((0, 0));
        self.buffer.resize(length_bytes as usize, 0);
        let is_done = finished.errno == 0
            && (length_bytes == 0 || served.read(offset_bytes, &mut self.buffer).is_ok());
        if is_done {
            request.place.answer(OK, &self.buffer);
        } else {
            request.place.answer(FAILED, &[]);
        }
        self.answered.push(request.place);
    }

    fn fail(&mut self) {
        self.fail_all();
    }

    fn flush(&mut self) {
        for place in self.answered.drain(..) {
            place.notify();
        }
    }

    fn may_sleep(&mut self) -> bool {
        self.inbox.is_empty()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.inbox.end();
        self.fail_all();
        if let Some(hearing) = self.hearing.take() {
            hearing.end();
        }
    }
}
