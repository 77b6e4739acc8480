//! A drive's state, saved and loaded, so that preconditioning is done once.
//!
//! A state holds the models as they are, pending work included: a drive that
//! goes on from it does what the saved one would have done. It starts with what
//! the drive was made from; only a drive made from the same takes it.

use crate::drive::{Model, SimulatedDrive};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::ops::Deref;

/// First bytes of a state.
const MAGIC: &[u8] = b"fourcorners drive state\n";

/// Layout of what follows. Raise it with every change of a model's fields.
const VERSION: u32 = 3;

/// Of zstd; higher ones take far longer and hardly gain on page maps.
const COMPRESSION_LEVEL: i32 = 1;

/// Why a state cannot be saved or loaded, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not a state at all.
    #[error("it is not a saved drive state")]
    Foreign,
    /// Of another version of this program.
    #[error("it has state format {0}, and this version reads {VERSION}: prepare the drive again")]
    Version(u32),
    /// Of another drive.
    #[error(
        "it is the state of {0} with other parameters or settings, not of this drive: prepare the drive again"
    )]
    OtherDrive(String),
    /// Cut off or changed.
    #[error("it is damaged: prepare the drive again")]
    Damaged,
}

/// What a drive was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The drive's name.
    pub name: String,
    /// Its drive file.
    pub text: String,
    /// Names and drive files of an array's members.
    pub members: Vec<(String, String)>,
    /// Parameters that were replaced, and their values.
    pub settings: Vec<(String, String)>,
}

/// What a model was made from. It is no part of the state: see
/// [`crate::Device::complete`].
#[derive(Clone, Debug)]
pub struct Blueprint<T>(Option<Box<T>>);

impl<T> Blueprint<T> {
    /// Holds what a model is made from.
    pub fn new(value: T) -> Self {
        Self(Some(Box::new(value)))
    }
}

impl<T> Default for Blueprint<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Blueprint<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_deref().expect("a loaded state was completed")
    }
}

impl SimulatedDrive {
    /// Writes the drive's state. Only while no command is outstanding.
    ///
    /// # Errors
    /// What `output` says.
    pub fn save(&self, mut output: impl Write) -> Result<(), StateError> {
        output.write_all(MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        let mut packer = zstd::Encoder::new(output, COMPRESSION_LEVEL)?;
        packer.include_checksum(true)?;
        let packer = postcard::to_io(self.identity(), packer).map_err(packing)?;
        let packer = match &self.model {
            Model::PageMapped(drive) => postcard::to_io(drive, packer),
            Model::BlockMapped(drive) => postcard::to_io(drive, packer),
            Model::Disk(drive) => postcard::to_io(drive, packer),
            Model::LogBlock(drive) => postcard::to_io(drive, packer),
            Model::Raid0(drive) => postcard::to_io(drive, packer),
        };
        packer.map_err(packing)?.finish()?.flush()?;
        Ok(())
    }

    /// Takes over a saved state, the time on its clock included. The drive
    /// stays as it is when the state cannot be used.
    ///
    /// # Errors
    /// A state of another drive, of another version, or a damaged one.
    pub fn load(&mut self, mut input: impl Read) -> Result<(), StateError> {
        let mut start = [0; MAGIC.len() + size_of::<u32>()];
        input.read_exact(&mut start).map_err(|_| StateError::Foreign)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(StateError::Foreign);
        }
        let version = version.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        if version != VERSION {
            return Err(StateError::Version(version));
        }
        let mut bytes = Vec::new();
        let mut unpacker = zstd::Decoder::new(input)?;
        unpacker.read_to_end(&mut bytes).map_err(|_| StateError::Damaged)?;
        let damaged = |_| StateError::Damaged;
        let (identity, bytes) = postcard::take_from_bytes::<Identity>(&bytes).map_err(damaged)?;
        if identity != *self.identity() {
            return Err(StateError::OtherDrive(identity.name));
        }
        match &mut self.model {
            Model::PageMapped(d) => d.restore(postcard::from_bytes(bytes).map_err(damaged)?),
            Model::BlockMapped(d) => d.restore(postcard::from_bytes(bytes).map_err(damaged)?),
            Model::Disk(d) => d.restore(postcard::from_bytes(bytes).map_err(damaged)?),
            Model::LogBlock(d) => d.restore(postcard::from_bytes(bytes).map_err(damaged)?),
            Model::Raid0(d) => d.restore(postcard::from_bytes(bytes).map_err(damaged)?),
        }
        Ok(())
    }
}

/// Writing fails only where the output does, and postcard does not say why.
fn packing(_: postcard::Error) -> StateError {
    StateError::Io(io::Error::other("it could not be written in full"))
}
