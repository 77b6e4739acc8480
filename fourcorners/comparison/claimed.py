"""How much of what is claimed of its drive each subject reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners import wording
from fourcorners.analysis.spec_sheet import Beside, claim_words, claims_beside
from fourcorners.catalog.claims import Claim
from fourcorners.comparison.subject import ComparedRuns


@dataclass(frozen=True)
class Claimed:
    """One claim about a subject, and what its runs have of it."""

    subject: str
    title: str
    claim: Claim
    rows: tuple[Beside, ...]
    """Of each run."""

    @property
    def shares(self) -> tuple[float, ...]:
        """How much of the claim each run has that measured it."""
        return tuple(row.share for row in self.rows if row.share is not None)

    @property
    def outcome(self) -> str:
        """Reached, not reached, reached in 2 of 3 runs, or not measured."""
        if not self.shares:
            return "not measured"
        reached = sum(row.outcome == "reached" for row in self.rows)
        if 0 < reached < len(self.shares):
            return f"reached in {reached} of {len(self.shares)} runs"
        return "reached" if reached else "not reached"

    @property
    def words(self) -> str:
        """Large reads: 3,220 to 3,290 MB/s, claimed 3,500 MB/s: 92.0 to 94.0 %, not reached."""
        title = wording.at_start(self.title)
        values = [float(row.row["value"]) for row in self.rows if row.row is not None]
        shown = wording.interval((min(values), max(values)), self.claim.unit) if values else ""
        return f"{title}: {shown}{', ' if shown else ''}{claim_words(self.rows, self.outcome)}"


def claimed(subjects: Sequence[ComparedRuns]) -> tuple[Claimed, ...]:
    """The claims about all subjects, in the order of the spec sheet."""
    return tuple(one for subject in subjects for one in _of(subject))


def _of(subject: ComparedRuns) -> list[Claimed]:
    found: dict[Claim, list[Beside]] = {}
    for run in subject.runs:
        for row in claims_beside(run.manifest, getattr(run, "findings", ())):
            assert row.claim is not None
            found.setdefault(row.claim, []).append(row)
    return [
        Claimed(
            subject.label,
            rows[0].title,
            claim,
            tuple(rows),
        )
        for claim, rows in found.items()
    ]
