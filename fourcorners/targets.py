"""What serves I/O: a simulated drive, a file or a block device, opened by its locator."""

import contextlib
import copy
import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Self

from fourcorners import _core, catalog, purge
from fourcorners.catalog import DRIVE_FILE_SUFFIX, SIMULATED_PREFIX
from fourcorners.catalog.settings import Setting, setting_texts
from fourcorners.conditions import Observer
from fourcorners.environment import describe_path
from fourcorners.errors import EXIT_FAILED, TargetLostError, UserError
from fourcorners.purge import Drive, Method
from fourcorners.recording import NS, Recording
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload
from fourcorners.writing import Output

Watch = Callable[[float, int, int, float], bool]
"""Called some ten times a second with elapsed seconds, I/Os and bytes; ``False`` stops early."""

SEED_MAX = 2**64 - 1
IDLE_S_MAX = 1e6
"""Eleven days: the simulator's times have an end."""


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
    opening: Mapping[str, Any] = MappingProxyType({})
    no_purge_reason: str | None = None
    """Why :meth:`purge` is not permitted; ``None`` where it is."""
    no_trim_reason: str | None = None
    """Why :meth:`trim` is not permitted; ``None`` where it is."""
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
    def trim(self, offset: int, count: int) -> None:
        """Tells the drive that ``count`` bytes from ``offset`` on are no longer needed (TRIM).

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

    @abstractmethod
    def rewind(self) -> None:
        """Makes a simulated drive what it was when it was opened; a real target stays as it is."""

    @abstractmethod
    def idle(self, seconds: float) -> None:
        """Lets time pass without I/O."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The ``target`` of a run folder's manifest."""

    @abstractmethod
    def environment(self) -> dict[str, Any]:
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
        """What a real target is known by again, as :mod:`fourcorners.identity` needs it."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_simulated(locator: str) -> bool:
    """Whether a locator names a simulated drive: ``sim:NAME`` or a drive file."""
    return locator.startswith(SIMULATED_PREFIX) or locator.endswith(DRIVE_FILE_SUFFIX)


def open_target(
    locator: str,
    *,
    size: int | None = None,
    settings: Mapping[str, Setting] | None = None,
    destroy_data: str | None = None,
    overwrite: str | None = None,
    purge_method: str | None = None,
    seed: int = 1,
    io_limit_s: float | None = None,
    engine: str | None = None,
    state: str | Path | None = None,
) -> Target:
    """Opens ``sim:NAME`` (catalog), a drive file (``./my.toml``), a file or a block device.

    ``sim:raid0:4xNAME`` is RAID 0 of four drives of the catalog.

    Args:
        locator: what to open.
        size: bytes of a file that is to be created.
        settings: parameters of a simulated drive to replace, such as
            ``{"cache.write_back": False, "flash.read_time": "60 us"}``.
        destroy_data: the block device whose data may be destroyed; must be the target itself.
        overwrite: the existing file whose content may be overwritten; must be the target itself.
        purge_method: how :meth:`Target.purge` erases a device that ``destroy_data`` names, one of
            ``fourcorners.purge.METHODS``; without one it is never erased.
        seed: root of a new simulated drive's own randomness, and of written content.
        state: a file that :meth:`SimulatedTarget.save` wrote of the same drive with the same
            settings: the drive goes on from there, with the randomness that it was made with.
        io_limit_s: longest that one I/O of a file or device may take, in seconds, before the
            workload is given up; 120 by default.
        engine: how I/O of a file or device is passed to the system, ``NAME[,OPTION...]`` as
            docs/real-targets.md lists them; ``"auto"`` by default.

    Raises:
        UserError: one sentence that says what is wrong and what to do.
    """
    _check_seed(seed)
    if locator.startswith(SIMULATED_PREFIX):
        drive = catalog.load(locator.removeprefix(SIMULATED_PREFIX))
        locator = f"{SIMULATED_PREFIX}{drive.id}"
    elif locator.endswith(DRIVE_FILE_SUFFIX):
        drive = catalog.load_path(locator)
    else:
        _refuse_real_mistakes(locator, size, settings, state)
        real = RealTarget(
            locator,
            size=size,
            destroy_data=destroy_data,
            overwrite=overwrite,
            purge_method=purge_method,
            seed=seed,
            io_limit_s=io_limit_s,
            engine=engine,
        )
        real.opening = _opening(
            locator=_absolute(locator),
            size=size,
            destroy_data=_absolute(destroy_data),
            overwrite=_absolute(overwrite),
            purge_method=purge_method,
            seed=seed,
            io_limit_s=io_limit_s,
            engine=engine,
        )
        return real
    for option, value in (
        ("--size", size),
        ("--destroy-data", destroy_data),
        ("--overwrite", overwrite),
        ("--purge", purge_method),
        ("--io-limit", io_limit_s),
        ("--engine", engine),
    ):
        if value is not None:
            raise UserError(f"{option} is for files and devices, and {locator} is simulated")
    texts = setting_texts(settings)
    target = SimulatedTarget(locator, drive, texts, seed)
    if state is not None:
        target.load(state)
        target.state = str(state)
    target.opening = _opening(
        locator=locator if locator.startswith(SIMULATED_PREFIX) else _absolute(locator),
        settings=texts or None,
        seed=seed,
        state=_absolute(state),
    )
    return target


def _opening(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def if_about(word: str | None, locator: str) -> str | None:
    """A word of permission, where it names the target: the same file or device."""
    try:
        return word if word is not None and Path(word).samefile(locator) else None
    except OSError:
        return None


def _purge_method(name: str | None, path: str, destroy_data: str | None) -> Method | None:
    """The method of that name, where the device is named to be destroyed as well."""
    for method in purge.METHODS:
        if method == name:
            if destroy_data is None:
                raise UserError(
                    f"--purge {name} erases a device: it needs --destroy-data {path} as well"
                )
            return method
    if name is not None:
        raise UserError(f"--purge {name}: use {', '.join(purge.METHODS)}")
    return None


def examine_new_file(
    locator: str,
    *,
    size: int,
    settings: Mapping[str, str] | None = None,
    destroy_data: str | None = None,
    overwrite: str | None = None,
    purge_method: str | None = None,
    seed: int = 1,
    io_limit_s: float | None = None,
    engine: str | None = None,
    state: str | Path | None = None,
) -> None:
    """Raises :class:`UserError` where :func:`open_target` would, for a file that it would make, and
    makes none."""
    _check_seed(seed)
    _refuse_real_mistakes(locator, size, settings, state)
    _io_limit_ns(io_limit_s)
    if _purge_method(purge_method, locator, destroy_data) is not None:
        raise UserError(f"--purge {purge_method} is for devices, and {locator} is a file")
    try:
        _core.RealTarget.examine(
            locator,
            size_bytes=size,
            destroy_data=destroy_data,
            overwrite=overwrite,
            engine="auto" if engine is None else engine,
        )
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error


def _check_seed(seed: int) -> None:
    if not 0 <= seed <= SEED_MAX:
        raise UserError(f"seed {seed}: use 0 to {SEED_MAX}")


def _io_limit_ns(io_limit_s: float | None) -> dict[str, int]:
    """As an argument of the core, which has a default."""
    if io_limit_s is None:
        return {}
    if not 1e-3 <= io_limit_s <= 1e6:
        raise UserError(f"--io-limit {io_limit_s:g}: use seconds from 0.001 to 1000000")
    return {"io_limit_ns": round(io_limit_s / NS)}


def _refuse_real_mistakes(locator: str, size: int | None, settings: Any, state: Any) -> None:
    if settings:
        raise UserError(f"--set is for simulated drives, and {locator} is a file or device")
    if state is not None:
        raise UserError(f"a state is for simulated drives, and {locator} is a file or device")
    if size is None and "/" not in locator and not Path(locator).exists():
        try:
            name = catalog.resolve(locator)
        except UserError:
            return
        raise UserError(
            f"there is no file {locator}: did you mean the simulated drive "
            f"{SIMULATED_PREFIX}{name}?"
        )


# First bytes of a state (drive/sim/src/state.rs).
_STATE_MAGIC = b"fourcorners drive state\n"


def state_output(path: str | Path, replace: bool = False) -> Output:
    """The file that a simulated drive's state is written to; an earlier state there is replaced."""
    return Output(Path(path), replace, is_ours=_is_state)


def _is_state(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_STATE_MAGIC)) == _STATE_MAGIC


class SimulatedTarget(Target):
    """A drive in virtual time: a run takes as long as its events take to compute."""

    kind = "simulated"
    request_alignment_bytes = 512
    read_only_reason = None
    needs_fill = False

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
    def notes(self) -> list[str]:
        return []

    def run(
        self,
        workload: Workload,
        watch: Watch | None = None,
        *,
        verification: "_core.Verification | None" = None,
    ) -> Recording:
        return _run(self._core, workload, watch, verification, simulated=True)

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
        if not 0 <= seconds <= IDLE_S_MAX:
            raise UserError(f"idle for {seconds:g} s: use 0 to {IDLE_S_MAX:,.0f} seconds")
        self._core.idle(round(seconds * 1e9))

    def trim(self, offset: int, count: int) -> None:
        self._core.trim(offset, count)

    def power_cut(self) -> list[tuple[int, int]]:
        """Takes the drive's power away and gives it back.

        Returns offset and length, in bytes, of every range whose latest write the drive had
        acknowledged and lost, ascending and apart: what was in a volatile buffer. It holds older
        data or none now. Nothing that a flush or a write with ``fua`` has covered is among it, and
        nothing at all behind power-loss protection.

        Raises :class:`UserError` for drives whose model cannot say what is lost.
        """
        try:
            return self._core.power_cut()
        except ValueError as error:
            raise UserError(f"{self.name}: {error}") from error

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

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Writes the drive's state, so that preconditioning is done once; see :func:`open_target`.

        Raises :class:`UserError` when the file cannot be written, and without ``replace`` where
        there is a file that is no such state.
        """
        try:
            with state_output(path, replace).replacing() as temporary:
                self._core.save(str(temporary))
        except ValueError as error:
            raise UserError(f"cannot save the state to {path}: {error}", EXIT_FAILED) from error

    def load(self, path: str | Path) -> None:
        """Takes over a state that :meth:`save` wrote: of the same drive with the same settings.

        Raises :class:`UserError` when it cannot be used; the drive stays as it is.
        """
        try:
            self._core.load(str(path))
        except ValueError as error:
            raise UserError(f"cannot use the state {path}: {error}") from error

    def counters(self) -> dict[str, float]:
        """What the model counted since it was made, such as erased blocks and seeks."""
        return self._core.counters()

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "locator": self.locator,
            "name": self.name,
            "capacity_bytes": self.capacity_bytes,
            "summary": self._core.summary,
            "settings": self._settings,
            "specification_sha256": hashlib.sha256(
                "".join([self._text, *self.member_texts.values()]).encode()
            ).hexdigest(),
        }

    def environment(self) -> dict[str, Any]:
        return {}

    @property
    def drive_text(self) -> str:
        return self._text

    @property
    def member_texts(self) -> dict[str, str]:
        return {f"{n}-{member.id}": member.text for n, member in enumerate(self._members, 1)}


class RealTarget(Target):
    """A file or block device, through io_uring or synchronous calls."""

    def __init__(
        self,
        path: str,
        *,
        size: int | None,
        destroy_data: str | None,
        overwrite: str | None,
        purge_method: str | None,
        seed: int,
        io_limit_s: float | None,
        engine: str | None,
    ) -> None:
        """Opens it; raises :class:`UserError` rather than touch what was not permitted."""
        limit = _io_limit_ns(io_limit_s)
        method = _purge_method(purge_method, path, destroy_data)
        self._open = partial(
            _core.RealTarget,
            path,
            size_bytes=size,
            destroy_data=destroy_data,
            overwrite=overwrite,
            seed=seed,
            engine="auto" if engine is None else engine,
            **limit,
        )
        try:
            core = self._open()
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
        # Not held while a tool erases it.
        self._core: _core.RealTarget | None = core
        self._purge_method = method
        self._earlier_notes: list[str] = []
        self._erased = False
        self._drive: Drive | None = None
        self.locator = path
        self._engine = engine
        self.kind = core.kind
        self.capacity_bytes = core.capacity_bytes
        self.request_alignment_bytes = core.request_alignment_bytes
        self.read_only_reason = core.read_only_reason
        self._environment = describe_path(path)
        # A drive of unknown kind is treated as one whose past matters.
        self.keeps_state = self._environment.get("rotational") is not True
        model = self._environment.get("device_model") or path
        self.name = str(model) if self.kind == "device" else Path(path).name
        if self.kind == "device" and method != "discard":
            self.no_trim_reason = f"TRIM discards the data of {path}: it needs --purge discard"
        if method is not None:
            self._drive = purge.examine(path)
            purge.check(self._drive, method)
            self.purge_plan = purge.plan(self._drive, method)
        elif self.kind == "device":
            self.no_purge_reason = (
                f"not purged, so its state is what earlier writes left: name --purge "
                f"({', '.join(purge.METHODS)}) to erase {path} before a test"
            )

    @property
    def notes(self) -> list[str]:
        return list(
            dict.fromkeys([*self._earlier_notes, *(self._core.notes if self._core else [])])
        )

    @property
    def needs_fill(self) -> bool:
        return self._erased or self._held.needs_fill

    def run(
        self,
        workload: Workload,
        watch: Watch | None = None,
        *,
        verification: "_core.Verification | None" = None,
    ) -> Recording:
        return _run(self._held, workload, watch, verification, simulated=False)

    def purge(self) -> None:
        if self.no_purge_reason is not None:
            raise UserError(self.no_purge_reason)
        if self._purge_method is not None and self._purge_method != "discard":
            self._erase(self._purge_method)
            return
        with _preparing():
            self._held.purge()

    def trim(self, offset: int, count: int) -> None:
        if self.no_trim_reason is not None:
            raise UserError(self.no_trim_reason)
        with _preparing():
            self._held.trim(offset, count)

    def _erase(self, method: Method) -> None:
        """Lets go of the device, so that a tool can have it, and claims the same one again."""
        self.look_again()
        before = purge.examine(self.locator)
        if self._drive is not None:
            purge.check_same(self._drive, before)
        purge.check(before, method)
        self._earlier_notes = self.notes
        self._core = None
        self._erased = True
        try:
            purge.erase(before, method)
        except TargetLostError:
            # The tool still has it.
            raise
        except BaseException:
            # The other tests go on.
            self._reclaim(before)
            raise
        self._reclaim(before)

    def _reclaim(self, before: Drive) -> None:
        """Opens the device under all the checks of the first time. Unless it is the same drive, it
        is given up, and nothing more is written."""
        try:
            core = self._open()
        except (ValueError, OSError) as error:
            raise UserError(str(error), EXIT_FAILED) from error
        purge.check_same(before, purge.examine(self.locator))
        self._core = core

    @property
    def _held(self) -> "_core.RealTarget":
        if self._core is None:
            raise UserError(f"{self.locator} was given up after its purge failed", EXIT_FAILED)
        return self._core

    def filled(self) -> None:
        with _preparing():
            self._held.filled()
        self._erased = False

    def restore(self) -> None:
        raise UserError(
            f"{self.name} is a {self.kind}, and only simulated drives have saved states"
        )

    def rewind(self) -> None:
        pass

    def idle(self, seconds: float) -> None:
        time.sleep(seconds)

    def describe(self) -> dict[str, Any]:
        size = chosen_size(self.capacity_bytes)
        return {
            "kind": self.kind,
            "locator": self.locator,
            "name": self.name,
            "capacity_bytes": self.capacity_bytes,
            "summary": f"A {self.kind} of {size} at {self.locator}.",
            "settings": {} if self._engine is None else {"engine": self._engine},
            "specification_sha256": None,
        }

    def environment(self) -> dict[str, Any]:
        return self._environment

    def observer(self) -> Observer:
        core = self._held
        return Observer(self.locator, direct=core.direct, counted=core.is_counted)

    def look_again(self) -> None:
        with _preparing():
            self._held.look()

    @property
    def facts(self) -> dict[str, Any]:
        with _preparing():
            return self._held.facts()

    @property
    def holds(self) -> list[str]:
        return self._held.holds()

    def close(self) -> None:
        if self._core is not None:
            self._core.seal()
        # The core gives the file back with its last reference.
        self._core = None


@contextlib.contextmanager
def _preparing() -> Iterator[None]:
    """What the core refuses or fails in, as errors of the run."""
    try:
        yield
    except TimeoutError as error:
        raise TargetLostError(str(error)) from error
    except (ValueError, OSError) as error:
        raise UserError(str(error), EXIT_FAILED) from error


def _run(
    core: "_core.SimulatedDrive | _core.RealTarget",
    workload: Workload,
    watch: Watch | None,
    verification: "_core.Verification | None",
    *,
    simulated: bool,
) -> Recording:
    if watch is None:
        seen = None
    else:

        def seen(elapsed_ns: int, ios: int, count: int, latency_sum_ns: int) -> bool:
            return watch(elapsed_ns * NS, ios, count, latency_sum_ns * NS)

    try:
        raw = core.run(workload.to_json(), seen, verification)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    return Recording.from_raw(raw, simulated=simulated)
