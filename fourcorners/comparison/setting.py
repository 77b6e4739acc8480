"""What differs between runs besides what they measured: drive, firmware, link, file system, kernel.

Facts come from the runs' manifests. One that a run does not know is unknown there, and differs from
one that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners import wording
from fourcorners.analysis.source import RunData
from fourcorners.comparison.subject import ComparedRuns

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Setting:
    """A fact that is not the same in all runs: its values by subject, as texts."""

    name: str
    values: Mapping[str, tuple[str, ...]]

    @property
    def words(self) -> str:
        """Kernel: Linux 6.1 against Linux 6.6."""
        told = [" or ".join(values) for values in self.values.values()]
        return f"{self.name}: {' against '.join(told)}"


def differing(subjects: Sequence[ComparedRuns]) -> tuple[Setting, ...]:
    """The facts in which the subjects differ; of repeated runs all values are told."""
    facts = {subject.label: [_facts(run) for run in subject.runs] for subject in subjects}
    names = dict.fromkeys(name for runs in facts.values() for run in runs for name in run)
    settings = [
        Setting(
            name,
            {
                label: tuple(dict.fromkeys(run.get(name) or UNKNOWN for run in runs))
                for label, runs in facts.items()
            },
        )
        for name in names
    ]
    return tuple(one for one in settings if len(set(one.values.values())) > 1)


def _facts(run: RunData) -> dict[str, str]:
    manifest = run.manifest
    target = manifest.target
    facts: dict[str, Any] = {
        "target": target.locator,
        "drive": target.name,
        "capacity": wording.amount(target.capacity_bytes),
        **target.settings,
        "seed": manifest.seed,
    }
    for key, value in manifest.environment.items():
        plain = key.removesuffix("_bytes")
        readable = value if plain == key or value is None else wording.size(value)
        facts[plain.replace("_", " ")] = readable
    return {name: _text(value) for name, value in facts.items() if value not in (None, "")}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
