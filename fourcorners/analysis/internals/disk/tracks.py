"""Findings ``track_bytes``, ``track_switch``, ``head_switch`` and ``heads`` of a disk, from reads
that follow the head.

Reads at equal distances D, one at a time, of a disk that reads ahead: each waits until the head
has come so far, D/T of a turn for tracks of T bytes. Where a track ends in between, the disk goes
to the next one as well, in a share D/T of the reads: by another head of the same cylinder or, after
its last one, on the next cylinder. So the times are D/T of a turn, and that with a switch of either
kind. Sectors of neighbouring tracks are skewed by that switch, so that nothing else is lost
(Worthington, Ganger, Patt and Wilkes, SIGMETRICS 1995; DIXtrac, Schindler and Ganger 1999).

Where the two kinds take different times, they come in turn: with n heads every n-th end of a track
is one of a cylinder. With two heads as many are of one kind as of the other; the first of all is a
switch of heads, because a disk's first sector is the first of a cylinder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.disk.mechanics import NEAR, TEST, still
from fourcorners.analysis.internals.thresholds import ALIKE
from fourcorners.analysis.internals.view import PointAxis, View, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

FOLLOWING = pick(TEST, "read", PointAxis.STRIDE)
"""Reads that follow the head."""

_TOGETHER_MIN = 0.95
"""Least share of the reads that take one of the times."""

_SWITCHES_OFF_MAX = 0.3
"""Relative difference between the reads that meet a switch and the share that tracks of such a
length make, above which the longer times are something else."""

_KIND_MIN = 0.03
"""Least share of the switches that is a kind of them."""

_GAP_DEVIATIONS, _GAP_SHARE = 10.0, 0.02
"""Gap between the times of two kinds: in standard deviations of reads that meet no switch, and as a
share of the longest switch; the larger of both."""

_HEADS_MIN, _HEADS_MAX = 2, 20
"""With one head all switches are alike; more surfaces no disk has."""

_IN_TURN = 0.9
"""Least share of the rarer switches that come as many switches after the one before as the others
do."""

_CLOCK_S = 1e-6
"""What the time of a command is known to."""


@dataclass(frozen=True)
class Switch:
    """A kind of switch: its time in seconds with its error, and which switches, counted from 0 at
    the start, are of it."""

    seconds: float
    error_s: float
    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Followed:
    """Reads that stay on a track, their time in seconds with its error and their share of all; and
    the kinds of switches that the others meet, the quickest first, with the share of those."""

    staying_s: float
    staying_error_s: float
    staying_share: float
    switches: tuple[Switch, ...]
    leaving_share: float

    @classmethod
    def of(cls, seconds: Floats) -> Followed | None:
        """From the times of reads in order, shape (reads,); ``None`` where all are the same."""
        staying = np.abs(seconds / np.median(seconds) - 1) <= ALIKE - 1
        mean, error = _time(seconds[staying])
        leaving = np.flatnonzero(seconds > ALIKE * mean)
        if not len(leaving):
            return None
        longer = seconds[leaving] - mean
        order = np.argsort(longer)
        gap = max(_GAP_DEVIATIONS * float(seconds[staying].std()), _GAP_SHARE * longer.max())
        parts = np.split(order, np.flatnonzero(np.diff(longer[order]) > gap) + 1)
        kinds = [np.sort(part) for part in parts if len(part) >= _KIND_MIN * len(leaving)]
        times = [_time(longer[kind]) for kind in kinds]
        return cls(
            staying_s=mean,
            staying_error_s=error,
            staying_share=float(staying.mean()),
            switches=tuple(
                Switch(switch, own + error, kind)
                for (switch, own), kind in zip(times, kinds, strict=True)
            ),
            leaving_share=sum(map(len, kinds)) / len(seconds),
        )

    @property
    def in_turn(self) -> tuple[int, Switch, Switch] | None:
        """Heads, the switch between heads and the one to the next cylinder; ``None`` where the
        switches are not of two kinds that come in turn."""
        if len(self.switches) != 2:
            return None
        common, rare = sorted(self.switches, key=lambda switch: -len(switch.numbers))
        apart = np.diff(rare.numbers)
        if len(apart) < 2:
            return None
        heads = int(np.median(apart))
        if np.mean(apart == heads) < _IN_TURN or not _HEADS_MIN <= heads <= _HEADS_MAX:
            return None
        # From the first switch to the last: times that change once, as by a drift, are no turns.
        count = len(common.numbers) + len(rare.numbers)
        if abs(len(rare.numbers) * heads - count) > heads + (1 - _IN_TURN) * count:
            return None
        if heads == 2 and rare.numbers[0] == 0:
            common, rare = rare, common
        return heads, common, rare


def _time(seconds: Floats) -> tuple[float, float]:
    """Mean, and its error at 90 %."""
    error = two_sided_t(math.inf) * float(seconds.std()) / math.sqrt(len(seconds))
    return float(seconds.mean()), _CLOCK_S + error


def asked(view: View) -> list[Measured]:
    """Those reads; or the near ones, where they show that nothing moves."""
    return FOLLOWING(view) if NEAR(view) and not view.once(still) else NEAR(view)


@dataclass(frozen=True)
class _Read:
    """What the reads that follow the head show."""

    followed: Followed
    track_bytes: float
    distance_bytes: float
    turn_s: float
    detail: dict[str, Any]


def _read(view: View) -> _Read | Answer:
    if none := view.once(still):
        return none
    [point, *_] = FOLLOWING(view)
    rpm = view.value("rotation_rpm")
    if rpm is None:
        return unknown(say("track_bytes.no_rotation"))
    log = point.of.log
    if log is None:
        return unknown(say("track_bytes.no_single_reads"))
    # Where the arm was before the first read is another matter.
    followed = Followed.of(log.latency_s[1:])
    if followed is None or followed.staying_share + followed.leaving_share < _TOGETHER_MIN:
        return unknown(say("track_bytes.not_followed"))
    distance, turn_s = float(point.point[PointAxis.STRIDE]), 60 / rpm
    track = distance * turn_s / followed.staying_s
    off = followed.leaving_share / (distance / track) - 1
    if abs(off) > _SWITCHES_OFF_MAX:
        shares = {"longer": followed.leaving_share, "expected": distance / track}
        return unknown(say("track_bytes.other_share", track=track, **shares))
    detail = {
        "staying_s": followed.staying_s,
        "switches_s": [switch.seconds for switch in followed.switches],
        "switches": [len(switch.numbers) for switch in followed.switches],
        "leaving_share": followed.leaving_share,
        "goodness": {"switches_off": off},
    }
    return _Read(followed, track, distance, turn_s, detail)


def track_bytes(view: View) -> Answer:
    """What a track at the outer edge holds."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    relative = read.followed.staying_error_s / read.followed.staying_s
    bounds = (read.track_bytes * (1 - relative), read.track_bytes * (1 + relative))
    said = say("measured", distance=read.distance_bytes, turn=read.turn_s)
    return known(read.track_bytes, said, bounds=bounds, detail=read.detail)


def track_switch(view: View) -> Answer:
    """What it takes to the next cylinder; where there is one kind of switch only, that."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    if len(read.followed.switches) == 1:
        return _switch(read, read.followed.switches[0], say("either"))
    turns = read.followed.in_turn
    if turns is None:
        return _out_of_turn(read)
    heads, _, track = turns
    return _switch(read, track, say("every", heads=heads) if heads > 3 else say("measured"))


def head_switch(view: View) -> Answer:
    """What it takes to the next head of a cylinder."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    turns = read.followed.in_turn
    return _out_of_turn(read) if turns is None else _switch(read, turns[1], say("measured"))


def heads(view: View) -> Answer:
    """How many heads come in turn."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    turns = read.followed.in_turn
    if turns is None:
        return _out_of_turn(read)
    count, head, track = turns
    said = say("measured", heads=count, head=head.seconds, track=track.seconds)
    return known(count, said, detail=read.detail)


def _switch(read: _Read, switch: Switch, said: Said) -> Answer:
    bounds = about(switch.seconds, switch.error_s)
    return known(switch.seconds, said, bounds=bounds, detail=read.detail)


def _out_of_turn(read: _Read) -> Answer:
    """Why the switches do not show the heads."""
    switches = read.followed.switches
    if len(switches) == 1:
        return unknown(say("track_switch.alike"), detail=read.detail)
    times = [switch.seconds for switch in switches]
    return unknown(say("track_switch.no_turns", times=times), detail=read.detail)
