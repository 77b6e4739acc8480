"""Fourcorners measures, simulates, explains and predicts storage drives.

Ten lines to begin with::

    import fourcorners as fc

    with fc.open_target("sim:ocz-vertex-3-240gb") as drive:
        stream = fc.Stream.write("random", 4096, span_bytes=8 * 10**9, queue_depth=32)
        recording = drive.run(fc.Workload([stream], seconds=30))
    print(recording.write.iops, recording.write.latency_percentile_s(99))
    recording.write.second_ios  # a numpy array, one entry per second
    recording.plot()

    run = fc.characterize("sim:ocz-core-64gb", profile="quick")
    run.findings

Times are float seconds, sizes bytes; names say so. What the user can put right raises
:class:`UserError`, one sentence each.
"""

from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from fourcorners.analysis.claims_table import claims_table
from fourcorners.catalog.published import published_table
from fourcorners.errors import UserError
from fourcorners.observing import Observed, observe
from fourcorners.recording import (
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
    Offered,
    OperationRecording,
    Recording,
)
from fourcorners.store import Run
from fourcorners.store.shelf import shelf
from fourcorners.store.sql import open_database
from fourcorners.store.sql import query as run_query
from fourcorners.suites import characterize, prepare, resume, run
from fourcorners.suites.explanation import Explanation, explain
from fourcorners.targets import Target, open_target
from fourcorners.verification import Damage, Verification, verify
from fourcorners.workload import (
    CLOSED_LOOP,
    INCOMPRESSIBLE,
    REPEATED,
    Stream,
    Workload,
    bursts,
    compressible,
    duplicated,
    fixed_rate,
    hot_cold,
    partly_random,
    poisson_rate,
    strided,
    zipf,
)

__version__ = version("fourcorners")

__all__ = [
    "CLOSED_LOOP",
    "INCOMPRESSIBLE",
    "REPEATED",
    "Damage",
    "Explanation",
    "IoLog",
    "LatencyDistribution",
    "LatencyOverTime",
    "Observed",
    "Offered",
    "OperationRecording",
    "Recording",
    "Run",
    "Stream",
    "Target",
    "UserError",
    "Verification",
    "Workload",
    "__version__",
    "bursts",
    "characterize",
    "compressible",
    "duplicated",
    "explain",
    "fixed_rate",
    "hot_cold",
    "observe",
    "open_run",
    "open_target",
    "partly_random",
    "poisson_rate",
    "prepare",
    "query",
    "resume",
    "run",
    "strided",
    "verify",
    "zipf",
]


def query(sql: str, *folders: str) -> pa.Table:
    """The result of one SQL statement over the runs in ``folders`` (``runs`` by default).

    docs/query.md describes the tables. Raises :class:`UserError`.
    """
    runs = shelf([Path(folder) for folder in folders or ("runs",)])
    return run_query(open_database(runs, claims_table(runs), published_table()), sql)


def open_run(path: str) -> Run:
    """Opens a run folder; raises :class:`UserError` when it is not one."""
    return Run(path)
