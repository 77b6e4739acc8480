//! What is done to a trace on its way into another file.

use crate::error::{Error, Result};
use crate::file_system::Layout;
use crate::reader::Reader;
use crate::record::Record;
use fourcorners_workload::Operation;
use serde::Deserialize;
use std::collections::HashMap;

/// Volumes that are laid one behind the other begin at multiples of this, as partitions do.
const VOLUME_ALIGNMENT_BYTES: u64 = 1 << 20;

/// What a folded address is a multiple of, if it was one before: the page of most file systems.
const FOLD_ALIGNMENT_BYTES: u64 = 4096;

/// A change of every record.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Keeps a time and some volumes. Times count from `from_ns` afterwards.
    Cut {
        /// First time that is kept.
        from_ns: u64,
        /// First time that is no longer kept.
        to_ns: Option<u64>,
        /// Names of the volumes that are kept; all, if there are none.
        volumes: Vec<String>,
    },
    /// Multiplies times, and latencies not: they are the drive's.
    Scale {
        /// 0.5 is twice as fast.
        factor: f64,
    },
    /// Lays all volumes one behind the other, and these onto one of a given size.
    Fold {
        /// Its size.
        span_bytes: u64,
        /// Stretches or shrinks distances, instead of beginning again at the start.
        spread: bool,
    },
    /// Takes away names, processes and the date.
    Anonymise {},
    /// Issues it as another file system would.
    Layout(Layout),
    /// Says where it was recorded, instead of the name of the file that it came from.
    Recorded {
        /// A sentence.
        origin: String,
        /// Unix time of the zero of its clock.
        zero_unix_ns: u64,
    },
}

/// How far each volume is used: what a fold needs to know before.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    ends_bytes: Vec<u64>,
}

impl Extents {
    /// Reads everything.
    ///
    /// # Errors
    /// As the reader.
    pub fn of(reader: &mut dyn Reader) -> Result<Extents> {
        let mut ends_bytes: Vec<u64> = Vec::new();
        let mut batch = Vec::new();
        loop {
            batch.clear();
            reader.fill(&mut batch)?;
            if batch.is_empty() {
                return Ok(Extents { ends_bytes });
            }
            for record in &batch {
                let volume = record.volume as usize;
                if ends_bytes.len() <= volume {
                    ends_bytes.resize(volume + 1, 0);
                }
                ends_bytes[volume] = ends_bytes[volume].max(record.end_bytes());
            }
        }
    }

    /// How far the volume reaches that is used furthest.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.ends_bytes.iter().copied().max().unwrap_or(0)
    }

    /// Where each volume begins when they lie one behind the other, and where the last one ends.
    fn starts(&self) -> (Vec<u64>, u64) {
        let mut at: u64 = 0;
        let mut starts = Vec::new();
        for end in &self.ends_bytes {
            at = at.next_multiple_of(VOLUME_ALIGNMENT_BYTES);
            starts.push(at);
            at = at.saturating_add(*end);
        }
        (starts, at)
    }
}

/// A step under way.
pub(crate) struct Applied<'a> {
    reader: &'a mut dyn Reader,
    change: Change,
    volumes: Vec<String>,
    batch: Vec<Record>,
}

enum Change {
    Cut {
        from_ns: u64,
        to_ns: u64,
        wanted: Vec<String>,
        /// Of each volume of the trace whether it is kept, and its number in what is kept, which
        /// has only the volumes that I/Os are left of.
        kept: Vec<(bool, Option<u32>)>,
    },
    Scale {
        factor: f64,
    },
    Fold {
        span_bytes: u64,
        spread: bool,
        starts: Vec<u64>,
        total: u64,
        moved: u64,
    },
    Anonymise {
        processes: HashMap<u32, u32>,
        streams: HashMap<u32, u32>,
    },
    Nothing {
        said: String,
    },
}

impl<'a> Applied<'a> {
    pub(crate) fn new(reader: &'a mut dyn Reader, step: &Step, extents: &Extents) -> Applied<'a> {
        let mut volumes = Vec::new();
        let change = match step.clone() {
            Step::Cut { from_ns, to_ns, volumes } => Change::Cut {
                from_ns,
                to_ns: to_ns.unwrap_or(u64::MAX),
                wanted: volumes,
                kept: Vec::new(),
            },
            Step::Scale { factor } => Change::Scale { factor },
            Step::Fold { span_bytes, spread } => {
                let (starts, total) = extents.starts();
                volumes = vec!["folded".to_owned()];
                Change::Fold { span_bytes, spread, starts, total, moved: 0 }
            }
            Step::Anonymise {} => {
                Change::Anonymise { processes: HashMap::new(), streams: HashMap::new() }
            }
            Step::Recorded { origin, .. } => Change::Nothing { said: origin },
            Step::Layout(_) => unreachable!("more I/Os come of it: LaidOut does it"),
        };
        Applied { reader, change, volumes, batch: Vec::new() }
    }

    /// What was done, in a sentence.
    pub(crate) fn said(&self) -> String {
        match &self.change {
            Change::Cut { from_ns, to_ns, wanted, .. } => {
                let from_s = *from_ns as f64 / 1e9;
                let mut said = match to_ns {
                    &u64::MAX => format!("cut: I/Os from {from_s} s on"),
                    to_ns => format!("cut: I/Os from {from_s} s to {} s", *to_ns as f64 / 1e9),
                };
                if !wanted.is_empty() {
                    said += &format!(" of the volumes {}", wanted.join(", "));
                }
                said
            }
            Change::Scale { factor } => format!("scaled: times are {factor} times what they were"),
            Change::Fold { span_bytes, spread, starts, total, moved } => format!(
                "folded: {} of {total} bytes onto {span_bytes} bytes, {}; {moved} I/Os lie \
                 elsewhere than before",
                match starts.len() {
                    1 => "a volume".to_owned(),
                    count => format!("{count} volumes one behind the other"),
                },
                match spread {
                    true => "distances stretched or shrunk in proportion",
                    false => "beginning again at the start of the span as often as needed",
                }
            ),
            Change::Anonymise { .. } => {
                "anonymised: without names of files and volumes, numbers of processes and the date"
                    .to_owned()
            }
            Change::Nothing { said } => said.clone(),
        }
    }
}

impl Reader for Applied<'_> {
    fn fill(&mut self, batch: &mut Vec<Record>) -> Result<()> {
        let first = batch.len();
        // A cut may leave nothing of a batch.
        while batch.len() == first {
            self.batch.clear();
            self.reader.fill(&mut self.batch)?;
            if self.batch.is_empty() {
                return self.check_at_end();
            }
            let known = self.reader.volumes();
            match &mut self.change {
                Change::Cut { from_ns, to_ns, wanted, kept } => {
                    for name in &known[kept.len()..] {
                        kept.push((wanted.is_empty() || wanted.contains(name), None));
                    }
                    if self.batch[0].time_ns >= *to_ns
                        && wanted.iter().all(|one| known.contains(one))
                    {
                        return Ok(());
                    }
                    let inside = |record: &&Record| (*from_ns..*to_ns).contains(&record.time_ns);
                    for record in self.batch.iter().filter(inside) {
                        let (true, number) = &mut kept[record.volume as usize] else { continue };
                        let volume = *number.get_or_insert_with(|| {
                            self.volumes.push(known[record.volume as usize].clone());
                            self.volumes.len() as u32 - 1
                        });
                        let time_ns = record.time_ns - *from_ns;
                        batch.push(Record { time_ns, volume, ..*record });
                    }
                }
                Change::Scale { factor } => {
                    self.volumes.extend_from_slice(&known[self.volumes.len()..]);
                    for record in &mut self.batch {
                        let time_ns = record.time_ns as f64 * *factor;
                        if time_ns >= i64::MAX as f64 {
                            return Err(Error::Malformed(format!(
                                "times {factor} times what they are would be longer than 292 years"
                            )));
                        }
                        record.time_ns = time_ns as u64;
                    }
                    batch.append(&mut self.batch);
                }
                Change::Fold { span_bytes, spread, starts, total, moved } => {
                    for record in &mut self.batch {
                        let before = record.offset_bytes;
                        fold(record, *span_bytes, *spread, starts, *total)?;
                        *moved += u64::from(record.offset_bytes != before);
                    }
                    batch.append(&mut self.batch);
                }
                Change::Anonymise { processes, streams } => {
                    for number in self.volumes.len()..known.len() {
                        self.volumes.push(format!("volume {number}"));
                    }
                    for record in &mut self.batch {
                        record.process = record.process.map(|own| renumbered(processes, own));
                        record.stream = record.stream.map(|own| renumbered(streams, own));
                    }
                    batch.append(&mut self.batch);
                }
                Change::Nothing { .. } => {
                    self.volumes.extend_from_slice(&known[self.volumes.len()..]);
                    batch.append(&mut self.batch);
                }
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }

    fn lost_events(&self) -> u64 {
        self.reader.lost_events()
    }
}

impl Applied<'_> {
    /// A volume that was asked for and is not there is a mistake.
    fn check_at_end(&self) -> Result<()> {
        if let Change::Cut { wanted, .. } = &self.change {
            let known = self.reader.volumes();
            if let Some(name) = wanted.iter().find(|name| !known.contains(name)) {
                let shown: Vec<&str> = known.iter().take(8).map(String::as_str).collect();
                return Err(Error::Malformed(format!(
                    "the trace has no volume \"{name}\": it has {}{}",
                    shown.join(", "),
                    if known.len() > shown.len() { " and more" } else { "" }
                )));
            }
        }
        Ok(())
    }
}

fn renumbered(numbers: &mut HashMap<u32, u32>, own: u32) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(own).or_insert(next)
}

fn fold(record: &mut Record, span: u64, spread: bool, starts: &[u64], total: u64) -> Result<()> {
    let start = starts.get(record.volume as usize).copied().unwrap_or(0);
    record.volume = 0;
    if record.operation == Operation::Flush {
        return Ok(());
    }
    if record.length_bytes > span {
        return Err(Error::Malformed(format!(
            "an I/O of {} bytes does not fit onto {span} bytes: name a larger span",
            record.length_bytes
        )));
    }
    let place = start + record.offset_bytes;
    let aligned = place.is_multiple_of(FOLD_ALIGNMENT_BYTES);
    let mut folded = match spread {
        true => (u128::from(place) * u128::from(span) / u128::from(total.max(1))) as u64,
        false => place % span,
    };
    // What would reach over the end ends there.
    folded = folded.min(span - record.length_bytes);
    let alignment = if aligned { FOLD_ALIGNMENT_BYTES } else { 512 };
    record.offset_bytes = folded - folded % alignment;
    Ok(())
}
