//! What follows from what a die has done.

use super::PageMapped;
use super::flash::DieEvent;
use fourcorners_target::Completion;

impl PageMapped {
    /// What follows from an event of a die, or of another lane.
    #[inline(always)]
    pub(super) fn after_die(
        &mut self,
        now_ns: u64,
        lane: u32,
        event: DieEvent,
        done: &mut Vec<Completion>,
    ) {
        match event {
            DieEvent::Underway => return,
            DieEvent::Delivered(read) => self.deliver(now_ns, read),
            DieEvent::Released(bytes) => {
                if bytes > 0 {
                    self.settled(now_ns, lane, done);
                    self.released(now_ns, bytes);
                }
                self.drain(now_ns, lane);
            }
        }
        if self.background.is_some() {
            self.collect_in_background(now_ns, lane);
        }
    }

    // Apart from the way of most drives, which is shorter without it.
    #[inline(never)]
    pub(super) fn step_planes(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        let (lane, event) = self.flash.step_planes();
        self.after_die(now_ns, lane, event, done);
        if self.background.is_some() {
            for other in self.flash.lanes_of_die(lane) {
                self.collect_in_background(now_ns, other);
            }
        }
    }
}
