"""SQL over all runs: DuckDB on their Parquet tables, and what is published beside them.

docs/query.md describes the tables and views.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.recording import columns
from fourcorners.store import schema
from fourcorners.store.kept_runs import KeptRun
from fourcorners.wording import chosen_size

if TYPE_CHECKING:
    import duckdb

_RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("path", pa.string()),
        ("created", pa.string()),
        ("status", pa.string()),
        ("drive", pa.string()),
        ("kind", pa.string()),
        ("locator", pa.string()),
        ("capacity_bytes", pa.int64()),
        ("suite", pa.string()),
        ("profile", pa.string()),
        ("seed", pa.uint64()),
        ("version", pa.string()),
        ("command", pa.string()),
        ("tests", pa.list_(pa.string())),
        ("tags", pa.list_(pa.string())),
        ("note", pa.string()),
    ]
)
_POINTS = pa.schema(
    [
        ("run", pa.string()),
        ("recording", pa.string()),
        ("label", pa.string()),
        ("pattern", pa.string()),
        ("block_bytes", pa.int64()),
        ("queue_depth", pa.int64()),
        ("content", pa.string()),
    ]
)
_TESTS = pa.schema(
    [
        ("run", pa.string()),
        ("test", pa.string()),
        ("title", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("wall_s", pa.float64()),
    ]
)
_FINDINGS = pa.schema(
    [
        ("run", pa.string()),
        ("finding", pa.string()),
        ("title", pa.string()),
        ("verdict", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("text", pa.string()),
        ("detail", pa.string()),
    ]
)

TABLES = (
    *("runs", "tests", "recordings", "series", "histograms", "latency_over_time", "ios"),
    *("findings", "claims", "published"),
)
"""What docs/query.md describes and ``export`` writes; the views are made of these."""
VIEWS = ("four_corners", "queue_depths", "transfer_sizes", "latency_seconds", "artefacts")
"""What docs/query.md describes beside them."""

_VIEWS = """
CREATE VIEW four_corners AS
    SELECT drive, run, pattern, operation, queue_depth, content,
           bytes_per_second / 1e6 AS mb_per_second, iops,
           latency_mean_s, latency_p99_s, latency_max_s
    FROM recordings WHERE test = 'four-corners';
CREATE VIEW queue_depths AS
    SELECT drive, run, operation, queue_depth, iops, latency_mean_s, latency_p99_s
    FROM recordings WHERE test = 'queue-depth';
CREATE VIEW transfer_sizes AS
    SELECT drive, run, operation, block_bytes, bytes_per_second / 1e6 AS mb_per_second, iops
    FROM recordings WHERE test = 'transfer-size';
CREATE VIEW latency_seconds AS
    WITH cumulated AS (
        SELECT *, sum(count) OVER (every_second ORDER BY low_ns) AS until,
               sum(count) OVER every_second AS ios
        FROM latency_over_time
        WINDOW every_second AS (PARTITION BY run, recording, operation, second)
    )
    SELECT drive, run, recording, operation, second, any_value(ios) AS ios,
           min(high_ns) FILTER (until >= 0.5 * ios) / 1e9 AS latency_p50_s,
           min(high_ns) FILTER (until >= 0.99 * ios) / 1e9 AS latency_p99_s
    FROM cumulated JOIN runs USING (run)
    GROUP BY ALL;
CREATE VIEW artefacts AS
    SELECT run, finding, title, detail ->> 'severity' AS severity, text
    FROM findings WHERE starts_with(finding, 'artefact_');
"""


MEMORY_BYTES_MIN = 64 * 2**20
"""Of a database: with less, the tables of a few runs find no room."""
# See default_memory_bytes: a query is not the only program of a machine.
_MEMORY_BYTES_MAX, _MEMORY_SHARE = 2 * 2**30, 0.25
# Of what is free on the disk, for what a query has no memory for.
_SPILL_SHARE = 0.5
# Between two looks at how large a result has become.
_BATCH_ROWS = 100_000


def default_memory_bytes() -> int:
    """What a query may take unless told otherwise: a quarter of the machine's memory, and 2 GiB at
    most."""
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    share_bytes = round(_MEMORY_SHARE * machine_bytes)
    return max(min(share_bytes, _MEMORY_BYTES_MAX), MEMORY_BYTES_MIN)


@contextmanager
def open_database(
    runs: Sequence[KeptRun],
    claims: pa.Table,
    published: pa.Table,
    memory_bytes: int | None = None,
) -> Iterator[Database]:
    """A database in memory with the tables of :data:`TABLES` and the views on them, while the
    context lasts.

    Args:
        runs: what is queried.
        claims: what is claimed of the runs' drives, for the table of that name.
        published: the catalog's published figures, for the table of that name.
        memory_bytes: what a query may take, and its result once more;
            :func:`default_memory_bytes` unless given. What a query needs beyond that to sort, join
            and group goes to a folder of its own among the system's temporary files.

    The database reads the files of these runs and no others, and writes none.

    Raises:
        UserError: a table of a run that cannot be read, or less memory than
            :data:`MEMORY_BYTES_MIN`.
    """
    import duckdb

    limit = default_memory_bytes() if memory_bytes is None else memory_bytes
    if limit < MEMORY_BYTES_MIN:
        raise UserError(
            f"{chosen_size(limit)} of memory is too little for a query: use at least "
            f"{chosen_size(MEMORY_BYTES_MIN)}"
        )
    with tempfile.TemporaryDirectory(prefix="fourcorners-query-") as spill:
        spill_bytes = round(_SPILL_SHARE * shutil.disk_usage(spill).free)
        limits: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{limit}B",
            "temp_directory": spill,
            "max_temp_directory_size": f"{spill_bytes}B",
        }
        with duckdb.connect(":memory:", config=limits) as connection:
            try:
                files = _fill(connection, runs, claims, published)
            except duckdb.Error as error:
                raise UserError(f"cannot read the tables of the runs: {_reason(error)}") from error
            allowed = ", ".join(_quoted(path) for path in files)
            connection.execute(f"SET allowed_paths = [{allowed}]")
            # Python's variables are no tables.
            connection.execute("SET python_enable_replacements = false")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield Database(connection, limit)


def _fill(
    database: duckdb.DuckDBPyConnection,
    runs: Sequence[KeptRun],
    claims: pa.Table,
    published: pa.Table,
) -> list[str]:
    """Makes the tables and views, and returns the files that these read when they are asked."""
    files: list[str] = []
    _keep(database, "runs", pa.Table.from_pylist([plain(run.row) for run in runs], schema=_RUNS))
    _keep(database, "tests", _table(runs, _tests, _TESTS))
    _keep(database, "findings", _table(runs, _findings, _FINDINGS))
    _keep(database, "claims", claims)
    _keep(database, "published", published)
    _keep(database, "points", _table(runs, _points, _POINTS))
    for name, file, own in (
        ("measured", schema.RECORDINGS, columns.RECORDINGS),
        ("series", schema.SERIES, columns.SERIES),
        ("histograms", schema.HISTOGRAMS, columns.HISTOGRAMS),
    ):
        files += _attach(database, name, [(run, run.run.path / file) for run in runs], own)
    over_time = [(run, run.run.path / schema.LATENCY_OVER_TIME) for run in runs]
    kept = [(run, path) for run, path in over_time if path.exists()]  # not by earlier versions
    files += _attach(database, "latency_over_time", kept, columns.LATENCY_OVER_TIME)
    logs = [
        (run, log) for run in runs for log in sorted((run.run.path / schema.IOS).glob("*.parquet"))
    ]
    files += _attach(database, "ios", logs, columns.IOS)
    database.execute(
        "CREATE VIEW recordings AS SELECT drive, measured.*, label, pattern, block_bytes, "
        "queue_depth, content FROM measured JOIN runs USING (run) "
        "LEFT JOIN points USING (run, recording)"
    )
    database.execute(_VIEWS)
    return files


@dataclass(frozen=True)
class Database:
    """An open database, and what a query of it may take of the memory."""

    connection: duckdb.DuckDBPyConnection
    memory_bytes: int


def query(database: Database, sql: str) -> pa.Table:
    """The result of one statement, which may only read.

    Raises :class:`UserError` with the database's own reason for a mistake in it, and where it
    takes more memory than it may.
    """
    import duckdb

    # PIVOT is made of several.
    reading = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
    try:
        statements = duckdb.extract_statements(sql)
        if len(statements) != 1 or statements[0].type not in reading:
            raise UserError("a query is one statement that only reads: write a SELECT")
        return _read(database, sql)
    except duckdb.OutOfMemoryException as error:
        raise _too_large(database) from error
    except duckdb.CatalogException as error:
        reason = _reason(error)
        if reason.startswith("Catalog Error: Table with name"):
            # What DuckDB means that was meant are tables of its own.
            reason = f"{reason.split(' Did you mean ')[0]} There are {', '.join((*TABLES, *VIEWS))}"
        raise UserError(f"the query does not work: {reason}") from error
    except duckdb.Error as error:
        raise UserError(f"the query does not work: {_reason(error)}") from error


def _read(database: Database, sql: str) -> pa.Table:
    """The result, batch by batch: it lies outside of what the database counts."""
    reader = database.connection.sql(sql).to_arrow_reader(_BATCH_ROWS)
    batches: list[pa.RecordBatch] = []
    taken_bytes = 0
    for batch in reader:
        taken_bytes += batch.nbytes
        if taken_bytes > database.memory_bytes:
            raise _too_large(database)
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _too_large(database: Database) -> UserError:
    return UserError(
        f"the query takes more than {chosen_size(database.memory_bytes)} of memory: ask for fewer "
        "rows (WHERE, LIMIT, GROUP BY), or permit more with --memory"
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _keep(database: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    database.register(f"arrow_{name}", table)
    database.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
    database.unregister(f"arrow_{name}")


def _attach(
    database: duckdb.DuckDBPyConnection,
    name: str,
    files: Sequence[tuple[KeptRun, Path]],
    columns: pa.Schema,
) -> list[str]:
    """A view over files of runs, which are returned; a table without rows where there are none."""
    if not files:
        empty = pa.schema([("run", pa.string()), *columns]).empty_table()
        _keep(database, name, empty)
        return []
    paths = [str(path) for _, path in files]
    keys = pa.table({"filename": paths, "run": [run.row.run for run, _ in files]})
    _keep(database, f"{name}_files", keys)
    listed = ", ".join(map(_quoted, paths))
    database.execute(
        f"CREATE VIEW {name} AS SELECT run, * EXCLUDE (run, filename) "
        f"FROM read_parquet([{listed}], filename = true, union_by_name = true) "
        f"JOIN {name}_files USING (filename)"
    )
    return paths


def _table(runs: Sequence[KeptRun], rows: Any, columns: pa.Schema) -> pa.Table:
    name = [(run.row.run, run) for run in runs]
    found = [{"run": run, **row} for run, kept in name for row in rows(kept)]
    return pa.Table.from_pylist(found, schema=columns)


def _tests(kept: KeptRun) -> list[dict[str, Any]]:
    return [
        {"test": test.name, **{key: getattr(test, key) for key in _TESTS.names[2:]}}
        for test in kept.run.manifest.tests
    ]


def _points(kept: KeptRun) -> list[dict[str, Any]]:
    return [
        {
            "recording": recording.id,
            "label": recording.label,
            **{key: recording.point.get(key) for key in _POINTS.names[3:]},
        }
        for test in kept.run.manifest.tests
        for recording in test.recordings
    ]


def _findings(kept: KeptRun) -> list[dict[str, Any]]:
    return [
        {
            "finding": finding.name,
            **{key: getattr(finding, key) for key in ("title", "verdict", "value", "unit", "text")},
            "low": (finding.interval or (None, None))[0],
            "high": (finding.interval or (None, None))[1],
            "detail": json.dumps(finding.detail),
        }
        for finding in kept.run.findings
    ]
