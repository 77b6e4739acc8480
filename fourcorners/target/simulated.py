"""A simulated drive as a target."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fourcorners import _core, catalog
from fourcorners.documents import Fact
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.input_files import check_regular
from fourcorners.manifest import TargetEntry
from fourcorners.recording import Recording
from fourcorners.target.target import Target, Watch, check_idle, run_on_core
from fourcorners.workload import Stream, Workload
from fourcorners.writing import Output

# First bytes of a state (drive/sim/src/state.rs).
_STATE_MAGIC = b"fourcorners drive state\n"


def _is_state(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_STATE_MAGIC)) == _STATE_MAGIC


@dataclass(frozen=True)
class Treatment:
    """What is done to a drive: a burst of ``burst_bytes`` to the erased drive, a rest of
    ``rest_s``, flushes after ``flushed_bytes`` each, and random writes of
    ``overwrite_block_bytes`` that have it collect."""

    burst_bytes: int
    rest_s: float
    flushed_bytes: int
    overwrite_block_bytes: int


class SimulatedTarget(Target):
    """A drive in virtual time: a run takes as long as its events take to compute."""

    kind = "simulated"
    request_alignment_bytes = 512
    read_only_reason = None
    needs_fill = False
    no_state_reason = None
    disturbance: "_core.Disturbance | None" = None
    """What a contest adds to the drive's own times."""

    def __init__(
        self, locator: str, drive: catalog.DriveFile, settings: Mapping[str, str], seed: int
    ) -> None:
        """Makes the drive; raises :class:`UserError` for what is wrong in its file."""
        replaced = list(settings.items())
        try:
            names = _core.SimulatedDrive.member_names(drive.text, replaced)
            self._members = catalog.load_members(drive, names)
            texts = [(name, m.text) for name, m in zip(names, self._members, strict=True)]
            self._make = partial(_core.SimulatedDrive, drive.text, replaced, seed, texts)
            self._core = self._make()
        except ValueError as error:
            raise UserError(f"drive file {locator}: {error}") from error
        self.locator = locator
        self.name = self._core.name
        self.capacity_bytes = self._core.capacity_bytes
        self.keeps_state = self._core.keeps_state
        self._text = drive.text
        self._settings = dict(settings)

    @property
    def core(self) -> "_core.SimulatedDrive":
        """The drive itself, for those who serve it."""
        return self._core

    @property
    def notes(self) -> list[str]:
        return []

    def run(
        self,
        workload: Workload,
        watch: Watch | None = None,
        *,
        verification: "_core.Verification | None" = None,
    ) -> Recording:
        run = self._core.run
        if self.disturbance is not None:
            run = partial(run, disturbance=self.disturbance)
        return run_on_core(run, workload, watch, verification, simulated=True)

    def purge(self) -> None:
        self._core.purge()

    def filled(self) -> None:
        pass

    def restore(self) -> None:
        if self.state is None:
            raise UserError(f"{self.name} was not opened from a saved state")
        self.load(self.state)

    def twin(self, settings: Mapping[str, str] | None = None) -> "SimulatedTarget":
        """Another drive of the same file, as it was delivered; ``settings`` replace parameters
        beside those that this one was made with. Raises :class:`UserError` for these."""
        twin = copy.copy(self)
        if settings is None:
            twin._core = self._make()
            return twin
        try:
            replaced = list({**self._settings, **settings}.items())
            twin._core = _core.SimulatedDrive(self._text, replaced, 1, [])
        except ValueError as error:
            raise UserError(f"{self.name}: {error}") from error
        twin.capacity_bytes = twin._core.capacity_bytes
        return twin

    def rewind(self) -> None:
        self._core = self._make()
        if self.state is not None:
            self.load(self.state)

    def idle(self, seconds: float) -> None:
        check_idle(seconds)
        self._core.idle(round(seconds * 1e9))

    def trim(self, offset_bytes: int, length_bytes: int) -> None:
        self._core.trim(offset_bytes, length_bytes)

    def power_cut(self) -> list[tuple[int, int]]:
        """Takes the drive's power away and gives it back.

        Returns offset and length, in bytes, of every range whose latest write the drive had
        acknowledged and lost, ascending and apart: what was in a volatile buffer. It holds older
        data or none now. Nothing that a flush or a write with ``fua`` has covered is among it, and
        nothing at all behind power-loss protection.
        """
        return self._core.power_cut()

    def enter_steady_state(self, filled_share: float = 1.0, stream: Stream | None = None) -> None:
        """Erases the drive and puts it at once into the state that a sequential fill of the first
        ``filled_share`` of it and then endless writes of ``stream`` lead to under its policy of
        collection, as theory has it (docs/steady-state-at-once.md says how, and how closely).
        What is neither filled nor written is spare area.

        ``stream`` may be random in any way or sequential; only its pattern, block size, span,
        alignment and content count, and without a span it writes what is filled. Without a stream
        these are uniform random writes of 4 KiB.

        Raises :class:`UserError` for drives and streams of which no such state is known, and for a
        share that is not above 0 and up to 1; the drive stays as it is.
        """
        try:
            self._core.enter_steady_state(filled_share, stream.to_json() if stream else None)
        except ValueError as error:
            raise UserError(f"{self.name}: {error}") from error

    def state_output(self, path: str | Path, replace: bool) -> Output:
        return Output(Path(path), replace, is_ours=_is_state)

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        try:
            with self.state_output(path, replace).replacing() as temporary:
                self._core.save(str(temporary))
        except ValueError as error:
            raise UserError(f"cannot save the state to {path}: {error}", EXIT_FAILED) from error

    def load(self, path: str | Path) -> None:
        check_regular(Path(path), "the state")
        try:
            self._core.load(str(path))
        except ValueError as error:
            raise UserError(f"cannot use the state {path}: {error}") from error

    def counters(self) -> dict[str, float]:
        """What the model counted since it was made, such as erased blocks and seeks."""
        return self._core.counters()

    def truths(
        self, treatment: Treatment, collected_valid_share: float | None = None
    ) -> dict[str, float]:
        """What is true of the drive, by the names and in the units of the findings that should say
        it; empty for an array.

        Args:
            treatment: what is done to the drive, which some truths are about.
            collected_valid_share: what was still valid of the blocks that were collected meanwhile,
                where it was counted.
        """
        truths = self._core.truths(
            burst_bytes=treatment.burst_bytes,
            rest_ns=round(treatment.rest_s * 1e9),
            flushed_bytes=treatment.flushed_bytes,
            overwrite_block_bytes=treatment.overwrite_block_bytes,
            collected_valid_share=collected_valid_share,
        )
        return {name: value for name, value, _ in truths}

    def describe(self) -> TargetEntry:
        return TargetEntry(
            kind=self.kind,
            locator=self.locator,
            name=self.name,
            capacity_bytes=self.capacity_bytes,
            summary=self._core.summary,
            settings=self._settings,
            specification_sha256=hashlib.sha256(
                "".join([self._text, *self.member_texts.values()]).encode()
            ).hexdigest(),
        )

    def environment(self) -> Mapping[str, Fact]:
        return {}

    @property
    def drive_text(self) -> str:
        return self._text

    @property
    def member_texts(self) -> dict[str, str]:
        return {f"{n}-{member.id}": member.text for n, member in enumerate(self._members, 1)}
