"""Write amplification of a drive that is overwritten at random after a fill in sequence.

No formula gives the way to the steady state, so a model drive is overwritten: greedy collection of
one pool of blocks, the block with the fewest valid units first, which uniform writes make nearly
the oldest one. It ends where Desnoyers' formula (SYSTOR 2012) has it. What matters is the share of
spare area and, a little, how many units a block holds, not how many blocks there are.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCKS = 128


@functools.lru_cache(maxsize=256)
def moved_units(spare: float, units_per_block: int, written_max: float) -> tuple[Floats, Floats]:
    """How much was moved by when.

    Args:
        spare: spare area over user area.
        units_per_block: units that a block holds and the host writes at a time.
        written_max: where to end, in user areas.

    Returns:
        What the host has written and what was moved, both in user areas since the fill.
    """
    drive = _Model(spare, units_per_block)
    written, moved = [0.0], [0.0]
    while written[-1] < written_max:
        drive.step()
        written.append(drive.written / drive.user)
        moved.append(drive.moved / drive.user)
    return np.array(written), np.array(moved)


class _Model:
    """Units in slots of blocks. ``slot`` says where a unit is, ``owner`` whose a slot is."""

    def __init__(self, spare: float, units: int) -> None:
        self._chance = np.random.default_rng(1)
        self._units = units
        self.user = round(_BLOCKS * units / (1 + spare))
        # One more, into which is collected.
        blocks = _BLOCKS + 1
        self._slot = np.arange(self.user)
        self._owner = np.zeros((blocks, units), dtype=np.int64)
        self._owner.reshape(-1)[: self.user] = self._slot
        self._valid = np.zeros(blocks, dtype=np.int64)
        full, rest = divmod(self.user, units)
        self._valid[:full], self._valid[full] = units, rest
        self._closed = np.arange(blocks) < full
        self._open, self._filled = full, rest
        self._free = list(range(full + 1, blocks))
        self.written = 0
        self.moved = 0

    def step(self) -> None:
        """Fills the open block, or empties one."""
        if self._filled == self._units and len(self._free) <= 1:
            self._collect()
            return
        count = self._units - self._filled or self._units
        self._put(self._chance.integers(0, self.user, count))
        self.written += count

    def _collect(self) -> None:
        victim = int(np.argmin(np.where(self._closed, self._valid, np.iinfo(np.int64).max)))
        slots = victim * self._units + np.arange(self._units)
        kept = self._owner[victim][self._slot[self._owner[victim]] == slots]
        self._closed[victim] = False
        self._put(kept)
        self._free.append(victim)
        self.moved += len(kept)

    def _put(self, units: Integers) -> None:
        while len(units):
            if self._filled == self._units:
                self._closed[self._open] = True
                self._open, self._filled = self._free.pop(0), 0
            part = units[: self._units - self._filled]
            units = units[len(part) :]
            first = self._open * self._units + self._filled
            self._owner.reshape(-1)[first : first + len(part)] = part
            # A unit that is written twice in one go is valid once.
            distinct = np.unique(part)
            np.subtract.at(self._valid, self._slot[distinct] // self._units, 1)
            self._slot[part] = first + np.arange(len(part))
            self._valid[self._open] += len(distinct)
            self._filled += len(part)
