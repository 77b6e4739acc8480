//! What must hold of a loaded disk.

use super::{Counts, Disk, Event, Work};
use crate::validity::{Checked, Clock, ensure, ensure_counts, same};

impl Disk {
    /// Fails unless a loaded drive, in which no command is, can go on as one that
    /// was `made`.
    pub(super) fn check(&self, made: &Self, clock: Clock) -> Checked {
        let Self {
            interface,
            command_ns,
            read_access_ns,
            write_access_ns,
            age_limit_ns,
            write_back,
            ignores_flush,
            mechanism,
            read_ahead,
            write_cache,
            events,
            commands: _,
            accesses,
            no_room,
            flushes,
            flushing,
            work,
            destaged: _,
            counts,
        } = self;
        same!(made; command_ns, read_access_ns, write_access_ns, age_limit_ns);
        same!(made; write_back, ignores_flush);
        ensure(
            accesses.is_empty() && no_room.is_empty() && *flushes == 0 && flushing.is_empty(),
            "a command in the drive",
        )?;
        interface.check(&made.interface, clock)?;
        mechanism.check(&made.mechanism, clock)?;
        read_ahead.check(&made.read_ahead, mechanism)?;
        let piece = match work {
            Work::None => None,
            Work::Destage(piece) => Some(piece),
            Work::Command(_) => return ensure(false, "an access of a command"),
        };
        ensure(piece.is_none() || !read_ahead.is_rolling(), "two pieces of work")?;
        write_cache.check(&made.write_cache, mechanism.geometry(), piece)?;
        // The mechanism's work has one event. That an access may start is said again
        // when nobody waits for it any more.
        clock.ensure_due(events.iter().map(|&(at_ns, _)| at_ns))?;
        let passed = events.count(|event| matches!(event, Event::Passed));
        let ready = events.count(|event| matches!(event, Event::Ready));
        ensure(passed == usize::from(piece.is_some()), "the end of the work")?;
        ensure(events.iter().count() == passed + ready, "an event of a command")?;
        let Counts { accesses, destages, read_hits } = *counts;
        ensure_counts([accesses, destages, read_hits])
    }
}
