"""An access specification as the keys of a suite file's stream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.errors import UserError

# Shares are percent; what lies beyond rounding is a mistake.
_PERCENT_TOLERANCE = 0.5


@dataclass(frozen=True)
class MixPart:
    """A line of a specification: what a share of the I/Os is."""

    size_bytes: int
    percent: float
    """Of the I/Os."""
    read_percent: float
    random_percent: float


def stream_keys(parts: Sequence[MixPart], where: str) -> dict[str, Any]:
    """Reads, sizes and pattern of a mix; raises :class:`UserError` for one that no stream has.

    Args:
        parts: what is mixed.
        where: how sentences call it.
    """
    total = sum(part.percent for part in parts)
    if abs(total - 100) > _PERCENT_TOLERANCE:
        raise UserError(f"{where}: its shares make {total:g} %: let them make 100 %")
    if any(part.size_bytes < 1 for part in parts):
        raise UserError(f"{where}: a size of 0 bytes is refused: give the bytes of each I/O")
    randoms = {part.random_percent for part in parts}
    if len(randoms) > 1:
        raise UserError(
            f"{where}: parts with different random percentages are refused: split it into several "
            "specifications"
        )
    [random] = randoms
    reads = sum(part.percent * part.read_percent for part in parts) / total
    found: dict[str, Any] = {"reads": round(reads / 100, 9)}
    if len({part.size_bytes for part in parts}) == 1:
        found["block"] = f"{parts[0].size_bytes} B"
    elif 0 < reads < 100:
        # The lines of reads and of writes have sizes of their own.
        of_reads = _sizes([(part.size_bytes, part.percent * part.read_percent) for part in parts])
        of_writes = _sizes(
            [(part.size_bytes, part.percent * (100 - part.read_percent)) for part in parts]
        )
        found["sizes"] = of_reads if of_reads == of_writes else f"{of_reads},{of_writes}"
    else:
        found["sizes"] = _sizes([(part.size_bytes, part.percent) for part in parts])
    if random in (0, 100):
        found["pattern"] = "random" if random else "sequential"
    else:
        found["random"] = random / 100
    return found


def _sizes(weights: Sequence[tuple[int, float]]) -> str:
    total = sum(weight for _, weight in weights)
    shares: dict[int, float] = {}
    for size, weight in weights:
        if weight > 0:
            shares[size] = shares.get(size, 0.0) + 100 * weight / total
    return ":".join(f"{size} B/{share:.9g}" for size, share in shares.items())


def document(
    title: str, workloads: list[dict[str, Any]], shown: dict[str, str], stem: str
) -> dict[str, Any]:
    """A suite of one test with these workloads, which fills the target first where any reads."""
    names = [plain(workload["name"]) for workload in workloads]
    for number, (workload, name) in enumerate(zip(workloads, names, strict=True), start=1):
        own = name if names.count(name) == 1 else f"{number}-{name}"
        workload |= {"name": own, "id": own, "label": own}
    reads = any(stream["reads"] > 0 for one in workloads for stream in one["stream"])
    test = {
        "name": plain(stem),
        "title": title,
        "purpose": "Access specifications of another program.",
        "shown": {key: re.sub(r"[{}]", "", text) for key, text in shown.items()},
        "prepare": ["fill"] if reads else [],
        "workload": workloads,
    }
    return {"schema_version": 1, "name": test["name"], "title": title, "test": [test]}


def plain(name: str) -> str:
    """A name of letters, digits and marks that tests may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or "workload"
