//! The drive for a virtual machine: a virtio block device by vhost-user.
//!
//! The guest's requests lie in its own memory, which the machine's program shares. The
//! crates of rust-vmm speak with that program and hear the guest on threads of theirs
//! ([`backend`]); what a request means is in [`request`]; the server's thread answers each
//! when the drive does ([`device`]).

mod backend;
mod device;
mod request;

pub use device::socket;
