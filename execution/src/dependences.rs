//! Which I/Os of a trace had completed when another was issued: what that may have
//! depended on.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Recorded completions that are waited for: more than any device has outstanding.
/// Beyond it the earliest counts as completed.
const OUTSTANDING_MAX: usize = 1 << 16;

/// Number of no I/O.
const NONE: u64 = u64::MAX;

/// What the next I/O waits for. I/Os are issued in the order of the trace, so that one
/// waits for all that its predecessors waited for.
pub(crate) struct Dependences {
    /// Of issued I/Os: recorded completion, number and slot, earliest first.
    recorded: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// By slot: number of the I/O that is outstanding there.
    numbers: Vec<u64>,
    /// By slot: the next I/O waits for it.
    awaited: Vec<bool>,
    awaited_count: u32,
    /// When I/Os completed here that have not completed in the trace yet.
    ended_ns: HashMap<u64, u64>,
    issued: u64,
    /// Number, completion in the trace and here of the one that the next I/O followed.
    anchor: Option<(u64, u64, u64)>,
    /// Latest completion here of those that had completed in the trace.
    latest_ns: u64,
}

impl Dependences {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            recorded: BinaryHeap::new(),
            numbers: vec![NONE; slots],
            awaited: vec![false; slots],
            awaited_count: 0,
            ended_ns: HashMap::new(),
            issued: 0,
            anchor: None,
            latest_ns: 0,
        }
    }

    /// The next I/O was recorded at `time_ns`: I/Os that were outstanding then.
    pub(crate) fn outstanding_at(&mut self, time_ns: u64) -> u32 {
        while let Some(&Reverse((recorded_ns, number, slot))) = self.recorded.peek() {
            if recorded_ns > time_ns && self.recorded.len() < OUTSTANDING_MAX {
                break;
            }
            self.recorded.pop();
            if self.numbers[slot as usize] == number {
                self.awaited[slot as usize] = true;
                self.awaited_count += 1;
                self.anchor = Some((number, recorded_ns, 0));
            } else {
                let ended_ns = self.ended_ns.remove(&number).unwrap_or(0);
                self.latest_ns = self.latest_ns.max(ended_ns);
                self.anchor = Some((number, recorded_ns, ended_ns));
            }
        }
        self.recorded.len() as u32
    }

    /// An I/O was issued that had completed at `recorded_ns` in the trace.
    pub(crate) fn issued(&mut self, slot: u32, recorded_ns: Option<u64>) {
        if let Some(recorded_ns) = recorded_ns {
            self.numbers[slot as usize] = self.issued;
            self.recorded.push(Reverse((recorded_ns, self.issued, slot)));
        }
        self.issued += 1;
    }

    /// The I/O of a slot has completed.
    pub(crate) fn completed(&mut self, slot: u32, now_ns: u64) {
        let number = std::mem::replace(&mut self.numbers[slot as usize], NONE);
        if number == NONE {
            return;
        }
        if !std::mem::take(&mut self.awaited[slot as usize]) {
            self.ended_ns.insert(number, now_ns);
            return;
        }
        self.awaited_count -= 1;
        self.latest_ns = self.latest_ns.max(now_ns);
        if let Some((anchor, _, ended_ns)) = &mut self.anchor
            && *anchor == number
        {
            *ended_ns = now_ns;
        }
    }

    /// When the next I/O is due that was recorded at `time_ns`: `None` while it waits
    /// for a completion. `scaled` makes of a recorded time what it lasts here.
    pub(crate) fn due_ns(
        &self,
        time_ns: u64,
        started_ns: u64,
        scaled: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        if self.awaited_count > 0 {
            return None;
        }
        Some(match self.anchor {
            None => started_ns + scaled(time_ns),
            Some((_, recorded_ns, ended_ns)) => {
                self.latest_ns.max(ended_ns + scaled(time_ns.saturating_sub(recorded_ns)))
            }
        })
    }
}
