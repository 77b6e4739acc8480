//! Text traces line by line, without a copy of the lines; numbers in them.

use crate::error::{Error, Result};
use crate::reader::{BATCH, Reader, Volumes};
use crate::record::Record;
use memchr::{memchr, memchr_iter, memchr2};
use std::io::Read;
use std::path::PathBuf;

/// No published format has lines that come near.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Bytes that are asked of a file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// With which some editors begin a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What is wrong with a line; the reader says where it stands.
pub type Wrong = String;

/// What a line of a format says.
pub trait LineFormat: Send {
    /// Appends the records of a line, which has no end of line and is not empty.
    ///
    /// # Errors
    /// What is wrong with it.
    fn line(&mut self, line: &[u8], out: &mut Out<'_>) -> Result<(), Wrong>;

    /// Appends what was held back until the end.
    fn end(&mut self, _out: &mut Out<'_>) {}
}

/// Where a format puts what it found.
pub struct Out<'a> {
    /// Records in the order in which they were found.
    pub records: &'a mut Vec<Record>,
    /// Names of volumes.
    pub volumes: &'a mut Volumes,
    /// Events that the recorder says it lost.
    pub lost: &'a mut u64,
    /// What the volume is called in a format that names none.
    pub name: &'a str,
}

impl Out<'_> {
    /// The number of a volume.
    ///
    /// # Errors
    /// There are too many.
    pub fn volume(&mut self, name: &[u8]) -> Result<u32, Wrong> {
        self.volumes.number(name).ok_or_else(|| "there are more than a million volumes".to_owned())
    }

    /// The volume of a format that names none.
    ///
    /// # Errors
    /// None: it is the first one.
    pub fn only_volume(&mut self) -> Result<u32, Wrong> {
        self.volume(self.name.as_bytes())
    }
}

/// Records of a text.
pub struct Lines<F> {
    input: Box<dyn Read + Send>,
    path: PathBuf,
    format: F,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    line: u64,
    is_over: bool,
    volumes: Volumes,
    lost: u64,
    name: String,
    title: &'static str,
}

impl<F: LineFormat> Lines<F> {
    /// Reads `input`, which sentences call `path`, and what it was taken for `title`; a volume
    /// without a name is called `name`.
    pub fn new(
        input: Box<dyn Read + Send>,
        path: PathBuf,
        name: &str,
        title: &'static str,
        format: F,
    ) -> Lines<F> {
        Lines {
            input,
            path,
            format,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            line: 0,
            is_over: false,
            volumes: Volumes::default(),
            lost: 0,
            name: name.to_owned(),
            title,
        }
    }

    /// Lets the format append what it held back.
    fn finish(&mut self, batch: &mut Vec<Record>) {
        let mut out = Out {
            records: batch,
            volumes: &mut self.volumes,
            lost: &mut self.lost,
            name: &self.name,
        };
        self.format.end(&mut out);
    }

    fn wrong(&self, what: &str) -> Error {
        Error::Malformed(format!(
            "{}, line {}: {what} (read as {})",
            self.path.display(),
            self.line,
            self.title
        ))
    }

    /// Brings more bytes behind those that are left.
    fn more(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end >= LINE_BYTES_MAX {
            self.line += 1;
            return Err(self.wrong("it is longer than 64 KiB, which a line of no trace is"));
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| Error::reading(&self.path, error))?,
            }
        };
        self.end += read;
        if read == 0 {
            self.is_over = true;
        }
        Ok(())
    }
}

impl<F: LineFormat> Reader for Lines<F> {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let goal = batch.len() + BATCH;
        while batch.len() < goal {
            let rest = &self.buffer[self.start..self.end];
            let (line, next) = match memchr(b'\n', rest) {
                Some(length) => (&rest[..length], self.start + length + 1),
                None if !self.is_over => {
                    self.more()?;
                    continue;
                }
                None if rest.is_empty() => {
                    self.finish(batch);
                    break;
                }
                None => (rest, self.end),
            };
            self.line += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let line = match self.line {
                1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
                _ => line,
            };
            if !line.is_empty() {
                let mut out = Out {
                    records: batch,
                    volumes: &mut self.volumes,
                    lost: &mut self.lost,
                    name: &self.name,
                };
                if let Err(what) = self.format.line(line, &mut out) {
                    return Err(self.wrong(&what));
                }
            }
            self.start = next;
        }
        Ok(())
    }

    fn lost_events(&self) -> u64 {
        self.lost
    }

    fn volumes(&self) -> &[String] {
        self.volumes.names()
    }
}

/// The fields of a line, without blanks around them. `None` where there are not `N` of them at
/// least; the last one is cut at the next separator.
pub fn fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let mut found: [&[u8]; N] = [&[]; N];
    let mut start = 0;
    let mut count = 0;
    for end in memchr_iter(separator, line).chain([line.len()]) {
        found[count] = line[start..end].trim_ascii();
        count += 1;
        start = end + 1;
        if count == N {
            return Some(found);
        }
    }
    None
}

/// Words between blanks, as [`fields`].
pub fn words<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut found: [&[u8]; N] = [&[]; N];
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    for place in &mut found {
        *place = words.next()?;
    }
    Some(found)
}

/// An unsigned decimal number.
pub fn integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value: u64 = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// A decimal number of a unit of 10^-`places` in whole units: seconds in ns with 9. Further places
/// are cut off. It may have an exponent, as programs print small numbers: `1.49e-06`.
pub fn decimal(text: &[u8], places: u32) -> Option<u64> {
    if let Some(e) = memchr2(b'e', b'E', text) {
        let exponent: i32 = std::str::from_utf8(&text[e + 1..]).ok()?.parse().ok()?;
        let shifted = i32::try_from(places).ok()?.checked_add(exponent)?;
        return match u32::try_from(shifted) {
            // More would not fit.
            Ok(places) => (places < 20).then(|| plain_decimal(&text[..e], places))?,
            Err(_) => {
                let whole = plain_decimal(&text[..e], 0)?;
                Some(10u64.checked_pow(shifted.unsigned_abs()).map_or(0, |scale| whole / scale))
            }
        };
    }
    plain_decimal(text, places)
}

fn plain_decimal(text: &[u8], places: u32) -> Option<u64> {
    let (whole, part) = match memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let whole = if whole.is_empty() && !part.is_empty() { 0 } else { integer(whole)? };
    let mut value = whole.checked_mul(10u64.pow(places))?;
    let mut scale = 10u64.pow(places);
    for &byte in part {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        scale /= 10;
        value = value.checked_add(u64::from(digit) * scale)?;
    }
    Some(value)
}

/// A field that is a number.
///
/// # Errors
/// Says which field is none.
pub fn number(text: &[u8], what: &str) -> Result<u64, Wrong> {
    integer(text).ok_or_else(|| format!("the {what} {} is not a whole number", quoted(text)))
}

/// A number of units of `unit` each.
///
/// # Errors
/// It is no number, or too large for an address or a time.
pub fn scaled(text: &[u8], unit: u64, what: &str) -> Result<u64, Wrong> {
    number(text, what)?
        .checked_mul(unit)
        .filter(|value| i64::try_from(*value).is_ok())
        .ok_or_else(|| format!("the {what} {} is too large to be one", quoted(text)))
}

/// A field as a sentence shows it: short, and nothing that a terminal obeys.
pub fn quoted(text: &[u8]) -> String {
    let text: String =
        String::from_utf8_lossy(&text[..text.len().min(40)]).escape_debug().collect();
    format!("\"{text}\"")
}
