"""The replay of a recorded trace as a suite's document."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fourcorners import _core, wording
from fourcorners.documents import part, plain
from fourcorners.errors import UserError
from fourcorners.input_files import check_name, check_regular
from fourcorners.replayed import Pacing, TraceDocument, pace_words

OUTSTANDING_MAX = 1024
"""I/Os that a replay may have outstanding, unless told otherwise: more than drives serve at once,
so that a request that is due waits for the drive only where that has fallen behind by a lot."""
_BUFFERS_BYTES_MAX = 512 * 1024**2
"""What outstanding requests may take of the memory of a machine of today, beside everything."""
_OUTSTANDING_MIN = 32
"""Where requests are so large that fewer would have room: what SATA has."""
_BLOCK_BYTES = 4096
"""Buffers are whole pages."""

_COARSE_NS = 1_000_000
"""Clocks that go in a ms or a second are coarser than what drives take for most I/Os."""


def replay_table(
    files: Sequence[Path | str],
    *,
    pace: Pacing = "recorded",
    speed: float = 1.0,
    queue_depth: int | None = None,
    content: str | None = None,
    endurance_bytes: int | None = None,
    format: str | None = None,
) -> dict[str, Any]:
    """The workload of a trace, as a suite file has it, with what is said of the trace as
    ``shown``; raises :class:`UserError` for what is no trace, or cannot be replayed so."""
    if not (speed > 0 and math.isfinite(speed)):
        raise UserError(f"--speed {speed:g}: use a number above 0, such as 2 for twice as fast")
    if queue_depth is not None and queue_depth < 1:
        raise UserError(f"--queue-depth {queue_depth}: use 1 or more")
    if endurance_bytes is not None and endurance_bytes < 1:
        raise UserError("--endurance: a drive that may take no byte cannot be written to")
    for file in files:
        check_name(file)
    survey = _survey(files, format)
    name = ", ".join(Path(file).name for file in files)
    _check(survey, name, pace, queue_depth)
    largest = -(-max(survey["largest_bytes"], 1) // _BLOCK_BYTES) * _BLOCK_BYTES
    fit = max(_BUFFERS_BYTES_MAX // largest, _OUTSTANDING_MIN)
    most = queue_depth or min(OUTSTANDING_MAX, fit)
    trace = TraceDocument(
        files=[str(Path(file).resolve()) for file in files],
        format=format,
        pace=pace,
        speed=float(speed),
        depth=queue_depth if pace == "depth" else None,
        span_bytes=survey["end_bytes"],
        ios=survey["ios"],
        length_ns=survey["length_ns"],
        written_bytes=survey["written_bytes"],
        writes=survey["writes"],
        is_far_out_of_order=survey["is_far_out_of_order"],
    )
    counts = survey["operations"]
    reads, writes = counts.get("read", 0), counts.get("write", 0)
    table: dict[str, Any] = {
        "label": _plain(name),
        "axes": {
            "trace": _plain(name),
            "apart": True,
            "recorded_s": survey["length_ns"] / 1e9,
            **({} if endurance_bytes is None else {"endurance_bytes": endurance_bytes}),
            **_recorded_latencies(survey),
        },
        "trace": plain(trace),
        "reads": f"{100 * reads / max(reads + writes, 1):.6g} %",
        "block": f"{largest} B",
        "pattern": "sequential",
        "queue-depth": most,
        "shown": _shown(survey, trace, most),
    }
    if content is not None:
        table["content"] = content
    return table


def replay_document(
    files: Sequence[Path | str], *, fill: bool = True, **chosen: Any
) -> dict[str, Any]:
    """A suite with the replay of a trace; ``chosen`` are arguments of :func:`replay_table`.

    With ``fill``, all that the trace touches is written before, where it reads.
    """
    table = {"name": "trace", "id": "trace", **replay_table(files, **chosen)}
    shown = table.pop("shown")
    trace = table["trace"]
    if trace["pace"] == "depth" and trace["speed"] != 1:
        raise UserError(
            "--speed changes nothing with --pace depth, where no I/O is due at a time: leave it out"
        )
    if trace["pace"] != "depth" and trace["ios"] > 1 and trace["length_ns"] == 0:
        raise UserError(
            f"{table['label']} tells no times, so that all its I/Os would be due at once: replay "
            "it with --pace depth --queue-depth"
        )
    span = trace["span_bytes"]
    reads = not table["reads"].startswith("0 ")
    title = f"Replay of {table['label']}"
    test = {
        "name": "replay",
        "title": title,
        "purpose": "A recorded trace.",
        "shown": shown,
        "prepare": [f"fill {span} B", "settle"] if fill and reads and span else [],
        "workload": [table],
    }
    return {"schema_version": 1, "name": "replay", "title": title, "test": [test]}


def _survey(files: Sequence[Path | str], format: str | None) -> dict[str, Any]:
    if not files:
        raise UserError("there is no trace to replay: name a file")
    for file in files:
        check_regular(Path(file), "the trace")
    try:
        found: dict[str, Any] = json.loads(
            _core.trace_survey([str(f) for f in files], format=format)
        )
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    return found


def _check(survey: Mapping[str, Any], name: str, pace: str, queue_depth: int | None) -> None:
    if survey["ios"] == 0:
        raise UserError(f"{name} has no I/Os: there is nothing to replay")
    volumes = survey["volumes"]
    if len(volumes) > 1:
        raise UserError(
            f"{name} has {len(volumes)} volumes ({', '.join(volumes[:4])}"
            f"{', ...' if len(volumes) > 4 else ''}): keep one with fourcorners trace cut "
            "--volume, or lay all of them onto one with fourcorners trace fold"
        )
    if survey["with_latency"]:
        return
    if pace == "depth" and queue_depth is None:
        raise UserError(
            f"{name} has no completion times, which alone tell how many I/Os were outstanding: "
            "choose a number with --queue-depth"
        )
    if pace == "think-times":
        raise UserError(
            f"{name} has no completion times, which alone tell what I/Os waited for: replay it at "
            "its recorded times, or with --pace depth --queue-depth"
        )


def _recorded_latencies(survey: Mapping[str, Any]) -> dict[str, float]:
    return {
        f"recorded_{operation}_{name}_s": quantiles[name] / 1e9
        for operation, quantiles in survey["latency_ns"].items()
        for name in ("mean", "p50", "p90", "p99", "p999", "max")
    }


def _shown(survey: Mapping[str, Any], trace: TraceDocument, most: int) -> dict[str, str]:
    """What the plan and the report say of the trace."""
    operations = ", ".join(f"{ios:,} {name}" for name, ios in survey["operations"].items())
    origin = "; ".join(survey["header"]["origin"])
    shown = {
        "I/Os": f"{operations}; {wording.amount(survey['read_bytes'])} read, "
        f"{wording.amount(survey['written_bytes'])} written",
        "recorded in": wording.clock(survey["length_ns"] / 1e9),
        **_coarse(survey, trace),
        "touches": wording.amount(survey["end_bytes"]),
        "pace": pace_words(trace),
        "outstanding at most": str(most),
    }
    if origin:
        shown["origin"] = origin
    if survey["header"].get("lost_events"):
        shown["lost when it was recorded"] = f"{survey['header']['lost_events']:,} events"
    if survey["unaligned_512"]:
        shown["widened"] = f"{survey['unaligned_512']:,} I/Os, to multiples of 512 bytes"
    if survey["empty"]:
        shown["left out"] = f"{survey['empty']:,} transfers of no bytes"
    return {name: text.replace("{", "(").replace("}", ")") for name, text in shown.items()}


def _coarse(survey: Mapping[str, Any], trace: TraceDocument) -> dict[str, str]:
    """Where several I/Os are due together only because the trace does not say when each was."""
    step_ns = survey["time_step_ns"]
    together = trace.ios * step_ns / max(trace.length_ns, step_ns)
    if trace.pace == "depth" or step_ns < _COARSE_NS or together < 2:
        return {}
    step = wording.duration(step_ns / 1e9)
    return {
        "times": f"multiples of {step}, so that {together:,.0f} I/Os in the mean are due at once, "
        "and wait for one another: latencies say little, and --pace depth says more"
    }


def _plain(name: str) -> str:
    return re.sub(r"[{}]", "", name) or "trace"


def read_trace(value: Any) -> TraceDocument:
    """A trace as a suite's document has it; raises :class:`UserError`."""
    try:
        return part(TraceDocument, value)
    except ValueError as error:
        raise UserError(f"the table of a trace that fourcorners replay makes: {error}") from error
