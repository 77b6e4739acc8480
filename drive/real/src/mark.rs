//! The mark on files that we created, which tells what we last wrote to them. Only a file that is
//! still as the mark says is ours; the mark alone proves nothing, as it stays when others use the
//! file, and goes with copies.

use crate::identity::Times;
use crate::{sample, system};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use xattr::FileExt;

/// Extended attribute: version, inode, generation, state.
const NAME: &str = "user.fourcorners";
const VERSION: &str = "2";

/// Setting a mark changes the file, too: the time of change that it tells is that of the mark set
/// just before. So often is tried to have both so close together; the second is for servers and for
/// machines that stand still in between.
const CLOSENESS: [(u32, Duration); 2] =
    [(32, Duration::from_millis(1)), (8, Duration::from_millis(100))];
/// The clock that the kernel takes times of change from ticks every 10 ms at most.
const TICK: Duration = Duration::from_millis(10);

/// What a mark says of the file that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// We made it, and wrote nothing yet.
    Made,
    /// A run writes to it, or was killed while it did.
    Written,
    /// What we last wrote is there.
    Sealed(Seal),
}

/// A file at the moment when we gave it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seal {
    length_bytes: u64,
    times: Times,
    /// The time of change may be later by so much.
    within_ns: u64,
    key: u64,
    digest: u64,
}

/// What is known of a file by its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    /// It holds what we last wrote, or nothing: writing again destroys nothing.
    pub is_ours: bool,
    /// We created it, whatever it holds now.
    pub is_made_by_us: bool,
    /// Others changed what we had written to it. Who permits to overwrite that does so for one run,
    /// which may leave a part of it.
    pub has_others_content: bool,
    /// Why it is not ours although it carries a mark.
    pub doubt: Option<&'static str>,
}

impl Marked {
    pub(crate) const NOT: Marked =
        Marked { is_ours: false, is_made_by_us: false, has_others_content: false, doubt: None };
}

/// Examines a file that is open for reading, through the page cache.
pub(crate) fn examine(file: &File, metadata: &Metadata) -> Marked {
    let Ok(Some(value)) = file.get_xattr(NAME) else { return Marked::NOT };
    let Some((inode, generation, state)) = parse(&value) else {
        return Marked {
            doubt: Some("its mark is of another version of fourcorners"),
            ..Marked::NOT
        };
    };
    if (inode, generation) != (metadata.ino(), system::generation(file)) {
        return Marked { doubt: Some("it is a copy of a test file of fourcorners"), ..Marked::NOT };
    }
    let doubt = match state {
        State::Made | State::Written if system::room::never_written(file) => None,
        State::Made | State::Written => {
            Some("the run of fourcorners that wrote to it did not come to its end")
        }
        State::Sealed(seal) if seal.is_unbroken(file, metadata) => None,
        State::Sealed(_) => Some("it was changed after fourcorners last wrote to it"),
    };
    let has_others_content = doubt.is_some() && matches!(state, State::Sealed(_));
    Marked { is_ours: doubt.is_none(), is_made_by_us: true, has_others_content, doubt }
}

impl Seal {
    fn is_unbroken(&self, file: &File, metadata: &Metadata) -> bool {
        let times = Times::of(metadata);
        metadata.len() == self.length_bytes
            && times.modified_ns == self.times.modified_ns
            && (0..=self.within_ns.into()).contains(&(times.changed_ns - self.times.changed_ns))
            && sample::digest(file, self.length_bytes, self.key) == self.digest
    }
}

/// Says of a new file that we made it.
///
/// # Errors
/// The file system keeps no extended attributes.
pub(crate) fn made(file: &File) -> io::Result<()> {
    set(file, &file.metadata()?, State::Made)
}

/// Says that the file is written from here on: until it is sealed nobody can tell what it holds.
///
/// # Errors
/// Those of the file system.
pub(crate) fn written(file: &File) -> io::Result<()> {
    set(file, &file.metadata()?, State::Written)
}

/// Says that what the file holds now is what we wrote. `file` is read through the page cache.
///
/// # Errors
/// Those of the file system, or somebody else changes the file: it stays without a seal then.
pub(crate) fn seal(file: &File) -> io::Result<()> {
    // From here on a store through somebody's mapping of the file changes its times again.
    file.sync_all()?;
    let before = file.metadata()?;
    let key = sample::key();
    let mut seal = Seal {
        length_bytes: before.len(),
        times: Times::of(&before),
        within_ns: 0,
        key,
        digest: sample::digest(file, before.len(), key),
    };
    for (tries, within) in CLOSENESS {
        seal.within_ns = within.as_nanos() as u64;
        for _ in 0..tries {
            set(file, &before, State::Sealed(seal))?;
            let after = file.metadata()?;
            let times = Times::of(&after);
            if times.modified_ns != seal.times.modified_ns || after.len() != seal.length_bytes {
                set(file, &before, State::Written)?;
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            if times.changed_ns - seal.times.changed_ns <= seal.within_ns.into() {
                // Whatever happens to the file after this gets a later time.
                std::thread::sleep(within + TICK + step_of(&times));
                return Ok(());
            }
            seal.times = times;
        }
    }
    set(file, &before, State::Written)?;
    Err(io::ErrorKind::TimedOut.into())
}

/// Between two times that the file system can tell apart: some (ext4 with small inodes) keep whole
/// seconds.
fn step_of(times: &Times) -> Duration {
    const SECOND: Duration = Duration::from_secs(1);
    let is_whole = |ns: i128| ns % SECOND.as_nanos() as i128 == 0;
    if is_whole(times.modified_ns) && is_whole(times.changed_ns) { SECOND } else { Duration::ZERO }
}

fn set(file: &File, metadata: &Metadata, state: State) -> io::Result<()> {
    let state = match state {
        State::Made => "made".to_owned(),
        State::Written => "written".to_owned(),
        State::Sealed(Seal { length_bytes, times, within_ns, key, digest }) => format!(
            "sealed {length_bytes} {} {} {within_ns} {key} {digest}",
            times.modified_ns, times.changed_ns
        ),
    };
    let value = format!("{VERSION} {} {} {state}", metadata.ino(), system::generation(file));
    file.set_xattr(NAME, value.as_bytes())
}

/// Inode, generation and state; `None` for what another version wrote.
fn parse(value: &[u8]) -> Option<(u64, u64, State)> {
    let words: Vec<&str> = std::str::from_utf8(value).ok()?.split(' ').collect();
    let [VERSION, inode, generation, state @ ..] = words.as_slice() else { return None };
    let state = match state {
        ["made"] => State::Made,
        ["written"] => State::Written,
        ["sealed", length_bytes, modified_ns, changed_ns, within_ns, key, digest] => {
            State::Sealed(Seal {
                length_bytes: length_bytes.parse().ok()?,
                times: Times {
                    modified_ns: modified_ns.parse().ok()?,
                    changed_ns: changed_ns.parse().ok()?,
                },
                within_ns: within_ns.parse().ok()?,
                key: key.parse().ok()?,
                digest: digest.parse().ok()?,
            })
        }
        _ => return None,
    };
    Some((inode.parse().ok()?, generation.parse().ok()?, state))
}
