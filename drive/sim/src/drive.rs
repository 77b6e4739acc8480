//! A simulated drive of any kind.

use crate::block_mapped::BlockMapped;
use crate::device::{Device, Simulated};
use crate::disk::Disk;
use crate::page_mapped::PageMapped;
use crate::specification::{Header, Specification, SpecificationError};

/// A drive made from its specification. A caller matches on the kind once per
/// workload, so that the issuing loop is compiled for each model and no I/O
/// pays for dynamic dispatch.
#[derive(Debug)]
pub struct SimulatedDrive {
    header: Header,
    /// The model and its clock.
    pub model: Model,
}

/// The drive models, each with its clock.
#[derive(Debug)]
pub enum Model {
    /// SSD that maps every few KiB.
    PageMapped(Box<Simulated<PageMapped>>),
    /// SSD that maps whole clusters.
    BlockMapped(Box<Simulated<BlockMapped>>),
    /// Hard disk drive.
    Disk(Box<Simulated<Disk>>),
}

/// Evaluates an expression for whichever model a drive is.
#[macro_export]
macro_rules! with_model {
    ($model:expr, $name:ident => $body:expr) => {
        match $model {
            $crate::Model::PageMapped($name) => $body,
            $crate::Model::BlockMapped($name) => $body,
            $crate::Model::Disk($name) => $body,
        }
    };
}

impl SimulatedDrive {
    /// Makes a drive, secure-erased. `seed` is the root of the drive's own
    /// randomness.
    ///
    /// # Errors
    /// See [`Specification::parse`].
    pub fn new(
        text: &str,
        settings: &[(String, String)],
        seed: u64,
    ) -> Result<Self, SpecificationError> {
        let specification = Specification::parse(text, settings)?;
        let header = specification.header().clone();
        let model = match specification {
            Specification::PageMapped(_, s) => {
                Model::PageMapped(Box::new(Simulated::new(PageMapped::new(&s, seed))))
            }
            Specification::BlockMapped(_, s) => {
                Model::BlockMapped(Box::new(Simulated::new(BlockMapped::new(&s))))
            }
            Specification::Disk(_, s) => Model::Disk(Box::new(Simulated::new(Disk::new(&s)))),
        };
        Ok(Self { header, model })
    }

    /// Name, kind and summary.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// User-accessible bytes.
    pub fn capacity_bytes(&self) -> u64 {
        with_model!(&self.model, drive => drive.device().capacity_bytes())
    }

    /// Lets virtual time pass without commands.
    pub fn idle(&mut self, idle_ns: u64) {
        with_model!(&mut self.model, drive => drive.idle(idle_ns));
    }

    /// Secure erase.
    pub fn purge(&mut self) {
        with_model!(&mut self.model, drive => drive.purge());
    }

    /// The host no longer needs a range (TRIM). A range beyond the end of the
    /// drive is cut off there.
    pub fn trim(&mut self, offset_bytes: u64, length_bytes: u64) {
        let length_bytes = length_bytes.min(self.capacity_bytes().saturating_sub(offset_bytes));
        with_model!(&mut self.model, drive => drive.trim(offset_bytes, length_bytes));
    }

    /// Secure erase, then the steady state of uniform random writes over all of
    /// the drive, at once.
    ///
    /// # Errors
    /// Why the drive has none that can be entered at once.
    pub fn enter_steady_state(&mut self) -> Result<(), String> {
        with_model!(&mut self.model, drive => drive.enter_steady_state())
    }

    /// What the model counted, by name.
    pub fn counters(&self) -> Vec<(&'static str, f64)> {
        with_model!(&self.model, drive => drive.device().counters())
    }
}
