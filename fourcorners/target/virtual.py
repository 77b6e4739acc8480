"""What all targets in virtual time have in common, whoever simulates the drive."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial

from fourcorners import _core
from fourcorners.documents import Fact
from fourcorners.errors import UserError
from fourcorners.manifest import TargetEntry
from fourcorners.recording import Recording
from fourcorners.target.target import Target, Watch, run_on_core
from fourcorners.workload import Workload


class VirtualTarget(Target):
    """A drive in virtual time: a run takes as long as its events take to compute."""

    kind = "simulated"
    request_alignment_bytes = 512
    read_only_reason = None
    needs_fill = False
    core: "_core.SimulatedDrive | _core.ForeignDrive"
    """The drive itself, for those who serve it."""
    disturbance: "_core.Disturbance | None" = None
    """What a contest adds to the drive's own times."""
    _settings: Mapping[str, str] = {}

    @abstractmethod
    def _made(self) -> "_core.SimulatedDrive | _core.ForeignDrive":
        """The drive as it was delivered."""

    @abstractmethod
    def _sha256(self) -> str:
        """Of all that makes the drive what it is."""

    def run(
        self,
        workload: Workload,
        watch: Watch | None = None,
        *,
        verification: "_core.Verification | None" = None,
    ) -> Recording:
        run = self.core.run
        if self.disturbance is not None:
            run = partial(run, disturbance=self.disturbance)
        return run_on_core(run, workload, watch, verification, simulated=True)

    def filled(self) -> None:
        pass

    def restore(self) -> None:
        if self.state is None:
            raise UserError(f"{self.name} was not opened from a saved state")
        self.load(self.state)

    def rewind(self) -> None:
        self.core = self._made()
        if self.state is not None:
            self.load(self.state)

    def describe(self) -> TargetEntry:
        return TargetEntry(
            kind=self.kind,
            locator=self.locator,
            name=self.name,
            capacity_bytes=self.capacity_bytes,
            summary=self.core.summary,
            settings=self._settings,
            specification_sha256=self._sha256(),
        )

    def environment(self) -> Mapping[str, Fact]:
        return {}
