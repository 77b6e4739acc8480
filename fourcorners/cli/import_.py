"""``fourcorners import``: other programs' results as run folders."""

from collections.abc import Sequence
from pathlib import Path

from fourcorners.cli.outcome import print_summary
from fourcorners.cli.output import print_document, say
from fourcorners.errors import UserError
from fourcorners.importing import import_file


def run(files: Sequence[Path], logs: Sequence[Path], out: Path, json: bool, quiet: bool) -> int:
    """Imports each file and prints the runs."""
    if not files:
        raise UserError("no file: name what fio --output-format=json+ or Iometer wrote")
    if logs and len(files) > 1:
        raise UserError("logs belong to one file: import one file at a time with --log")
    runs = [run for file in files for run in import_file(file, out, tuple(logs))]
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
