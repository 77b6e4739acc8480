"""Iometer's results CSV: the rows of all workers together, one per access specification.

The columns are those of Iometer 1.1 (its User's Guide, chapter 8, and older editions, whose MBps
columns have no "(Binary)").
"""

from __future__ import annotations

import csv
import datetime
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from fourcorners.errors import UserError
from fourcorners.importing.imported import Imported, ImportedRecording, only_operation
from fourcorners.recording import OperationRecording, Recording
from fourcorners.wording import chosen_size

_RESULTS = "'Target Type"
_SPECIFICATIONS = "'size"


def recognises(text: str) -> bool:
    """Whether this is a result file of Iometer."""
    return _RESULTS in text and "Access Specification Name" in text


def parse(text: str, path: Path) -> list[Imported]:
    """The runs in a result file as one target's; raises :class:`UserError`."""
    specifications = _specifications(text)
    recordings: list[ImportedRecording] = []
    disks: set[str] = set()
    taken: dict[str, int] = {}
    for row in _rows(text):
        if row["Target Type"] == "DISK":
            disks.add(row["Target Name"].strip())
        if row["Target Type"] != "ALL":
            continue
        try:
            recordings.append(_recording(row, specifications, taken))
        except (KeyError, ValueError) as error:
            raise UserError(
                f"{path} is not what Iometer writes: a row has no usable {error}"
            ) from error
    if not recordings:
        raise UserError(f"{path} has no results of all workers together (target type ALL)")
    return [
        Imported(
            program="iometer",
            version=_following(text, "'Version") or "",
            source=path.name,
            target=", ".join(sorted(disks)) or "not told",
            is_device=True,
            created=_time(_following(text, "'Time Stamp")),
            recordings=recordings,
            notes=["Iometer tells mean and maximum latency only, and no series"],
        )
    ]


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Rows of every table of results, by column."""
    header: list[str] = []
    for cells in csv.reader(text.splitlines()):
        if not cells:
            continue
        if cells[0] == _RESULTS:
            header = [cells[0].removeprefix("'"), *cells[1:]]
        elif cells[0].startswith("'"):
            header = []
        elif header:
            yield dict(zip(header, cells, strict=False))


def _specifications(text: str) -> dict[str, dict[str, str]]:
    """Lines of access specifications that consist of one line, by name."""
    found: dict[str, list[dict[str, str]]] = {}
    name, header = "", []
    previous = ""
    for cells in csv.reader(text.splitlines()):
        first = cells[0] if cells else ""
        if previous.startswith("'Access specification name"):
            name = first
        if first == _SPECIFICATIONS:
            header = [first.removeprefix("'"), *cells[1:]]
        elif first.startswith("'"):
            header = []
        elif header and first.isdigit():
            found.setdefault(name, []).append(dict(zip(header, cells, strict=False)))
        previous = first
    return {name: lines[0] for name, lines in found.items() if len(lines) == 1}


def _recording(
    row: Mapping[str, str], specifications: Mapping[str, Mapping[str, str]], taken: dict[str, int]
) -> ImportedRecording:
    name = row["Access Specification Name"].strip()
    taken[name] = taken.get(name, 0) + 1
    identity = f"iometer/{name}" if taken[name] == 1 else f"iometer/{name}/{taken[name]}"
    specification = specifications.get(name, {})
    operations = {
        operation: _operation(row, operation)
        for operation in ("read", "write")
        if float(row[f"{operation.capitalize()} I/Os"]) > 0
        and float(row[f"{operation.capitalize()} IOps"]) > 0
    }
    elapsed_s = max((operation.elapsed_s for operation in operations.values()), default=0.0)
    random = specification.get("% random")
    pattern = {"100": "random", "0": "sequential"}.get(str(random))
    size = specification.get("size")
    depth = _whole(row.get("Queue Depth"))
    point = {
        "operation": only_operation(operations),
        "pattern": pattern,
        "block_bytes": None if size is None else int(size),
        "queue_depth": depth,
    }
    words = [name, *([chosen_size(int(size))] if size else [])]
    return ImportedRecording(
        id=identity,
        label=", ".join([*words, *([f"queue depth {depth}"] if depth else [])]),
        point={key: value for key, value in point.items() if value is not None},
        parameters={key: value for key, value in specification.items() if value},
        recording=Recording(
            elapsed_s=elapsed_s,
            mean_queue_depth=None,
            cpu_user_s=None,
            cpu_system_s=None,
            generating_s=None,
            interrupted=False,
            failure=None,
            operations=operations,
        ),
    )


def _operation(row: Mapping[str, str], operation: str) -> OperationRecording:
    word = operation.capitalize()
    ios, rate = int(float(row[f"{word} I/Os"])), float(row[f"{word} IOps"])
    transferred = row["Bytes Read" if operation == "read" else "Bytes Written"]
    none = np.zeros(0, np.int64)
    errors = int(float(row.get(f"{word} Errors") or 0))
    return OperationRecording(
        ios=ios,
        bytes=int(float(transferred)),
        errors={0: errors} if errors else {},
        elapsed_s=ios / rate,
        latency_min_s=None,
        latency_mean_s=float(row[f"Average {word} Response Time"]) * 1e-3,
        latency_max_s=float(row[f"Maximum {word} Response Time"]) * 1e-3,
        bucket_low_ns=none,
        bucket_high_ns=none,
        bucket_count=none,
        second_ios=none,
        second_bytes=none,
        second_latency_mean_s=none.astype(float),
        second_latency_max_s=none.astype(float),
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None


def _following(text: str, heading: str) -> str | None:
    """The line after a heading."""
    lines = text.splitlines()
    for line, after in itertools.pairwise(lines):
        if line.startswith(heading):
            return after.strip().strip("'\"")
    return None


def _time(stamp: str | None) -> str:
    """Iometer's local time, taken as UTC: the file does not tell the zone."""
    head = (stamp or "").rsplit(":", 1)[0]
    for form in ("%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M:%S"):
        try:
            return datetime.datetime.strptime(head, form).strftime("%Y-%m-%dT%H:%M:%SZ")
        except ValueError:
            continue
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
