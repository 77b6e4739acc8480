"""fio's terse output (``--minimal``), versions 2 to 5, as jobs of its JSON.

The fields are those of fio's documentation, "fio HOWTO", section Terse output. Latencies are
microseconds and amounts KiB; what was asked for (size, pattern, depth, file) is not told.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.importing.figures import UnusableError, number
from fourcorners.importing.fio_json import Result

_LINE = re.compile(r"^(?:2;[^;]*;\d+;|[345];fio-)", re.MULTILINE)
# So many fields for percentiles has each latency in fio's terse formats (HOWTO, "TERSE OUTPUT").
_PERCENTILES = 20
# A later status of the same job has gone on for longer; jobs side by side end together.
_LATER = 1.1


def recognises(text: str) -> bool:
    """Whether there are lines of terse output."""
    return _LINE.search(text) is not None


def read(text: str, path: Path) -> Result:
    """The jobs of a file; raises :class:`UserError` for one that is cut off or damaged."""
    version = ""
    jobs = []
    for place, line in enumerate(text.splitlines(), start=1):
        if not _LINE.match(line):
            continue
        fields = iter(line.split(";"))
        try:
            form = int(_next(fields))
            version = _next(fields).removeprefix("fio-") if form > 2 else ""
            jobs.append(_job(fields, form))
        except UnusableError as error:
            raise UserError(f"{path} is not what fio writes: in line {place} {error}") from error
    last = _last(jobs)
    notes = [
        "fio's terse output tells neither request size, pattern, queue depth nor file, and no sync "
        "latencies: --output-format=json+ does; I/Os are counted by rate times time"
    ]
    if len(last) < len(jobs):
        notes.append(
            f"{path.name} has several results, one after the other (--status-interval): the last "
            "one of each job is taken, which holds all before it"
        )
    return Result(version, None, {}, last, notes)


def _job(fields: Iterator[str], form: int) -> dict[str, Any]:
    job: dict[str, Any] = {
        "jobname": _next(fields),
        "groupid": number(_next(fields), "the group"),
        "error": number(_next(fields), "the error"),
    }
    for role in ("read", "write"):
        job[role] = _operation(fields, form)
    return job


def _operation(fields: Iterator[str], form: int) -> dict[str, Any]:
    kib, _, iops, runtime = (number(_next(fields), "an amount or rate") for _ in range(4))
    _times(fields)
    completion = _times(fields)
    completion["percentile"] = dict(_percentile(_next(fields)) for _ in range(_PERCENTILES))
    completion["percentile"].pop("0", None)
    total = _times(fields)
    for _ in range(5 if form < 5 else 11):  # bandwidth; from version 5 on its samples, and IOPS
        _next(fields)
    return {
        "io_bytes": kib * 1024,
        "total_ios": round(iops * runtime / 1e3),
        "runtime": runtime,
        "lat_ns": total,
        "clat_ns": completion,
    }


def _next(fields: Iterator[str]) -> str:
    found = next(fields, None)
    if found is None:
        raise UnusableError("the end is missing")
    return found


def _times(fields: Iterator[str]) -> dict[str, Any]:
    """Least, most, mean; and a deviation that is passed over."""
    least, most, mean, _ = (number(_next(fields), "a latency") * 1e3 for _ in range(4))
    return {"min": least, "max": most, "mean": mean}


def _percentile(field: str) -> tuple[str, float]:
    percent, _, value = field.partition("%=")
    return percent, number(value, "a latency percentile") * 1e3


def _last(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of jobs that are there several times, each later than the one before, the last."""
    found: list[dict[str, Any]] = []
    for _, alike in itertools.groupby(
        sorted(enumerate(jobs), key=lambda one: (one[1]["jobname"], one[1]["groupid"], one[0])),
        key=lambda one: (one[1]["jobname"], one[1]["groupid"]),
    ):
        several = [job for _, job in alike]
        times = [max(job[role]["runtime"] for role in ("read", "write")) for job in several]
        later = all(b > a for a, b in itertools.pairwise(times)) and times[-1] > _LATER * times[0]
        found += several[-1:] if later else several
    return [job for job in jobs if any(job is kept for kept in found)]
