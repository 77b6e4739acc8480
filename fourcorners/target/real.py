"""A file or a block device as a target."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from fourcorners import _core
from fourcorners.documents import Fact
from fourcorners.errors import EXIT_FAILED, TargetLostError, UserError
from fourcorners.machine.environment import describe_path
from fourcorners.machine.observer import Observer
from fourcorners.manifest import TargetEntry
from fourcorners.recording import Recording
from fourcorners.target import purge
from fourcorners.target.options import Method, RealTargetOptions
from fourcorners.target.purge import Drive
from fourcorners.target.target import Target, Watch, io_limit_ns, run_on_core
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload


class RealTarget(Target):
    """A file or block device, through io_uring or synchronous calls."""

    def __init__(self, path: str, *, seed: int, **options: Unpack[RealTargetOptions]) -> None:
        """Opens it; raises :class:`UserError` rather than touch what was not permitted."""
        destroy_data, engine = options.get("destroy_data"), options.get("engine")
        limit = io_limit_ns(options.get("io_limit_s"))
        method = checked_method(options.get("purge_method"), path, destroy_data)
        self._open = partial(
            _core.RealTarget,
            path,
            size_bytes=options.get("size"),
            destroy_data=destroy_data,
            overwrite=options.get("overwrite"),
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
        return run_on_core(self._held.run, workload, watch, verification, simulated=False)

    def purge(self) -> None:
        if self.no_purge_reason is not None:
            raise UserError(self.no_purge_reason)
        if self._purge_method is not None and self._purge_method != "discard":
            self._erase(self._purge_method)
            return
        with _preparing():
            self._held.purge()

    def trim(self, offset_bytes: int, length_bytes: int) -> None:
        if self.no_trim_reason is not None:
            raise UserError(self.no_trim_reason)
        with _preparing():
            self._held.trim(offset_bytes, length_bytes)

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

    def describe(self) -> TargetEntry:
        size = chosen_size(self.capacity_bytes)
        return TargetEntry(
            kind=self.kind,
            locator=self.locator,
            name=self.name,
            capacity_bytes=self.capacity_bytes,
            summary=f"A {self.kind} of {size} at {self.locator}.",
            settings={} if self._engine is None else {"engine": self._engine},
            specification_sha256=None,
        )

    def environment(self) -> Mapping[str, Fact]:
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


def checked_method(name: str | None, path: str, destroy_data: str | None) -> Method | None:
    """The method of that name, where the device is named to be destroyed as well.

    Raises :class:`UserError`.
    """
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


@contextlib.contextmanager
def _preparing() -> Iterator[None]:
    """What the core refuses or fails in, as errors of the run."""
    try:
        yield
    except TimeoutError as error:
        raise TargetLostError(str(error)) from error
    except (ValueError, OSError) as error:
        raise UserError(str(error), EXIT_FAILED) from error
