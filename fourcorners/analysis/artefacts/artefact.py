"""What may mislead about a result, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["severe", "moderate", "slight"]
"""``severe``: the figure is not the drive's. ``moderate``: the drive's figure is off by more than
the thresholds of docs/artefacts.md. ``slight``: it holds for less than a reader would think."""

SEVERITIES: tuple[Severity, ...] = ("severe", "moderate", "slight")


@dataclass(frozen=True)
class Artefact:
    """One thing that may mislead.

    ``seen`` is a sentence with its numbers, ``effect`` what it does to the result, ``mend`` how to
    measure without it. ``evidence`` holds the numbers by name, with units as elsewhere.
    """

    name: str
    title: str
    severity: Severity
    seen: str
    effect: str
    mend: str
    evidence: Mapping[str, Any]
