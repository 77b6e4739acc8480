//! The read buffer: what the controller reads ahead of sequential reads.
//!
//! A read that begins where a recent one ended makes a stream. Behind each
//! read of a stream the controller reads on, page by page, until the stream's
//! share of the buffer is full. A page leaves the buffer when the host has
//! read past its end, when its stream is forgotten for a newer one, or when a
//! write overlaps what the stream has read ahead. Nothing is kept to be read a
//! second time.
//!
//! Pages read ahead queue on the dies like the host's own; what is simplified
//! is that their room is free once the host's read is taken up, not when its
//! last byte has left.

use super::command::{UnitGrid, end_bytes};
use super::specification;
use crate::validity::{Checked, ensure, ensure_counts, same};
use fourcorners_workload::Request;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Set in the command number of page reads that no command asked for; the rest
/// is the line that they fill.
const AHEAD: u32 = 1 << 31;

/// Ends of recent reads that a stream may begin at. Random reads between two
/// sequential ones push them out, so this is how much may be interleaved.
const CANDIDATES: usize = 16;

/// The line that a page read fills, if it was read ahead.
#[inline]
pub fn line(command: u32) -> Option<u32> {
    (command & AHEAD != 0).then_some(command & !AHEAD)
}

/// Consecutive units that one page read brings.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Line {
    first_unit: u32,
    end_unit: u32,
    arrived: bool,
    /// Not wanted any more; free when it arrives.
    dropped: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stream {
    /// Where the host goes on; no request begins at `u64::MAX`.
    next_byte: u64,
    /// First unit that is not in a line.
    ahead_unit: u32,
    /// Lines in order of units, without gaps.
    lines: VecDeque<u32>,
    last_use: u64,
}

/// What a read finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The line.
    pub line: u32,
    /// First unit behind the line.
    pub end_unit: u32,
    /// Whether the line is in the buffer, or still on its way.
    pub arrived: bool,
}

/// Streams, and what has been read ahead for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadAhead {
    units: UnitGrid,
    share_units: u32,
    streams: Vec<Stream>,
    candidates: [u64; CANDIDATES],
    next_candidate: usize,
    uses: u64,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    /// Line, command and bytes: who waits for lines that are on their way.
    waiters: VecDeque<(u32, u32, u32)>,
}

impl ReadAhead {
    /// An empty buffer.
    pub fn new(specification: &specification::ReadAhead, units: UnitGrid) -> Self {
        let streams = specification.streams.value;
        let share_bytes = specification.size.0 / u64::from(streams);
        let stream =
            Stream { next_byte: u64::MAX, ahead_unit: 0, lines: VecDeque::new(), last_use: 0 };
        Self {
            units,
            share_units: (share_bytes / units.unit_bytes) as u32,
            streams: vec![stream; streams as usize],
            candidates: [u64::MAX; CANDIDATES],
            next_candidate: 0,
            uses: 0,
            lines: Vec::new(),
            free_lines: Vec::new(),
            waiters: VecDeque::new(),
        }
    }

    /// Fails unless a loaded buffer, while no command is in a drive of so many units,
    /// can go on as one that was `made`; `coming` are the lines whose pages are being
    /// read.
    pub fn check(&self, made: &Self, units: u32, coming: &[u32]) -> Checked {
        let Self {
            units: grid,
            share_units,
            streams,
            candidates: _,
            next_candidate,
            uses,
            lines,
            free_lines,
            waiters,
        } = self;
        ensure(*grid == made.units && streams.len() == made.streams.len(), "the read buffer")?;
        same!(made; share_units);
        ensure(*next_candidate < CANDIDATES && waiters.is_empty(), "the read buffer")?;
        ensure_counts([*uses])?;
        // Each line is in one place.
        let mut places = vec![0; lines.len()];
        let mut place = |line: u32, fits: fn(&Line) -> bool| {
            let found = lines.get(line as usize).is_some_and(fits);
            ensure(found, "a line of the read buffer")?;
            places[line as usize] += 1;
            Ok(())
        };
        for stream in streams {
            let Stream { next_byte, ahead_unit, lines, last_use } = stream;
            let end_byte = u64::from(units) * grid.unit_bytes;
            ensure(*next_byte == u64::MAX || *next_byte <= end_byte, "a stream of reads")?;
            ensure(*ahead_unit <= units && *last_use <= *uses, "a stream of reads")?;
            lines.iter().try_for_each(|&line| place(line, |line| !line.dropped))?;
        }
        free_lines.iter().try_for_each(|&line| place(line, |line| line.arrived))?;
        coming.iter().try_for_each(|&line| {
            place(line, |line| !line.arrived)?;
            ensure(lines[line as usize].first_unit < units, "a line of the read buffer")
        })?;
        for (line, places) in lines.iter().zip(places) {
            // On its way, a line that is wanted is its stream's as well.
            let expected = 1 + u32::from(!line.arrived && !line.dropped);
            ensure(places == expected, "a line of the read buffer")?;
            let range = line.first_unit < line.end_unit && line.end_unit <= units;
            ensure(range, "a line of the read buffer")?;
        }
        Ok(())
    }

    /// The stream that a read continues, if it continues one.
    #[inline]
    pub fn follow(&mut self, request: &Request) -> Option<usize> {
        let (start, end) = (request.offset_bytes, end_bytes(request));
        if let Some(stream) = self.streams.iter().position(|stream| stream.next_byte == start) {
            self.go_on(stream, end);
            return Some(stream);
        }
        if let Some(index) = self.candidates.iter().position(|&candidate| candidate == start) {
            self.candidates[index] = u64::MAX;
            return Some(self.open(start, end));
        }
        self.candidates[self.next_candidate] = end;
        self.next_candidate = (self.next_candidate + 1) % CANDIDATES;
        None
    }

    /// Takes the stream that was not used for longest for a new one.
    fn open(&mut self, start: u64, end: u64) -> usize {
        let oldest = (0..self.streams.len()).min_by_key(|&stream| self.streams[stream].last_use);
        let stream = oldest.expect("there is at least one stream");
        self.forget(stream);
        self.streams[stream].ahead_unit = (start / self.units.unit_bytes) as u32;
        self.go_on(stream, end);
        stream
    }

    fn go_on(&mut self, stream: usize, end: u64) {
        self.uses += 1;
        self.streams[stream].last_use = self.uses;
        self.streams[stream].next_byte = end;
    }

    /// The line that holds a unit for a stream. Lines before it are done with.
    pub fn find(&mut self, stream: usize, unit: u32) -> Option<Found> {
        while let Some(&line) = self.streams[stream].lines.front() {
            let Line { first_unit, end_unit, arrived, .. } = self.lines[line as usize];
            if unit < end_unit {
                return (first_unit <= unit).then_some(Found { line, end_unit, arrived });
            }
            self.streams[stream].lines.pop_front();
            self.drop_line(line);
        }
        None
    }

    /// Notes that a command waits for a line.
    pub fn wait(&mut self, line: u32, command: u32, bytes: u32) {
        self.waiters.push_back((line, command, bytes));
    }

    /// A command, and its bytes, that waited for a line, which has arrived.
    pub fn waiter(&mut self, line: u32) -> Option<(u32, u32)> {
        let index = self.waiters.iter().position(|waiter| waiter.0 == line)?;
        self.waiters.remove(index).map(|(_, command, bytes)| (command, bytes))
    }

    /// The unit to read ahead next, while the stream's share has room.
    pub fn next_unit(&mut self, stream: usize, units: u32) -> Option<u32> {
        let stream = &mut self.streams[stream];
        let host_unit = stream.next_byte.div_ceil(self.units.unit_bytes) as u32;
        stream.ahead_unit = stream.ahead_unit.max(host_unit);
        let limit = units.min(host_unit + self.share_units);
        (stream.ahead_unit < limit).then_some(stream.ahead_unit)
    }

    /// Adds a line to a stream; returns the command number for its page read.
    pub fn extend(&mut self, stream: usize, first_unit: u32, end_unit: u32, arrived: bool) -> u32 {
        let entry = Line { first_unit, end_unit, arrived, dropped: false };
        let line = self.free_lines.pop().unwrap_or(self.lines.len() as u32);
        if line as usize == self.lines.len() {
            self.lines.push(entry);
        }
        self.lines[line as usize] = entry;
        self.streams[stream].lines.push_back(line);
        self.streams[stream].ahead_unit = end_unit;
        AHEAD | line
    }

    /// A line's page has been read.
    pub fn arrived(&mut self, line: u32) {
        let entry = &mut self.lines[line as usize];
        entry.arrived = true;
        if entry.dropped {
            self.free_lines.push(line);
        }
    }

    /// Units are written: streams that have read them ahead are forgotten.
    #[inline]
    pub fn overwritten(&mut self, first_unit: u32, last_unit: u32) {
        for stream in 0..self.streams.len() {
            let Some(&line) = self.streams[stream].lines.front() else {
                continue;
            };
            let first_ahead = self.lines[line as usize].first_unit;
            if first_unit < self.streams[stream].ahead_unit && first_ahead <= last_unit {
                self.forget(stream);
            }
        }
    }

    fn forget(&mut self, stream: usize) {
        self.streams[stream].next_byte = u64::MAX;
        self.streams[stream].last_use = 0;
        while let Some(line) = self.streams[stream].lines.pop_front() {
            self.drop_line(line);
        }
    }

    fn drop_line(&mut self, line: u32) {
        let entry = &mut self.lines[line as usize];
        entry.dropped = true;
        if entry.arrived {
            self.free_lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{Bytes, Parameter};
    use fourcorners_workload::{Content, Operation};

    fn read(unit: u64, units: u32) -> Request {
        Request {
            operation: Operation::Read,
            offset_bytes: unit * 4096,
            length_bytes: units * 4096,
            content: Content::Incompressible,
            fua: false,
        }
    }

    /// Two streams of 16 units each.
    fn two_streams() -> ReadAhead {
        fn given<T>(value: T) -> Parameter<T> {
            Parameter { value, source: "test".into() }
        }
        let specification =
            specification::ReadAhead { size: given(Bytes(128 << 10)), streams: given(2) };
        ReadAhead::new(&specification, UnitGrid { unit_bytes: 4096 })
    }

    #[test]
    fn only_a_read_that_goes_on_where_one_ended_makes_a_stream() {
        let mut ahead = two_streams();
        assert_eq!(ahead.follow(&read(100, 8)), None);
        assert_eq!(ahead.follow(&read(109, 8)), None, "a gap of one unit");
        assert!(ahead.follow(&read(108, 8)).is_some());
        assert!(ahead.follow(&read(116, 1)).is_some());
    }

    #[test]
    fn a_stream_reads_its_share_ahead_and_no_further() {
        let mut ahead = two_streams();
        ahead.follow(&read(0, 8));
        let stream = ahead.follow(&read(8, 8)).unwrap();
        assert_eq!(ahead.next_unit(stream, 1_000), Some(16));
        ahead.extend(stream, 16, 32, true);
        assert_eq!(ahead.next_unit(stream, 1_000), None);
        ahead.follow(&read(16, 8));
        assert_eq!(ahead.next_unit(stream, 1_000), Some(32));
        assert_eq!(ahead.next_unit(stream, 32), None, "the drive ends");
        let found = ahead.find(stream, 16).unwrap();
        assert_eq!((found.end_unit, found.arrived), (32, true));
        assert_eq!(ahead.find(stream, 32), None);
    }

    #[test]
    fn a_write_makes_the_drive_forget_what_it_overlaps() {
        let mut ahead = two_streams();
        ahead.follow(&read(0, 8));
        let stream = ahead.follow(&read(8, 8)).unwrap();
        ahead.extend(stream, 16, 20, true);
        ahead.overwritten(20, 30);
        assert!(ahead.find(stream, 16).is_some(), "the write is behind it");
        ahead.overwritten(19, 19);
        assert_eq!(ahead.find(stream, 16), None);
    }

    #[test]
    fn lines_are_used_again_only_when_nobody_waits_for_them() {
        let mut ahead = two_streams();
        ahead.follow(&read(0, 8));
        let stream = ahead.follow(&read(8, 8)).unwrap();
        let first = line(ahead.extend(stream, 16, 20, false)).unwrap();
        ahead.wait(first, 7, 4096);
        ahead.overwritten(16, 16);
        let second = line(ahead.extend(stream, 16, 20, false)).unwrap();
        assert_ne!(first, second, "the first is still on its way");
        ahead.arrived(first);
        assert_eq!(ahead.waiter(first), Some((7, 4096)));
        assert_eq!(ahead.waiter(first), None);
        assert_eq!(line(ahead.extend(stream, 20, 24, false)), Some(first));
    }
}
