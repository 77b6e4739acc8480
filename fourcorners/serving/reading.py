"""What a served drive does just now: two answers to ``status``, and what happened between them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.serving.control import control
from fourcorners.wording import amount, count, duration, number, percent, rate


@dataclass(frozen=True)
class RecentRate:
    """What an operation did in the drive's time between two answers; ``latency_s`` is the mean,
    and ``None`` where nothing completed."""

    iops: float
    bytes_per_second: float
    latency_s: float | None
    errors: int


@dataclass(frozen=True)
class Reading:
    """What happened from an answer of a server to the next, ``seconds`` of the drive's time."""

    status: Mapping[str, Any]
    seconds: float
    operations: Mapping[str, RecentRate]
    late_share: float
    write_amplification: float | None
    """Of what was written between both; ``None`` where nothing was, or where the drive does not
    count it."""

    @property
    def bytes_per_second(self) -> float:
        """Of all operations."""
        return sum(pace.bytes_per_second for pace in self.operations.values())


INTERVAL_S = 0.5
"""Between two answers: readable, and many I/Os of any drive."""


def top(server: str | Path) -> Reading:
    """What a served drive does in half a second.

    Args:
        server: its control socket, or the socket or file of the drive.

    Raises :class:`UserError` where no server answers.
    """
    before = control(server)
    time.sleep(INTERVAL_S)
    return read(before, control(server))


def read(before: Mapping[str, Any], after: Mapping[str, Any]) -> Reading:
    """What happened between two answers of the same server."""
    seconds = max((after["elapsed_ns"] - before["elapsed_ns"]) * 1e-9, 1e-9)
    paces = {}
    for name in ("read", "write", "flush"):
        then, now = before["operations"][name], after["operations"][name]
        ios = now["ios"] - then["ios"]
        latency_sum_s = (now["latency_sum_ns"] - then["latency_sum_ns"]) * 1e-9
        paces[name] = RecentRate(
            ios / seconds,
            (now["bytes"] - then["bytes"]) / seconds,
            latency_sum_s / ios if ios else None,
            now["errors"] - then["errors"],
        )
    answers = after["answers"] - before["answers"]
    return Reading(
        after,
        seconds,
        paces,
        (after["late"] - before["late"]) / answers if answers else 0.0,
        _write_amplification(before["counters"], after["counters"]),
    )


def _write_amplification(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Bytes programmed for each byte of the host."""
    try:
        host = after["host_bytes_written"] - before["host_bytes_written"]
        programmed = after["bytes_programmed"] - before["bytes_programmed"]
    except KeyError:
        return None
    return programmed / host if host > 0 else None


def sentences(reading: Reading) -> Sequence[str]:
    """The reading in lines for people."""
    status = reading.status
    lines = []
    for name, pace in reading.operations.items():
        total = status["operations"][name]
        line = f"{name:6} {number(pace.iops):>9} IOPS {rate(pace.bytes_per_second):>12}"
        if pace.latency_s is not None:
            line += f", {duration(pace.latency_s)} mean latency"
        line += f"; {count(total['ios'], 'I/O')}"
        if total["errors"]:
            line += f", {total['errors']} failed"
        lines.append(line)
    cached = status["volatile_bytes"]
    lines.append(
        f"queue {status['unanswered']}, {count(status['clients'], 'NBD client')}"
        + ("" if cached is None else f", {amount(cached)} in the cache that a power cut takes")
    )
    total_amplification = status["counters"].get("write_amplification")
    if total_amplification is not None:
        now = reading.write_amplification
        line = f"write amplification {number(total_amplification or None)}"
        lines.append(line + ("" if now is None else f", {number(now)} now"))
    lines.append(f"late answers: {percent(reading.late_share)}")
    happened = [
        count(times, noun)
        for times, noun in (
            (status["trims"], "TRIM"),
            (len(status["power_cuts"]), "power cut"),
            (status["corruptions"], "changed write"),
        )
        if times
    ]
    if happened:
        lines.append(", ".join(happened))
    if status["is_away"]:
        lines.append("The drive is away.")
    for fault in status["faults"]:
        kind, times = fault["fault"]["kind"], fault["happened"]
        lines.append(f"fault {fault['id']}: {kind}, happened {count(times, 'time')}")
    return lines
