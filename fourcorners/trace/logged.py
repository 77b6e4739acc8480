"""Single I/Os that a run kept become a trace."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.store import Run
from fourcorners.trace.figures import TraceHeader

_SCHEMA_VERSION = 1
"""Of our traces (docs/traces.md)."""


def write_log_as_trace(path: Path, out: Path) -> None:
    """Writes the single I/Os of a recording as a trace of ours, in the order of their issue, with
    latencies from issue to completion; without those that failed.

    Raises :class:`UserError` where the run kept a share of them only, and ``OSError``.
    """
    run = Run(path.parent.parent)
    recording = run.recording(unquote(path.name.removesuffix(".parquet")))
    log = recording.log
    assert log is not None
    if log.one_in > 1:
        raise UserError(
            f"{path} has one in {log.one_in} of {log.of:,} I/Os, which is no trace: measure again "
            f"with --log-ios {log.of}"
        )
    log = log.chosen(log.errno == 0)
    log = log.chosen(np.lexsort((log.due_ns, log.submitted_ns)))
    start_ns = int(log.submitted_ns[0]) if len(log) else 0
    count = len(log)
    header = TraceHeader(
        schema_version=_SCHEMA_VERSION,
        origin=[f"I/Os of the run {run.manifest.id}, recording {recording.id}"],
        format="parquet",
        volumes=[run.manifest.target.name],
        start_unix_ns=None,
        lost_events=0,
    )
    unknown = pa.nulls(count, pa.uint32())
    table = pa.table(
        {
            "time_ns": log.submitted_ns - start_ns,
            "operation": pa.array(log.operation.tolist(), pa.string()),
            "fua": log.fua,
            "offset_bytes": log.offset_bytes,
            "length_bytes": log.bytes,
            "volume": pa.array(np.zeros(count, np.uint32)),
            "latency_ns": log.completed_ns - log.submitted_ns,
            "queue": unknown,
            "process": unknown,
            "stream": unknown,
        }
    )
    told = {"fourcorners.trace": json.dumps(plain(header))}
    pq.write_table(table.replace_schema_metadata(told), out, compression="zstd")
