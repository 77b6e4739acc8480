"""What is compared of a recording, and the unit and direction that it has."""

from __future__ import annotations

from dataclasses import dataclass

from fourcorners.analysis.source import Measured
from fourcorners.recording.columns import PERCENTILES


@dataclass(frozen=True)
class Quantity:
    """A column of ``recordings.parquet``.

    ``percentile`` is that of a latency quantile; ``None`` for rates, mean and maximum.
    """

    name: str
    column: str
    words: str
    unit: str
    more_is_better: bool
    percentile: float | None = None

    def of(self, point: Measured) -> float | None:
        """The value in :attr:`unit`; ``None`` where there is none above zero."""
        value = (
            getattr(point, self.column)
            if self.percentile is None
            else point.latency_percentile_s(self.percentile)
        )
        return value if value is not None and value > 0 else None


THROUGHPUT = Quantity("throughput", "bytes_per_second", "throughput", "B/s", True)
IOPS = Quantity("iops", "iops", "IOPS", "1/s", True)
MEAN_LATENCY = Quantity("mean_latency", "latency_mean_s", "mean latency", "s", False)
MAX_LATENCY = Quantity("max_latency", "latency_max_s", "worst latency", "s", False)


def _quantile(column: str, percentile: float) -> Quantity:
    return Quantity(
        f"p{percentile:g}_latency", column, f"p{percentile:g} latency", "s", False, percentile
    )


QUANTILES = tuple(_quantile(column, percentile) for column, percentile in PERCENTILES.items())
P99_LATENCY = next(quantity for quantity in QUANTILES if quantity.percentile == 99)

ALL = (THROUGHPUT, IOPS, MEAN_LATENCY, *QUANTILES, MAX_LATENCY)
COMPARED = (THROUGHPUT, MEAN_LATENCY, P99_LATENCY)
"""What every comparison reports; gates may use any quantity."""
