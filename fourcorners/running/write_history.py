"""What a run has done to its target so far."""

from fourcorners.manifest import WrittenBefore
from fourcorners.recording import Recording
from fourcorners.target.target import Target


class WriteHistory:
    """Bytes written since the purge, or since the run began where there was none."""

    def __init__(self, target: Target, before: WrittenBefore | None = None) -> None:
        """Begins with what had been done when the run was interrupted; by default nothing yet."""
        # A saved state is a past of its own, which does not say how much was written in it.
        self._is_known = target.keeps_state and target.state is None
        before = before or WrittenBefore()
        self._written_bytes, self._purged = before.written_bytes, before.purged

    def so_far(self) -> WrittenBefore:
        """For a manifest, to go on from."""
        return WrittenBefore(written_bytes=self._written_bytes, purged=self._purged)

    def purged(self) -> None:
        """All was erased."""
        self._written_bytes, self._purged = 0, True

    def ran(self, recording: Recording) -> None:
        """A workload has run, as preparation or to be measured."""
        if "write" in recording.operations:
            self._written_bytes += recording.write.bytes

    @property
    def written_bytes(self) -> int | None:
        """``None`` for drives whose past does not change their speed, or lies in a saved state."""
        return self._written_bytes if self._is_known else None

    @property
    def is_purged(self) -> bool | None:
        """``None`` as well where the past does not matter or is not known."""
        return self._purged if self._is_known else None
