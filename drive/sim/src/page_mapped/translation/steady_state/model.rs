//! A small pool that goes on from what theory gives.
//!
//! Where collected units of several classes fill blocks of their own, a block
//! holds what one or two victims held. Blocks then differ in what they hold by
//! more than chance, which theory's mixture leaves out: write amplification
//! comes out up to a fifth too high. And d-choices has no boundary at all. Some
//! overwrites of a pool of a few hundred blocks, by the drive's own collector,
//! put that right.

use super::alias::Alias;
use super::population::{Block, Pool, Population, Rates};
use super::{Layout, Traffic};
use crate::page_mapped::specification::Specification;
use crate::page_mapped::translation::Translation;
use crate::page_mapped::translation::victim::NOT_CLOSED;
use fourcorners_workload::below;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Blocks of the small pool, and slots that they have at most: with 256 blocks
/// write amplification is 4 % off, with 64 slots as much.
const BLOCKS: u32 = 768;
const SLOTS_MAX: u32 = 256;

/// Overwrites of all its units: theory is left behind after half of one.
const OVERWRITES: f64 = 2.0;

/// Free blocks that it keeps, and those being filled.
const FREE_BLOCKS: u32 = 2;
const OPEN_BLOCKS: u32 = 2;

/// Slots of its rows, where blocks hold whole rows of so many.
const ROW_SLOTS: u32 = 8;

/// The population of a pool of at most `blocks` blocks after some overwrites,
/// begun as theory has it. `drive` is what the pool belongs to.
pub fn settled(
    pool: &Pool,
    blocks: u32,
    drive: &Specification,
    random: &mut Xoshiro256PlusPlus,
) -> Population {
    let parts = pool.slots.div_ceil(SLOTS_MAX);
    let large = pool;
    let slots = pool.slots / parts;
    let slots = if parts > 1 { slots / ROW_SLOTS * ROW_SLOTS } else { slots };
    let scale = f64::from(large.slots) / f64::from(slots);
    let pool = &Pool { slots, mean: large.mean / scale, ..*large };
    let population = pool.population(blocks.min(BLOCKS), random);
    let blocks = population.blocks.len() as u32;
    let units: u32 = population.blocks.iter().map(|block| block.valid).sum();
    let mut model = Translation::new(&small(drive, pool.slots, blocks, units), 0);
    let merged = merged(pool.classes, units);
    let classes: Vec<(Range<u64>, f64)> = (merged.iter())
        .map(|class| {
            let writes = pool.classes[class.members.clone()].iter().map(|rates| rates.writes);
            (class.units.start.into()..class.units.end.into(), writes.sum())
        })
        .collect();
    let writes: Vec<f64> = classes.iter().map(|class| class.1).collect();
    let traffic = Traffic::of_classes(classes);
    let mut population = population;
    for block in &mut population.blocks {
        let sum = |class: &Merged| block.classes[class.members.clone()].iter().sum();
        block.classes = merged.iter().map(sum).collect();
    }
    let filled = model.blank(&traffic).remove(0);
    let groups = traffic.groups(1, 0, random);
    let (slots_per_row, slots) = (model.geometry.slots_per_row, pool.slots);
    let mut layout = Layout::new(groups, 1, slots, slots_per_row, population, (0, 1), random);
    model.lay_out(&mut layout, 0, &filled, random);
    model.blocks_closed = layout.now;

    let kinds = Alias::new(&writes);
    let (mut closed, mut work) = (model.blocks_closed, Vec::new());
    let overwrites = (OVERWRITES * f64::from(units)) as u64;
    for write in 0..overwrites {
        if write == overwrites / 2 {
            closed = model.blocks_closed;
        }
        let class = &merged[kinds.draw(random)].units;
        let unit = class.start + below(random, u64::from(class.end - class.start)) as u32;
        model.write_at_once(unit, model.geometry.unit_bytes, &mut work);
    }
    let closings = (model.blocks_closed - closed) as f64 * 2.0 / OVERWRITES;
    let mut settled: Vec<Block> = (0..model.counts.len())
        .filter(|&block| model.counts[block] < NOT_CLOSED)
        .map(|block| Block {
            valid: model.counts[block],
            age: (model.blocks_closed - model.closed_at[block]) as f64 / closings,
            classes: held(&model, block as u32, &merged, pool.classes),
        })
        .collect();
    settled.sort_by_key(|block| block.valid);
    for block in &mut settled {
        // Anywhere between its level and the next one, in the large blocks.
        let level = f64::from(block.valid) + f64::from(random.next_u32()) / 4_294_967_296.0;
        if scale > 1.0 {
            block.valid = ((level - 0.5).max(0.0) * scale).min(f64::from(large.slots)) as u32;
        }
    }
    Population { blocks: settled, fills: closings * f64::from(pool.slots) / f64::from(units) }
}

/// A drive of one small pool that collects as another one does, a class of
/// whose blocks has `slots` slots.
fn small(drive: &Specification, slots: u32, blocks: u32, units: u32) -> Specification {
    let mut small = drive.clone();
    let unit_bytes = small.translation.unit.0;
    let row_slots = if slots.is_multiple_of(ROW_SLOTS) { ROW_SLOTS } else { 1 };
    let flash = &mut small.flash;
    (flash.channels.value, flash.dies.value, flash.planes.value) = (1, 1, 1);
    flash.page_size.value.0 = unit_bytes * u64::from(row_slots);
    flash.pages_per_block.value = slots / row_slots;
    flash.blocks_per_plane.value = blocks + FREE_BLOCKS + OPEN_BLOCKS;
    (flash.multi_plane_reads, flash.multi_plane_programs, flash.dies_per_way) = (None, None, None);
    (small.translation.spare_area, small.translation.superblock_dies) = (None, None);
    small.translation.allocation_order = None;
    small.capacity.user.value.0 = u64::from(units) * unit_bytes;
    let collection = &mut small.garbage_collection;
    collection.start_free_blocks.value = FREE_BLOCKS;
    (collection.burst_blocks.value, collection.burst_pace) = (0, None);
    (small.wear, small.compression, small.deduplication) = (None, None, None);
    small
}

/// Classes next to each other that are one in the small pool, and its units.
struct Merged {
    members: Range<usize>,
    units: Range<u32>,
}

/// Each class has units of its own in the small pool, if that makes at least one.
fn merged(classes: &[Rates], units: u32) -> Vec<Merged> {
    let mut merged: Vec<Merged> = Vec::new();
    let (mut share, mut member, mut unit) = (0.0, 0, 0);
    for (class, rates) in classes.iter().enumerate() {
        share += rates.units;
        let end = ((share * f64::from(units)).round() as u32).min(units);
        if end > unit {
            merged.push(Merged { members: member..class + 1, units: unit..end });
            (member, unit) = (class + 1, end);
        }
    }
    let last = merged.last_mut().expect("there are units");
    (last.members.end, last.units.end) = (classes.len(), units);
    merged
}

/// Weights of the classes among the units of a block.
fn held(model: &Translation, block: u32, merged: &[Merged], classes: &[Rates]) -> Vec<f64> {
    let slots = model.geometry.slots_per_block;
    let mut weights = vec![0.0; classes.len()];
    for slot in block * slots..(block + 1) * slots {
        if model.valid[slot as usize / 64] >> (slot % 64) & 1 != 0 {
            let unit = model.owner(slot);
            let class = &merged[merged.partition_point(|class| class.units.end <= unit)];
            let members = &classes[class.members.clone()];
            let all: f64 = members.iter().map(|rates| rates.units).sum();
            for (weight, rates) in weights[class.members.clone()].iter_mut().zip(members) {
                *weight += rates.units / all;
            }
        }
    }
    weights
}
