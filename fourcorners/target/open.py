"""Opens a target by its locator, and says what a locator is."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from fourcorners import _core, catalog
from fourcorners.catalog import DRIVE_FILE_SUFFIX, SIMULATED_PREFIX
from fourcorners.catalog.settings import setting_texts
from fourcorners.errors import UserError
from fourcorners.input_files import check_name
from fourcorners.manifest import Opening
from fourcorners.target.foreign import FOREIGN_PREFIX, ForeignTarget, is_foreign
from fourcorners.target.options import RealTargetOptions, TargetOptions
from fourcorners.target.real import RealTarget, checked_method
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target, check_seed, io_limit_ns

_NAME_CUTOFF = 0.8
"""How like a drive's name (difflib's ratio) a missing file's is that was meant for one: a letter or
two are wrong."""


def is_simulated(locator: str) -> bool:
    """Whether a locator names a drive in virtual time: ``sim:NAME``, a drive file, or a command."""
    return locator.startswith(tuple(_IN_VIRTUAL_TIME)) or locator.endswith(DRIVE_FILE_SUFFIX)


def open_target(locator: str, *, seed: int = 1, **options: Unpack[TargetOptions]) -> Target:
    """Opens ``sim:NAME`` (catalog), a drive file (``./my.toml``), a file or a block device.

    ``sim:raid0:4xNAME`` is RAID 0 of four drives of the catalog. ``exec:COMMAND`` starts a program
    that is a drive in virtual time (docs/foreign-drives.md).

    Args:
        locator: what to open.
        seed: root of a new simulated drive's own randomness, and of written content.
        options: see :class:`TargetOptions`.

    Raises:
        UserError: one sentence that says what is wrong and what to do.
    """
    check_seed(seed)
    if not locator:
        raise UserError("the target is empty: name a file, a device, or a simulated drive")
    if not is_simulated(locator):
        return _open_real(locator, seed, options)
    for option, value in (
        ("--size", options.get("size")),
        ("--destroy-data", options.get("destroy_data")),
        ("--overwrite", options.get("overwrite")),
        ("--purge", options.get("purge_method")),
        ("--engine", options.get("engine")),
    ):
        if value is not None:
            raise UserError(f"{option} is for files and devices, and {locator} is simulated")
    prefix = next((prefix for prefix in _IN_VIRTUAL_TIME if locator.startswith(prefix)), None)
    opener = _open_drive_file if prefix is None else _IN_VIRTUAL_TIME[prefix]
    target = opener(locator, seed, options)
    state = options.get("state")
    if state is not None:
        try:
            target.load(state)
        except BaseException:
            target.close()
            raise
        target.state = str(state)
    target.opening = Opening(
        locator=_absolute(locator) if prefix is None else target.locator,
        settings=setting_texts(options.get("settings")) or None,
        seed=seed,
        io_limit_s=options.get("io_limit_s"),
        state=_absolute(state),
    )
    return target


def _open_catalog(locator: str, seed: int, options: TargetOptions) -> Target:
    drive = catalog.load(locator.removeprefix(SIMULATED_PREFIX))
    return _simulated(f"{SIMULATED_PREFIX}{drive.id}", drive, seed, options)


def _open_drive_file(locator: str, seed: int, options: TargetOptions) -> Target:
    return _simulated(locator, catalog.load_path(locator), seed, options)


def _simulated(
    locator: str, drive: catalog.DriveFile, seed: int, options: TargetOptions
) -> SimulatedTarget:
    if options.get("io_limit_s") is not None:
        raise UserError(f"--io-limit is for files and devices, and {locator} is simulated")
    return SimulatedTarget(locator, drive, setting_texts(options.get("settings")), seed)


def _open_program(locator: str, seed: int, options: TargetOptions) -> Target:
    if setting_texts(options.get("settings")):
        raise UserError(f"--set is for sim: and drive files, and {locator} is neither")
    return ForeignTarget(locator, seed, options.get("io_limit_s"))


_IN_VIRTUAL_TIME: Mapping[str, Callable[[str, int, TargetOptions], Target]] = {
    SIMULATED_PREFIX: _open_catalog,
    FOREIGN_PREFIX: _open_program,
}
"""Who opens a target in virtual time, by how its locator begins."""


def _open_real(locator: str, seed: int, options: TargetOptions) -> Target:
    real = _real_options(locator, options)
    target = RealTarget(locator, seed=seed, **real)
    target.opening = Opening(
        locator=_absolute(locator),
        size=real["size"],
        destroy_data=_absolute(real["destroy_data"]),
        overwrite=_absolute(real["overwrite"]),
        purge_method=real["purge_method"],
        seed=seed,
        io_limit_s=real["io_limit_s"],
        engine=real["engine"],
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


def examine_new_file(locator: str, *, seed: int = 1, **options: Unpack[TargetOptions]) -> None:
    """Raises :class:`UserError` where :func:`open_target` would, for a file that it would make of
    the ``size`` among the options, and makes none."""
    check_seed(seed)
    real = _real_options(locator, options)
    io_limit_ns(real["io_limit_s"])
    method = checked_method(real["purge_method"], locator, real["destroy_data"])
    if method is not None:
        raise UserError(f"--purge {method} is for devices, and {locator} is a file")
    try:
        _core.RealTarget.examine(
            locator,
            size_bytes=real["size"],
            destroy_data=real["destroy_data"],
            overwrite=real["overwrite"],
            engine="auto" if real["engine"] is None else real["engine"],
        )
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error


def _real_options(locator: str, options: TargetOptions) -> RealTargetOptions:
    """The options that are about a file or device, and no others."""
    check_name(locator)
    size = options.get("size")
    if options.get("settings"):
        raise UserError(f"--set is for simulated drives, and {locator} is a file or device")
    if options.get("state") is not None:
        raise UserError(f"a state is for simulated drives, and {locator} is a file or device")
    if size is None and "/" not in locator and not Path(locator).exists():
        _refuse_name(locator)
    return RealTargetOptions(
        size=size,
        destroy_data=options.get("destroy_data"),
        overwrite=options.get("overwrite"),
        purge_method=options.get("purge_method"),
        io_limit_s=options.get("io_limit_s"),
        engine=options.get("engine"),
    )


def _refuse_name(locator: str) -> None:
    """Of a file that is not there: whether it is meant for a drive of the catalog."""
    if meant := catalog.similar(locator, _NAME_CUTOFF):
        drives = " or ".join(f"{SIMULATED_PREFIX}{name}" for name in meant)
        raise UserError(f"there is no file {locator}: did you mean the simulated drive {drives}?")
    if scheme := re.match("[a-z]+:", locator):
        kinds = " and ".join(_IN_VIRTUAL_TIME)
        raise UserError(
            f'there is no file {locator}, and no kind of target "{scheme[0]}": simulated ones '
            f"begin with {kinds}, and a file that is to be made with ./"
        )
