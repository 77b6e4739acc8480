"""What may mislead about a result, by a code and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fourcorners.sentences import Said, sentence

SHARE_NOTED = 0.05
"""Share of a measurement's time, bytes, I/Os or blocks from which what else happened is told: less
moves a figure by less than a reader compares drives by. A choice; how often the detectors are wrong
with it is counted by ``benches/artefact_alarms.py`` (docs/artefacts.md)."""

Severity = Literal["severe", "moderate", "slight"]
"""``severe``: the figure is not the drive's. ``moderate``: the drive's figure is off by more than
the thresholds of docs/artefacts.md. ``slight``: it holds for less than a reader would think."""

SEVERITIES: tuple[Severity, ...] = ("severe", "moderate", "slight")


@dataclass(frozen=True)
class Artefact:
    """One thing that may mislead.

    ``said`` is what was seen; its section has the title, the effect on the result and the remedy
    as well. ``evidence`` holds the numbers by name, with units as elsewhere; sentences may name
    them.
    """

    name: str
    severity: Severity
    said: Said
    evidence: Mapping[str, Any]

    @property
    def title(self) -> str:
        """A few words."""
        return self._words("title")

    @property
    def seen(self) -> str:
        """A sentence with its numbers."""
        return sentence(self.said, self.evidence)

    @property
    def effect(self) -> str:
        """What it does to the result."""
        return self._words("effect")

    @property
    def mend(self) -> str:
        """How to measure without it."""
        return self._words("mend")

    def _words(self, name: str) -> str:
        section = self.said.code.partition(".")[0]
        return sentence(Said(f"{section}.{name}", self.said.parameters), self.evidence)
