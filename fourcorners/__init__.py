"""Fourcorners measures, simulates, explains and predicts storage drives.

Ten lines to begin with::

    import fourcorners as fc

    with fc.open_target("sim:ocz-vertex-3-240gb") as drive:
        stream = fc.Stream.write("random", 4096, span_bytes=8 * 10**9, queue_depth_per_worker=32)
        recording = drive.run(fc.Workload([stream], duration_s=30))
    print(recording.write.iops, recording.write.latency_percentile_s(99))
    recording.write.second_ios  # a numpy array, one entry per second
    fc.plot(recording)

    run = fc.characterize("sim:ocz-core-64gb", profile="quick")
    run.findings

Times are float seconds, sizes bytes; names say so. What the user can put right raises
:class:`UserError`, one sentence each.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fourcorners.jupyter import register_in_ipython

if TYPE_CHECKING:
    from fourcorners.comparison import ComparedRuns, Comparison, compare
    from fourcorners.errors import UserError
    from fourcorners.importing import import_
    from fourcorners.keeping import ListedRun, export, note, query, runs
    from fourcorners.patterns import (
        CLOSED_LOOP,
        INCOMPRESSIBLE,
        PERMUTED,
        REPEATED,
        bursts,
        compressible,
        duplicated,
        fixed_rate,
        hot_cold,
        normal,
        pareto,
        partly_random,
        poisson_rate,
        runs_of,
        strided,
        zipf,
        zoned,
    )
    from fourcorners.recording import (
        IoLog,
        LatencyDistribution,
        LatencyOverTime,
        Offered,
        OperationRecording,
        Recording,
    )
    from fourcorners.reporting.matplotlib_plot import plot
    from fourcorners.running.explanation import Explanation, explain
    from fourcorners.running.fitting import trace_fit
    from fourcorners.running.gating import Gated, gate
    from fourcorners.running.observing import Observed, observe
    from fourcorners.running.prepare import prepare
    from fourcorners.running.report import Report, report
    from fourcorners.running.resume import resume
    from fourcorners.running.resume_each import resume_each
    from fourcorners.running.run import characterize, preview_runs, run, run_each
    from fourcorners.serving.control import control
    from fourcorners.serving.crash_test import CrashTest, crash_test
    from fourcorners.serving.reading import Reading, top
    from fourcorners.serving.served import Served, serve
    from fourcorners.serving.session import Session
    from fourcorners.store import Run
    from fourcorners.suites.listing import list_tests
    from fourcorners.target.conformance import conformance
    from fourcorners.target.drives import drives
    from fourcorners.target.open import open_target
    from fourcorners.target.target import Target
    from fourcorners.target.verification import Damage, Verification, verify
    from fourcorners.trace.capturing import Capture, capture
    from fourcorners.trace.changing import (
        WrittenTrace,
        trace_convert,
        trace_cut,
        trace_fold,
        trace_merge,
        trace_scale,
    )
    from fourcorners.trace.cluster_study import ClusterStudy, clusters
    from fourcorners.trace.figures import TraceInformation
    from fourcorners.trace.file_system import trace_layout
    from fourcorners.trace.fitting import TraceFit
    from fourcorners.trace.information import trace_info
    from fourcorners.workload import Stream, Workload
    from fourcorners_validation.arena.studies import (
        arena_explain,
        arena_sentences,
        arena_series,
        arena_steady,
    )
    from fourcorners_validation.reproduction import reproduce

    __version__: str

register_in_ipython()

# Loaded when they are first used: most commands need few of them, and help texts none.
_MODULES = {
    "errors": ("UserError",),
    "comparison": ("ComparedRuns", "Comparison", "compare"),
    "importing": ("import_",),
    "keeping": ("ListedRun", "export", "note", "query", "runs"),
    "running.gating": ("Gated", "gate"),
    "running.observing": ("Observed", "observe"),
    "reporting.matplotlib_plot": ("plot",),
    "recording": (
        *("IoLog", "LatencyDistribution", "LatencyOverTime", "Offered", "OperationRecording"),
        "Recording",
    ),
    "serving.control": ("control",),
    "serving.crash_test": ("CrashTest", "crash_test"),
    "serving.reading": ("Reading", "top"),
    "serving.served": ("Served", "serve"),
    "serving.session": ("Session",),
    "store": ("Run",),
    "running.fitting": ("trace_fit",),
    "running.explanation": ("Explanation", "explain"),
    "running.prepare": ("prepare",),
    "running.report": ("Report", "report"),
    "running.resume": ("resume",),
    "running.resume_each": ("resume_each",),
    "running.replay": ("replay",),
    "running.run": ("characterize", "preview_runs", "run", "run_each"),
    "suites.listing": ("list_tests",),
    "target.conformance": ("conformance",),
    "target.drives": ("drives",),
    "target.open": ("open_target",),
    "target.target": ("Target",),
    "target.verification": ("Damage", "Verification", "verify"),
    "trace.capturing": ("Capture", "capture"),
    "trace.changing": (
        *("WrittenTrace", "trace_convert", "trace_cut", "trace_fold", "trace_merge"),
        "trace_scale",
    ),
    "trace.cluster_study": ("ClusterStudy", "clusters"),
    "trace.figures": ("TraceInformation",),
    "trace.fitting": ("TraceFit",),
    "trace.information": ("trace_info",),
    "trace.file_system": ("trace_layout",),
    "patterns": (
        *("CLOSED_LOOP", "INCOMPRESSIBLE", "PERMUTED", "REPEATED", "bursts", "compressible"),
        *("duplicated", "fixed_rate", "hot_cold", "normal", "pareto", "partly_random"),
        *("poisson_rate", "runs_of", "strided", "zipf", "zoned"),
    ),
    "workload": ("Stream", "Workload"),
}
# The product held against the truth is a package of its own.
_VALIDATION = {
    "arena.studies": ("arena_explain", "arena_sentences", "arena_series", "arena_steady"),
    "reproduction": ("reproduce",),
}
_HOMES = {
    name: f"{package}.{module}"
    for package, modules in ((__name__, _MODULES), ("fourcorners_validation", _VALIDATION))
    for module, names in modules.items()
    for name in names
}

__all__ = [
    "CLOSED_LOOP",
    "INCOMPRESSIBLE",
    "PERMUTED",
    "REPEATED",
    "Capture",
    "ClusterStudy",
    "ComparedRuns",
    "Comparison",
    "CrashTest",
    "Damage",
    "Explanation",
    "Gated",
    "IoLog",
    "LatencyDistribution",
    "LatencyOverTime",
    "ListedRun",
    "Observed",
    "Offered",
    "OperationRecording",
    "Reading",
    "Recording",
    "Report",
    "Run",
    "Served",
    "Session",
    "Stream",
    "Target",
    "TraceFit",
    "TraceInformation",
    "UserError",
    "Verification",
    "Workload",
    "WrittenTrace",
    "__version__",
    "arena_explain",
    "arena_sentences",
    "arena_series",
    "arena_steady",
    "bursts",
    "capture",
    "characterize",
    "clusters",
    "compare",
    "compressible",
    "conformance",
    "control",
    "crash_test",
    "drives",
    "duplicated",
    "explain",
    "export",
    "fixed_rate",
    "gate",
    "hot_cold",
    "import_",
    "list_tests",
    "normal",
    "note",
    "observe",
    "open_run",
    "open_target",
    "pareto",
    "partly_random",
    "plot",
    "poisson_rate",
    "prepare",
    "preview_runs",
    "query",
    "replay",
    "report",
    "reproduce",
    "resume",
    "resume_each",
    "run",
    "run_each",
    "runs",
    "runs_of",
    "serve",
    "strided",
    "top",
    "trace_convert",
    "trace_cut",
    "trace_fit",
    "trace_fold",
    "trace_info",
    "trace_layout",
    "trace_merge",
    "trace_scale",
    "verify",
    "zipf",
    "zoned",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fourcorners")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def open_run(path: str) -> Run:
    """Opens a run folder; raises :class:`UserError` when it is not one."""
    from fourcorners import store

    return store.Run(path)
