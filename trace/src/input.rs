//! Files that are traces: told by their content, through gzip, zstd, bzip2, xz and tar.

use crate::error::{Error, Result};
use crate::formats::blktrace::Blktrace;
use crate::formats::oracle_general::read_full;
use crate::formats::parquet::Parquet;
use crate::formats::{self, Clock, Format};
use crate::merge::Merge;
use crate::plausible::Plausible;
use crate::reader::Reader;
use crate::visible::visible;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::formats::parquet::Header;

/// Bytes by which a content is told.
const HEAD_BYTES: usize = 64 << 10;

/// Members of an archive: published ones have some hundreds.
const MEMBERS_MAX: usize = 10_000;

/// Files that are one trace.
pub struct Input {
    parts: Vec<Part>,
    format: Format,
    header: Header,
    clock_is_unix: bool,
}

/// A file, or a member of an archive.
struct Part {
    /// As sentences call it.
    path: PathBuf,
    file: Source,
    range: Option<(u64, u64)>,
    packing: Packing,
}

#[derive(Clone)]
enum Source {
    Path(PathBuf),
    /// An archive that was unpacked into a file without a name.
    Open(Arc<std::sync::Mutex<File>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// What names of packed files end with.
const PACKED_ENDINGS: [&str; 4] = [".gz", ".zst", ".bz2", ".xz"];

/// Memory to unpack xz with: its strongest preset takes 65 MiB.
const XZ_KIB_MAX: u32 = 128 << 10;

impl Packing {
    fn of(head: &[u8]) -> Packing {
        match head {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            // A skippable frame, with which zstd's seekable files begin.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
            _ => Packing::None,
        }
    }
}

/// Where a tar archive says that it is one.
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

impl Part {
    fn raw(&self) -> Result<Box<dyn Read + Send>> {
        let reading = |error| Error::reading(&self.path, error);
        let (start, length) = self.range.unwrap_or((0, u64::MAX));
        Ok(match &self.file {
            Source::Path(path) => {
                let mut file = File::open(path).map_err(reading)?;
                file.seek(SeekFrom::Start(start)).map_err(reading)?;
                Box::new(file.take(length))
            }
            Source::Open(file) => {
                Box::new(Window { file: Arc::clone(file), at: start, left: length })
            }
        })
    }

    fn open(&self) -> Result<Box<dyn Read + Send>> {
        unpacked(self.raw()?, self.packing, &self.path)
    }

    fn head(&self) -> Result<(Vec<u8>, bool)> {
        let mut head = vec![0; HEAD_BYTES];
        let length = read_full(&mut *self.open()?, &mut head)
            .map_err(|error| Error::reading(&self.path, error))?;
        head.truncate(length);
        Ok((head, length < HEAD_BYTES))
    }

    /// The name without folders and the endings of packings.
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (name, _) = packed_ending(&name);
        name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name).to_owned()
    }
}

/// A name without the ending of a packing, and that ending.
fn packed_ending(name: &str) -> (&str, &'static str) {
    let found = PACKED_ENDINGS.iter().find_map(|end| Some((name.strip_suffix(end)?, *end)));
    found.unwrap_or((name, ""))
}

/// A part of a file that others read as well.
struct Window {
    file: Arc<std::sync::Mutex<File>>,
    at: u64,
    left: u64,
}

impl Read for Window {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = (buffer.len() as u64).min(self.left) as usize;
        let mut file = self.file.lock().map_err(|_| std::io::Error::other("a reader failed"))?;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut buffer[..wanted])?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

fn unpacked(
    input: Box<dyn Read + Send>,
    packing: Packing,
    path: &Path,
) -> Result<Box<dyn Read + Send>> {
    let buffered = |input| std::io::BufReader::with_capacity(256 << 10, input);
    Ok(match packing {
        Packing::None => input,
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(input))),
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(input))),
        Packing::Xz => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(buffered(input), true, XZ_KIB_MAX))
        }
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(input)
                .map_err(|error| Error::reading(path, error))?;
            // Of `zstd --long=31`, the largest that the tool makes: 2 GiB would break the bound on
            // memory, 128 MiB is what it reads by itself.
            decoder.window_log_max(27).map_err(|error| Error::reading(path, error))?;
            Box::new(decoder)
        }
    })
}

impl Input {
    /// Looks at a file, and at those beside it that belong to it (blktrace makes one for each
    /// processor). `meant` is the format that it is said to be.
    ///
    /// # Errors
    /// It cannot be read, or is no trace.
    pub fn open(path: &Path, meant: Option<Format>) -> Result<Input> {
        let parts = parts_of(path)?;
        let mut told: Vec<(Part, Format)> = Vec::new();
        let mut unknown = Vec::new();
        let is_archive = parts.len() > 1;
        for part in parts {
            let (head, is_whole) = part.head()?;
            if head.is_empty() && is_archive {
                continue;
            }
            match formats::told_by(&head, is_whole) {
                Some(format) => told.push((part, format)),
                None if head.is_empty() => unknown.push((part, "it is empty".to_owned())),
                None => unknown.push((part, formats::foreign::what_it_is(&head))),
            }
        }
        let Some((_, format)) = told.first() else {
            let why = unknown.first().map_or("it holds no file", |(_, why)| why.as_str());
            return Err(Error::Malformed(format!("{} is no trace: {why}", path.display())));
        };
        let format = *format;
        if let Some((part, other)) = told.iter().find(|(_, other)| *other != format) {
            return Err(Error::Malformed(format!(
                "{} mixes formats: {} is {}, and {} is {}",
                path.display(),
                told[0].0.path.display(),
                format.title(),
                part.path.display(),
                other.title()
            )));
        }
        if let Some(meant) = meant
            && meant != format
        {
            return Err(Error::Malformed(format!(
                "{} cannot be {}: by its content it is {}",
                path.display(),
                meant.title(),
                format.title()
            )));
        }
        let mut origin = vec![format!(
            "read from {} ({})",
            visible(&path.file_name().unwrap_or_default().to_string_lossy()),
            format.title()
        )];
        if !unknown.is_empty() {
            origin.push(match unknown.len() {
                1 => "1 file of the archive is no trace".to_owned(),
                count => format!("{count} files of the archive are no traces"),
            });
        }
        let parts: Vec<Part> = told.into_iter().map(|(part, _)| part).collect();
        let mut input = Input {
            parts,
            format,
            header: Header {
                origin,
                format: format.name().to_owned(),
                schema_version: formats::parquet::SCHEMA_VERSION,
                ..Header::default()
            },
            clock_is_unix: format.clock() == Clock::Unix,
        };
        if format == Format::Parquet {
            input.header = input.own_reader(&input.parts[0])?.header().clone();
            if input.parts.len() > 1 {
                return Err(Error::Malformed(format!(
                    "{} holds several traces of fourcorners: unpack and merge them",
                    path.display()
                )));
            }
        }
        Ok(input)
    }

    /// The format of its content.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where it comes from. Volumes and lost events are known when everything was read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Unix time of the zero of the clock, if it is known.
    pub fn zero_unix_ns(&self) -> Option<u64> {
        if self.clock_is_unix { Some(0) } else { self.header.start_unix_ns }
    }

    /// All records; in the order in which the files have them.
    ///
    /// # Errors
    /// A file cannot be opened again.
    pub fn reader(&self) -> Result<Box<dyn Reader>> {
        let reader: Box<dyn Reader> = match self.format {
            Format::Parquet => return Ok(Box::new(self.own_reader(&self.parts[0])?)),
            Format::Blktrace => {
                let open = |part: &Part| Ok((part.open()?, part.path.clone()));
                Box::new(Blktrace::new(self.parts.iter().map(open).collect::<Result<_>>()?))
            }
            format => {
                let mut readers = Vec::new();
                for part in &self.parts {
                    let path = part.path.clone();
                    readers.push((formats::reader(format, part.open()?, path, &part.name()), 0));
                }
                if readers.len() == 1 { readers.remove(0).0 } else { Box::new(Merge::new(readers)) }
            }
        };
        let path = self.parts[0].path.clone();
        Ok(Box::new(Plausible::new(reader, self.format, path)))
    }

    fn own_reader(&self, part: &Part) -> Result<Parquet> {
        let reading = |error| Error::reading(&part.path, error);
        let file = match (&part.file, part.range, part.packing) {
            (Source::Path(path), None, Packing::None) => File::open(path).map_err(reading)?,
            _ => {
                // Parquet is read from its end: what is packed is unpacked first.
                let mut file = tempfile::tempfile().map_err(reading)?;
                std::io::copy(&mut part.open()?, &mut file).map_err(reading)?;
                file
            }
        };
        Parquet::open(file, &part.path)
    }
}

/// The files that belong to what was named.
fn parts_of(path: &Path) -> Result<Vec<Part>> {
    let reading = |error| Error::reading(path, error);
    let mut head = vec![0; HEAD_BYTES];
    let mut file = File::open(path).map_err(reading)?;
    let length = read_full(&mut file, &mut head).map_err(reading)?;
    let packing = Packing::of(&head[..length]);
    let part =
        Part { path: path.to_owned(), file: Source::Path(path.to_owned()), range: None, packing };
    let (content, _) = part.head()?;
    if content.get(TAR_MAGIC) == Some(b"ustar") {
        return members_of(part);
    }
    if formats::told_by(&content, false) == Some(Format::Blktrace) {
        return siblings_of(part);
    }
    Ok(vec![part])
}

/// blktrace names the files of processors NAME.blktrace.0, NAME.blktrace.1 and so on; they may be
/// packed one by one.
fn siblings_of(part: Part) -> Result<Vec<Part>> {
    let name = part.path.to_string_lossy().into_owned();
    let (bare, ending) = packed_ending(&name);
    let Some((stem, number)) = bare.rsplit_once('.') else { return Ok(vec![part]) };
    if !stem.ends_with(".blktrace") || number.parse::<u32>().is_err() {
        return Ok(vec![part]);
    }
    let mut parts = Vec::new();
    for number in 0..4096 {
        let path = PathBuf::from(format!("{stem}.{number}{ending}"));
        if path.is_file() {
            parts.push(Part {
                file: Source::Path(path.clone()),
                path,
                range: None,
                packing: part.packing,
            });
        }
    }
    Ok(parts)
}

/// The members of an archive, as parts of a file.
fn members_of(archive: Part) -> Result<Vec<Part>> {
    let reading = |error| Error::reading(&archive.path, error);
    let (file, mut reader) = match (&archive.file, archive.packing) {
        (Source::Path(path), Packing::None) => {
            (archive.file.clone(), File::open(path).map_err(reading)?)
        }
        _ => {
            // Several members are read at a time, which a packed archive does not allow.
            let mut file = tempfile::tempfile().map_err(reading)?;
            std::io::copy(&mut archive.open()?, &mut file).map_err(reading)?;
            file.flush().and_then(|()| file.rewind()).map_err(reading)?;
            let own = file.try_clone().map_err(reading)?;
            (Source::Open(Arc::new(std::sync::Mutex::new(own))), file)
        }
    };
    reader.rewind().map_err(reading)?;
    let mut parts = Vec::new();
    for entry in tar::Archive::new(reader).entries_with_seek().map_err(reading)? {
        let entry = entry.map_err(reading)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        if parts.len() == MEMBERS_MAX {
            return Err(Error::Malformed(format!(
                "{} has more than {MEMBERS_MAX} members",
                archive.path.display()
            )));
        }
        let path = archive.path.join(entry.path().map_err(reading)?);
        let range = Some((entry.raw_file_position(), entry.size()));
        parts.push(Part { path, file: file.clone(), range, packing: Packing::None });
    }
    for part in &mut parts {
        let mut head = [0; 8];
        let length = read_full(&mut *part.raw()?, &mut head).map_err(reading)?;
        part.packing = Packing::of(&head[..length]);
    }
    Ok(parts)
}
