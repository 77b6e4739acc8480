"""Iometer's results CSV: the rows of all workers together, one per access specification.

The columns are those of Iometer 1.1 (its User's Guide, chapter 8, and older editions, whose MBps
columns have no "(Binary)").
"""

from __future__ import annotations

import csv
import datetime
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fourcorners.errors import UserError
from fourcorners.importing.figures import (
    SECONDS_MAX,
    UnusableError,
    count,
    now,
    number,
    text,
    written,
)
from fourcorners.importing.imported import (
    NOT_TOLD,
    Imported,
    ImportedRecording,
    only_operation,
)
from fourcorners.recording import OperationRecording, Recording
from fourcorners.wording import chosen_size

_RESULTS = "'Target Type"
_SPECIFICATIONS = "'size"


def recognises(content: str) -> bool:
    """Whether this is a result file of Iometer."""
    return _RESULTS in content and "Access Specification Name" in content


def parse(content: str, path: Path) -> list[Imported]:
    """The runs in a result file as one target's; raises :class:`UserError`."""
    lines = content.splitlines()
    recordings: list[ImportedRecording] = []
    disks: set[str] = set()
    idle: list[str] = []
    results = 0
    try:
        specifications = _specifications(lines)
        for row in _rows(lines):
            if row["Target Type"] == "DISK":
                disks.add(text(row.get("Target Name", "")).strip())
            if row["Target Type"] != "ALL":
                continue
            results += 1
            recording = _recording(row, specifications)
            if recording.recording.operations:
                recordings.append(recording)
            else:
                idle.append(recording.name)
    except (KeyError, UnusableError, csv.Error) as error:
        said = f"a row has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not what Iometer writes: {said}") from error
    if not results:
        raise UserError(f"{path} has no results of all workers together (target type ALL)")
    if not recordings:
        raise UserError(f"{path} holds no result that read or wrote anything")
    notes = ["Iometer tells mean and maximum latency only, and no series"]
    notes += [f"{name} read and wrote nothing: left out" for name in dict.fromkeys(idle)]
    notes += [
        f"{own.name} {own.recording.failure}: its figures are in no spec sheet"
        for own in recordings
        if own.recording.failure
    ]
    return [
        Imported(
            program="iometer",
            version=text(_following(lines, "'Version") or ""),
            sources=[path.name],
            target=text(", ".join(sorted(disks - {""}))) or NOT_TOLD,
            is_device=bool(disks - {""}),
            created=_time(_following(lines, "'Time Stamp")),
            recordings=recordings,
            notes=notes,
        )
    ]


def _rows(lines: Sequence[str]) -> Iterator[dict[str, str]]:
    """Rows of every table of results, by column."""
    header: list[str] = []
    for cells in csv.reader(lines):
        if not cells:
            continue
        if cells[0] == _RESULTS:
            header = [cells[0].removeprefix("'"), *cells[1:]]
        elif cells[0].startswith("'"):
            header = []
        elif header:
            yield dict(zip(header, cells, strict=False))


def _specifications(lines: Sequence[str]) -> dict[str, dict[str, str]]:
    """Lines of access specifications that consist of one line, by name."""
    found: dict[str, list[dict[str, str]]] = {}
    name, header = "", []
    previous = ""
    for cells in csv.reader(lines):
        first = cells[0] if cells else ""
        if previous.startswith("'Access specification name"):
            name = first
        if first == _SPECIFICATIONS:
            header = [first.removeprefix("'"), *cells[1:]]
        elif first.startswith("'"):
            header = []
        elif header and first.isascii() and first.isdigit():
            found.setdefault(name, []).append(dict(zip(header, cells, strict=False)))
        previous = first
    return {name: lines[0] for name, lines in found.items() if len(lines) == 1}


def _recording(
    row: Mapping[str, str], specifications: Mapping[str, Mapping[str, str]]
) -> ImportedRecording:
    name = text(row["Access Specification Name"].strip())
    specification = specifications.get(row["Access Specification Name"].strip(), {})
    operations = {
        operation: _operation(row, operation)
        for operation in ("read", "write")
        if _figure(row, f"{operation.capitalize()} I/Os") > 0
        and _figure(row, f"{operation.capitalize()} IOps") > 0
    }
    elapsed_s = max((operation.elapsed_s for operation in operations.values()), default=0.0)
    errors = sum(operation.error_count for operation in operations.values())
    pattern = {"100": "random", "0": "sequential"}.get(specification.get("% random", ""))
    size = count(specification["size"], "size") if "size" in specification else None
    depth = _whole(row.get("Queue Depth"))
    point = {
        "job": name,
        "operation": only_operation(operations) if operations else "mixed",
        "pattern": pattern,
        "block_bytes": size,
        "queue_depth": depth,
    }
    words = [name, *([chosen_size(size)] if size else [])]
    trouble = f"had {errors:,} I/O errors" if errors else None
    return ImportedRecording(
        name=name,
        access=f"qd{depth}" if depth else "",
        recording=Recording(
            elapsed_s=elapsed_s,
            mean_queue_depth=None,
            cpu_user_s=None,
            cpu_system_s=None,
            generating_s=None,
            interrupted=trouble is not None,
            failure=trouble,
            operations=operations,
            label=", ".join([*words, *([f"queue depth {depth}"] if depth else [])]),
            point={key: value for key, value in point.items() if value is not None},
            options={text(key): text(value) for key, value in specification.items() if value},
        ),
    )


def _operation(row: Mapping[str, str], operation: str) -> OperationRecording:
    word = operation.capitalize()
    ios, rate = int(_figure(row, f"{word} I/Os")), _figure(row, f"{word} IOps")
    elapsed_s = number(ios / rate, f"{word} I/Os over {word} IOps", SECONDS_MAX)
    errors = int(number(row.get(f"{word} Errors") or 0, f"{word} Errors"))
    return OperationRecording(
        ios=ios,
        bytes=int(_figure(row, "Bytes Read" if operation == "read" else "Bytes Written")),
        errors={0: errors} if errors else {},
        elapsed_s=elapsed_s,
        latency_min_s=None,
        latency_mean_s=_figure(row, f"Average {word} Response Time") * 1e-3,
        latency_max_s=_figure(row, f"Maximum {word} Response Time") * 1e-3,
    )


def _figure(row: Mapping[str, str], column: str) -> float:
    """A number of a row; raises ``KeyError`` where the column is missing."""
    return number(row[column], column)


def _whole(given: str | None) -> int | None:
    if not given or not given.strip().isascii() or not given.strip().isdigit():
        return None
    return count(given, "Queue Depth")


def _following(lines: Sequence[str], heading: str) -> str | None:
    """The line after a heading."""
    for line, after in itertools.pairwise(lines):
        if line.startswith(heading):
            return after.strip().strip("'\"")
    return None


def _time(stamp: str | None) -> str:
    """Iometer's local time, taken as UTC: the file does not tell the zone."""
    head = (stamp or "").rsplit(":", 1)[0]
    for form in ("%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M:%S"):
        try:
            return written(datetime.datetime.strptime(head, form))
        except ValueError:
            continue
    return now()
