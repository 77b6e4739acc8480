"""The write buffer that a burst of sequential writes shows, and the rate at which it drains.

All writes are due at once. Therefore the curve of bytes accepted over time rises at the link's rate
until the buffer is full, and then at the flash's rate, in the rounds of its dies (program_rounds).
Before the k-th round ends, the dies have programmed the data of the k - 1 rounds before it, and the
buffer is full of data accepted since. The lowest points of the curve lie on

    accepted(t) = buffer + drain (t - start - period),

where start is the time until the first row reaches the first die. Where no rounds show, room
becomes free some time after a row was accepted; the range of this time for flash is known. On a
disk the upper edge of the steps is the line on which the buffer is full again,

    accepted(t) = buffer + drain (t - s / link),  s the bytes of a step,

and the steps are (1 - drain / link) s high, which gives s.

When a burst to a disk begins, the arm has to seek and wait for its sector, and nothing leaves the
cache until then. This lowers the later line by the bytes that the disk writes in that time: half a
turn in the mean, and about two switches between tracks for the seek and settling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.caches.burst_curve import BUCKET, Curve
from fourcorners.analysis.internals.caches.program_rounds import Rounds, find_rounds
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats

FASTER_MIN = 1.12
"""The first bytes must be faster than the last ones by this factor, or no buffer shows."""

FIRST_BYTES = (128 * 1024, 640 * 1024)
"""These bytes of a burst show the rate at which a buffer is filled: they come after the first
request, which takes longer, and before the smallest buffers are full."""

BUFFER_MAX = 128 * 1024 * 1024
"""A solid-state drive's write buffer is no larger."""

_BLOCKS_MIN = 6
"""The least buffer, in writes, that is distinguished from the writes themselves."""

_POINTS = 4000
"""The number of points of the curve at equal times: many to a period of the dies."""

LATE_SHARE = 0.5
"""The last share of a burst, which shows the drain rate, unless the buffer is full still later."""

_LATE_SHARE_MIN = 0.1
"""The least such share. Half of it must show the same rate as the other half."""

_EDGE = 0.98
"""The quantile at the upper edge of the steps, and 1 minus it at the lower: single points are
off."""

_PARTS = 8
"""The late part is divided into so many to see how the drain wanders: a choice."""

_AT_BEGINNING = 1.27
"""The variance at time 0 of the line through the later half of a random walk, about what the walk
was then, over the variance that the walk gains in all of its time: 2/3 for the mean of that half,
1.35 for the slope, less 0.75 as both go together."""

_LAG_S = 1.35e-3, 1.25e-3
"""The time from the acceptance of a row to the room that its program frees, where no rounds show
it: the middle of the range for flash, and its uncertainty."""

LAG_MAX_S = sum(_LAG_S)
"""The longest such time: a slow program with its transfer."""

_DISK_LAG_S = 0.5e-3
"""The time on a disk that no measurement shows."""

_WAIT_S, _WAIT_BLOCKS = 0.15e-3, 3
"""If the first write takes longer than this time, and than so many of the next writes, it waits for
flash."""

_HEIGHTS = 0.7, 1.2
"""The limits of the height of the steps, over that of a round whose bytes all come at the link's
rate. With lower or higher steps the period is not one round of the dies, but a pattern of single
rows."""

_KINDS_MAX = 4
"""A cell holds at most so many bits, and has as many kinds of pages."""

_TURNS_OFF = 0.05
"""What the dies take in a period is so many turns of all dies if it differs by no more than this
share: by the resolution of the period."""

_TURNS_MAX, _START_MAX = 20, 0.5
"""The start of the first round can be found if the buffer is full within so many periods; it takes
at most this share of a period."""

_START_MARGINS = 0.1, 0.3
"""The uncertainty of the start of the first round, in periods, if it can be found and if not."""

_SHORT_S = 0.9e-3
"""Shorter periods may be those of rows that a slow channel delivers one by one. Each row then frees
its room later by up to the difference. This applies if the start of the first round is unknown."""

_SIZE_MARGIN = 4 * BUCKET
"""The relative uncertainty of a buffer: four times the width of a histogram's buckets."""

_NEARLY, _SPREADS = 0.01, 1.5
"""The late part of the curve is above the first bytes of the full buffer by up to this share, plus
so many standard deviations."""

_FULL_SHARE = 0.7
"""A buffer may take up to this share of a burst; the rest shows the drain rate."""

_FILLED_MIN = 0.8
"""When a buffer of this size is full at the link's rate, the drive must have accepted at least this
share of what it then should have, less one round of the dies: simulated drives with one buffer
accepted 0.89 or more. Where two parts of a burst are faster than the rest, as with an SLC cache
behind the buffer, up to 0.7 are left."""

_PAST_FULL, _BEHIND_MIN = 1.25, 0.5
"""After so many times the time in which a buffer of the largest size is full, the curve lags by at
least this share of what it then lacks, a quarter of the buffer. The 105 drives of seed 1618033
lacked 79 % of that and more; a foreign one that was told half of its buffer lacked 1 %."""


@dataclass(frozen=True)
class Buffer:
    """What a burst shows: rates in bytes per second."""

    size_bytes: float
    margin_bytes: float
    link_rate: float
    drain_rate: float
    drain_margin: float
    scatter: float
    """The height of the steps over the size of the buffer."""
    round_bytes: float
    """The bytes that all dies program in one round; zero where no rounds show."""
    level_bytes: float
    """The bytes at time zero of the line at the drain rate that is the mean of the curve."""
    longest_round: float = 1.0
    """The longest round over the mean one: pages of different kinds take different times."""
    wander_bytes: float = 0.0
    """The part of the margin that is due to a drain that is not constant."""

    @property
    def accepted_bytes(self) -> float:
        """The bytes that the drive has accepted when the buffer is full, if it drains at once."""
        return self.size_bytes / (1 - self.drain_rate / self.link_rate)

    def fills_as_it_should(self, curve: Curve) -> bool:
        """Whether the curve climbs at the link's rate until the buffer is full, and no longer:
        whether one buffer that drains at one rate explains all of it."""
        full_s = np.array(self.accepted_bytes / self.link_rate)
        accepted = float(np.interp(full_s, curve.seconds, curve.count_bytes))
        # In steps the curve is lower by up to one round of the dies.
        fills = accepted + self.round_bytes >= _FILLED_MIN * self.accepted_bytes
        return fills and self._is_filled_by_the_link(curve) and self._ends(curve)

    def _is_filled_by_the_link(self, curve: Curve) -> bool:
        """Whether the first half of the buffer is filled at the link's rate. Faster cells behind a
        smaller buffer take a long burst at a rate of their own."""
        half_s = self.accepted_bytes / self.link_rate / 2
        accepted = float(np.interp(half_s, curve.seconds, curve.count_bytes))
        least = (1 - _SIZE_MARGIN) * self.accepted_bytes / 2
        return accepted + self.round_bytes + self.margin_bytes >= least

    def _ends(self, curve: Curve) -> bool:
        """Whether the curve falls behind the link's rate once a buffer of the largest size is full:
        one that drains has to."""
        most = self.size_bytes + self.margin_bytes + self.round_bytes
        at_s = _PAST_FULL * most / (self.link_rate - self.drain_rate)
        if at_s >= float(curve.seconds[-1]):
            return True
        accepted = float(np.interp(at_s, curve.seconds, curve.count_bytes))
        return self.link_rate * at_s - accepted >= _BEHIND_MIN * (_PAST_FULL - 1) * most


def read_curve(
    curve: Curve, block_bytes: float, turn_bytes: float | None = None, *, in_rounds: bool = True
) -> Buffer | None:
    """The buffer, if the curve has a fast and a slow part.

    A buffer that is full only after the late part has begun makes the drain look faster than it is.
    The line through a part that begins earlier meets that of the link before the buffer is full, so
    the late part begins anew where they meet, until that is no later.

    Args:
        curve: the curve of a burst.
        block_bytes: the size of its requests.
        turn_bytes: what all dies take in one turn, if other measurements show it.
        in_rounds: whether the drive has dies, which work in rounds.
    """
    total_s = float(curve.seconds[-1])
    from_s = (1 - LATE_SHARE) * total_s
    while from_s <= (1 - _LATE_SHARE_MIN) * total_s:
        buffer = _read_from(curve, from_s, block_bytes, turn_bytes, in_rounds=in_rounds)
        if buffer is None:
            return None
        full_s = buffer.accepted_bytes / buffer.link_rate
        if full_s <= (1 + _NEARLY) * from_s:
            return buffer
        from_s = full_s
    return None


def _read_from(
    curve: Curve, from_s: float, block_bytes: float, turn_bytes: float | None, *, in_rounds: bool
) -> Buffer | None:
    """The same, where the late part begins at a given time."""
    total_s = float(curve.seconds[-1])
    times = np.linspace(0.0, total_s, _POINTS + 1)[1:]
    accepted = np.interp(times, np.append(0.0, curve.seconds), np.append(0.0, curve.count_bytes))
    late = times > from_s
    drain = float(np.polyfit(times[late], accepted[late], 1)[0])
    half = len(times) - np.count_nonzero(late) // 2
    halves = [
        float(np.polyfit(times[part], accepted[part], 1)[0])
        for part in (late & (np.arange(len(times)) < half), np.arange(len(times)) >= half)
    ]
    link = curve.rate(*FIRST_BYTES)
    if link < FASTER_MIN * drain or (in_rounds and _waits(curve, block_bytes, link)):
        return None
    above = (accepted - drain * times)[late]
    upper, lower = (float(np.quantile(above, share)) for share in (_EDGE, 1 - _EDGE))
    steps = upper - lower
    drain_margin = max(0.3 * abs(halves[0] - halves[1]), 0.8e-3 * drain)
    longest, wander = 1.0, 0.0
    if in_rounds:
        wander = _wandering(times[late], accepted[late], block_bytes)
        rounds = find_rounds(curve, drain, _full_s(curve, above, drain, link))
        told = None if rounds is None else _told(rounds, drain, link, turn_bytes)
        if rounds is not None and told is not None:
            level = rounds.mean_bytes
            size, margin, round_bytes, longest = told
            # Rounds repeat themselves. Long stops may come as regularly for a while, but do not
            # leave the line where it is.
            wander = wander if wander > UNSURE * size else 0.0
        else:
            round_bytes, level = 0.0, float(above.mean())
            size, margin = level + drain * _LAG_S[0], drain * _LAG_S[1]
            margin += _lever(times[late], halves, size / (link - drain))
        margin += wander + _SIZE_MARGIN * size
    else:
        round_bytes, level = 0.0, float(above.mean())
        size = upper + drain / link * steps / (1 - drain / link)
        margin = max(0.45 * steps, _DISK_LAG_S * drain) + 0.006 * size
        margin += _lever(times[late], halves, size / (link - drain))
    if size < _BLOCKS_MIN * block_bytes or size > _FULL_SHARE * float(curve.count_bytes[-1]):
        return None
    margin += block_bytes
    return Buffer(
        size, margin, link, drain, drain_margin, steps / size, round_bytes, level, longest, wander
    )


def _lever(late_s: Floats, halves: list[float], full_s: float) -> float:
    """The bytes by which the line may be off when the buffer was full. It is longer than the part
    that shows it, and the rates of the halves of that part say how sure its slope is."""
    return abs(halves[0] - halves[1]) / 2 * max(float(late_s.mean()) - full_s, 0.0)


def _wandering(late_s: Floats, accepted: Floats, block_bytes: float) -> float:
    """The bytes by which the line may be off at the beginning of the burst, as the drain is not
    constant: programs that are repeated, or what the drive does besides, stop it now and then, so
    that what was drained wanders about the line like a random walk. Its variance in a second is
    that of the differences between means of consecutive parts, of which steps and single writes
    have little."""
    parts = np.array_split(accepted - np.polyval(np.polyfit(late_s, accepted, 1), late_s), _PARTS)
    means = np.array([part.mean() for part in parts])
    part_s = float(late_s[-1] - late_s[0]) / _PARTS
    variance = max(float(np.mean(np.diff(means) ** 2)) - block_bytes**2 / 6, 0.0)
    per_second = variance / (2 / 3 * part_s)
    return two_sided_t(_PARTS - 2) * math.sqrt(_AT_BEGINNING * per_second * float(late_s[-1]))


def _waits(curve: Curve, block_bytes: float, link: float) -> bool:
    """Whether the first write took as long as a program, although others came soon after it."""
    return float(curve.seconds[0]) > max(_WAIT_S, _WAIT_BLOCKS * block_bytes / link)


def _full_s(curve: Curve, above: Floats, drain: float, link: float) -> float:
    """The time at which the buffer is certainly full. ``above`` is the late part of the accepted
    bytes, less the drained ones."""
    mean = float(above.mean())
    least = (1 - _NEARLY) * mean - _SPREADS * float(above.std())
    reached = int(np.argmax(curve.count_bytes - drain * curve.seconds >= least))
    return float(curve.seconds[reached]) + 2 * (mean - least) / (link - drain)


def _told(
    rounds: Rounds, drain: float, link: float, turn_bytes: float | None
) -> tuple[float, float, float, float] | None:
    """The size of the buffer and its uncertainty, the bytes of a round, and the longest round over
    the mean one; ``None`` where the period is none of whole rounds.

    A period in which all dies take several turns is one of as many kinds of pages. Without other
    measurements of a turn it cannot be told from a pattern of single rows.
    """
    period_bytes = drain * rounds.period_s
    count = 0 if turn_bytes is None else round(period_bytes / turn_bytes)
    if turn_bytes is None or not (
        2 <= count <= _KINDS_MAX
        and abs(period_bytes / (count * turn_bytes) - 1) <= _TURNS_OFF
        and rounds.low_bytes > -_START_MARGINS[0] * period_bytes
    ):
        ends_s = np.zeros(1)
        if not _are_of_dies(rounds, drain, link):
            return None
        return *_filled(rounds, ends_s, drain), period_bytes, 1.0
    found = rounds.ends_s(count, drain, link)
    if found is None:
        # The curve is lowest at about the end of the longest round, which is the last of each turn.
        round_bytes = period_bytes / count
        margin = _START_MARGINS[1] * round_bytes + drain * rounds.resolution_s
        return rounds.low_bytes + round_bytes, margin, round_bytes, 1.0
    apart_s = np.diff(found, append=rounds.period_s)
    longest = float(apart_s.max() / apart_s.mean())
    return *_filled(rounds, found, drain), period_bytes / count, longest


def _are_of_dies(rounds: Rounds, drain: float, link: float) -> bool:
    round_bytes = drain * rounds.period_s
    height = rounds.rise_bytes / ((1 - drain / link) * round_bytes)
    # Dies cannot have more to program than the buffer holds.
    fits = rounds.low_bytes > -_START_MARGINS[0] * round_bytes
    return fits and _HEIGHTS[0] < height < _HEIGHTS[1]


def _filled(rounds: Rounds, ends_s: Floats, drain: float) -> tuple[float, float]:
    """The size of the buffer and its uncertainty, from the lowest points of the curve.

    The first round of all begins soon after the burst. What seems to end then, if the ends of
    rounds are followed back, is no round, and shows which kind of pages came first.
    """
    count = len(ends_s)
    round_s = rounds.period_s / count
    shortest_s = float(np.diff(ends_s, append=rounds.period_s).min())
    early_s = (rounds.low_s + ends_s) % rounds.period_s
    first = int(np.argmin(early_s))
    told = rounds.low_s < _TURNS_MAX * round_s and early_s[first] < _START_MAX * shortest_s
    margin_s = _START_MARGINS[0 if told else 1] * round_s + rounds.resolution_s
    # By how much the rounds until the minimum are longer than the mean, from each kind on.
    longer_s = (rounds.period_s - ends_s) - round_s * (count - np.arange(count))
    if told:
        late_s = float(early_s[first] + longer_s[first])
    else:
        late_s = float(longer_s.max() + longer_s.min()) / 2
        margin_s += float(np.ptp(longer_s)) / 2 + max(_SHORT_S - round_s, 0.0)
    return rounds.low_bytes + drain * (round_s + late_s), drain * margin_s
