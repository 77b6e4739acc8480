"""Finding ``superblock_bytes``: what is erased at a time, from the delays of sequential rewriting.

A drive that is rewritten in sequence leaves whole blocks without valid data. Reclaiming one costs
its erasure only, once for as many bytes as it holds: the time that a part of the rewriting takes
beyond what the same bytes took on the erased drive is a staircase over the bytes written. Its
tread is the unit, all blocks that fill up and are erased together counted as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData, measured

TEST = "probe-overwrite"
NAME, TITLE = "superblock_bytes", "Erased at a time (superblock)"

Floats = npt.NDArray[np.float64]
Part = tuple[int, float]
"""Bytes written, and the seconds that it took."""

EVENTS_MIN = 4
"""Erasures seen, from which a period is one."""

_EXCESS_SHARE_MIN = 0.003
"""Least share of a part's time that is no scatter, where the reference shows none."""

_SCATTERS = 3.0
"""Largest deviations of the reference that a delay has to exceed."""

_MISFIT_MAX = 0.35
"""Standard deviation about the staircase, in steps, above which there is none. Half a tread's
resolution gives 0.29."""

_FINEST_SHARE = 0.4
"""Of a tread, that the smallest part may be."""

_PHASES = 48
_COARSE_RATIO, _FINE_RATIO, _NEAR = 1.012, 1.0015, 1.08


@dataclass(frozen=True)
class Cycle:
    """A staircase: its tread and step, how many steps were seen, and how well it fits."""

    unit_bytes: float
    low_bytes: float
    high_bytes: float
    step_s: float
    events: float
    misfit: float
    """Standard deviation about it, in steps."""
    finest_bytes: float
    """The smallest part that was looked at."""


def excess(reference: Sequence[Part], parts: Sequence[Part]) -> list[bool]:
    """Which parts took longer than the reference's scatter explains."""
    pace, scatter = _pace(reference)
    return [
        elapsed - pace * count > max(_SCATTERS * scatter, _EXCESS_SHARE_MIN * elapsed)
        for count, elapsed in parts
    ]


def _pace(reference: Sequence[Part]) -> tuple[float, float]:
    """Seconds per byte of parts without erasures, and their largest deviation in seconds."""
    counts = np.array([count for count, _ in reference], dtype=np.float64)
    times = np.array([elapsed for _, elapsed in reference])
    pace = float(np.median(times / counts))
    return pace, float(np.abs(times - pace * counts).max())


def erase_cycle(reference: Sequence[Part], parts: Sequence[Part]) -> Cycle | None:
    """The staircase of the delays, if there is one.

    Args:
        reference: parts of the fill, before anything is erased.
        parts: of rewriting in sequence, in order, of any sizes.

    Returns:
        The least-squares staircase over all treads and phases; ``None`` where fewer than
        two parts were delayed, or no staircase fits.
    """
    late = excess(reference, parts)
    if sum(late) < 2:
        return None
    pace, _ = _pace(reference)
    # Nothing is erased before the spare area is used up.
    parts = parts[late.index(True) :]
    counts = np.array([count for count, _ in parts], dtype=np.float64)
    delay = np.cumsum([elapsed - pace * count for count, elapsed in parts])
    written = np.cumsum(counts)
    shortest, longest = 2 * float(counts.min()), float(written[-1]) / 2
    if longest <= shortest:
        return None
    treads = _steps(shortest, longest, _COARSE_RATIO)
    squares, steps = _fit_all(written, delay, treads)
    # Coarse parts leave many treads alike, of which none is the first.
    best = float(np.median(treads[squares <= squares.min() * 1.05 + 1e-4 * steps.max() ** 2]))
    treads = _steps(best / _NEAR, best * _NEAR, _FINE_RATIO)
    squares, steps = _fit_all(written, delay, treads)
    index = int(np.argmin(squares))
    step = float(steps[index])
    if step <= 0:
        return None
    # All treads that explain the delays as well but for one part on the wrong side of an erasure.
    alike = treads[squares <= squares[index] * 1.25 + step**2 / len(parts)]
    unit = float(np.median(treads[squares <= squares[index] * 1.05 + (0.02 * step) ** 2]))
    events = float(written[-1]) / unit
    coarse = 0.5 * float(counts.min()) / max(events, 1)
    misfit = float(np.sqrt(squares[index])) / step
    if misfit > _MISFIT_MAX:
        return None
    low, high = min(float(alike.min()), unit - coarse), max(float(alike.max()), unit + coarse)
    return Cycle(unit, low, high, step, events, misfit, float(counts.min()))


def _steps(low: float, high: float, ratio: float) -> Floats:
    number = max(int(np.ceil(np.log(high / low) / np.log(ratio))), 1)
    return np.geomspace(low, high, number + 1)


def _fit_all(written: Floats, delay: Floats, treads: Floats) -> tuple[Floats, Floats]:
    """Mean square about the best staircase of each tread, and its step, shape (treads,)."""
    phases = np.arange(_PHASES) / _PHASES
    squares = np.empty(len(treads))
    steps = np.empty(len(treads))
    centred = delay - delay.mean()
    for index, tread in enumerate(treads):
        stairs = np.floor(written / tread + phases[:, None])
        stairs -= stairs.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", stairs, stairs)
        slope = stairs @ centred / np.where(variance > 0, variance, np.inf)
        left = np.mean((centred - slope[:, None] * stairs) ** 2, axis=1)
        best = int(np.argmin(left))
        squares[index], steps[index] = left[best], slope[best]
    return squares, steps


def parts_of(run: RunData, stage: str) -> tuple[list[Part], list[str]]:
    """The parts of a stage of the probe in order, and the ids of their recordings."""
    chosen = [m for m in measured(run, TEST, "write") if m.point.get("stage") == stage]
    parts = [(int(m.row["bytes"]), m.number("elapsed_s") or 0.0) for m in chosen]
    return parts, [m.recording for m in chosen]


def find(run: RunData) -> list[Finding]:
    """The finding, if the probe ran."""
    reference, _ = parts_of(run, "filled")
    parts, evidence = parts_of(run, "rewrite")
    if not reference:
        return []
    cycle = erase_cycle(reference, parts) if parts else None
    detail = {
        "bytes": [count for count, _ in parts],
        "elapsed_s": [elapsed for _, elapsed in parts],
    }
    if cycle is None or cycle.events < EVENTS_MIN or _coarse(cycle):
        reason = (
            "Rewriting the drive in sequence shows no delays at equal distances: erasures hide "
            "behind something slower, or too few of them fell into what was rewritten."
        )
        return [Finding(NAME, TITLE, "not identifiable", reason, evidence=evidence, detail=detail)]
    text = (
        f"Rewriting the drive in sequence is held up for {wording.duration(cycle.step_s)} after "
        f"every {wording.size(cycle.unit_bytes)}: so much is erased at a time, over all dies."
    )
    return [
        Finding(
            NAME,
            TITLE,
            "measured",
            text,
            value=cycle.unit_bytes,
            unit="B",
            interval=(cycle.low_bytes, cycle.high_bytes),
            evidence=evidence,
            detail=detail
            | {
                "step_s": cycle.step_s,
                "events": cycle.events,
                "goodness": {"misfit_in_steps": cycle.misfit},
            },
        )
    ]


def _coarse(cycle: Cycle) -> bool:
    """Whether the parts were too large for it: then shorter treads would do as well."""
    unsure = cycle.high_bytes - cycle.low_bytes > 0.2 * cycle.unit_bytes
    return unsure or cycle.finest_bytes > _FINEST_SHARE * cycle.unit_bytes
