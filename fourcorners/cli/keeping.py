"""``runs``, ``note``, ``query``, ``import`` and ``export``: the runs that are kept."""

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fourcorners.cli.options import Json, Memory, Quiet, Repeated, Replace, examples
from fourcorners.cli.root import app


@app.command(
    help_epilogue=examples(
        "runs --drive vector --since 2026-11-01",
        "runs --tag firmware-2.1 --json",
    ),
)
def runs(
    *folders: Path,
    drive: str | None = None,
    test: str | None = None,
    tag: str | None = None,
    since: date | None = None,
    until: date | None = None,
    json: Json = False,
) -> int:
    """List the runs that are kept.

    Parameters
    ----------
    folders
        Where run folders are: "runs" by default.
    drive
        Only drives with this in their name.
    test
        Only runs with this test.
    tag
        Only runs with this tag (see "note").
    since
        Only runs of this day and later, such as 2026-11-21 (UTC).
    until
        Only runs of this day and earlier.
    """
    from fourcorners import keeping
    from fourcorners.cli.output import print_document, tell
    from fourcorners.cli.show.kept import show_runs_kept

    listed = keeping.runs(
        *folders, drive=drive, test=test, tag=tag, since=since, until=until, tell=tell
    )
    if json:
        print_document("runs", {"runs": listed})
    else:
        show_runs_kept(listed)
    return 0


@app.command(
    help_epilogue=examples(
        'note runs/A --tag firmware-2.1 --text "after the update"',
    ),
)
def note(
    *runs: Path,
    tag: Repeated = (),
    untag: Repeated = (),
    text: str | None = None,
) -> int:
    """Write tags and a note on runs; measurements are not touched.

    Parameters
    ----------
    runs
        Run folders.
    tag
        A tag to add, such as firmware-2.1. Repeatable.
    untag
        A tag to take away. Repeatable.
    text
        The note, which replaces the one before.
    """
    from fourcorners import keeping
    from fourcorners.cli.show.kept import show_notes

    show_notes(keeping.note(*runs, tag=tag, untag=untag, text=text))
    return 0


@app.command(
    help_epilogue=examples(
        'query "SELECT drive, max(iops) FROM recordings GROUP BY drive"',
    ),
)
def query(
    sql: str,
    /,
    *folders: Path,
    out: Path | None = None,
    replace: Replace = False,
    memory_bytes: Memory = None,
    json: Json = False,
) -> int:
    """Ask all runs in SQL (DuckDB); docs/query.md describes the tables.

    Parameters
    ----------
    sql
        One SELECT over runs, tests, recordings, series, histograms, latency_over_time, ios,
        findings, claims, published, four_corners, queue_depths, transfer_sizes and artefacts.
    folders
        Run folders, or folders of them: "runs" by default.
    out
        File for the result instead of the terminal: .csv, .parquet or .json.
    """
    from fourcorners import keeping
    from fourcorners.cli.output import print_document, tell
    from fourcorners.cli.show.kept import show_rows

    result = keeping.query(
        sql, *folders, out=out, replace=replace, memory_bytes=memory_bytes, tell=tell
    )
    if json and out is None:
        columns = [keeping.Column(field.name, str(field.type)) for field in result.schema]
        print_document("query", keeping.QueryDocument(columns, result.to_pylist()))
    elif out is None:
        show_rows(result)
    return 0


@app.command(
    name="import",
    help_epilogue=examples(
        "import fio.json --log job_lat.1.log",
        "import results-of-a-sweep/",
        "import iometer.csv --json",
    ),
)
def import_(
    *files: Path,
    log: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False)] = (),
    out: Path = Path("runs"),
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Import results of fio (JSON, JSON+, terse) or Iometer (CSV) as run folders.

    Parameters
    ----------
    files
        Result files, and folders of them. Those of one target become one run.
    log
        A log that fio wrote beside its JSON (lat, iops, bw), which makes the series of its job.
        Repeatable.
    out
        Folder for run folders.
    """
    from fourcorners import importing
    from fourcorners.cli.output import print_document, say
    from fourcorners.cli.show.runs import print_summary
    from fourcorners.documents import plain

    imported = importing.import_(*files, log=log, out=out)
    if json:
        rows = [importing.ImportedRun(str(run.path), plain(run.manifest)) for run in imported]
        print_document("import", importing.ImportDocument(rows))
        return 0
    for run in imported:
        if quiet:
            say(run.path)
        else:
            print_summary(run)
    return 0


@app.command(
    help_epilogue=examples(
        "export tables runs/A runs/B --format parquet",
    ),
)
def export(
    folder: Path,
    /,
    *runs: Path,
    format: Literal["csv", "parquet", "json"] = "csv",
    memory_bytes: Memory = None,
) -> int:
    """Write all tables of runs as files for other programs.

    Parameters
    ----------
    folder
        New folder for the files.
    runs
        Run folders, or folders of them: "runs" by default.
    format
        csv, parquet or json.
    """
    from fourcorners import keeping
    from fourcorners.cli.output import say, tell
    from fourcorners.wording import count

    written = keeping.export(folder, *runs, format=format, memory_bytes=memory_bytes, tell=tell)
    for path, rows in written.items():
        say(f"{path}: {count(rows, 'row')}")
    return 0
