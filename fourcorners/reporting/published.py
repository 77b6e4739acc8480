"""What reviews and vendors published of a drive, laid beside what a run measured.

A published figure is matched with a recording where its words say all that is needed: pattern,
operation, block size and queue depth. Where they say more (a used drive, another link), or less,
only the published figure is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners import wording
from fourcorners.analysis.source import every_operation
from fourcorners.catalog.published import Published, published

from .run import ReportedRun

_WORDS = re.compile(
    r"(?P<extreme>Mean latency of r|Longest r|R|S)(?:andom|equential) (?P<operation>read|write)s?"
    r"(?: of (?P<size>\d+) (?P<unit>B|KiB|MiB)(?: blocks)?)?(?: at queue depth (?P<depth>\d+))?"
)
_DEPTH = re.compile(r"queue depth (\d+)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20}
_RELATIONS = {"is": "", "about": "about ", "above": "above ", "below": "below ", "between": ""}
# Figures of one kind of data; where none is named the reviews wrote the same block again and again.
_CONTENTS = ("incompressible", "repeated")


@dataclass(frozen=True)
class _Asked:
    pattern: str
    operation: str
    block_bytes: int
    queue_depth: int
    quantity: str
    """The column of a recording that answers."""
    content: str | None


def published_drives() -> tuple[str, ...]:
    """The drives of the catalog of which something was published."""
    return tuple(dict.fromkeys(figure.drive for figure in published().values()))


def published_view(
    runs: Sequence[ReportedRun], names: Sequence[str], asked: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """A row for each published figure of a run's drive, unless it measured none of them, and of the
    drives asked for.

    Args:
        runs: the report's.
        names: what it calls their drives.
        asked: drives of the catalog whose figures are laid over every run.
    """
    rows = []
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        own = run.manifest.target.locator.removeprefix("sim:")
        for drive in dict.fromkeys([own, *asked]):
            figures = [figure for figure in published().values() if figure.drive == drive]
            of = [
                _row(run, name, index, "" if drive == own else drive, figure) for figure in figures
            ]
            if drive in asked or any(row["here"] for row in of):
                rows += of
    return rows


def _row(run: ReportedRun, name: str, index: int, about: str, figure: Published) -> dict[str, Any]:
    high = "" if figure.high is None else f" to {wording.number(figure.high)}"
    unit = "" if figure.unit == "ratio" else f" {figure.unit}"
    asked = _asked(figure)
    return {
        "index": index,
        "drive": name,
        "about": about,
        "what": figure.what,
        "published": f"{_RELATIONS[figure.relation]}{wording.number(figure.value)}{high}{unit}",
        "here": [] if asked is None else list(_answers(run, asked, figure)),
        "condition": figure.condition,
        "source": figure.source,
        "url": figure.url if figure.url.startswith("https://") else "",
        "verified": figure.verified,
    }


def _asked(figure: Published) -> _Asked | None:
    """What recording the figure's words describe; ``None`` where they do not say it all."""
    content = next((kind for kind in _CONTENTS if kind in figure.condition), None)
    found = _WORDS.fullmatch(figure.what)
    if found is None or found["size"] is None:
        return None
    depth = found["depth"] or (said[1] if (said := _DEPTH.search(figure.condition)) else None)
    quantity = {"IOPS": "iops", "MB/s": "bytes_per_second", "MiB/s": "bytes_per_second"}
    match found["extreme"]:
        case "Mean latency of r":
            column = "latency_mean_s"
        case "Longest r":
            column = "latency_max_s"
        case _:
            column = quantity.get(figure.unit, "")
    if depth is None or not column:
        return None
    return _Asked(
        pattern="sequential" if found["extreme"] == "S" else "random",
        operation=found["operation"],
        block_bytes=int(found["size"]) * _UNITS[found["unit"]],
        queue_depth=int(depth),
        quantity=column,
        content=content,
    )


def _answers(run: ReportedRun, asked: _Asked, figure: Published) -> Iterator[str]:
    """What the run measured of it, once for each test and kind of data."""
    scale = {"IOPS": 1.0, "MB/s": 1e6, "MiB/s": 2.0**20, "ms": 1e-3}[figure.unit]
    for one in every_operation(run.recordings):
        point = one.point
        value = wording.finite(getattr(one, asked.quantity))
        if value is None or one.operation != asked.operation:
            continue
        if (point.get("pattern"), point.get("block_bytes"), point.get("queue_depth")) != (
            asked.pattern,
            asked.block_bytes,
            asked.queue_depth,
        ):
            continue
        content = str(point.get("content") or "")
        if asked.operation == "write" and asked.content not in (None, content):
            continue
        error = figure.error(value / scale)
        off = wording.change(error) if abs(error) >= 5e-4 else "as published"
        kind = f", {content}" if asked.operation == "write" and asked.content is None else ""
        measured = f"{wording.number(value / scale)} {figure.unit}"
        yield f"{measured} ({off}; {one.test}{kind})"
