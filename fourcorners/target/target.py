"""What every target can do, simulated or real."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from fourcorners import _core
from fourcorners.documents import Fact
from fourcorners.errors import UserError
from fourcorners.machine.observer import Observer
from fourcorners.manifest import Opening, TargetEntry
from fourcorners.recording import NS, Recording
from fourcorners.recording.raw import from_raw
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload
from fourcorners.writing import Output

IDLE_S_MAX = 1e6
"""Eleven days: the simulators' times have an end."""

Watch = Callable[[float, int, int, float], bool]
"""Called some ten times a second with elapsed seconds, I/Os and bytes; ``False`` stops early."""

RunOnCore = Callable[
    [str, Callable[[int, int, int, int], bool] | None, "_core.Verification | None"],
    "_core.RawRecording",
]
"""``run`` of the compiled half of a target."""

# The generators are seeded with 64 bits.
SEED_MAX = 2**64 - 1


class Target(ABC):
    """Something that serves I/O. Opened with :func:`open_target`; a context manager.

    ``locator`` is what it was opened by, ``name`` is for people, ``request_alignment_bytes`` the
    multiple that offsets and lengths must have, ``notes`` what a reader of results should know,
    ``state`` the saved state that a simulated drive was opened from, ``opening`` the arguments that
    :func:`open_target` opens it with again, from any folder.
    ``read_only_reason`` is ``None`` where writing is permitted. ``keeps_state`` says that earlier
    writes change later speed, as in every SSD and in no plain disk.
    """

    locator: str
    name: str
    kind: Literal["simulated", "file", "device"]
    capacity_bytes: int
    request_alignment_bytes: int
    read_only_reason: str | None
    keeps_state: bool
    state: str | None = None
    opening: Opening = Opening()
    no_purge_reason: str | None = None
    """Why :meth:`purge` is not permitted; ``None`` where it is."""
    no_trim_reason: str | None = None
    """Why :meth:`trim` is not permitted; ``None`` where it is."""
    no_state_reason: str | None = "only simulated drives have states that can be saved"
    """Why :meth:`save` and :meth:`load` are not possible; ``None`` where they are."""
    purge_plan: str | None = None
    """What :meth:`purge` will do to a device, as one sentence."""

    def __repr__(self) -> str:
        only_read = "" if self.read_only_reason is None else ", only read"
        size = chosen_size(self.capacity_bytes)
        return f"<Target {self.locator}: {self.name}, {size}, {self.kind}{only_read}>"

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """Sentences that a reader of the results should know."""

    @property
    @abstractmethod
    def needs_fill(self) -> bool:
        """Reads would not reach the medium everywhere until all of it has been written."""

    @abstractmethod
    def run(
        self,
        workload: Workload,
        watch: Watch | None = None,
        *,
        verification: "_core.Verification | None" = None,
    ) -> Recording:
        """Runs a workload and returns what happened.

        With a ``verification`` (see :func:`fourcorners.verify`) written blocks carry a stamp and
        what is read is compared.

        Raises :class:`UserError` when the workload does not fit or the target fails as a whole,
        and ``KeyboardInterrupt`` on Ctrl-C. Failed I/Os are counted in the recording.
        """

    @abstractmethod
    def purge(self) -> None:
        """Forgets all data: a simulated drive's by secure erase, a file's by taking new blocks,
        a device's by the method that was named when it was opened.

        Raises :class:`UserError` where it is not possible.
        """

    @abstractmethod
    def trim(self, offset_bytes: int, length_bytes: int) -> None:
        """Tells the drive that it no longer needs ``length_bytes`` from ``offset_bytes`` on (TRIM).

        Of a file, the room is given back and taken anew. Raises :class:`UserError` where it is not
        possible: of a file or device whole blocks can be trimmed, and a device only where
        ``purge_method`` is ``"discard"``.
        """

    @abstractmethod
    def filled(self) -> None:
        """Says that all of the capacity has been written since the last purge."""

    @abstractmethod
    def restore(self) -> None:
        """Goes back to ``state``.

        Raises :class:`UserError` where there is none, or none that can be used any more.
        """

    def state_output(self, path: str | Path, replace: bool) -> Output:
        """The file that :meth:`save` writes. What is there is replaced on demand, and an earlier
        state without it, where one can be told."""
        return Output(Path(path), replace, is_ours=None)

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Writes the drive's state, so that preconditioning is done once; see :func:`open_target`.

        Raises :class:`UserError` when the file cannot be written, and without ``replace`` where
        there is a file that is no such state.
        """
        raise UserError(f"{self.name}: {self.no_state_reason}")

    def load(self, path: str | Path) -> None:
        """Takes over a state that :meth:`save` wrote: of the same drive with the same settings.

        Raises :class:`UserError` when it cannot be used.
        """
        raise UserError(f"{self.name}: {self.no_state_reason}")

    @abstractmethod
    def rewind(self) -> None:
        """Makes a simulated drive what it was when it was opened; a real target stays as it is."""

    @abstractmethod
    def idle(self, seconds: float) -> None:
        """Lets time pass without I/O."""

    @abstractmethod
    def describe(self) -> TargetEntry:
        """The ``target`` of a run folder's manifest."""

    @abstractmethod
    def environment(self) -> Mapping[str, Fact]:
        """What the system tells about the path under test; empty for simulated drives."""

    def observer(self) -> Observer | None:
        """What observes the machine while this target is measured; none for simulated drives."""
        return None

    def look_again(self) -> None:  # noqa: B027 - nobody else has a simulated drive
        """Makes sure, before a test writes, that a real target is still what was examined.

        The first write after opening looks by itself. Raises :class:`UserError` where others
        have changed or taken into use what is to be written.
        """

    @property
    def facts(self) -> dict[str, Any]:
        """What a real target is known by again, as :mod:`fourcorners.target.identity` needs it."""
        return {}

    @property
    def holds(self) -> list[str]:
        """Names of the formats (file systems, volumes, archives) that were found on what may be
        written of a real target."""
        return []

    @property
    def drive_text(self) -> str | None:
        """The drive file of a simulated drive."""
        return None

    @property
    def member_texts(self) -> dict[str, str]:
        """The drive files of a simulated array's members, each once, by number and name."""
        return {}

    def close(self) -> None:  # noqa: B027 - most targets hold nothing
        """Gives back what the target holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_idle(seconds: float) -> None:
    """Raises :class:`UserError` for a pause that virtual time has no room for."""
    if not 0 <= seconds <= IDLE_S_MAX:
        raise UserError(f"idle for {seconds:g} s: use 0 to {IDLE_S_MAX:,.0f} seconds")


def check_seed(seed: int) -> None:
    """Raises :class:`UserError` for what generators cannot be seeded with."""
    if not 0 <= seed <= SEED_MAX:
        raise UserError(f"seed {seed}: use 0 to {SEED_MAX}")


def io_limit_ns(io_limit_s: float | None) -> dict[str, int]:
    """The limit as an argument of the core, which has a default; raises :class:`UserError`."""
    if io_limit_s is None:
        return {}
    if not 1e-3 <= io_limit_s <= 1e6:
        raise UserError(f"--io-limit {io_limit_s:g}: use seconds from 0.001 to 1000000")
    return {"io_limit_ns": round(io_limit_s / NS)}


def run_on_core(
    run: RunOnCore,
    workload: Workload,
    watch: Watch | None,
    verification: "_core.Verification | None",
    *,
    simulated: bool,
) -> Recording:
    """Runs a workload on the compiled half of a target; raises :class:`UserError`."""
    if watch is None:
        seen = None
    else:

        def seen(elapsed_ns: int, ios: int, count: int, latency_sum_ns: int) -> bool:
            return watch(elapsed_ns * NS, ios, count, latency_sum_ns * NS)

    try:
        raw = run(workload.to_json(), seen, verification)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    return from_raw(raw, simulated=simulated)
