"""What the run folder says of a run while it goes on."""

from fourcorners.manifest import Manifest
from fourcorners.running.progress import Progress
from fourcorners.running.workloads import Workloads
from fourcorners.store import Run, RunWriter
from fourcorners.suites.suite import SuitePlan
from fourcorners.target.target import Target


class Bookkeeping:
    """Keeps the manifest of a run true while it runs: its tests as far as they came, its notes, and
    what was written to the target so far."""

    def __init__(
        self,
        target: Target,
        plan: SuitePlan,
        writer: RunWriter,
        manifest: Manifest,
        progress: Progress,
        workloads: Workloads,
    ) -> None:
        """Writes nothing yet."""
        self.manifest = manifest
        self._target = target
        self._order = [test.name for test in plan.tests]
        self._writer = writer
        self._progress = progress
        self._workloads = workloads
        self._notes = list(manifest.notes)

    def note(self, text: str) -> None:
        """Tells something of the run as a whole, and has it in the manifest from the next time that
        it is written."""
        self._notes.append(text)
        self._progress.message(f"Note: {text}")

    def write_manifest(self) -> None:
        """Writes the manifest, for whoever finds the run killed."""
        self._update()
        self._writer.note(self.manifest)

    def checkpoint(self) -> Run:
        """Writes the manifest and all that was measured, after which nothing of it can be lost."""
        self._update()
        return self._writer.checkpoint(self.manifest)

    def drop_old_states(self) -> None:
        """Deletes saved states that no test could go on from any more."""
        points = [test.waypoint for test in self.manifest.tests if test.waypoint is not None]
        self._writer.keep_states({point.state for point in points if point.state is not None})

    def _update(self) -> None:
        self.manifest.notes = list(dict.fromkeys([*self._target.notes, *self._notes]))
        self.manifest.past = self._workloads.history.so_far()
        # A test that failed before the run was resumed is run again after others.
        self.manifest.tests.sort(key=lambda entry: self._order.index(entry.name))
