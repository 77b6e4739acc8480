//! The NBD protocol: fixed newstyle handshake, simple and structured replies,
//! `base:allocation`. Sockets are elsewhere, so that all of it can be tried by bytes.
//!
//! Left out, and refused by the protocol's own errors: TLS, extended headers, resizing.

mod connection;
mod handshake;
mod replies;
mod requests;
mod wire;

pub use connection::Connection;
pub(crate) use connection::{LARGE_BYTES, Use};
pub use handshake::Export;
