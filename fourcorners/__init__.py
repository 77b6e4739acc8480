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

from fourcorners.errors import UserError
from fourcorners.recording import OperationRecording, Recording
from fourcorners.store import Run
from fourcorners.suites import characterize
from fourcorners.targets import Target, open_target
from fourcorners.verification import Damage, Verification, verify
from fourcorners.workload import (
    INCOMPRESSIBLE,
    REPEATED,
    Stream,
    Workload,
    compressible,
    duplicated,
    hot_cold,
    zipf,
)

__version__ = version("fourcorners")

__all__ = [
    "INCOMPRESSIBLE",
    "REPEATED",
    "Damage",
    "OperationRecording",
    "Recording",
    "Run",
    "Stream",
    "Target",
    "UserError",
    "Verification",
    "Workload",
    "__version__",
    "characterize",
    "compressible",
    "duplicated",
    "hot_cold",
    "open_run",
    "open_target",
    "verify",
    "zipf",
]


def open_run(path: str) -> Run:
    """Opens a run folder; raises :class:`UserError` when it is not one."""
    return Run(path)
