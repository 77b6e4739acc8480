"""What a result file says of one target, before it is a run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fourcorners.recording import Recording

NOT_TOLD = "not told"
"""The target of a file that does not name it."""


@dataclass(frozen=True)
class ImportedRecording:
    """One workload: what its file calls it, and what was measured.

    ``access`` tells workloads of one name apart: "randread-4k-qd8". The recording's ``failure`` is
    why it is partial, in a clause.
    """

    name: str
    access: str
    recording: Recording


@dataclass(frozen=True)
class Imported:
    """Everything that files say of one target."""

    program: Literal["fio", "iometer"]
    version: str
    sources: Sequence[str]
    """The files' names."""
    target: str
    is_device: bool
    created: str
    """ISO 8601, UTC; the time of the import where the file does not tell."""
    recordings: Sequence[ImportedRecording]
    notes: Sequence[str]

    def joined(self, other: Imported) -> Imported:
        """What two files say of the same target, as one: the earlier time counts."""
        return replace(
            self,
            version=self.version if self.version == other.version else "",
            sources=[*self.sources, *other.sources],
            created=min(self.created, other.created),
            recordings=[*self.recordings, *other.recordings],
            notes=list(dict.fromkeys([*self.notes, *other.notes])),
        )

    def placed(self) -> list[Recording]:
        """The recordings with their ids in the run: PROGRAM/NAME, of several of a name with the
        access, and a number where that repeats as well."""
        names = Counter(own.name for own in self.recordings)
        taken: Counter[str] = Counter()
        found = []
        for own in self.recordings:
            parts = [self.program, own.name]
            if names[own.name] > 1 and own.access:
                parts.append(own.access)
            name = "/".join(parts)
            taken[name] += 1
            id = name if taken[name] == 1 else f"{name}/{taken[name]}"
            found.append(own.recording.placed(id=id, test=self.program))
        return found


def only_operation(operations: Collection[str]) -> str:
    """What a point calls a recording's operations: the only one beside flushes, or ``mixed``."""
    transfers = [name for name in operations if name != "flush"] or list(operations)
    return transfers[0] if len(transfers) == 1 else "mixed"
