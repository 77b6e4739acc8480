"""What an analysis hands over: a named quantity with its interval, evidence and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from fourcorners import wording
from fourcorners.documents import Part
from fourcorners.sentences import Said, sentence

Verdict = Literal["measured", "holds", "violated", "not identifiable", "not applicable"]


FINDINGS_SCHEMA = "fourcorners/findings"
PRESENCE = "yes/no"
RESOLUTION = "resolution"
ODD = ("drift_", "misfit_", "disagreement_")
"""Beginnings of the names of findings about what no model of the drive explains."""
UNDER_LOAD = "under_load"
"""Key of ``detail`` of what holds whatever else uses the drive: load makes it slow, never quick."""


@dataclass(frozen=True)
class Finding:
    """One entry of ``findings.json`` (docs/run-folder.md).

    ``value`` and ``interval`` carry ``unit``; whether something is there is 1 or 0 in the unit
    "yes/no". The interval covers the truth with 90 % probability as far as docs/analysis.md
    says, and is ``None`` where the recording cannot tell; one that lies between two points of a
    sweep, or within a tolerance, holds the truth always (``detail["interval"]`` is then
    "resolution"). A question that the drive does not raise, as pages of a disk, is
    "not applicable".
    ``evidence`` lists recording ids. ``detail`` holds what a plot of the finding needs.
    """

    name: str
    title: str
    verdict: Verdict
    text: str
    value: float | None = None
    unit: str | None = None
    interval: tuple[float, float] | None = None
    evidence: Sequence[str] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    said: Said | None = None
    """What ``text`` words where an estimator gave a code for it; not in ``findings.json``."""

    @property
    def shown_value(self) -> str:
        """The value for people: a name where it has one, yes or no, "none" of what is not there, a
        count as a whole number."""
        value = wording.finite(self.value)
        if value is None:
            return wording.NOTHING
        if "label" in self.detail:
            return str(self.detail["label"])
        if self.unit == PRESENCE:
            return "yes" if value else "no"
        discrete = self.detail.get("discrete")
        if value == 0 and (discrete or self.unit in ("B", "B/s", "s")):
            return "none"
        if self.unit == "1" and discrete:
            return f"{value:,.0f}"
        return wording.quantity(value, self.unit)

    @property
    def shown_interval(self) -> str:
        """The interval for people; "bounds" where it is a sweep's resolution or a tolerance, which
        holds the truth always. Empty without one."""
        text = wording.interval(self.interval, self.unit)
        bounds = self.detail.get("interval") == RESOLUTION
        return f"{text}, bounds" if text and bounds else text

    def unidentified(self, reason: str) -> Finding:
        """The same question without an answer, and why."""
        return replace(
            self, verdict="not identifiable", value=None, unit=None, interval=None, text=reason
        )

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-serialisable data: plain types, ``None`` for NaN and infinity.

        Raises:
            TypeError: a value in ``detail`` is of a type that JSON has no form for.
        """
        interval = None if self.interval is None else [_plain(bound) for bound in self.interval]
        if interval is not None and None in interval:
            interval = None
        return {
            "name": self.name,
            "title": self.title,
            "verdict": self.verdict,
            "value": _plain(self.value),
            "unit": self.unit,
            "interval": interval,
            "evidence": list(self.evidence),
            "text": self.text,
            "detail": _plain(self.detail),
        }


class Findings(Part, kw_only=True, tag_field="schema", tag=FINDINGS_SCHEMA):
    """``findings.json`` of a run folder."""

    schema_version: Literal[1]
    findings: list[Finding]


def worded(
    name: str,
    title: str,
    verdict: Verdict,
    said: Said,
    *,
    value: float | None = None,
    unit: str | None = None,
    interval: tuple[float, float] | None = None,
    evidence: Sequence[str] = (),
    detail: Mapping[str, Any] | None = None,
) -> Finding:
    """A finding whose text words ``said``, which may also name ``value``, the ends ``low`` and
    ``high`` of the interval, and what ``detail`` holds."""
    low, high = interval or (None, None)
    shown = {**(detail or {}), "value": value, "low": low, "high": high}
    return Finding(
        name=name,
        title=title,
        verdict=verdict,
        text=sentence(said, shown),
        value=value,
        unit=unit,
        interval=interval,
        evidence=evidence,
        detail=detail or {},
        said=said,
    )


def _plain(value: Any) -> Any:
    """``value`` in JSON's types; NaN and infinity, which JSON lacks, become ``None``."""
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    raise TypeError(f"a finding cannot hold a {type(value).__name__}")
