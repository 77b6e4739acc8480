"""The simulated drives that can be opened: those of the catalog, arrays of them, and one's own."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, overload

from fourcorners import catalog
from fourcorners.input_files import TEXT_BYTES_MAX, decoded

if TYPE_CHECKING:
    from fourcorners.target.simulated import SimulatedTarget


@overload
def drives() -> list[catalog.DriveFile]: ...


@overload
def drives(name: str, /) -> catalog.DriveFile: ...


def drives(name: str | None = None, /) -> list[catalog.DriveFile] | catalog.DriveFile:
    """The drives of the catalog, in the order of their names, or one drive.

    Args:
        name: one of them; a part of its name is enough. ``raid0:4xNAME`` is an array,
            ``./mydrive.toml`` a drive file of one's own, and ``-`` one on standard input.

    Raises :class:`UserError` for an unknown name, and for what is wrong in a drive file.
    """
    if name is None:
        return [catalog.load(known) for known in catalog.names()]
    drive = _read(name)
    made_of(drive, name)
    return drive


def made_of(drive: catalog.DriveFile, locator: str) -> "SimulatedTarget":
    """A new drive of that make; raises :class:`UserError` for what is wrong in its file."""
    # The list needs no drive, and answers at once.
    from fourcorners.target.simulated import SimulatedTarget

    return SimulatedTarget(locator, drive, {}, seed=1)


def _read(name: str) -> catalog.DriveFile:
    if name == "-":
        content = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
        return catalog.parse_own(Path("-"), decoded(content, "the drive file in the input"))
    if name.endswith(catalog.DRIVE_FILE_SUFFIX) or Path(name).is_file():
        return catalog.load_path(name)
    return catalog.load(name.removeprefix(catalog.SIMULATED_PREFIX))
