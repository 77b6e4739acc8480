"""Opens a target by its locator, and says what a locator is."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fourcorners import _core, catalog
from fourcorners.catalog import DRIVE_FILE_SUFFIX, SIMULATED_PREFIX
from fourcorners.catalog.settings import Setting, setting_texts
from fourcorners.errors import UserError
from fourcorners.manifest import Opening
from fourcorners.target.foreign import ForeignTarget, is_foreign
from fourcorners.target.real import RealTarget, checked_method
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target, check_seed, io_limit_ns


def is_simulated(locator: str) -> bool:
    """Whether a locator names a drive in virtual time: ``sim:NAME``, a drive file, or a command."""
    return (
        locator.startswith(SIMULATED_PREFIX)
        or is_foreign(locator)
        or locator.endswith(DRIVE_FILE_SUFFIX)
    )


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

    ``sim:raid0:4xNAME`` is RAID 0 of four drives of the catalog. ``exec:COMMAND`` starts a program
    that is a drive in virtual time (docs/foreign-drives.md).

    Args:
        locator: what to open.
        size: bytes of a file that is to be created.
        settings: parameters of a simulated drive to replace, such as
            ``{"cache.write_back": False, "flash.read_time": "60 us"}``.
        destroy_data: the block device whose data may be destroyed; must be the target itself.
        overwrite: the existing file whose content may be overwritten; must be the target itself.
        purge_method: how :meth:`Target.purge` erases a device that ``destroy_data`` names, one of
            ``fourcorners.target.purge.METHODS``; without one it is never erased.
        seed: root of a new simulated drive's own randomness, and of written content.
        state: a file that :meth:`Target.save` wrote of the same drive with the same
            settings: the drive goes on from there, with the randomness that it was made with.
        io_limit_s: longest that one I/O of a file or device may take, in seconds, before the
            workload is given up, 120 by default; or that a program that is a drive may be silent,
            60 by default.
        engine: how I/O of a file or device is passed to the system, ``NAME[,OPTION...]`` as
            docs/real-targets.md lists them; ``"auto"`` by default.

    Raises:
        UserError: one sentence that says what is wrong and what to do.
    """
    check_seed(seed)
    drive = None
    if is_foreign(locator):
        pass  # The command is all that is known of it.
    elif locator.startswith(SIMULATED_PREFIX):
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
        real.opening = Opening(
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
        ("--io-limit", None if drive is None else io_limit_s),
        ("--engine", engine),
    ):
        if value is not None:
            raise UserError(f"{option} is for files and devices, and {locator} is simulated")
    texts = setting_texts(settings)
    target: Target
    if drive is None:
        if texts:
            raise UserError(f"--set is for sim: and drive files, and {locator} is neither")
        target = ForeignTarget(locator, seed, io_limit_s)
    else:
        target = SimulatedTarget(locator, drive, texts, seed)
    if state is not None:
        try:
            target.load(state)
        except BaseException:
            target.close()
            raise
        target.state = str(state)
    is_path = drive is not None and not locator.startswith(SIMULATED_PREFIX)
    target.opening = Opening(
        locator=_absolute(locator) if is_path else locator,
        settings=texts or None,
        seed=seed,
        io_limit_s=io_limit_s,
        state=_absolute(state),
    )
    return target


def may_start(locator: str, start: Sequence[str]) -> bool:
    """Whether opening a target starts no program that is not among ``start``."""
    return not is_foreign(locator) or locator in start


def reopen_target(opening: Mapping[str, Any], start: Sequence[str], how: str) -> Target:
    """Opens a target by the arguments that a run folder keeps.

    A folder starts no program: one that is a drive is opened where a person named it in ``start``.
    Raises :class:`UserError` as :func:`open_target`, and otherwise, which says ``how`` to name it.
    """
    locator = opening["locator"]
    if not may_start(locator, start):
        raise UserError(
            f"its drive is a program, {locator}, which no folder starts, and nothing was started: "
            f"{how} {shlex.quote(locator)}"
        )
    return open_target(**opening)


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def if_about(word: str | None, locator: str) -> str | None:
    """A word of permission, where it names the target: the same file or device."""
    try:
        return word if word is not None and Path(word).samefile(locator) else None
    except OSError:
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
    check_seed(seed)
    _refuse_real_mistakes(locator, size, settings, state)
    io_limit_ns(io_limit_s)
    if checked_method(purge_method, locator, destroy_data) is not None:
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
