"""What is compared: a label and the runs that repeat each other under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.errors import UserError
from fourcorners.store import Run

Key = tuple[str, str]
"""Recording id and operation: what is the same workload in another run of the same suite."""


@dataclass(frozen=True)
class ComparedRuns:
    """One side of a comparison. Several runs are repetitions of one measurement."""

    label: str
    runs: Sequence[RunData]

    def measured(self) -> dict[Key, list[Measured]]:
        """What each run measured, by recording and operation; recordings that were cut short
        are left out."""
        found: dict[Key, list[Measured]] = {}
        for run in self.runs:
            for point in measured(run):
                if not point.of.interrupted:
                    found.setdefault((point.recording, point.operation), []).append(point)
        return found


def parse_subject(text: str) -> ComparedRuns:
    """A subject as the command line spells it: ``[LABEL=]RUN[,RUN...]``.

    Raises :class:`UserError` for an empty list or a path that is no run folder.
    """
    label, given, paths = text.rpartition("=")
    if given and ("/" in label or Path(text).exists()):
        # An equals sign within a path is no label.
        label, paths = "", text
    runs = [Run(path) for path in paths.split(",") if path]
    if not runs:
        raise UserError(f'"{text}" names no run: write RUN, RUN,RUN or LABEL=RUN,RUN')
    return ComparedRuns(label or _name(runs[0]), runs)


def _name(run: Run) -> str:
    return run.manifest.target.name or run.path.name


def unique_labels(subjects: Sequence[ComparedRuns]) -> list[ComparedRuns]:
    """The same subjects with labels that tell them apart: a repeated one gets its number."""
    labels = [subject.label for subject in subjects]
    return [
        subject
        if labels.count(subject.label) == 1
        else ComparedRuns(
            f"{subject.label} ({labels[: index + 1].count(subject.label)})", subject.runs
        )
        for index, subject in enumerate(subjects)
    ]
