"""Texts for where requests go, when they arrive and what they write, as streams have them.

``hot-cold:0.2:0.8`` is a name with its numbers. The functions make such texts; the core reads them
as JSON, and checks them when a workload runs.
"""

from collections.abc import Sequence
from typing import Any

INCOMPRESSIBLE = "incompressible"
REPEATED = "repeated"


def compressible(percent: int) -> str:
    """Content that a general compressor shrinks to ``percent`` percent (1 to 100)."""
    return f"compressible:{percent}"


def duplicated(percent: int) -> str:
    """Random content of which ``percent`` percent (1 to 99) of the 4 KiB blocks are copies."""
    return f"duplicated:{percent}"


CLOSED_LOOP = "closed"


def fixed_rate(iops: float) -> str:
    """Open loop: ``iops`` requests are due per second (0.001 to 10^9), at equal distances."""
    return f"fixed:{iops}"


def poisson_rate(iops: float) -> str:
    """Open loop: ``iops`` requests are due per second (0.001 to 10^9), as a Poisson process.

    Its count is fixed: in a run of up to a million arrivals exactly rate times time are due.
    """
    return f"poisson:{iops}"


def bursts(iops: float, ios: int, peak_iops: float | None = None) -> str:
    """Open loop: bursts of ``ios`` requests (1 to 2**20) at equal distances, nothing between them.

    ``iops`` requests per second are due in the mean (0.001 to 10^9), so that a burst begins every
    ``ios / iops`` seconds. Inside it they are due at ``peak_iops`` (``iops`` to 10^9), or all at
    once. All workers together make a burst.
    """
    return f"bursts:{iops}:{ios}" + ("" if peak_iops is None else f":{peak_iops}")


def partly_random(share: float) -> str:
    """Pattern in which a share of the I/Os (0 to 1) goes to a whole block anywhere, each of the
    others to the block after the one before: Iometer's percent random."""
    return f"partly-random:{share}"


def zipf(exponent: float) -> str:
    """Random pattern by Zipf's law: the k-th most popular place is drawn in proportion to
    ``k ** -exponent`` (above 0, up to 10; 0.99 is usual for key-value stores).

    Popular places are scattered over the span, the same ones for every stream with the same span,
    block size and alignment, whatever its seed.
    """
    return f"zipf:{exponent}"


def hot_cold(data: float, accesses: float) -> str:
    """Random pattern in which a fraction ``data`` of all places (above 0, below 1), scattered over
    the span, takes a share ``accesses`` (0 to 1) of the I/Os: ``hot_cold(0.2, 0.8)``."""
    return f"hot-cold:{data}:{accesses}"


def strided(stride_bytes: int) -> str:
    """Pattern whose k-th access is ``k * stride_bytes`` after the start of the span, wrapping at
    the last place at which a whole block fits. The stride is a multiple of the alignment; the
    workers of a stream take the accesses in turn."""
    return f"strided:{stride_bytes}"


PERMUTED = "permuted"
"""Random pattern in which every place comes once before any comes again, as in fio's random I/O;
each worker has an order of its own."""


def runs_of(ios: int) -> str:
    """Pattern in which every ``ios``-th I/O of a worker goes to a whole block anywhere, each of the
    others to the block after the one before."""
    return f"runs:{ios}"


def pareto(skew: float) -> str:
    """Random pattern in which a fraction ``skew`` of the places (above 0, below 1) takes a share
    ``1 - skew`` of the I/Os, and within it the same fraction the same share, and so on: fio's
    ``pareto``. Scattered as for :func:`zipf`."""
    return f"pareto:{skew}"


def normal(width: float) -> str:
    """Random pattern by fio's normal distribution of ranks: the mean of twelve uniform draws, and
    a uniform one of ``width`` (0 to 0.5) times the places around it. Scattered as for
    :func:`zipf`."""
    return f"normal:{width}"


def zoned(*zones: tuple[float, float]) -> str:
    """Random pattern by zones that lie one after the other in the span: shares of the I/Os and of
    the places, each in percent and 100 in all: ``zoned((60, 10), (40, 90))``."""
    return ":".join(["zoned", *(f"{accesses:g}/{data:g}" for accesses, data in zones)])


def content_to_json(content: str) -> str | dict[str, int]:
    """A content as the core reads it."""
    kind, _, percent = content.partition(":")
    return {kind: int(percent)} if percent else content


def arrival_to_json(arrival: str) -> str | dict[str, Any]:
    """An arrival as the core reads it, which refuses what it does not know."""
    kind, *values = arrival.split(":")
    try:
        match kind, values:
            case "bursts", [rate, ios, *peak] if len(peak) <= 1:
                return {
                    kind: {
                        "rate": float(rate),
                        "ios": int(ios),
                        "peak": float(peak[0]) if peak else None,
                    }
                }
            case _, [rate]:
                return {kind: float(rate)}
    except ValueError:
        pass
    return arrival


def pattern_to_json(pattern: str) -> str | dict[str, dict[str, Any]]:
    """A pattern as the core reads it, which refuses what it does not know."""
    kind, *values = pattern.split(":")
    if kind == "zoned":
        return _zoned_to_json(values) or pattern
    names = {
        "partly-random": ["random"],
        "zipf": ["exponent"],
        "hot-cold": ["data", "accesses"],
        "strided": ["stride_bytes"],
        "runs": ["ios"],
        "pareto": ["skew"],
        "normal": ["width"],
    }.get(kind, [])
    number = int if kind in ("strided", "runs") else float
    try:
        parameters = dict(zip(names, map(number, values), strict=True))
    except ValueError:
        return pattern
    return {kind: parameters} if names else kind


def _zoned_to_json(zones: Sequence[str]) -> dict[str, dict[str, Any]] | None:
    try:
        shares = [[float(share) / 100 for share in zone.split("/")] for zone in zones]
        found = [{"accesses": accesses, "data": data} for accesses, data in shares]
    except ValueError:
        return None
    return {"zoned": {"zones": found}}


def text_of(document: Any) -> str:
    """The text of an arrival, pattern or content, from what the core reads."""
    if not isinstance(document, dict):
        return str(document)
    [(kind, parameters)] = document.items()
    if kind == "zoned":
        return zoned(*((100 * one["accesses"], 100 * one["data"]) for one in parameters["zones"]))
    numbers = parameters.values() if isinstance(parameters, dict) else [parameters]
    return ":".join([kind, *(f"{one}" for one in numbers if one is not None)])
