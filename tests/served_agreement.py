"""Whether a program measures the same on a served drive and in virtual time, and where it does not,
whether the machine was the reason (benches/serve_fidelity.py)."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

AGREE = 0.05
CERTAIN = 2.58
"""Standard deviations: 99 %."""


@dataclass(frozen=True)
class Latency:
    """In seconds."""

    mean_s: float
    p99_s: float
    ios: int
    deviation_s: float = 0.0
    """Of single latencies."""
    p99_range_s: tuple[float, float] = (0.0, 0.0)
    """Where another sample, of as many I/Os, has its 99th percentile in 99 of 100 cases."""


def latency(told_s: Sequence[float]) -> Latency:
    """Of these latencies, at least two."""
    told_s = sorted(told_s)
    p99_s = told_s[min(len(told_s) * 99 // 100, len(told_s) - 1)]
    return Latency(statistics.fmean(told_s), p99_s, len(told_s), statistics.pstdev(told_s))


def middle(measured: Sequence[Latency]) -> Latency:
    """The medians of an odd number of measurements of the same, so that one that a stall of the
    machine has met does not count."""
    return Latency(
        statistics.median(one.mean_s for one in measured),
        statistics.median(one.p99_s for one in measured),
        sum(one.ios for one in measured),
    )


def agree(found: Latency, expected: Latency, floor: Latency) -> bool:
    """Whether mean and 99th percentile differ by at most 5 % and the transport's floor."""
    return all(
        abs(one - other) <= AGREE * other + least
        for one, other, least in (
            (found.mean_s, expected.mean_s, floor.mean_s),
            (found.p99_s, expected.p99_s, floor.p99_s),
        )
    )


@dataclass(frozen=True)
class Cell:
    """One job, on the served drive and in virtual time.

    ``floor`` is what a bare server takes that answers at once. ``waits`` is the same job on a bare
    server that answers each I/O after ``waits_s``, which is as long as the drive takes in the
    mean, in the same minute: what it measures differs from that by what machine and program do.
    """

    served: Latency
    virtual: Latency
    floor: Latency
    waits: Latency
    waits_s: float
    late_share: float
    session_was_late: bool

    @property
    def host_was_limit(self) -> bool:
        """Whether this machine, and not the drive, is what the program measured: the session found
        that it was late, or a server that only waits does not agree with itself."""
        alone = Latency(self.waits_s, self.waits_s, 0)
        return self.session_was_late or not agree(self.waits, alone, self.floor)

    @property
    def verdict(self) -> str:
        """What the row says."""
        if self.host_was_limit:
            return "host"
        if agree(self.served, self.virtual, self.floor):
            return "agrees"
        return "few I/Os" if self._is_chance else "**differs**"

    @property
    def differs(self) -> bool:
        """Whether the drive served is not the one in virtual time, as far as this tells."""
        return self.verdict == "**differs**"

    @property
    def _is_chance(self) -> bool:
        """Whether two samples of the same drive, of so few I/Os, differ as much."""
        served, expected, floor = self.served, self.virtual, self.floor
        ios = (1 / max(served.ios, 1) + 1 / max(expected.ios, 1)) ** 0.5
        by_chance_s = CERTAIN * served.deviation_s * ios
        mean = abs(served.mean_s - expected.mean_s) <= (
            AGREE * expected.mean_s + floor.mean_s + by_chance_s
        )
        low_s, high_s = expected.p99_range_s
        above = (1 - AGREE) * low_s - floor.p99_s <= served.p99_s
        return mean and above and served.p99_s <= (1 + AGREE) * high_s + floor.p99_s
