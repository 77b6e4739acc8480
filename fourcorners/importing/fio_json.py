"""Finds fio's results in its JSON output: one document or several, amid other text.

``--output-format=json,normal`` has text around the document, as warnings have;
``--status-interval`` writes a whole document each time; a client lists its servers' jobs as
``client_stats``, and a last entry of all together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fourcorners.errors import UserError

ALL_CLIENTS = "All clients"
_TABLES_MAX = 10_000
"""A status each second, for almost three hours. Of more the search itself would take long."""


@dataclass(frozen=True)
class Result:
    """One result of fio: its jobs, each as fio's JSON has one."""

    version: str
    timestamp: Any
    options: Mapping[str, Any]
    """Of all jobs."""
    jobs: list[dict[str, Any]]
    notes: list[str]


def read(text: str, path: Path) -> Result:
    """The last whole result in a file; raises :class:`UserError` where there is none."""
    found = _search(text, path)
    if found.last is None:
        if found.tables:
            raise UserError(f"{path} is not fio's JSON: it has no jobs")
        raise UserError(f"{path} is not whole JSON: {found.error}")
    last = found.last
    jobs = last.get("client_stats", last.get("jobs"))
    if not isinstance(jobs, list):
        raise UserError(f"{path} is not fio's JSON: it has no jobs")
    for number, job in enumerate(jobs, start=1):
        if not isinstance(job, dict):
            raise UserError(f"{path} is not what fio writes: job {number} is no table")
    if len(jobs) > 1:
        jobs = [job for job in jobs if job.get("jobname") != ALL_CLIENTS or "hostname" not in job]
    notes = []
    if found.results > 1:
        notes.append(
            f"{path.name} has {found.results} results, one after the other (--status-interval): "
            "the last one is taken, which holds all before it"
        )
    if found.error is not None:
        notes.append(f"{path.name} ends in the midst of a result: the last whole one is taken")
    options = last.get("global options")
    return Result(
        version=str(last.get("fio version", "")).removeprefix("fio-"),
        timestamp=last.get("timestamp"),
        options=options if isinstance(options, dict) else {},
        jobs=jobs,
        notes=notes,
    )


@dataclass
class _Search:
    """The whole tables of a text: how many, and the last that is a result."""

    tables: int = 0
    results: int = 0
    last: dict[str, Any] | None = None
    error: str | None = None
    """What is wrong behind the last whole table."""


def _search(text: str, path: Path) -> _Search:
    """Goes through the tables that begin a line; raises :class:`UserError` for too many."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    found = _Search(error=None if "{" in text else "there is no {")
    place = failures = 0
    for start in _starts(text):
        if start < place:
            continue
        if failures + found.tables >= _TABLES_MAX:
            raise UserError(f"{path} has more than {_TABLES_MAX:,} tables: keep the last of them")
        try:
            document, place = decoder.raw_decode(text, start)
        except json.JSONDecodeError as broken:
            found.error = f"{broken.msg} in line {broken.lineno}"
            # What was read until then is part of no other document.
            place = max(broken.pos, start + 1)
            failures += 1
        except RecursionError:
            found.error = "it is nested too deeply"
            break
        except ValueError as error:
            found.error = str(error)
            break
        else:
            found.tables += 1
            found.error = None
            if "jobs" in document or "client_stats" in document:
                found.results += 1
                found.last = document
    return found


def _starts(text: str) -> Iterator[int]:
    for match in re.finditer(r"^[ \t]*\{", text, re.MULTILINE):
        yield match.end() - 1


def _no_number(constant: str) -> Literal[0]:
    raise ValueError(f"{constant} is no number")
