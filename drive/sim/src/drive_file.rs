//! Drive files: TOML in which every parameter has a value, a unit where it is
//! a quantity, and the source that it was taken from.
//!
//! ```toml
//! [flash]
//! read_time = { value = "60 us", source = "datasheet: ..." }
//! ```
//!
//! [`crate::specification`] has the words that all kinds of drives share; each
//! model's own parameters stand beside the model.

use crate::specification::{SpecificationError, limits, settings, wording};
use crate::truth::{Treatment, Truth};
use crate::{block_mapped, disk, log_block, page_mapped, raid0};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What every drive file starts with.
#[derive(Clone, Debug, Deserialize)]
pub struct Header {
    /// Marketing name.
    pub name: String,
    /// Which model reads the rest of the file.
    pub kind: Kind,
    /// One sentence about the drive.
    pub summary: String,
}

/// The drive models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// SSD that maps every few KiB (see [`page_mapped`]).
    PageMappedSsd,
    /// SSD that maps whole superblocks (see [`block_mapped`]).
    BlockMappedSsd,
    /// Hard disk drive.
    Disk,
    /// SSD with log blocks (see [`log_block`]).
    LogBlockSsd,
    /// Array of other drives (see [`raid0`]).
    #[serde(rename = "raid-0")]
    Raid0,
}

impl Kind {
    /// Name as written in drive files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::PageMappedSsd => "page-mapped-ssd",
            Kind::BlockMappedSsd => "block-mapped-ssd",
            Kind::Disk => "disk",
            Kind::LogBlockSsd => "log-block-ssd",
            Kind::Raid0 => "raid-0",
        }
    }
}

/// A parsed and checked drive file.
#[derive(Clone, Debug)]
pub enum Specification {
    /// See [`page_mapped`].
    PageMapped(Header, Box<page_mapped::Specification>),
    /// See [`block_mapped`].
    BlockMapped(Header, Box<block_mapped::Specification>),
    /// See [`disk`].
    Disk(Header, Box<disk::Specification>),
    /// See [`log_block`].
    LogBlock(Header, Box<log_block::Specification>),
    /// See [`raid0`].
    Raid0(Header, Box<raid0::Specification>),
}

/// What leads a setting of an array to its members.
const MEMBER_PREFIX: &str = "member.";

impl Specification {
    /// Parses a drive file. `settings` replace or add parameters by their path, as
    /// in `("cache.write_back", "false")`, before anything is checked. Of an array,
    /// `("member.cache.write_back", "false")` is for all of its members.
    ///
    /// # Errors
    /// Malformed TOML, unknown or missing fields, wrong units, impossible
    /// values: where and what, in one sentence.
    pub fn parse(text: &str, settings: &[(String, String)]) -> Result<Self, SpecificationError> {
        if text.len() > limits::TEXT_BYTES_MAX {
            let message = "it is longer than 256 KiB, which no drive file needs to be";
            return Err(SpecificationError(message.into()));
        }
        let mut table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| SpecificationError(located(text, &error)))?;
        let header: Header = section(&mut table.clone(), &["name", "kind", "summary"])?;
        let mut member_settings = Vec::new();
        for (path, value) in settings {
            match path.strip_prefix(MEMBER_PREFIX) {
                Some(path) if header.kind == Kind::Raid0 => {
                    member_settings.push((path.to_string(), value.clone()));
                }
                _ => settings::set(&mut table, path, value)?,
            }
        }
        table.retain(|key, _| !["name", "kind", "summary"].contains(&key));
        let checked = match header.kind {
            Kind::PageMappedSsd => {
                let body: Box<page_mapped::Specification> = whole(table)?;
                body.check().map(|()| Self::PageMapped(header, body))
            }
            Kind::BlockMappedSsd => {
                let body: Box<block_mapped::Specification> = whole(table)?;
                body.check().map(|()| Self::BlockMapped(header, body))
            }
            Kind::Disk => {
                let body: Box<disk::Specification> = whole(table)?;
                body.check().map(|()| Self::Disk(header, body))
            }
            Kind::LogBlockSsd => {
                let body: Box<log_block::Specification> = whole(table)?;
                body.check().map(|()| Self::LogBlock(header, body))
            }
            Kind::Raid0 => {
                let mut body: Box<raid0::Specification> = whole(table)?;
                body.member_settings = member_settings;
                body.check().map(|()| Self::Raid0(header, body))
            }
        };
        checked.map_err(SpecificationError)
    }

    /// The part common to all drives.
    pub fn header(&self) -> &Header {
        match self {
            Self::PageMapped(header, _)
            | Self::BlockMapped(header, _)
            | Self::Disk(header, _)
            | Self::LogBlock(header, _)
            | Self::Raid0(header, _) => header,
        }
    }

    /// About how much memory a simulated drive like this takes once all of it has
    /// been written; of an array, what it takes beside its members.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::PageMapped(_, body) => body.memory_bytes(),
            Self::BlockMapped(_, body) => body.memory_bytes(),
            Self::LogBlock(_, body) => body.memory_bytes(),
            Self::Disk(..) | Self::Raid0(..) => 0,
        }
    }

    /// See [`crate::SimulatedDrive::truths`]; nothing of an array.
    pub fn truths(&self, treatment: &Treatment) -> Vec<Truth> {
        match self {
            Self::PageMapped(_, body) => body.truths(treatment),
            Self::BlockMapped(_, body) => body.truths(),
            Self::Disk(_, body) => body.truths(),
            Self::LogBlock(_, body) => body.truths(),
            Self::Raid0(..) => Vec::new(),
        }
    }

    /// Names of the drive files of an array's members; none for a drive.
    pub fn member_names(&self) -> Vec<&str> {
        match self {
            Self::Raid0(_, body) => body.member_names(),
            _ => Vec::new(),
        }
    }
}

fn located(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
    format!("line {line}: {}", error.message().replace('\n', ", "))
}

fn section<T: DeserializeOwned>(
    table: &mut toml::Table,
    keys: &[&str],
) -> Result<T, SpecificationError> {
    table.retain(|key, _| keys.contains(&key));
    whole(std::mem::take(table))
}

fn whole<T: DeserializeOwned>(table: toml::Table) -> Result<T, SpecificationError> {
    serde_path_to_error::deserialize(table).map_err(|error| {
        let path = error.path().to_string();
        let place = path.strip_suffix(".value").unwrap_or(&path);
        SpecificationError(wording::plain(place, error.inner().message()))
    })
}
