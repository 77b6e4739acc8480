//! A drive's state, saved and loaded, so that preconditioning is done once.
//!
//! A state that is loaded is not believed. First its size is limited by the
//! drive's; then the checksum of all that was read must hold, which finds damage
//! by accident; then every part must be one that the model can go on from
//! ([`crate::validity`]), which finds what was changed on purpose.
//!
//! A state holds the models as they are, pending work included: a drive that
//! goes on from it does what the saved one would have done. It starts with what
//! the drive was made from; only a drive made from the same takes it.
//!
//! What the bytes mean follows from the models' source code, so a fingerprint of
//! that stands before them (`build.rs`). It refuses more than it would have to,
//! after a change of a comment for instance, but no change of a field, of its
//! meaning or of the order of fields can be forgotten.

use crate::device::{Device, Simulated};
use crate::drive::{Model, SimulatedDrive};
use crate::identity::Identity;
use crate::table::CHUNK_BYTES;
use crate::validity::Broken;
use postcard::{Deserializer, de_flavors, ser_flavors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufReader, Read, Write};

/// First bytes of a state.
const MAGIC: &[u8] = b"fourcorners drive state\n";

/// Fingerprints of the source code that gives what follows its layout and meaning:
/// the models, and the requests that wait in them.
const MODELS: &str = env!("MODEL_SOURCES_FINGERPRINT");
const REQUESTS: &str = fourcorners_workload::SOURCES_FINGERPRINT;

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
    /// Cut off or changed by accident: the checksum does not hold.
    #[error("it is damaged: prepare the drive again")]
    Damaged,
    /// Changed, checksum and all: no drive can be in such a state.
    #[error("it says what cannot be ({0}), so somebody has changed it: prepare the drive again")]
    Impossible(&'static str),
}

impl From<Broken> for StateError {
    fn from(broken: Broken) -> Self {
        Self::Impossible(broken.0)
    }
}

impl SimulatedDrive {
    /// Writes the drive's state. Only while no command is outstanding.
    ///
    /// # Errors
    /// What `output` says.
    pub fn save(&self, mut output: impl Write) -> Result<(), StateError> {
        output.write_all(MAGIC)?;
        output.write_all(MODELS.as_bytes())?;
        output.write_all(REQUESTS.as_bytes())?;
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

    /// Takes over a saved state, the time on its clock and the root of the drive's
    /// randomness included: the drive becomes the one that was saved. It stays as it
    /// is when the state cannot be used.
    ///
    /// # Errors
    /// A state of another drive, of another version, or a damaged one.
    pub fn load(&mut self, mut input: impl Read) -> Result<(), StateError> {
        let mut start = [0; MAGIC.len() + MODELS.len() + REQUESTS.len()];
        input.read_exact(&mut start).map_err(|_| StateError::Foreign)?;
        let (magic, sources) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(StateError::Foreign);
        }
        if sources != [MODELS, REQUESTS].concat().as_bytes() {
            return Err(StateError::OtherVersion);
        }
        let mut unpacker = BufReader::with_capacity(READ_BYTES, zstd::Decoder::new(input)?);
        let mut scratch = vec![0; CHUNK_BYTES];
        let saved: Identity = read(&mut unpacker, &mut scratch, IDENTITY_SIZE_MAX)?;
        let this = self.identity();
        if (Identity { seed: this.seed, ..saved.clone() }) != *this {
            return Err(StateError::OtherDrive(saved.name));
        }
        let input = (&mut unpacker, &mut scratch[..]);
        match &mut self.model {
            Model::PageMapped(drive) => take_over(drive, input)?,
            Model::BlockMapped(drive) => take_over(drive, input)?,
            Model::Disk(drive) => take_over(drive, input)?,
            Model::LogBlock(drive) => take_over(drive, input)?,
            Model::Raid0(drive) => take_over(drive, input)?,
        }
        self.set_seed(saved.seed);
        Ok(())
    }
}

/// Reads a model, and on to the end, where the checksum of all that was read is;
/// then the drive takes it over.
fn take_over<D: Device + Serialize + DeserializeOwned>(
    drive: &mut Simulated<D>,
    (input, scratch): (impl Read, &mut [u8]),
) -> Result<(), StateError> {
    let mut input = input;
    let saved = read(&mut input, scratch, size_max(drive)?)?;
    match input.read(&mut [0]) {
        Ok(0) => Ok(drive.restore(saved)?),
        _ => Err(StateError::Damaged),
    }
}

/// Bytes of a part of a state: of tables and texts, whose memory is as large, and
/// of all else, which may take some tens of times as much.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    runs: u64,
    rest: u64,
}

/// Most bytes of what a drive was made from: an array of 64 members that differ.
const IDENTITY_SIZE_MAX: Size = Size { runs: 64 << 20, rest: 1 << 20 };

/// The least room for lists that grow.
const ROOM_MIN_BYTES: u64 = 4 << 20;

/// Most bytes of an encoded integer.
const VARINT_BYTES_MAX: u64 = 10;

/// Most bytes of a state of a drive, from those of one that is like it: its tables
/// do not grow, its numbers get longer, and its lists get some room.
fn size_max(drive: &impl Serialize) -> Result<Size, StateError> {
    // Nothing is read to be measured: the tables are not touched.
    let size = postcard::serialize_with_flavor(drive, Size::default()).map_err(packing)?;
    let rest = ROOM_MIN_BYTES + VARINT_BYTES_MAX * size.rest + size.runs / 8;
    Ok(Size { runs: size.runs + size.rest, rest })
}

impl ser_flavors::Flavor for Size {
    type Output = Self;

    fn try_push(&mut self, _: u8) -> postcard::Result<()> {
        self.rest += 1;
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        let bytes = data.len() as u64;
        let kind = if bytes > VARINT_BYTES_MAX { &mut self.runs } else { &mut self.rest };
        *kind += bytes;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Self> {
        Ok(self)
    }
}

/// Reads up to so many bytes.
struct Limited<F> {
    flavor: F,
    left: Size,
}

impl<F> Limited<F> {
    fn take_run(&mut self, bytes: usize) -> postcard::Result<()> {
        let left = self.left.runs.checked_sub(bytes as u64);
        self.left.runs = left.ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        Ok(())
    }
}

impl<'de, F: de_flavors::Flavor<'de>> de_flavors::Flavor<'de> for Limited<F> {
    type Remainder = F::Remainder;
    type Source = F::Source;

    fn pop(&mut self) -> postcard::Result<u8> {
        let left = self.left.rest.checked_sub(1);
        self.left.rest = left.ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.flavor.pop()
    }

    fn try_take_n(&mut self, bytes: usize) -> postcard::Result<&'de [u8]> {
        self.take_run(bytes)?;
        self.flavor.try_take_n(bytes)
    }

    fn try_take_n_temp<'a>(&'a mut self, bytes: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        self.take_run(bytes)?;
        self.flavor.try_take_n_temp(bytes)
    }

    fn finalize(self) -> postcard::Result<F::Remainder> {
        self.flavor.finalize()
    }
}

/// Reads a value of at most so many bytes.
fn read<T: DeserializeOwned>(
    input: &mut impl Read,
    scratch: &mut [u8],
    size_max: Size,
) -> Result<T, StateError> {
    let flavor = de_flavors::io::io::IOReader::new(input, scratch);
    let mut deserializer = Deserializer::from_flavor(Limited { flavor, left: size_max });
    T::deserialize(&mut deserializer).map_err(damaged)
}

/// Reading fails where bytes are missing or are not those that were written.
fn damaged(_: postcard::Error) -> StateError {
    StateError::Damaged
}

/// Writing fails only where the output does, and postcard does not say why.
fn packing(_: postcard::Error) -> StateError {
    StateError::Io(io::Error::other("it could not be written in full"))
}
