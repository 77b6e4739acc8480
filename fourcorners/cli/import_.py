"""``fourcorners import``: other programs' results as run folders."""

from collections.abc import Sequence
from pathlib import Path

from fourcorners.cli.outcome import print_summary
from fourcorners.cli.output import print_document, say
from fourcorners.errors import UserError
from fourcorners.importing import import_


def run(files: Sequence[Path], logs: Sequence[Path], out: Path, json: bool, quiet: bool) -> int:
    """Imports the files and prints the runs."""
    if not files:
        raise UserError("no file: name what fio --output-format=json+ or Iometer wrote")
    runs = import_(files, out, logs)
    if json:
        print_document(
            "import",
            {"runs": [{"path": str(run.path), "manifest": run.manifest} for run in runs]},
        )
    elif quiet:
        for run in runs:
            say(run.path)
    else:
        for run in runs:
            print_summary(run)
    return 0
