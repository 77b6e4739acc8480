"""Findings that are not accepted, because other load disturbed them, the host answered the reads,
or something limited their rate.

The reads between the points of a probe that only reads show other load on the drive. A probe that
writes changes the drive itself and cannot show other load; its findings are doubted if most of the
other probes were disturbed. If the target is a file, the host knows which blocks were never written
and which reads it passed on to a device; it answers the other reads itself, and far faster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fourcorners import sentences
from fourcorners.analysis.internals.method import drift, settling, two_times
from fourcorners.analysis.internals.method.drift import READING, SIZES, WRITING
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import SENTINELS, View
from fourcorners.finding import ODD, UNDER_LOAD, Finding
from fourcorners.sentences import Said, say

UNAFFECTED = ("probe-seeks", "probe-trim")
"""The probes that are valid under other load too: that nothing turns, and what TRIM does."""

ANSWERED = ("artefact_unwritten_blocks", "artefact_page_cache")
"""The findings about reads that the host answered."""

CAP, CAPPED = "artefact_rate_cap", ("command_queue_depth", "parallel_units")
"""The finding about a limit that is not the drive's, and those that show where more outstanding
reads gain nothing: under such a limit none do."""

OF_A_MEMORY = (
    "volatile_write_cache",
    "power_loss_protection",
    "read_ahead",
    "read_cache_bytes",
)
"""The findings that a drive has no memory for some purpose. Under a limit on the I/Os of a second
it is behind a host or a network that may take longer than its medium does, and hides one."""

_WATCHED_MIN = 3
"""At least so many probes that only read are needed for a majority: one of two is none. By chance
most of them drift in no more than three of a million runs."""


@dataclass(frozen=True)
class Doubts:
    """``drifts`` are the findings of it; ``watched`` the probes that only read, and had reads
    between their points; ``answered`` has
    the finding by which the host answered a recording; ``sources`` the probe and the operations of
    each recording; ``capped`` the finding of a limit that it met; ``own`` the probes that drift
    because of what the drive itself does."""

    drifts: Sequence[Finding] = ()
    watched: Collection[str] = ()
    answered: Mapping[str, Finding] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, Collection[str]]] = field(default_factory=dict)
    capped: Mapping[str, Finding] = field(default_factory=dict)
    own: Collection[str] = ()

    @classmethod
    def of(cls, view: View, misleading: Sequence[Finding]) -> Doubts:
        """The doubts about a run, given the findings that may mislead about it."""
        sources: dict[str, tuple[str, set[str]]] = {}
        for m in view.points():
            sources.setdefault(m.recording, (m.test, set()))[1].add(m.operation)
        own = _own(view)
        return cls(
            [_told_of(one, own) for one in drift.find(view)],
            {m.test for m in SENTINELS(view) if m.test in READING},
            {id: one for one in misleading if one.name in ANSWERED for id in one.evidence},
            sources,
            {id: one for one in misleading if one.name == CAP for id in one.evidence},
            own,
        )

    def applied(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings; those that are doubted become not identifiable."""
        return [doubted for f in findings if (doubted := self._doubted(f)) is not None]

    def _doubted(self, finding: Finding) -> Finding | None:
        if (doubt := self._disturbed(finding)) is not None:
            # What did not fit under other load is that load's.
            if finding.name.startswith(ODD):
                return None
            said = say("any.under_load", doubt=doubt, text=finding.text)
            finding = _not_taken(finding, said)
        by = next((self.answered[id] for id in finding.evidence if id in self.answered), None)
        if by is not None:
            said = say("any.answered", title=by.title, text=finding.text)
            finding = _not_taken(finding, said)
        if finding.name in CAPPED and any(id in self.capped for id in finding.evidence):
            finding = _not_taken(finding, say("any.capped", text=finding.text))
        by_count = any(
            f.detail.get("evidence", {}).get("unit") == "IOPS" for f in self.capped.values()
        )
        if finding.name in OF_A_MEMORY and finding.value == 0 and by_count:
            finding = _not_taken(finding, say("any.of_a_volume", text=finding.text))
        return finding

    def _disturbed(self, finding: Finding) -> Said | None:
        """The doubt for other load, if there is one."""
        if finding.detail.get(UNDER_LOAD):
            return None
        sources = [self.sources[id] for id in finding.evidence if id in self.sources]
        reads = {test for test, operations in sources if test != SIZES or "write" not in operations}
        doubts = [one for one in self.disturbing if one.detail["test"] in reads]
        if doubts:
            worst = max(doubts, key=lambda one: one.value or 0)
            return say("any.probe_disturbed", drift=worst.text)
        writes = any(
            test in WRITING or (test == SIZES and "write" in operations)
            for test, operations in sources
        )
        return say("any.most_disturbed", **self.counted) if writes and self.most else None

    @property
    def disturbing(self) -> list[Finding]:
        """Drifts by which a probe is doubted: other load moved its reads, chance set aside, by as
        much as makes a finding unsure."""
        return [
            one
            for one in self.drifts
            if one.detail["test"] in READING
            and one.detail["test"] not in self.own
            and not one.detail.get("wrote")
            and one.detail[drift.SURE] >= UNSURE
        ]

    def disturbance(self, probe: str) -> Finding | None:
        """The drift of a probe that other load disturbed; ``None`` where it did not."""
        return next((one for one in self.disturbing if one.detail["test"] == probe), None)

    @property
    def counted(self) -> dict[str, int]:
        """How many of the probes that only read were disturbed."""
        return {"disturbed": len(self.disturbing), "watched": len(self.watched)}

    @property
    def most(self) -> bool:
        """Whether other load disturbed most of the probes that only read."""
        return len(self.watched) >= _WATCHED_MIN and 2 * len(self.disturbing) > len(self.watched)

    @property
    def all(self) -> bool:
        """Whether it disturbed every one of them."""
        return len(self.disturbing) == len(self.watched)


def _own(view: View) -> set[str]:
    """The probes whose reads became quicker since the drive had done its own work. A memory in
    front of an arm makes reads quicker too, which then show no arm."""
    found = drift.sentinels(view).items()
    series = {test: points for (test, later), points in found if test in READING and not later}
    own = two_times.of_the_drive(series).items()
    return {test for test, slow in own if not settling.needs_an_arm(view, series[test][slow:])}


def _told_of(one: Finding, own: Collection[str]) -> Finding:
    """The drift, in other words where it comes from the drive itself."""
    if one.detail["test"] not in own or one.detail.get("wrote"):
        return one
    first_s, *_, last_s = one.detail["sentinel_s"]
    said = say("drift.own", test=one.detail["test"], first=first_s, later=last_s, probes=len(own))
    return replace(one, said=said, text=sentences.sentence(said))


def _not_taken(finding: Finding, said: Said) -> Finding:
    if finding.verdict not in ("measured", "not applicable"):
        return finding
    return replace(finding.unidentified(sentences.sentence(said)), said=said)
