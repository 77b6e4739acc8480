//! How a session ends: power fails, or the drive is shut down.

use super::{OUTSTANDING_MAX, Served};
use crate::injection::hash;
use crate::io::{Command, Finished, Io, TRANSFER_BYTES_MAX};
use crate::pending::Pending;
use crate::tally::Cut;

impl Served<'_> {
    /// Power fails: what the drive says is lost is what it was when it was durable
    /// last, and of each write that was not acknowledged the seed decides how many of
    /// its sectors reached the medium. Nobody is answered any more.
    ///
    /// # Errors
    /// A drive that cannot say what is lost, and a data file that cannot be written.
    pub fn power_cut(&mut self) -> Result<Cut, String> {
        let at_ns = self.drive.now_ns() - self.start_ns;
        let lost = self.drive.power_cut()?;
        let failed = |error: std::io::Error| format!("the data cannot be put back: {error}");
        let restored_bytes = self.contents.roll_back(&lost).map_err(failed)?;
        let mut unacknowledged: Vec<Pending> =
            self.slots.iter_mut().filter_map(Option::take).collect();
        unacknowledged.extend(std::mem::take(&mut self.delayed).into_values());
        unacknowledged.append(&mut self.hanging);
        unacknowledged.sort_by_key(|pending| pending.number);
        let unacknowledged_ios = unacknowledged.len() + self.waiting.len();
        for pending in unacknowledged {
            self.seen(&pending, None);
            if let Command::Write(bytes) = &pending.io.command {
                let sectors = bytes.len() as u64 / 512;
                // None of it as often as any other number of sectors is too rare a case.
                let draw = hash(self.seed, at_ns, pending.number);
                let kept = if draw & 1 == 0 { 0 } else { (draw >> 1) % (sectors + 1) * 512 };
                let reached = &bytes[..kept as usize];
                self.contents.reach(pending.io.offset_bytes, reached).map_err(failed)?;
            }
        }
        self.waiting.clear();
        self.is_held = false;
        self.outstanding = 0;
        self.free = (0..OUTSTANDING_MAX).rev().collect();
        self.drive
            .prepare(OUTSTANDING_MAX, TRANSFER_BYTES_MAX)
            .map_err(|error| error.to_string())?;
        let cut = Cut {
            at_ns,
            written_ios: self.tally.written_ios(),
            lost: lost.iter().map(|range| (range.start, range.end - range.start)).collect(),
            restored_bytes,
            unacknowledged_ios: unacknowledged_ios as u64,
        };
        self.tally.cut(cut.clone());
        Ok(cut)
    }

    /// Ends as a machine that is shut down does: the drive serves what it was given,
    /// and flushes.
    ///
    /// # Errors
    /// A drive that can serve nothing more.
    pub fn shut_down(&mut self, finished: &mut Vec<Finished>) -> Result<(), String> {
        let now_ns = self.drive.now_ns();
        self.clear_faults(None, now_ns);
        self.is_held = false;
        let flush = Io {
            client: usize::MAX,
            cookie: 0,
            command: Command::Flush,
            offset_bytes: 0,
            length_bytes: 0,
            is_forced: false,
        };
        self.waiting.push_back(flush);
        while self.outstanding > 0 || !self.waiting.is_empty() || !self.delayed.is_empty() {
            let now_ns = self.drive.now_ns();
            let next_ns = self.next_ns().filter(|&at_ns| at_ns < u64::MAX);
            self.advance(next_ns.unwrap_or(now_ns + 50_000), finished)?;
        }
        self.contents.data().sync().map_err(|error| format!("the data file: {error}"))
    }
}
