//! A drive's state, saved and loaded, so that preconditioning is done once.
//!
//! A state holds the models as they are, pending work included: a drive that
//! goes on from it does what the saved one would have done. It starts with what
//! the drive was made from; only a drive made from the same takes it.
//!
//! What the bytes mean follows from the models' source code, so a fingerprint of
//! that stands before them (`build.rs`). It refuses more than it would have to,
//! after a change of a comment for instance, but no change of a field, of its
//! meaning or of the order of fields can be forgotten.

use crate::drive::{Model, SimulatedDrive};
use crate::table::CHUNK_BYTES;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufReader, Read, Write};
use std::ops::Deref;

/// First bytes of a state.
const MAGIC: &[u8] = b"fourcorners drive state\n";

/// Fingerprint of the source code that gives what follows its layout and meaning.
const SOURCES: &str = env!("MODEL_SOURCES_FINGERPRINT");

/// Most bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;

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
    #[error("another version of this program saved it: prepare the drive again")]
    OtherVersion,
    /// Of another drive.
    #[error(
        "it is the state of {0} with other parameters or settings, not of this drive: prepare the drive again"
    )]
    OtherDrive(String),
    /// Of the same drive with another seed.
    #[error(
        "it was saved with seed {saved}, and this drive has seed {this}: use that seed, or prepare the drive again"
    )]
    OtherSeed {
        /// Seed of the drive that was saved.
        saved: u64,
        /// Seed of the drive that was to take the state.
        this: u64,
    },
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
    /// Root of the drive's own randomness.
    pub seed: u64,
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
        output.write_all(SOURCES.as_bytes())?;
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
        let mut start = [0; MAGIC.len() + SOURCES.len()];
        input.read_exact(&mut start).map_err(|_| StateError::Foreign)?;
        let (magic, sources) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(StateError::Foreign);
        }
        if sources != SOURCES.as_bytes() {
            return Err(StateError::OtherVersion);
        }
        let unpacker = BufReader::with_capacity(READ_BYTES, zstd::Decoder::new(input)?);
        let mut scratch = vec![0; CHUNK_BYTES];
        let (saved, (mut unpacker, scratch)) =
            postcard::from_io::<Identity, _>((unpacker, &mut scratch[..])).map_err(damaged)?;
        let this = self.identity();
        if (Identity { seed: this.seed, ..saved.clone() }) != *this {
            return Err(StateError::OtherDrive(saved.name));
        }
        if saved.seed != this.seed {
            return Err(StateError::OtherSeed { saved: saved.seed, this: this.seed });
        }
        let input = (&mut unpacker, scratch);
        match &mut self.model {
            Model::PageMapped(drive) => drive.restore(read_whole(input)?),
            Model::BlockMapped(drive) => drive.restore(read_whole(input)?),
            Model::Disk(drive) => drive.restore(read_whole(input)?),
            Model::LogBlock(drive) => drive.restore(read_whole(input)?),
            Model::Raid0(drive) => drive.restore(read_whole(input)?),
        }
        Ok(())
    }
}

/// Reads a model, and on to the end, where the checksum of all that was read is.
fn read_whole<T: DeserializeOwned>(input: (impl Read, &mut [u8])) -> Result<T, StateError> {
    let (model, (mut rest, _)) = postcard::from_io(input).map_err(damaged)?;
    match rest.read(&mut [0]) {
        Ok(0) => Ok(model),
        _ => Err(StateError::Damaged),
    }
}

/// Reading fails where bytes are missing or are not those that were written.
fn damaged(_: postcard::Error) -> StateError {
    StateError::Damaged
}

/// Writing fails only where the output does, and postcard does not say why.
fn packing(_: postcard::Error) -> StateError {
    StateError::Io(io::Error::other("it could not be written in full"))
}
