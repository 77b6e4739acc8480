//! The requests of a trace, read by a thread of their own: what reading takes must not
//! make I/Os late.

use fourcorners_workload::{Content, Recorded, TimedRequest};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// Batches that are read ahead: with some thousand requests each, a few MB.
const BATCHES: usize = 16;

/// The requests as they come.
pub(crate) struct Feed {
    batches: Receiver<Result<Vec<TimedRequest>, String>>,
    /// Batches that were used go back: new memory for each costs as much as reading it.
    used: Sender<Vec<TimedRequest>>,
    batch: Vec<TimedRequest>,
    next: usize,
}

impl Feed {
    pub(crate) fn start(source: Box<dyn Recorded + Send>, content: Content) -> Self {
        let (sender, batches) = sync_channel(BATCHES);
        let (used, empty) = channel::<Vec<TimedRequest>>();
        std::thread::spawn(move || {
            let poured = source.pour(content, &mut |batch| {
                let mut fresh = empty.try_recv().unwrap_or_default();
                fresh.clear();
                // Without a receiver nobody wants more.
                sender.send(Ok(std::mem::replace(batch, fresh))).is_ok()
            });
            if let Err(error) = poured {
                let _ = sender.send(Err(error));
            }
        });
        Self { batches, used, batch: Vec::new(), next: 0 }
    }

    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// The trace cannot be read on.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<TimedRequest>, String> {
        loop {
            if let Some(one) = self.batch.get(self.next) {
                self.next += 1;
                return Ok(Some(*one));
            }
            let Ok(batch) = self.batches.recv() else { return Ok(None) };
            // Without a receiver everything has been read.
            let _ = self.used.send(std::mem::replace(&mut self.batch, batch?));
            self.next = 0;
        }
    }
}
