"""``fourcorners drives``: the catalog."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fourcorners import catalog
from fourcorners.cli.output import new_console, print_document, say
from fourcorners.errors import UserError
from fourcorners.input_files import TEXT_BYTES_MAX, decoded
from fourcorners.wording import chosen_size

if TYPE_CHECKING:
    from fourcorners.target.simulated import SimulatedTarget


def run(name: str | None, *, check: str | None, toml: bool, json: bool) -> int:
    """Lists all drives, shows one, prints its file, or says whether a drive file is right.

    Raises :class:`UserError` for what is wrong in a drive file: it is checked whatever is asked.
    """
    if check is not None and (name is not None or toml or json):
        raise UserError("--check names a drive file: leave out everything else")
    if toml and (json or name is None):
        raise UserError("--toml prints a drive's own file: name the drive, and leave out --json")
    if check is not None:
        target = _checked(_read(check), check)
        size = chosen_size(target.capacity_bytes)
        say(f"{check}: nothing is wrong: {target.name}, {size}")
        return 0
    if name is None:
        _list([catalog.load(known) for known in catalog.names()], json)
        return 0
    drive = _read(name)
    _checked(drive, name)
    if toml:
        say(drive.text.rstrip("\n"))
    else:
        _show(drive, json)
    return 0


def _checked(drive: catalog.DriveFile, name: str) -> "SimulatedTarget":
    # The list needs no drive, and answers at once.
    from fourcorners.target.simulated import SimulatedTarget

    return SimulatedTarget(name, drive, {}, seed=1)


def _read(name: str) -> catalog.DriveFile:
    if name == "-":
        content = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
        return catalog.parse_own(Path("-"), decoded(content, "the drive file in the input"))
    if name.endswith(catalog.DRIVE_FILE_SUFFIX) or Path(name).is_file():
        return catalog.load_path(name)
    return catalog.load(name.removeprefix(catalog.SIMULATED_PREFIX))


def _list(drives: list[catalog.DriveFile], json: bool) -> None:
    if json:
        keys = ("id", "name", "kind", "summary")
        print_document(
            "drives", {"drives": [{key: getattr(drive, key) for key in keys} for drive in drives]}
        )
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("target", no_wrap=True)
    table.add_column("drive")
    for drive in drives:
        table.add_row(
            Text(f"sim:{drive.id}", style="bold"), Text(_sentences(drive.name, drive.summary))
        )
    console = new_console()
    console.print(table)
    console.print()
    console.print(Text("RAID 0 of any of them: sim:raid0:4xNAME, or of different ones:"))
    console.print(Text("sim:raid0:2xNAME+OTHER. All but kind raid-0 can be members."))
    console.print(
        Text("A file to begin one of your own: fourcorners drives NAME --toml > mine.toml")
    )


def _show(drive: catalog.DriveFile, json: bool) -> None:
    if json:
        document = dataclasses.asdict(drive)
        del document["text"], document["folder"]
        print_document("drive", document)
        return
    console = new_console()
    console.print(Text(drive.name, style="bold"))
    console.print(Text(_sentences(drive.kind, drive.summary)))
    table = Table(box=None, pad_edge=False)
    table.add_column("parameter", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column("source", style="dim")
    for parameter in drive.parameters:
        table.add_row(
            Text(f"{parameter.section}.{parameter.name}"),
            Text(parameter.value),
            Text(parameter.source),
        )
    console.print()
    console.print(table)
    console.print()
    target = f"sim:{drive.id}" if drive.folder is None else drive.folder / f"{drive.id}.toml"
    console.print(Text(f"Try: fourcorners characterize {target} --profile quick"), soft_wrap=True)


def _sentences(*parts: str) -> str:
    return " ".join(f"{part.rstrip('.')}." for part in parts)
