"""A simulated drive as a target."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fourcorners import _core, catalog
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.input_files import check_regular
from fourcorners.target.target import check_idle
from fourcorners.target.virtual import VirtualTarget
from fourcorners.workload import Stream
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


class SimulatedTarget(VirtualTarget):
    """A drive of the simulator."""

    core: "_core.SimulatedDrive"
    no_state_reason = None

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
            self.core = self._make()
        except ValueError as error:
            raise UserError(f"drive file {locator}: {error}") from error
        self.locator = locator
        self.name = self.core.name
        self.capacity_bytes = self.core.capacity_bytes
        self.keeps_state = self.core.keeps_state
        self._text = drive.text
        self._settings = dict(settings)

    @property
    def notes(self) -> list[str]:
        return []

    def purge(self) -> None:
        self.core.purge()

    def twin(self, settings: Mapping[str, str] | None = None) -> "SimulatedTarget":
        """Another drive of the same file, as it was delivered; ``settings`` replace parameters
        beside those that this one was made with. Raises :class:`UserError` for these."""
        twin = copy.copy(self)
        if settings is None:
            twin.core = self._make()
            return twin
        try:
            replaced = list({**self._settings, **settings}.items())
            twin.core = _core.SimulatedDrive(self._text, replaced, 1, [])
        except ValueError as error:
            raise UserError(f"{self.name}: {error}") from error
        twin.capacity_bytes = twin.core.capacity_bytes
        return twin

    def idle(self, seconds: float) -> None:
        check_idle(seconds)
        self.core.idle(round(seconds * 1e9))

    def trim(self, offset_bytes: int, length_bytes: int) -> None:
        self.core.trim(offset_bytes, length_bytes)

    def power_cut(self) -> list[tuple[int, int]]:
        """Takes the drive's power away and gives it back.

        Returns offset and length, in bytes, of every range whose latest write the drive had
        acknowledged and lost, ascending and apart: what was in a volatile buffer. It holds older
        data or none now. Nothing that a flush or a write with ``fua`` has covered is among it, and
        nothing at all behind power-loss protection.
        """
        return self.core.power_cut()

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
            self.core.enter_steady_state(filled_share, stream.to_json() if stream else None)
        except ValueError as error:
            raise UserError(f"{self.name}: {error}") from error

    def state_output(self, path: str | Path, replace: bool) -> Output:
        return Output(Path(path), replace, is_ours=_is_state)

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        try:
            with self.state_output(path, replace).replacing() as temporary:
                self.core.save(str(temporary))
        except ValueError as error:
            raise UserError(f"cannot save the state to {path}: {error}", EXIT_FAILED) from error

    def load(self, path: str | Path) -> None:
        check_regular(Path(path), "the state")
        try:
            self.core.load(str(path))
        except ValueError as error:
            raise UserError(f"cannot use the state {path}: {error}") from error

    def counters(self) -> dict[str, float]:
        """What the model counted since it was made, such as erased blocks and seeks."""
        return self.core.counters()

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
        truths = self.core.truths(
            burst_bytes=treatment.burst_bytes,
            rest_ns=round(treatment.rest_s * 1e9),
            flushed_bytes=treatment.flushed_bytes,
            overwrite_block_bytes=treatment.overwrite_block_bytes,
            collected_valid_share=collected_valid_share,
        )
        return {name: value for name, value, _ in truths}

    def _made(self) -> "_core.SimulatedDrive":
        return self._make()

    def _sha256(self) -> str:
        texts = "".join([self._text, *self.member_texts.values()])
        return hashlib.sha256(texts.encode()).hexdigest()

    @property
    def drive_text(self) -> str:
        return self._text

    @property
    def member_texts(self) -> dict[str, str]:
        return {f"{n}-{member.id}": member.text for n, member in enumerate(self._members, 1)}
