"""Noise: what a real system does to measurements, added to drives of the contest.

It is put between the probes and the drive (drive/disturbed), so that it is the same for drives of
every kind, those of other programs included, and changes nothing about the drive: the truths stay
what they are. One figure says how much: the spread of service times. All other disturbances grow
with it, so that 2 % to 20 % span what is usual on real systems.
"""

from collections.abc import Mapping, Sequence

from fourcorners import _core
from fourcorners.errors import UserError

NOISE_MAX = 0.2
"""The most that makes sense: beyond it the other disturbances are no longer those of a system that
one would measure on."""

# At NOISE_MAX: 1 % outliers, 10 % other load and drift, 50 us of the host for each command.
_OUTLIERS, _LOAD, _DRIFT, _HOST_S = 0.05, 0.5, 0.5, 250e-6

_OF_ONE_COMMAND = ("flush_cost", "read_access_penalty", "write_access_penalty")
"""Findings that say what one command takes on the host."""


def disturbance(noise: float, seed: int) -> "_core.Disturbance | None":
    """What disturbs a drive: of its service times ``noise`` is the standard deviation over the
    mean. ``None`` without noise."""
    if not noise:
        return None
    return _core.Disturbance(
        seed,
        spread=noise,
        drift=_DRIFT * noise,
        outlier_share=_OUTLIERS * noise,
        load_share=_LOAD * noise,
        overhead_ns=round(_HOST_S * noise * 1e9),
    )


def as_seen(true: Mapping[str, float], noise: float) -> dict[str, float]:
    """The truths as a host sees them that takes its own time: what one command takes contains
    that; all else is of the drive."""
    host_s = _HOST_S * noise
    return {
        name: value + host_s if value and name in _OF_ONE_COMMAND else value
        for name, value in true.items()
    }


def described(noise: float) -> str:
    """The disturbances in a sentence."""
    return (
        f"service times spread by {noise:.2g} (standard deviation over mean) and drift by "
        f"{_DRIFT * noise:.2g} over minutes, {_OUTLIERS * noise:.2%} of the commands take 10 to "
        f"100 times as long, somebody else reads in {_LOAD * noise:.1%} of the time, and the host "
        f"takes {_HOST_S * noise * 1e6:.3g} us for each command."
    )


def check_noise(levels: Sequence[float]) -> None:
    """Raises :class:`UserError` for more than a system that one would measure on has, and for a
    level that is named twice."""
    for noise in levels:
        if not 0 <= noise <= NOISE_MAX:
            raise UserError(f"--noise {noise:g}: use a spread from 0 to {NOISE_MAX:g}")
    if len(set(levels)) < len(levels):
        raise UserError("--noise: name each level once")
