"""The catalog."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from fourcorners import catalog
from fourcorners.cli.output import new_console


def show_drives(drives: Sequence[catalog.DriveFile]) -> None:
    """All drives of the catalog."""
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


def show_drive(drive: catalog.DriveFile) -> None:
    """One drive with its parameters."""
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
