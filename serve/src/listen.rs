//! Sockets that programs connect to: a Unix socket that is private to the user, or TCP.

use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use rustix::fs::{FileType, Mode, stat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A socket that programs connect to. A Unix socket is removed with it.
#[derive(Debug)]
pub enum Listener {
    /// At a path.
    Unix(UnixListener, PathBuf),
    /// At an address.
    Tcp(TcpListener),
}

/// A program's connection.
#[derive(Debug)]
pub enum Stream {
    /// By a path.
    Unix(UnixStream),
    /// By an address.
    Tcp(TcpStream),
}

impl Listener {
    /// Listens at `unix:PATH` or `HOST:PORT`. Beyond this machine only where `exposed`
    /// names the same address.
    ///
    /// # Errors
    /// In one sentence.
    pub fn new(address: &str, exposed: Option<&str>) -> Result<Self, String> {
        match address.strip_prefix("unix:") {
            Some(path) => Self::at_path(Path::new(path)),
            None => Self::at_address(address, exposed == Some(address)),
        }
    }

    /// A Unix socket that only this user may connect to.
    ///
    /// # Errors
    /// In one sentence: a path that is in use, or a folder where others could put
    /// another socket in its place.
    pub fn at_path(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let failed = |error: rustix::io::Errno| format!("the socket {shown}: {error}");
        check_folder(path, "the socket")?;
        Self::remove_stale(path)?;
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )
        .map_err(failed)?;
        let address = SocketAddrUnix::new(path).map_err(failed)?;
        rustix::net::bind(&socket, &address).map_err(failed)?;
        // Nobody can connect before it listens.
        rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        rustix::net::listen(&socket, 1024).map_err(failed)?;
        let listener = std::os::unix::net::UnixListener::from(socket);
        Ok(Self::Unix(UnixListener::from_std(listener), path.into()))
    }

    /// Removes what a server left that was killed.
    fn remove_stale(path: &Path) -> Result<(), String> {
        let shown = path.display();
        let Ok(about) = rustix::fs::lstat(path) else { return Ok(()) };
        if FileType::from_raw_mode(about.st_mode) != FileType::Socket {
            return Err(format!("{shown} is there and is no socket: name another path"));
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => Err(format!("{shown} is in use by another server: end that, or name another")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(|error| format!("{shown}: {error}"))
            }
            Err(error) => Err(format!("{shown} cannot be used: {error}")),
        }
    }

    fn at_address(address: &str, is_exposed: bool) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot listen at {address}: {error}");
        let form = || format!("\"{address}\": write unix:PATH or HOST:PORT, as in 127.0.0.1:10809");
        let found: Vec<SocketAddr> = address.to_socket_addrs().map_err(|_| form())?.collect();
        let first = *found.first().ok_or_else(form)?;
        if !is_exposed && found.iter().any(|found| !found.ip().is_loopback()) {
            return Err(format!(
                "{address} is reached from other machines: whoever connects reads and writes all \
                 of the served drive, without a password and without encryption (there is no TLS); \
                 if that is meant, say --expose {address}"
            ));
        }
        Ok(Self::Tcp(TcpListener::bind(first).map_err(failed)?))
    }

    /// Where it listens, as clients write it.
    pub fn uri(&self) -> String {
        match self {
            Self::Unix(_, path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("nbd+unix:///?socket={}", path.display())
            }
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("nbd://{address}"),
                Err(_) => "nbd://".into(),
            },
        }
    }

    /// The next program that connects.
    ///
    /// # Errors
    /// `WouldBlock` where there is none, and what the system says.
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                // Answers are small and waited for.
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// The same Unix socket for another thread.
    ///
    /// # Errors
    /// What the system says; a listener at an address.
    #[cfg(target_os = "linux")]
    pub(crate) fn another(&self) -> io::Result<std::os::unix::net::UnixListener> {
        match self {
            Self::Unix(listener, _) => Ok(listener.as_fd().try_clone_to_owned()?.into()),
            Self::Tcp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// What is waited on.
    pub fn source(&mut self) -> &mut dyn mio::event::Source {
        match self {
            Self::Unix(listener, _) => listener,
            Self::Tcp(listener) => listener,
        }
    }
}

/// Refuses a path where others could put something else in its place; `what` it is for.
pub(crate) fn check_folder(path: &Path, what: &str) -> Result<(), String> {
    let shown = path.display();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let about = stat(folder).map_err(|error| format!("{what} {shown}: {error}"))?;
    let mode = Mode::from_raw_mode(about.st_mode);
    let others = Mode::WGRP | Mode::WOTH;
    if mode.intersects(others) && !mode.contains(Mode::SVTX) {
        return Err(format!(
            "{what} {shown}: others can write to its folder and put their own in its place; name \
             one in a folder of your own"
        ));
    }
    Ok(())
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Stream {
    /// What is waited on.
    pub fn source(&mut self) -> &mut dyn mio::event::Source {
        match self {
            Self::Unix(stream) => stream,
            Self::Tcp(stream) => stream,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(from),
            Self::Tcp(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
