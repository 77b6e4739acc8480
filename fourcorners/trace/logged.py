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


_COLUMNS = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("operation", pa.string(), nullable=False),
        pa.field("fua", pa.bool_(), nullable=False),
        pa.field("offset_bytes", pa.int64(), nullable=False),
        pa.field("length_bytes", pa.int64(), nullable=False),
        pa.field("volume", pa.uint32(), nullable=False),
        pa.field("latency_ns", pa.int64()),
        pa.field("queue", pa.uint32()),
        pa.field("process", pa.uint32()),
        pa.field("stream", pa.uint32()),
    ]
)


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
        [
            log.submitted_ns - start_ns,
            pa.array(log.operation.tolist(), pa.string()),
            log.fua,
            log.offset_bytes,
            log.bytes,
            pa.array(np.zeros(count, np.uint32)),
            log.completed_ns - log.submitted_ns,
            *(unknown, unknown, unknown),
        ],
        schema=_COLUMNS,
    )
    told = {"fourcorners.trace": json.dumps(plain(header))}
    pq.write_table(table.replace_schema_metadata(told), out, compression="zstd")
