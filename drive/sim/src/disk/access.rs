//! Which of the commands that wait for the mechanism goes next.

use super::geometry::Place;
use super::{Disk, Event, Work, sectors};
use serde::{Deserialize, Serialize};

/// A command that waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Access {
    pub tag: u32,
    pub ready_ns: u64,
    pub start: u64,
    pub place: Place,
    pub write: bool,
}

impl Disk {
    /// Starts the oldest access that is over the age limit, or else the one that can begin
    /// first; false if none is ready.
    pub(super) fn start_access(&mut self, now_ns: u64) -> bool {
        let (mechanism, age_limit_ns) = (&self.mechanism, self.age_limit_ns);
        let continues =
            |access: &Access| !access.write && mechanism.continues(now_ns, access.start);
        let nearest = (self.accesses.iter().enumerate())
            // What continues the transfer that ends now needs no positioning
            // that could have been prepared.
            .filter(|(_, access)| access.ready_ns <= now_ns || continues(access))
            .map(|(index, access)| {
                let is_old = now_ns.saturating_sub(access.ready_ns) >= age_limit_ns;
                let since_ns = if is_old { access.ready_ns } else { u64::MAX };
                let write = access.write;
                let begin_ns = mechanism.begin_ns(now_ns, access.start, &access.place, write);
                (since_ns, begin_ns, index)
            })
            .min();
        let Some((_, _, index)) = nearest else {
            return false;
        };
        let index = self.first_of_run(now_ns, index);
        let access = self.accesses.swap_remove(index);
        let command = &mut self.commands[access.tag];
        let (start, end) = sectors(&command.request);
        if access.write {
            let bytes = u64::from(command.request.length_bytes);
            command.link_end_ns = self.interface.link.send_to_drive(now_ns, bytes, true);
        }
        self.read_ahead.stop(&mut self.mechanism, now_ns);
        let passed_ns = self.mechanism.transfer(now_ns, start, &access.place, end, access.write);
        self.counts.accesses += 1;
        self.destaged = false;
        self.work = Work::Command(access.tag);
        self.events.push(passed_ns, Event::Passed);
        true
    }

    /// The first of the reads, or writes, of which each waits and continues the one before, up to
    /// the access at `index`: they are one piece of work to the firmware.
    fn first_of_run(&self, now_ns: u64, index: usize) -> usize {
        let mut first = index;
        while let Some(before) = self.accesses.iter().position(|access| {
            let next = &self.accesses[first];
            access.write == next.write
                && access.start < next.start
                && access.ready_ns <= now_ns
                && sectors(&self.commands[access.tag].request).1 == next.start
        }) {
            first = before;
        }
        first
    }
}
