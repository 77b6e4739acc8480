"""What a result file says of one target, before it is a run folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fourcorners.recording import Recording


@dataclass(frozen=True)
class ImportedRecording:
    """One job or access specification: its name in the run, and what was measured."""

    id: str
    label: str
    point: Mapping[str, Any]
    parameters: Mapping[str, str]
    recording: Recording


@dataclass(frozen=True)
class Imported:
    """Everything that a file says of one target."""

    program: Literal["fio", "iometer"]
    version: str
    source: str
    """The file's name."""
    target: str
    is_device: bool
    created: str
    """ISO 8601, UTC; the time of the import where the file does not tell."""
    recordings: Sequence[ImportedRecording]
    notes: Sequence[str]


def only_operation(operations: Collection[str]) -> str:
    """What a point calls a recording's operations: the only one, or ``mixed``."""
    return next(iter(operations)) if len(operations) == 1 else "mixed"
