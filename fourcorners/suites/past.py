"""What a run has done to its target so far."""

from fourcorners.recording import Recording
from fourcorners.targets import Target


class Past:
    """Bytes written since the purge, or since the run began where there was none."""

    def __init__(self, target: Target) -> None:
        """Nothing has been done to the target yet."""
        self._keeps_state = target.keeps_state
        self._written_bytes = 0
        self._purged = False

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
