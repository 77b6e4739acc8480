//! The order in which written data goes to the parts of the flash.
//!
//! The names are those of static and dynamic allocation schemes, as the literature
//! writes them by their initials (channel, way, die, plane: CWDP, PWDC and so on):
//! Hu, Jiang, Feng, Tian, Luo and Zhang, "Performance impact and interplay of SSD
//! parallelism through advanced commands, allocation strategy and data
//! granularity", ICS 2011. Here rows are dealt in the order in which they are
//! written (dynamic allocation), whatever their address is.

use super::{Flash, Specification, Translation};
use crate::specification::require;
use serde::Deserialize;

/// A level of the flash over which rows are dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The buses.
    Channel,
    /// The packages on a channel.
    Way,
    /// The dies of a package.
    Die,
    /// The planes of a die.
    Plane,
}

/// The order of drives whose file has none.
const PLANE_CHANNEL_WAY_DIE: [Level; 4] = [Level::Plane, Level::Channel, Level::Way, Level::Die];

impl Translation {
    /// # Errors
    /// No order of the levels, or one that the planes do not allow.
    pub(super) fn check_order(&self, flash: &Flash) -> Result<(), String> {
        let apart = flash.planes_together() == 1;
        require(
            flash.rows_together() == 1 || apart && self.allocation_order.is_some(),
            "flash.multi_plane_programs: say flash.multi_plane = false and translation.allocation_order too",
        )?;
        let Some(order) = self.allocation_order.as_ref().map(|order| &order.value) else {
            return Ok(());
        };
        require(
            order.len() == 4 && PLANE_CHANNEL_WAY_DIE.iter().all(|level| order.contains(level)),
            "translation.allocation_order: name channel, way, die and plane, each once",
        )?;
        require(
            apart || order[0] == Level::Plane,
            "translation.allocation_order: planes that work together come first; say flash.multi_plane = false for another order",
        )?;
        require(
            !apart
                || flash.planes.value == 1
                || self.superblock_dies.is_none()
                || self.dies_per_pool() == flash.dies.value,
            "translation.superblock_dies: planes with blocks of their own make superblocks of all dies, or none",
        )
    }
}

impl Specification {
    /// Lanes: what programs by itself. A die; or, of planes that have blocks of their
    /// own, a plane.
    pub fn lanes(&self) -> u32 {
        self.flash.dies.value * self.lanes_per_die()
    }

    /// See [`Specification::lanes`].
    pub fn lanes_per_die(&self) -> u32 {
        match self.translation.allocation_order {
            Some(_) if self.flash.planes_together() == 1 => self.flash.planes.value,
            _ => 1,
        }
    }

    /// Lanes that collect together.
    pub fn lanes_per_pool(&self) -> u32 {
        let superblocks = self.translation.superblock_dies.is_some();
        self.translation.dies_per_pool() * if superblocks { self.lanes_per_die() } else { 1 }
    }

    /// Erase blocks of a lane, over the planes that work together.
    pub fn flash_blocks_per_lane(&self) -> u32 {
        let planes = self.flash.planes.value / self.flash.planes_together();
        self.flash.blocks_per_plane.value * (planes / self.lanes_per_die())
    }

    /// Dies that get a row before the next part of `level` does.
    pub fn dies_before(&self, level: Level) -> u32 {
        let flash = &self.flash;
        let dies_per_way = flash.dies_per_way.as_ref().map_or(1, |dies| dies.value);
        let parts = |level: &Level| match level {
            Level::Channel => flash.channels.value,
            Level::Way => flash.dies.value / flash.channels.value / dies_per_way,
            Level::Die => dies_per_way,
            Level::Plane => 1,
        };
        let order = self.translation.allocation_order.as_ref();
        let order = order.map_or(&PLANE_CHANNEL_WAY_DIE[..], |order| &order.value);
        order.iter().take_while(|&&faster| faster != level).map(parts).product()
    }
}
