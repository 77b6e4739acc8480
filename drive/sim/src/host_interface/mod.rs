//! The way of a command between host and drive, the same for every model: the
//! host's software, the queue of those that wait at the host, the drive's
//! command queue, the firmware's processor, and the link.

mod by_tag;
mod elevator;
mod link;

pub use by_tag::ByTag;
pub use link::{Link, host_truths, transfer_ns};

use crate::specification;
use crate::validity::{Checked, Clock, ensure, same};
use elevator::Elevator;
use serde::{Deserialize, Serialize};

/// What stands between the host's software and a model of flash or platters.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostInterface {
    /// The cable.
    pub link: Link,
    /// From the host's software to the firmware.
    command_delay_ns: u64,
    command_queue_depth: u32,
    /// Commands that the drive has accepted and not completed.
    inside: u32,
    /// Commands that wait in the host for a place in the command queue.
    waiting: Elevator,
    firmware_free_ns: u64,
}

impl HostInterface {
    /// Nothing is on its way. `host_ns` is the host's time for a command that
    /// others do not wait for; `window` how many of the oldest commands that wait
    /// the host chooses from.
    pub fn new(specification: &specification::Link, host_ns: u64, window: u32) -> Self {
        Self {
            link: Link::new(specification),
            command_delay_ns: host_ns + specification.interface.command_latency_ns(),
            command_queue_depth: specification.queue_depth.value,
            inside: 0,
            waiting: Elevator::new(window),
            firmware_free_ns: 0,
        }
    }

    /// Fails unless a loaded interface, without commands, can go on as one that was
    /// `made`.
    pub fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self { link, command_delay_ns, command_queue_depth, inside, waiting, firmware_free_ns } =
            self;
        same!(made; command_delay_ns, command_queue_depth);
        ensure(*inside == 0, "a command in the drive")?;
        waiting.check(&made.waiting)?;
        clock.ensure_soon([*firmware_free_ns])?;
        link.check(&made.link, clock)
    }

    /// The host issues a command at an address. Returns when it reaches the drive;
    /// `None` where it waits, in the host, for a place in the command queue.
    #[inline]
    pub fn issue(&mut self, at_ns: u64, tag: u32, address: u64) -> Option<u64> {
        if self.inside == self.command_queue_depth {
            self.hold(at_ns, tag, address);
            return None;
        }
        self.inside += 1;
        Some(at_ns + self.command_delay_ns)
    }

    /// The host keeps back a command that it issues, whatever place there is.
    #[inline]
    pub fn hold(&mut self, at_ns: u64, tag: u32, address: u64) {
        self.waiting.push(at_ns + self.command_delay_ns, tag, address);
    }

    /// The firmware's processor takes up a command after those before it, and
    /// works on it for `overhead_ns`; returns until when.
    #[inline]
    pub fn take_up(&mut self, arrival_ns: u64, overhead_ns: u64) -> u64 {
        self.firmware_free_ns = self.firmware_free_ns.max(arrival_ns) + overhead_ns;
        self.firmware_free_ns
    }

    /// A command has left the drive.
    #[inline]
    pub fn leave(&mut self) {
        self.inside -= 1;
    }

    /// Every command is forgotten, in the drive and at the host.
    pub fn lose_power(&mut self) {
        self.inside = 0;
        self.waiting.clear();
    }

    /// The next command of those that waited, and when it reaches the drive, if
    /// there is a place for it now.
    #[inline]
    pub fn enter(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.inside == self.command_queue_depth {
            return None;
        }
        let (arrival_ns, tag) = self.waiting.pop()?;
        self.inside += 1;
        Some((arrival_ns.max(now_ns), tag))
    }

    /// Commands in the drive.
    #[inline]
    pub fn inside(&self) -> u32 {
        self.inside
    }
}
