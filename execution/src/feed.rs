//! The requests of a trace, read by a thread of their own: what reading takes must not
//! make I/Os late.

use fourcorners_workload::{Content, Recorded, TimedRequest};
use std::sync::mpsc::{Receiver, sync_channel};

/// Batches that are read ahead: with some thousand requests each, a few MB.
const BATCHES: usize = 16;

/// The requests as they come.
pub(crate) struct Feed {
    batches: Receiver<Result<Vec<TimedRequest>, String>>,
    batch: std::vec::IntoIter<TimedRequest>,
}

impl Feed {
    pub(crate) fn start(source: Box<dyn Recorded + Send>, content: Content) -> Self {
        let (sender, batches) = sync_channel(BATCHES);
        std::thread::spawn(move || {
            let poured = source.pour(content, &mut |batch| {
                // Without a receiver nobody wants more.
                sender.send(Ok(std::mem::take(batch))).is_ok()
            });
            if let Err(error) = poured {
                let _ = sender.send(Err(error));
            }
        });
        Self { batches, batch: Vec::new().into_iter() }
    }

    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// The trace cannot be read on.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<TimedRequest>, String> {
        loop {
            if let Some(one) = self.batch.next() {
                return Ok(Some(one));
            }
            match self.batches.recv() {
                Ok(batch) => self.batch = batch?.into_iter(),
                Err(_) => return Ok(None),
            }
        }
    }
}
