"""How much of what is claimed of its drive each subject reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.analysis.spec_sheet import Beside, claims_beside
from fourcorners.catalog.claims import Claim
from fourcorners.comparison.subject import Subject


@dataclass(frozen=True)
class Claimed:
    """One claim about a subject, and what its runs have of it."""

    subject: str
    title: str
    claim: Claim
    shares: tuple[float, ...]
    """Of each run that measured it."""
    reached: int
    """How many runs reach it, see :data:`fourcorners.analysis.spec_sheet.REACHED`."""

    @property
    def outcome(self) -> str:
        """Reached, not reached, reached in 2 of 3 runs, or not measured."""
        if not self.shares:
            return "not measured"
        if 0 < self.reached < len(self.shares):
            return f"reached in {self.reached} of {len(self.shares)} runs"
        return "reached" if self.reached else "not reached"

    @property
    def words(self) -> str:
        """Large reads, 3,500 MB/s claimed: 97 to 99 % of it, not reached."""
        ends = dict.fromkeys(f"{100 * end(self.shares):.0f}" for end in (min, max) if self.shares)
        share = f"{' to '.join(ends)} % of it, " if ends else ""
        title = self.title[:1].upper() + self.title[1:]
        return f"{title}, {self.claim.words} claimed: {share}{self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """As ``compare.schema.json`` has it."""
        return {
            "subject": self.subject,
            "quantity": self.claim.quantity,
            "claimed": self.claim.value,
            "source": self.claim.source,
            "shares": list(self.shares),
            "outcome": self.outcome,
        }


def claimed(subjects: Sequence[Subject]) -> tuple[Claimed, ...]:
    """The claims about all subjects, in the order of the spec sheet."""
    return tuple(one for subject in subjects for one in _of(subject))


def _of(subject: Subject) -> list[Claimed]:
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
            tuple(row.share for row in rows if row.share is not None),
            sum(row.outcome == "reached" for row in rows),
        )
        for claim, rows in found.items()
    ]
