"""What a run has done to its target so far."""

from typing import Any

from fourcorners.recording import Recording
from fourcorners.target.target import Target


class WriteHistory:
    """Bytes written since the purge, or since the run began where there was none."""

    def __init__(self, target: Target, written_bytes: int = 0, purged: bool = False) -> None:
        """What had been done when the run was interrupted; by default nothing yet."""
        self._keeps_state = target.keeps_state
        self._written_bytes = written_bytes
        self._purged = purged

    def to_dict(self) -> dict[str, Any]:
        """For a manifest, to go on from."""
        return {"written_bytes": self._written_bytes, "purged": self._purged}

    def purged(self) -> None:
        """All was erased."""
        self._written_bytes, self._purged = 0, True

    def ran(self, recording: Recording) -> None:
        """A workload has run, as preparation or to be measured."""
        if "write" in recording.operations:
            self._written_bytes += recording.write.bytes

    @property
    def written_bytes(self) -> int | None:
        """``None`` for drives whose past does not change their speed."""
        return self._written_bytes if self._keeps_state else None

    @property
    def is_purged(self) -> bool | None:
        """``None`` as well where the past does not matter."""
        return self._purged if self._keeps_state else None
