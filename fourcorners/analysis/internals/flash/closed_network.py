"""Queueing networks and other models of how the rate of random reads grows with the queue depth.

D units serve one read in S seconds each, every command passes one station of s seconds (processor,
link), and a delay Z keeps nothing busy. Mean value analysis (Reiser and Lavenberg, JACM 1980) gives
the network's rate at every N. Service times are constant, so that an arriving read waits for half
of the service under way, not for all of it::

    R_unit = S (1 + Q/D - U/2D),  R_station = s (1 + q - u/2),  X = N / (Z + R_unit + R_station)

Q and q are the queues and U and u the utilisations at N - 1 outstanding. D, S and s are fitted; Z
follows from the rate of one read at a time. Two other models: N balls occupy D (1 - (1 - 1/D)^N) of
D bins, without queues, and Gunther's Universal Scalability Law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats

UNITS_MAX = 256.0
"""The fit tries up to so many units; drives have up to about a hundred dies."""

SCATTER = 0.003
"""The least standard deviation of a rate, from chance and from what the network leaves out."""


@dataclass(frozen=True)
class NetworkFit:
    """The closed network that fits best: ``units`` with their 90 % ``interval``, the times of a
    unit, of the station and of the delay in seconds, the ``rates`` with shape (depths,), and the
    relative ``misfit``."""

    units: float
    unit_s: float
    station_s: float
    delay_s: float
    misfit: float
    interval: tuple[float, float]
    rates: Floats


def fit_network(depths: Floats, rates: Floats) -> NetworkFit:
    """Fits the network to the rates at these queue depths, which begin at 1; both have shape
    (depths,). It searches a coarse grid, then a finer one around the best point."""
    units = np.geomspace(1, UNITS_MAX, 70)
    unit_share, station_share = np.linspace(0.1, 1, 19), np.linspace(0, 1, 21)
    alone_s = 1 / rates[0]
    for finer in (True, False):
        misfit, modelled = _grid(depths, rates, units, unit_share, station_share)
        best = np.unravel_index(int(np.argmin(misfit)), misfit.shape)
        profile = misfit.min(axis=(1, 2)) ** 2
        scatter = max(profile.min() * len(depths) / max(len(depths) - 3, 1), SCATTER**2)
        near = units[profile <= profile.min() + two_sided_t(math.inf) ** 2 * scatter / len(depths)]
        unit, station = unit_share[best[1]], station_share[best[2]]
        if finer:
            units = np.geomspace(max(1.0, near[0] / 1.15), min(UNITS_MAX, near[-1] * 1.15), 70)
            unit_share = np.clip(unit + np.linspace(-0.08, 0.08, 17), 0.02, 1)
            station_share = np.clip(station + np.linspace(-0.08, 0.08, 17), 0, 1)
    unit_s, station_s = float(unit * alone_s), float(station / rates.max())
    return NetworkFit(
        units=float(units[best[0]]),
        unit_s=unit_s,
        station_s=station_s,
        delay_s=max(0.0, alone_s - unit_s - station_s),
        misfit=float(misfit[best]),
        interval=(float(near[0]), float(near[-1])),
        rates=modelled[:, best[0], best[1], best[2]],
    )


def _grid(
    depths: Floats, rates: Floats, units: Floats, unit_share: Floats, station_share: Floats
) -> tuple[Floats, Floats]:
    """The misfits with shape (units, unit shares, station shares), and the rates with the depths
    as a further first axis. A unit's time is a share of the time of one read, and the station's a
    share of the time per read at the highest rate."""
    alone_s = 1 / rates[0]
    count, unit_s, station_s = np.meshgrid(
        units, unit_share * alone_s, station_share / rates.max(), indexing="ij"
    )
    delay_s = alone_s - unit_s - station_s
    modelled = closed_network(count, unit_s, station_s, np.maximum(delay_s, 0), depths)
    off = np.sqrt(np.mean(np.log(modelled / rates[:, None, None, None]) ** 2, axis=0))
    off[delay_s < -0.01 * alone_s] = np.inf
    return off, modelled


def closed_network(
    units: Floats, unit_s: Floats, station_s: Floats, delay_s: Floats, depths: Floats
) -> Floats:
    """The rate of the network by mean value analysis, with shape (depths, *units.shape).

    Args:
        units, unit_s, station_s, delay_s: arrays of one shape.
        depths: the queue depths, whole numbers, with shape (depths,).
    """
    queue, busy = np.zeros_like(unit_s), np.zeros_like(unit_s)
    station_queue, station_busy = np.zeros_like(unit_s), np.zeros_like(unit_s)
    most = 1 / np.maximum(station_s, unit_s / units)
    at: dict[int, Floats] = {}
    for outstanding in range(1, int(depths.max()) + 1):
        at_unit_s = unit_s * (1 + queue - busy / 2)
        at_station_s = station_s * (1 + station_queue - station_busy / 2)
        rate = np.minimum(outstanding / (delay_s + at_unit_s + at_station_s), most)
        busy, station_busy = rate * unit_s / units, rate * station_s
        queue, station_queue = np.maximum(rate * at_unit_s / units, busy), rate * at_station_s
        if outstanding in depths:
            at[outstanding] = rate
    return np.stack([at[int(depth)] for depth in depths])


def scalability(depths: Floats, rates: Floats) -> dict[str, float]:
    """Fits Gunther's law X(N) = g N / (1 + s (N - 1) + k N (N - 1)) and returns its parameters and
    relative misfit. With k = 0 the law is the closed network of 1/s units with exponential
    times."""

    def model(parameters: Floats) -> Floats:
        gain, contention, coherency = parameters
        more = depths - 1
        return np.asarray(gain * depths / (1 + contention * more + coherency * depths * more))

    solved = scipy.optimize.least_squares(
        lambda p: np.log(np.maximum(model(p), 1e-300) / rates),
        [rates[0], 0.1, 0.0],
        bounds=([0, 0, 0], [np.inf, 1, 1]),
        x_scale=[rates[0], 0.1, 1e-3],
    )
    return {
        "per_read_iops": float(solved.x[0]),
        "contention": float(solved.x[1]),
        "coherency": float(solved.x[2]),
        "relative_misfit_rms": float(np.sqrt(np.mean(solved.fun**2))),
    }


def balls_in_bins(depths: Floats, rates: Floats) -> dict[str, float]:
    """Fits the number of units D of which N outstanding reads keep D (1 - (1 - 1/D)^N) busy, and
    returns it with the relative misfit."""
    units = np.geomspace(1.01, UNITS_MAX, 200)[:, None]
    busy = units * (1 - (1 - 1 / units) ** depths)
    off = np.log(busy / rates)
    off -= off.mean(axis=1, keepdims=True)
    misfit = np.sqrt(np.mean(off**2, axis=1))
    best = int(np.argmin(misfit))
    return {"units": float(units[best, 0]), "relative_misfit_rms": float(misfit[best])}
