//! Reclaiming of blocks: garbage collection, streams of writes, wear.

use crate::specification::{Bytes, Nanoseconds, Parameter, Share, require};
use serde::{Deserialize, Serialize};

/// Reclaiming of blocks, in each pool of dies by itself (see
/// `translation.superblock_dies`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageCollection {
    /// A pool with fewer free blocks than this collects.
    pub start_free_blocks: Parameter<u32>,
    /// Blocks that a pool reclaims at a stretch before it takes writes again;
    /// 0: just as many units as are written, between the writes (paced).
    pub burst_blocks: Parameter<u32>,
    /// How many times as fast as they are written units are reclaimed during
    /// a burst, while writes go on. Absent: the die takes no writes meanwhile.
    pub burst_pace: Option<Parameter<f64>>,
    /// Free blocks that a pool collects up to, row by row, with dies that have
    /// nothing else to do. Absent: only what `start_free_blocks` asks for.
    pub background_free_blocks: Option<Parameter<u32>>,
    /// Free blocks that a pool collects up to while the drive is idle. Absent:
    /// idle time changes nothing.
    pub idle_free_blocks: Option<Parameter<u32>>,
    /// Time without commands after which the drive collects up to
    /// `idle_free_blocks`.
    pub idle_delay: Option<Parameter<Nanoseconds>>,
    /// Which block goes first. Absent: greedy.
    pub policy: Option<Parameter<Policy>>,
    /// Blocks that the d-choices policy looks at.
    pub candidates: Option<Parameter<u32>>,
    /// Collected units go into the same blocks as the host's. Absent: into
    /// blocks of their own.
    pub shared_stream: Option<Parameter<bool>>,
}

/// Which block the collector empties first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The one with the fewest valid units.
    Greedy,
    /// The one that was filled first.
    Fifo,
    /// The one with the best ratio of gain and age to cost.
    CostBenefit,
    /// The one with the fewest valid units among some drawn at random.
    DChoices,
}

/// Data that is written often goes into blocks of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStreams {
    /// How the drive knows which data is hot.
    pub rule: Parameter<StreamRule>,
    /// Known range: bytes from the start of the drive that are hot.
    pub hot_size: Option<Parameter<Bytes>>,
    /// Detected: bytes that the host writes within which a unit that is
    /// rewritten again and again is hot.
    pub window: Option<Parameter<Bytes>>,
}

/// How a drive knows which data is hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamRule {
    /// The host says so; here, a range from the start of the drive is hot.
    KnownRange,
    /// The drive watches what is rewritten soon; it takes a byte of memory for
    /// each mapping unit.
    Detected,
}

/// Bad blocks, endurance and wear levelling. Blocks count in each pool of dies
/// by itself, over the planes that work together (see
/// `translation.superblock_dies`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Share of the blocks that are bad from the factory, those that
    /// `translation.spare_area` leaves out not counted; the same number in each pool. Absent:
    /// none.
    pub bad_block_share: Option<Parameter<Share>>,
    /// Erases that a block endures. Absent: without end.
    pub endurance: Option<Parameter<u32>>,
    /// How wear is evened out. Absent: blocks are written in the order in
    /// which they came free.
    pub levelling: Option<Parameter<Levelling>>,
    /// Static levelling: erases that a block may lag behind the most worn one
    /// of its pool.
    pub spread_max: Option<Parameter<u32>>,
}

/// How wear is evened out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levelling {
    /// Of the free blocks the host's data gets the least worn, collected data
    /// the most worn.
    Dynamic,
    /// Data that lies still is moved, too, when its block lags behind.
    Static,
}

impl GarbageCollection {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        let draws = self.policy.as_ref().is_some_and(|policy| policy.value == Policy::DChoices);
        let candidates = self.candidates.as_ref().map(|candidates| candidates.value);
        require(
            draws == candidates.is_some() && candidates.is_none_or(|c| (1..=65_536).contains(&c)),
            "garbage_collection.candidates: give 1 to 65536 with the policy d-choices, and only with it",
        )?;
        for (name, blocks) in [
            ("start_free_blocks", Some(&self.start_free_blocks)),
            ("burst_blocks", Some(&self.burst_blocks)),
            ("background_free_blocks", self.background_free_blocks.as_ref()),
            ("idle_free_blocks", self.idle_free_blocks.as_ref()),
        ] {
            require(
                blocks.is_none_or(|blocks| blocks.value <= 65_536),
                &format!("garbage_collection.{name}: use at most 65536"),
            )?;
        }
        if let Some(pace) = &self.burst_pace {
            require(
                pace.value > 1.0 && pace.value <= 100.0 && self.burst_blocks.value > 0,
                "garbage_collection.burst_pace: use more than 1, up to 100, with burst_blocks of at least 1",
            )?;
        }
        let foreground = self.start_free_blocks.value + self.burst_blocks.value;
        let background = self.background_free_blocks.as_ref().map(|blocks| blocks.value);
        require(
            background.is_none_or(|blocks| blocks > foreground),
            "garbage_collection.background_free_blocks: use more than start_free_blocks and burst_blocks together",
        )?;
        let idle = self.idle_free_blocks.as_ref().map(|blocks| blocks.value);
        require(
            idle.is_none_or(|blocks| blocks > background.unwrap_or(foreground)),
            "garbage_collection.idle_free_blocks: use more than are kept free while the drive is in use",
        )?;
        require(
            idle.is_some() == self.idle_delay.is_some(),
            "garbage_collection.idle_delay: give it together with garbage_collection.idle_free_blocks",
        )
    }

    /// Whether collected units go into the same blocks as the host's.
    pub fn shares_stream(&self) -> bool {
        self.shared_stream.as_ref().is_some_and(|shared| shared.value)
    }
}

impl WriteStreams {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self, collection: &GarbageCollection) -> Result<(), String> {
        let detects = self.detects();
        require(
            self.hot_size.is_none() == detects && self.window.is_some() == detects,
            "write_streams: give hot_size with the rule known-range, window with the rule detected",
        )?;
        require(
            !collection.shares_stream(),
            "garbage_collection.shared_stream: not together with write_streams, which keeps collected data apart",
        )
    }

    /// Whether the drive finds by itself what is hot.
    pub fn detects(&self) -> bool {
        self.rule.value == StreamRule::Detected
    }
}

impl Wear {
    /// # Errors
    /// Impossible values: which, and the rule they break.
    pub fn check(&self) -> Result<(), String> {
        let share = self.bad_block_share.as_ref().map_or(0.0, |share| share.value.0);
        require((0.0..0.5).contains(&share), "wear.bad_block_share: use 0 to 0.5")?;
        let endurance = self.endurance.as_ref().map_or(1, |erases| erases.value);
        require(endurance > 0, "wear.endurance: use at least 1")?;
        let levels = self.levelling.as_ref().map(|levelling| levelling.value);
        let spread = self.spread_max.as_ref().map(|spread| spread.value);
        require(
            (levels == Some(Levelling::Static)) == spread.is_some() && spread != Some(0),
            "wear.spread_max: give at least 1 with static levelling, and only with it",
        )
    }
}
