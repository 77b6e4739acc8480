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
    documents, error = _documents(text)
    results = [one for one in documents if "jobs" in one or "client_stats" in one]
    if not results:
        if documents:
            raise UserError(f"{path} is not fio's JSON: it has no jobs")
        raise UserError(f"{path} is not whole JSON: {error}")
    last = results[-1]
    jobs = last.get("client_stats", last.get("jobs"))
    if not isinstance(jobs, list):
        raise UserError(f"{path} is not fio's JSON: it has no jobs")
    for number, job in enumerate(jobs, start=1):
        if not isinstance(job, dict):
            raise UserError(f"{path} is not what fio writes: job {number} is no table")
    if len(jobs) > 1:
        jobs = [job for job in jobs if job.get("jobname") != ALL_CLIENTS or "hostname" not in job]
    notes = []
    if len(results) > 1:
        notes.append(
            f"{path.name} has {len(results)} results, one after the other (--status-interval): "
            "the last one is taken, which holds all before it"
        )
    if error is not None:
        notes.append(f"{path.name} ends in the midst of a result: the last whole one is taken")
    options = last.get("global options")
    return Result(
        version=str(last.get("fio version", "")).removeprefix("fio-"),
        timestamp=last.get("timestamp"),
        options=options if isinstance(options, dict) else {},
        jobs=jobs,
        notes=notes,
    )


def _documents(text: str) -> tuple[list[dict[str, Any]], str | None]:
    """All whole tables that begin a line, and what is wrong behind the last of them."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    found: list[dict[str, Any]] = []
    error: str | None = None if "{" in text else "there is no {"
    place = 0
    for start in _starts(text):
        if start < place:
            continue
        try:
            document, place = decoder.raw_decode(text, start)
        except json.JSONDecodeError as broken:
            error = f"{broken.msg} in line {broken.lineno}"
            # What was read until then is part of no other document.
            place = max(broken.pos, start + 1)
        except (ValueError, RecursionError) as broken:
            error = "it is nested too deeply" if isinstance(broken, RecursionError) else str(broken)
            break
        else:
            found.append(document)
            error = None
    return found, error


def _starts(text: str) -> Iterator[int]:
    for match in re.finditer(r"^[ \t]*\{", text, re.MULTILINE):
        yield match.end() - 1


def _no_number(constant: str) -> Literal[0]:
    raise ValueError(f"{constant} is no number")
