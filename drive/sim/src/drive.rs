//! A simulated drive of any kind.

use crate::block_mapped::BlockMapped;
use crate::device::{Device, Overwriting, Simulated};
use crate::disk::Disk;
use crate::drive_file::{Header, Kind, Specification};
use crate::identity::Identity;
use crate::log_block::LogBlock;
use crate::page_mapped::PageMapped;
use crate::raid0::{self, Member, Raid0};
use crate::specification::SpecificationError;
use crate::specification::limits::check_members_memory;
use crate::truth::{Treatment, Truth};
use fourcorners_workload::{Pattern, Stream};
use std::ops::Range;

/// A drive made from its specification. A caller matches on the kind once per
/// workload, so that the issuing loop is compiled for each model and no I/O
/// pays for dynamic dispatch.
#[derive(Debug)]
pub struct SimulatedDrive {
    specification: Specification,
    identity: Identity,
    keeps_state: bool,
    /// The model and its clock.
    pub model: Model,
}

/// The drive models, each with its clock.
#[derive(Debug)]
pub enum Model {
    /// SSD that maps every few KiB.
    PageMapped(Box<Simulated<PageMapped>>),
    /// SSD that maps whole superblocks.
    BlockMapped(Box<Simulated<BlockMapped>>),
    /// Hard disk drive.
    Disk(Box<Simulated<Disk>>),
    /// SSD with log blocks.
    LogBlock(Box<Simulated<LogBlock>>),
    /// Array of drives.
    Raid0(Box<Simulated<Raid0>>),
}

/// Evaluates an expression for whichever model a drive is.
#[macro_export]
macro_rules! with_model {
    ($model:expr, $name:ident => $body:expr) => {
        match $model {
            $crate::Model::PageMapped($name) => $body,
            $crate::Model::BlockMapped($name) => $body,
            $crate::Model::Disk($name) => $body,
            $crate::Model::LogBlock($name) => $body,
            $crate::Model::Raid0($name) => $body,
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
        Self::with_members(text, &[], settings, seed)
    }

    /// Makes a drive, or an array of drives: `members` has the texts of its
    /// members' drive files by the names that [`Self::member_names`] tells.
    ///
    /// # Errors
    /// See [`Specification::parse`]; also members that are missing or cannot
    /// be used.
    pub fn with_members(
        text: &str,
        members: &[(String, String)],
        settings: &[(String, String)],
        seed: u64,
    ) -> Result<Self, SpecificationError> {
        let specification = Specification::parse(text, settings)?;
        let mut keeps_state = specification.header().kind != Kind::Disk;
        let model = match &specification {
            Specification::PageMapped(_, s) => {
                Model::PageMapped(Box::new(Simulated::new(PageMapped::new(s, seed))))
            }
            Specification::BlockMapped(_, s) => {
                Model::BlockMapped(Box::new(Simulated::new(BlockMapped::new(s))))
            }
            Specification::Disk(_, s) => Model::Disk(Box::new(Simulated::new(Disk::new(s)))),
            Specification::LogBlock(_, s) => {
                Model::LogBlock(Box::new(Simulated::new(LogBlock::new(s))))
            }
            Specification::Raid0(_, s) => {
                let specifications = member_specifications(s, members)?;
                let memory_bytes = specifications.iter().map(Specification::memory_bytes).sum();
                check_members_memory(memory_bytes).map_err(SpecificationError)?;
                keeps_state = specifications.iter().any(|m| m.header().kind != Kind::Disk);
                let seeds = (0..).map(|index| seed.wrapping_add(index));
                let drives = (specifications.iter().zip(seeds))
                    .map(|(specification, seed)| member(specification, seed))
                    .collect::<Result<_, _>>()?;
                let array = Raid0::new(s, drives);
                if array.capacity_bytes() == 0 {
                    let message = "array.chunk: use at most the size of the smallest member";
                    return Err(SpecificationError(message.into()));
                }
                Model::Raid0(Box::new(Simulated::new(array)))
            }
        };
        let identity = Identity {
            name: specification.header().name.clone(),
            text: text.into(),
            members: members.into(),
            settings: settings.into(),
            seed,
        };
        Ok(Self { specification, identity, keeps_state, model })
    }

    /// Names of the drive files that the members of an array are made from,
    /// each once; none for a drive.
    ///
    /// # Errors
    /// See [`Specification::parse`].
    pub fn member_names(
        text: &str,
        settings: &[(String, String)],
    ) -> Result<Vec<String>, SpecificationError> {
        let specification = Specification::parse(text, settings)?;
        let mut names: Vec<String> = Vec::new();
        for name in specification.member_names() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        Ok(names)
    }

    /// What it was made from.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Makes the root of the drive's randomness that of a state it has taken over.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.identity.seed = seed;
    }

    /// Name, kind and summary.
    pub fn header(&self) -> &Header {
        self.specification.header()
    }

    /// Whether earlier writes change later speed, as in every SSD.
    pub fn keeps_state(&self) -> bool {
        self.keeps_state
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

    /// Power fails and comes back: the ranges of bytes whose latest write was
    /// acknowledged and is lost, ascending and apart.
    pub fn power_cut(&mut self) -> Vec<Range<u64>> {
        with_model!(&mut self.model, drive => drive.power_cut())
    }

    /// Secure erase, then the steady state that a sequential fill of the first
    /// `filled_share` of the drive and then endless writes of `stream` lead to,
    /// at once. Without a stream, and where it has no span, these are uniform
    /// random writes to what is filled. The rest is never written.
    ///
    /// # Errors
    /// Why the drive has none that can be entered at once, a stream that does
    /// not fit the drive, or a share that is not above 0 and up to 1.
    pub fn enter_steady_state(
        &mut self,
        filled_share: f64,
        stream: Option<&Stream>,
    ) -> Result<(), String> {
        if !(filled_share > 0.0 && filled_share <= 1.0) {
            return Err(format!("filled share {filled_share}: use more than 0, and at most 1"));
        }
        let filled_bytes = ((self.capacity_bytes() as f64 * filled_share) as u64).max(1);
        let stream = stream.cloned().unwrap_or_else(|| Stream::new(0.0, Pattern::Random, 4096));
        let of = Overwriting { filled_bytes, stream };
        with_model!(&mut self.model, drive => drive.enter_steady_state(&of))
    }

    /// Checks what must hold of the model's state at any time; slow, for tests.
    ///
    /// # Panics
    /// When something does not hold.
    pub fn assert_consistent(&self) {
        with_model!(&self.model, drive => drive.device().assert_consistent());
    }

    /// What is true of the drive, for those who try how much of it a measurement
    /// finds: each value in the unit of the finding of that name. Nothing of an
    /// array.
    pub fn truths(&self, treatment: &Treatment) -> Vec<Truth> {
        self.specification.truths(treatment)
    }

    /// What the model counted, by name.
    pub fn counters(&self) -> Vec<(&'static str, f64)> {
        with_model!(&self.model, drive => drive.counters())
    }
}

/// What the drive files of an array's members say, in the order of the stripe.
fn member_specifications(
    array: &raid0::Specification,
    texts: &[(String, String)],
) -> Result<Vec<Specification>, SpecificationError> {
    let specification = |member: &str| {
        let fail = |why: &str| SpecificationError(format!("member {member}: {why}"));
        let (_, text) = texts
            .iter()
            .find(|(name, _)| name == member)
            .ok_or_else(|| fail("its drive file is missing"))?;
        Specification::parse(text, &array.member_settings).map_err(|error| fail(&error.0))
    };
    array.member_names().into_iter().map(specification).collect()
}

/// A member of an array, secure-erased; `seed` is the root of its own randomness.
fn member(specification: &Specification, seed: u64) -> Result<Member, SpecificationError> {
    Ok(match specification {
        Specification::PageMapped(_, s) => Member::PageMapped(Box::new(PageMapped::new(s, seed))),
        Specification::BlockMapped(_, s) => Member::BlockMapped(Box::new(BlockMapped::new(s))),
        Specification::Disk(_, s) => Member::Disk(Box::new(Disk::new(s))),
        Specification::LogBlock(_, s) => Member::LogBlock(Box::new(LogBlock::new(s))),
        Specification::Raid0(..) => {
            return Err(SpecificationError("an array cannot be a member of an array".into()));
        }
    })
}
