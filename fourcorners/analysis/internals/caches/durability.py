"""Findings ``flush_cost``, ``volatile_write_cache`` and ``power_loss_protection``.

A cache that loses its content makes writes fast, and flushes and forced writes slow: they wait for
the medium. One behind capacitors makes all of them fast. Without a cache all writes wait, and a
flush finds nothing to do. A read waits for the medium in any case; but not one of what was written
right before it and is still in a buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, RESOLUTION, Finding
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-flush"

_FORCED_SLOWER_MIN = 2.0
"""Forced writes over plain ones, from which plain ones do not wait for the medium."""

_FORCED_ALIKE_MAX = 1.3
"""The same up to which they are alike."""

_MEDIUM_MIN, _MEMORY_MAX = 0.8, 0.5
"""Time over that of a read of any place, from which a read, or a write, waits for the medium, and
up to which a read does not."""

_AS_MEMORY_MAX, _SLOWER_MIN = 2.0, 3.0
"""Time of a write over that of a read from a cache, up to which it is complete in a buffer, and
from which it waits for the medium."""

_ROUNDS_DIFFER = 4.0
"""Uncertainty by the rounds over that by the scatter of all flushes, from which it is the one."""

_UNSURE = 0.25
"""Half an interval over the value, above which nothing is said."""

_TOLERANCE = 0.01
"""Of what a flush costs, where its rounds agree as closely: docs/explain.md."""

_TITLES = {
    "flush_cost": "What a flush costs",
    "volatile_write_cache": "Volatile write cache",
    "power_loss_protection": "Power-loss protection",
}


def find(run: RunData) -> list[Finding]:
    """The findings, if the probe ran."""
    rows = [m for m in measured(run, TEST) if m.point.get("kind")]
    latencies = {
        kind: [_service_s(m) for m in _of(rows, kind, operation)]
        for kind, operation in (
            ("plain", "write"),
            ("forced", "write"),
            ("read", "read"),
            ("just written", "read"),
            ("just read", "read"),
        )
    }
    if not latencies["plain"]:
        return []
    flushes = _of(rows, "flushed", "flush")
    evidence = [m.recording for m in rows]
    if not flushes or not all(latencies.values()):
        reason = "Flushes or forced writes were not carried out, or there was nothing to read."
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in _TITLES.items()
        ]
    usual = {kind: float(np.median(values)) for kind, values in latencies.items()}
    detail: dict[str, object] = {
        f"{kind.replace(' ', '_')}_s": value for kind, value in usual.items()
    }
    spread = float(np.ptp(latencies["forced"])) / usual["forced"]
    detail |= {"goodness": {"spread_of_forced": spread}}
    volatile, protected, text = _what(usual)
    if volatile and min(latencies["forced"]) <= max(latencies["plain"]):
        volatile = protected = None
        text += " But not in each round: other load may be all of it."
    return [
        _cost(run, flushes, detail),
        _said("volatile_write_cache", volatile, text, evidence, detail),
        _said("power_loss_protection", protected, text, evidence, detail),
    ]


def _of(rows: Sequence[Measured], kind: str, operation: str) -> list[Measured]:
    return [m for m in rows if m.point.get("kind") == kind and m.operation == operation]


def _service_s(m: Measured) -> float:
    """Median time of a request. Where a drive cannot keep the pace, requests wait for the ones
    before them as well: then the time from one completion to the next."""
    return min(
        m.number("latency_p50_s") or 0.0, (m.number("elapsed_s") or math.inf) / max(m.ios, 1)
    )


def _what(usual: Mapping[str, float]) -> tuple[bool | None, bool | None, str]:
    """Whether the cache is volatile, whether it is protected, and why; ``None`` where unclear."""
    plain, forced, read = usual["plain"], usual["forced"], usual["read"]
    shown = (
        f"A plain write takes {wording.duration(plain)}, a forced one {wording.duration(forced)}, "
        f"a read {wording.duration(read)}"
    )
    if forced >= _FORCED_SLOWER_MIN * plain:
        return True, False, f"{shown}: plain writes are complete before they are durable."
    if forced <= _FORCED_ALIKE_MAX * plain:
        if usual["just read"] >= _MEDIUM_MIN * read:
            written = wording.duration(usual["just written"])
            shown = f"{shown}, and one of what was just written {written}"
            buffered = usual["just written"] <= _MEMORY_MAX * read
            waits = usual["just written"] >= _MEDIUM_MIN * read
        else:
            # A cache for reads has it in any case, and shows what a command takes without a medium.
            memory = wording.duration(usual["just read"])
            shown = f"{shown}, and one of what a cache holds {memory}"
            buffered = plain <= _AS_MEMORY_MAX * usual["just read"]
            waits = plain >= _SLOWER_MIN * usual["just read"]
        if buffered:
            return False, True, f"{shown}: writes are durable in a buffer that keeps its content."
        if waits:
            return False, False, f"{shown}: every write waits for the medium."
    return None, None, f"{shown}, which says neither that writes wait for the medium nor that not."


def _latencies_s(run: RunData, m: Measured) -> npt.NDArray[np.float64]:
    low_ns, high_ns, count = run.histogram(m.recording, m.operation)
    return np.repeat((low_ns + high_ns) / 2e9, count)


def _half_width(values: npt.NDArray[np.float64]) -> float:
    """Of the interval of a mean."""
    if len(values) < 2:
        return math.inf
    return two_sided_t(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))


def _cost(run: RunData, rounds: Sequence[Measured], detail: dict[str, object]) -> Finding:
    name, title = "flush_cost", _TITLES["flush_cost"]
    evidence = [m.recording for m in rounds]
    values = np.array([m.number("latency_mean_s") or 0.0 for m in rounds])
    value = float(values.mean())
    half = _half_width(values)
    by_all = _half_width(np.concatenate([_latencies_s(run, m) for m in rounds]))
    if half < _ROUNDS_DIFFER * by_all:
        half = by_all
    if half > _UNSURE * value:
        text = (
            f"Flushes took {wording.duration(values.min())} to {wording.duration(values.max())},"
            " round by round: too different for a mean."
        )
        return Finding(name, title, "not identifiable", text, evidence=evidence, detail=detail)
    if half <= _TOLERANCE * value:
        half = _TOLERANCE * value
        detail = detail | {"interval": RESOLUTION}
    return Finding(
        name,
        title,
        "measured",
        f"A flush after a single small write takes {wording.duration(value)}.",
        value=value,
        unit="s",
        interval=(value - half, value + half),
        evidence=evidence,
        detail=detail,
    )


def _said(
    name: str, yes: bool | None, text: str, evidence: Sequence[str], detail: dict[str, object]
) -> Finding:
    return Finding(
        name,
        _TITLES[name],
        "not identifiable" if yes is None else "measured",
        text,
        value=None if yes is None else float(yes),
        unit=None if yes is None else PRESENCE,
        evidence=evidence,
        detail=detail | {"discrete": True},
    )
