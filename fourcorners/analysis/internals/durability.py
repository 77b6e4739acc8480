"""Findings ``flush_cost``, ``volatile_write_cache`` and ``power_loss_protection``.

A cache that loses its content makes writes fast, and flushes and forced writes slow: they wait for
the medium. One behind capacitors makes all of them fast. Without a cache all writes wait, and a
flush finds nothing to do. A read waits for the medium in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-flush"

_FORCED_SLOWER_MIN = 2.0
"""Forced writes over plain ones, from which plain ones do not wait for the medium."""

_FORCED_ALIKE_MAX = 1.3
"""The same up to which they are alike."""

_BUFFERED_MAX = 0.8
"""Plain writes over reads, up to which they are too fast to come from the medium."""

_UNBUFFERED_MIN = 0.95

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
            ("flushed", "flush"),
            ("read", "read"),
        )
    }
    if not latencies["plain"]:
        return []
    evidence = [m.recording for m in rows]
    if not all(latencies.values()):
        reason = "Flushes or forced writes were not carried out, or there was nothing to read."
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in _TITLES.items()
        ]
    plain, forced, flush, read = (
        float(np.median(latencies[kind])) for kind in ("plain", "forced", "flushed", "read")
    )
    detail = {
        "plain_s": plain,
        "forced_s": forced,
        "flush_s": flush,
        "read_s": read,
        "goodness": {"spread_of_forced": float(np.ptp(latencies["forced"])) / forced},
    }
    volatile, protected, text = _what(plain, forced, read)
    if volatile and min(latencies["forced"]) <= max(latencies["plain"]):
        volatile = protected = None
        text += " But not in each round: other load may be all of it."
    return [
        _cost(latencies["flushed"], evidence, detail),
        _said("volatile_write_cache", volatile, text, evidence, detail),
        _said("power_loss_protection", protected, text, evidence, detail),
    ]


def _service_s(m: Measured) -> float:
    """Mean time from submission to completion: a drive may be slower than requests are due."""
    return m.number("service_mean_s") or m.number("latency_mean_s") or 0.0


def _of(rows: Sequence[Measured], kind: str, operation: str) -> list[Measured]:
    return [m for m in rows if m.point.get("kind") == kind and m.operation == operation]


def _what(plain: float, forced: float, read: float) -> tuple[bool | None, bool | None, str]:
    """Whether the cache is volatile, whether it is protected, and why; ``None`` where unclear."""
    shown = (
        f"A plain write takes {wording.duration(plain)}, a forced one {wording.duration(forced)}, "
        f"a read {wording.duration(read)}"
    )
    if forced >= _FORCED_SLOWER_MIN * plain:
        return True, False, f"{shown}: plain writes are complete before they are durable."
    if forced <= _FORCED_ALIKE_MAX * plain and plain <= _BUFFERED_MAX * read:
        return False, True, f"{shown}: writes are durable in a buffer that keeps its content."
    if forced <= _FORCED_ALIKE_MAX * plain and plain >= _UNBUFFERED_MIN * read:
        return False, False, f"{shown}: every write waits for the medium."
    return None, None, f"{shown}, which says neither that writes wait for the medium nor that not."


def _cost(values: Sequence[float], evidence: Sequence[str], detail: dict[str, object]) -> Finding:
    value = float(np.mean(values))
    interval = None
    if len(values) > 1:
        half = two_sided_t(len(values) - 1) * float(np.std(values, ddof=1)) / len(values) ** 0.5
        half = max(half, 0.005 * value)
        interval = (value - half, value + half)
        if half > value:
            return Finding(
                "flush_cost",
                _TITLES["flush_cost"],
                "not identifiable",
                "Flushes took from "
                f"{wording.duration(min(values))} to {wording.duration(max(values))}, round by "
                "round: too different for a mean.",
                evidence=evidence,
                detail=detail,
            )
    return Finding(
        "flush_cost",
        _TITLES["flush_cost"],
        "measured",
        f"A flush after a single small write takes {wording.duration(value)}.",
        value=value,
        unit="s",
        interval=interval,
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
