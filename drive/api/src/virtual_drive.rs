//! What a drive in virtual time can do besides serving I/O.

use crate::Target;
use std::io::Write;
use std::ops::Range;

/// A drive whose clock moves only when it is told to, as one that serves it to
/// other programs needs it beside [`Target`]; from more than one thread, one at a time.
pub trait VirtualDrive: Target + Send {
    /// No outstanding request completes before this time; `None` where nobody
    /// knows, `u64::MAX` where nothing will happen.
    fn next_event_ns(&self) -> Option<u64> {
        None
    }

    /// Whether [`VirtualDrive::trim`] does anything.
    fn has_trim(&self) -> bool {
        false
    }

    /// The host no longer needs a range (TRIM). Only while nothing is outstanding.
    ///
    /// # Errors
    /// A drive that fails.
    fn trim(&mut self, _offset_bytes: u64, _length_bytes: u64) -> Result<(), String> {
        Ok(())
    }

    /// Whether what a flush or a forced write acknowledges is durable.
    fn honours_flush(&self) -> bool {
        true
    }

    /// Whether every write completes only when its data is durable, or in memory that
    /// capacitors keep.
    fn is_write_through(&self) -> bool {
        false
    }

    /// Whether [`VirtualDrive::power_cut`] may be called.
    ///
    /// # Errors
    /// Why the drive cannot say what a loss of power takes.
    fn can_lose_power(&self) -> Result<(), String> {
        Err("the drive cannot say what a loss of power takes".into())
    }

    /// The ranges of bytes that [`VirtualDrive::power_cut`] would say are lost if
    /// it were called now, ascending and apart; `None` where nobody knows.
    fn at_risk(&self) -> Option<Vec<Range<u64>>> {
        None
    }

    /// Power fails and comes back. Requests that are outstanding never complete.
    /// Returns the ranges of bytes whose latest write is lost, ascending and apart.
    ///
    /// # Errors
    /// Why the drive cannot say it.
    fn power_cut(&mut self) -> Result<Vec<Range<u64>>, String> {
        self.can_lose_power().map(|()| Vec::new())
    }

    /// Writes the drive's state. Only while nothing is outstanding.
    ///
    /// # Errors
    /// What `output` says, and a drive whose state cannot be saved.
    fn save(&self, _output: &mut dyn Write) -> Result<(), String> {
        Err("the drive's state cannot be saved while it is served".into())
    }

    /// What the model counted, by name; nothing where it cannot be asked just now.
    fn counters(&mut self) -> Vec<(String, f64)> {
        Vec::new()
    }
}
