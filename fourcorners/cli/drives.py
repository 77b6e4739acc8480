"""``fourcorners drives``: the catalog."""

import dataclasses

from rich.table import Table
from rich.text import Text

from fourcorners import catalog
from fourcorners.cli.output import new_console, print_document


def run(name: str | None, json: bool) -> int:
    """Lists all drives, or shows one."""
    if name is None:
        _list([catalog.load(known) for known in catalog.names()], json)
    else:
        own = name.endswith(".toml")
        _show(catalog.load_path(name) if own else catalog.load(name.removeprefix("sim:")), json)
    return 0


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
