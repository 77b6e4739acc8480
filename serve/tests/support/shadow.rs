//! What each sector of a served drive may hold.

use super::SECTOR;
use std::collections::HashMap;
use std::ops::Range;

/// A sector's content has a number: 0 is zeroes, others are those of writes, and of what
/// faults made of them.
pub type Content = u64;

/// By sector: what was durable last and what was acknowledged since, each with the number
/// of the answer. The latest is what the sector holds.
pub struct Shadow {
    histories: Vec<Vec<(u64, Content)>>,
    /// Sectors with more than one entry, some of them no more.
    unsettled: Vec<usize>,
    answers: u64,
    /// Content that no write brought.
    odd: HashMap<Content, Vec<u8>>,
    /// What reads return once: sectors, and what they held.
    stale: Vec<(usize, Vec<Content>)>,
}

/// Contents with larger numbers are odd ones.
const ODD: Content = 1 << 62;

/// What a write stores in a sector.
pub fn bytes_of(content: Content, sector: usize) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    if content != 0 {
        for pair in bytes.chunks_exact_mut(16) {
            pair[..8].copy_from_slice(&content.to_le_bytes());
            pair[8..].copy_from_slice(&(sector as u64).to_le_bytes());
        }
    }
    bytes
}

impl Shadow {
    /// Of a drive that holds nothing.
    pub fn new(sectors: usize) -> Self {
        Self {
            histories: vec![vec![(0, 0)]; sectors],
            unsettled: Vec::new(),
            answers: 0,
            odd: HashMap::new(),
            stale: Vec::new(),
        }
    }

    /// Answers so far.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// A write of these sectors was acknowledged.
    pub fn written(&mut self, sectors: Range<usize>, content: Content, is_durable: bool) {
        self.answers += 1;
        self.replaced(&sectors);
        for sector in sectors {
            self.put(sector, content, is_durable);
        }
    }

    /// As [`Self::written`], and the next read returns what was there before.
    pub fn written_stale(&mut self, sectors: Range<usize>, content: Content, is_durable: bool) {
        let old = sectors.clone().map(|sector| self.latest(sector)).collect();
        let first = sectors.start;
        self.written(sectors, content, is_durable);
        self.stale.push((first, old));
    }

    /// A write was acknowledged of which a fault may have made anything: `bytes` is what
    /// the sectors hold.
    pub fn found(&mut self, sectors: Range<usize>, bytes: &[u8], is_durable: bool) {
        self.replaced(&sectors);
        self.misplaced(sectors, bytes, is_durable);
    }

    /// As [`Self::found`], of sectors that nobody wished to write.
    pub fn misplaced(&mut self, sectors: Range<usize>, bytes: &[u8], is_durable: bool) {
        self.answers += 1;
        for (sector, bytes) in sectors.zip(bytes.chunks_exact(SECTOR)) {
            let content = self.content_of(sector, bytes);
            self.put(sector, content, is_durable);
        }
    }

    fn content_of(&mut self, sector: usize, bytes: &[u8]) -> Content {
        let known = self.histories[sector].iter().rev().find(|one| self.is(one.1, sector, bytes));
        if let Some(&(_, content)) = known {
            return content;
        }
        let content = ODD + self.odd.len() as u64;
        self.odd.insert(content, bytes.to_vec());
        content
    }

    fn put(&mut self, sector: usize, content: Content, is_durable: bool) {
        let history = &mut self.histories[sector];
        if is_durable {
            history.clear();
        } else if history.len() == 1 {
            self.unsettled.push(sector);
        }
        history.push((self.answers, content));
    }

    fn replaced(&mut self, sectors: &Range<usize>) {
        self.stale.retain(|(at, old)| *at >= sectors.end || at + old.len() <= sectors.start);
    }

    /// What had been answered by `answers` is durable.
    pub fn flushed(&mut self, answers: u64) {
        let histories = &mut self.histories;
        self.unsettled.retain(|&sector| {
            let history = &mut histories[sector];
            let older = history.partition_point(|&(number, _)| number <= answers);
            history.drain(..older.saturating_sub(1));
            history.len() > 1
        });
    }

    /// The content that a sector has.
    pub fn latest(&self, sector: usize) -> Content {
        self.histories[sector].last().expect("it is never empty").1
    }

    /// Whether the sectors from `first` on hold this.
    pub fn holds_all(&self, first: usize, bytes: &[u8]) -> bool {
        (first..).zip(bytes.chunks_exact(SECTOR)).all(|(one, bytes)| self.holds(one, bytes))
    }

    /// The drive was shut down, or lost power, and is served anew.
    pub fn restarted(&mut self) {
        self.flushed(u64::MAX);
        self.stale.clear();
    }

    fn is(&self, content: Content, sector: usize, bytes: &[u8]) -> bool {
        match self.odd.get(&content) {
            Some(odd) => odd == bytes,
            None => bytes_of(content, sector) == *bytes,
        }
    }

    fn holds(&self, sector: usize, bytes: &[u8]) -> bool {
        self.is(self.latest(sector), sector, bytes)
    }

    /// The first sector that does not hold what a read returned of it.
    pub fn difference(&mut self, first: usize, bytes: &[u8]) -> Option<usize> {
        let sectors = first..first + bytes.len() / SECTOR;
        let mut expected: Vec<Content> = sectors.clone().map(|one| self.latest(one)).collect();
        self.stale.retain(|(at, old)| {
            let common = (*at).max(sectors.start)..(at + old.len()).min(sectors.end);
            for sector in common.clone() {
                expected[sector - first] = old[sector - at];
            }
            common.is_empty()
        });
        (sectors.zip(bytes.chunks_exact(SECTOR)).zip(expected))
            .find(|&((sector, bytes), content)| !self.is(content, sector, bytes))
            .map(|((sector, _), _)| sector)
    }

    /// Power has failed: `bytes` is what all sectors hold, `reached` whether a write that
    /// was not acknowledged brought a content to a sector. Returns of how many sectors
    /// what was durable is lost, and of how many what was acknowledged.
    pub fn power_cut(
        &mut self,
        bytes: &[u8],
        reached: impl Fn(usize, &[u8]) -> bool,
    ) -> (u64, u64) {
        self.stale.clear();
        self.unsettled.clear();
        let (mut lost_durable, mut lost_acknowledged) = (0, 0);
        for (sector, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            let is_known = self.histories[sector].iter().any(|one| self.is(one.1, sector, bytes));
            if !self.holds(sector, bytes) && !reached(sector, bytes) {
                lost_acknowledged += 1;
                lost_durable += u64::from(!is_known);
            }
            let content = self.content_of(sector, bytes);
            self.histories[sector] = vec![(self.answers, content)];
        }
        (lost_durable, lost_acknowledged)
    }
}
