//! How a part of the drive learns that no command has come for some time.

use crate::validity::{Checked, Clock, ensure, same};
use serde::{Deserialize, Serialize};

/// Asks for one event at a time, however many commands come and go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IdleTimer {
    delay_ns: u64,
    idle_since_ns: u64,
    /// Whether an event stands for the end of the delay.
    waits: bool,
}

/// What the end of a delay means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The drive has been idle for the whole delay.
    Rested,
    /// The drive is at work.
    Busy,
    /// The drive has been idle for a part of the delay: ask again then.
    AskAgain(u64),
}

impl IdleTimer {
    /// A timer of a drive that has not rested yet.
    pub fn new(delay_ns: u64) -> Self {
        Self { delay_ns, idle_since_ns: 0, waits: false }
    }

    /// Fails unless a loaded timer can go on as one that was `made`, with so many
    /// events that stand for the end of its delay.
    pub fn check(&self, made: &Self, clock: Clock, events: usize) -> Checked {
        let Self { delay_ns, idle_since_ns, waits } = self;
        same!(made; delay_ns);
        clock.ensure_past([*idle_since_ns])?;
        ensure(usize::from(*waits) == events, "a timer of idle time")
    }

    /// The timer after the drive has started anew.
    pub fn restarted(&self) -> Self {
        Self::new(self.delay_ns)
    }

    /// The last command is done. Returns when to ask [`IdleTimer::ended`].
    #[inline]
    pub fn rest(&mut self, now_ns: u64) -> Option<u64> {
        self.idle_since_ns = now_ns;
        if self.waits {
            return None;
        }
        self.waits = true;
        Some(now_ns + self.delay_ns)
    }

    /// A delay has passed; `idle` says that no command is in the drive.
    pub fn ended(&mut self, now_ns: u64, idle: bool) -> Rest {
        let due_ns = self.idle_since_ns + self.delay_ns;
        self.waits = idle && due_ns > now_ns;
        match (self.waits, idle) {
            (true, _) => Rest::AskAgain(due_ns),
            (_, true) => Rest::Rested,
            (_, false) => Rest::Busy,
        }
    }
}
