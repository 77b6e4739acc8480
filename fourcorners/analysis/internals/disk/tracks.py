"""Findings ``track_bytes``, ``track_switch``, ``head_switch`` and ``heads`` of a disk, from reads
that follow the head.

The probe reads at equal distances D, one at a time, from a disk that reads ahead. Each read waits
until the head has come as far, which is D/T of a turn for tracks of T bytes. In a share D/T of the
reads a track ends in between. Then the disk also switches to the next track: to another head of the
same cylinder or, after the last head, to the next cylinder. Therefore the times are D/T of a turn,
without or with a switch of either kind. The skew of neighbouring tracks equals this switch, so that
no other time is lost (Worthington, Ganger, Patt and Wilkes, SIGMETRICS 1995; DIXtrac, Schindler and
Ganger 1999). Which reads meet a switch bounds T as well, without a clock (:mod:`track_ends`).

If the two kinds take different times, they follow a pattern: with n heads every n-th end of a track
is the end of a cylinder. With two heads both kinds are equally frequent, and two things tell which
is which. The first switch of all is a head switch if the first sector is the first of a cylinder;
but a drive may keep the first tracks for itself, as shingled ones do for their media cache. And on
the way to the next cylinder the arm moves and the head changes, so that the longer switch is this
one; but some disks go on with the same head on the next cylinder, or skew heads by more than their
switch. Neither can be tested, so that the bounds of either kind contain both. Where the two agree,
or the kinds hardly differ, there is a value.

A skew is an angle, so that no switch takes a turn. Where a kind of switches does, the reads lose
turns: the skew is too small for the switch, or several disks serve the reads in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.disk import track_ends
from fourcorners.analysis.internals.disk.mechanics import NEAR, TEST, still
from fourcorners.analysis.internals.thresholds import ALIKE, FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.view import PointAxis, View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

FOLLOWING = pick(TEST, "read", PointAxis.STRIDE)
"""The reads that follow the head."""

_TOGETHER_MIN = 0.95
"""At least this share of the reads must take one of the expected times."""

_SWITCHES_OFF_MAX = 0.3
"""Above this relative difference between the share of the reads that meet a switch and the share
expected for tracks of this length, the longer times are something else."""

_KIND_MIN = 0.03
"""At least this share of the switches makes a kind of them."""

_GAP_DEVIATIONS, _GAP_SHARE = 10.0, 0.02
"""The gap between the times of two kinds is the larger of so many standard deviations of reads
without a switch, and this share of the longest switch."""

_HEADS_MIN, _HEADS_MAX = 2, 20
"""The limits of the number of heads: with one head all switches are alike, and no disk has more
surfaces."""

_IN_TURN = 0.9
"""At least this share of the rarer switches must come at the same distance, in switches."""

_MEDIAN = 0.6745
"""The median distance from the median of normal numbers, in standard deviations."""

CLOCK_S = 1e-6
"""The precision to which the time of a command is known."""


@dataclass(frozen=True)
class Switch:
    """A kind of switch: its time in seconds with its error, and the numbers of its switches, which
    are counted from 0 at the start. ``mixed`` are two kinds that hardly differ."""

    seconds: float
    error_s: float
    numbers: npt.NDArray[np.int64]
    mixed: bool = False


@dataclass(frozen=True)
class Followed:
    """The reads that stay on a track, with their time in seconds, its error and their share of all
    reads; and the kinds of switches that the other reads meet, the quickest first, with the share
    of these reads and their numbers among all."""

    staying_s: float
    staying_error_s: float
    staying_share: float
    switches: tuple[Switch, ...]
    leaving_share: float
    leaving: npt.NDArray[np.int64]

    @classmethod
    def of(cls, seconds: Floats) -> Followed | None:
        """Computes both from the times of reads in order, with shape (reads,); ``None`` where all
        times are the same, and where they scatter too much to tell switches from chance."""
        relative = np.abs(seconds / np.median(seconds) - 1)
        staying = relative <= ALIKE - 1
        # Times that scatter by nature beyond this limit would pass for switches, and be missing
        # from the mean.
        if float(scipy.stats.norm.isf(FALSE_ALARM / 2)) * np.median(relative) / _MEDIAN > ALIKE - 1:
            return None
        mean, error = _time(seconds[staying])
        leaving = np.flatnonzero(seconds > ALIKE * mean)
        if not len(leaving):
            return None
        longer = seconds[leaving] - mean
        order = np.argsort(longer)
        # A few reads lose a turn besides: no kind is as rare.
        longest = float(np.quantile(longer, 1 - _KIND_MIN))
        by_chance = _GAP_DEVIATIONS * float(seconds[staying].std())
        gap = max(by_chance, _GAP_SHARE * longest)
        parts = np.split(order, np.flatnonzero(np.diff(longer[order]) > gap) + 1)
        kinds = [np.sort(part) for part in parts if len(part) >= _KIND_MIN * len(leaving)]
        times = [_time(longer[kind]) for kind in kinds]
        if len(kinds) == 1:
            # These may be two kinds whose times are closer than the gap.
            [(mean_s, own_s)], ends = times, np.quantile(longer[kinds[0]], (0.05, 0.95))
            times = [(mean_s, max(own_s, float(np.abs(ends - mean_s).max())))]
        return cls(
            staying_s=mean,
            staying_error_s=error,
            staying_share=float(staying.mean()),
            switches=tuple(
                Switch(switch, own + error, kind, _mixed(longer[kind], by_chance))
                for (switch, own), kind in zip(times, kinds, strict=True)
            ),
            leaving_share=sum(map(len, kinds)) / len(seconds),
            leaving=np.sort(leaving[np.concatenate(kinds)]),
        )

    @property
    def in_turn(self) -> tuple[int, Switch, Switch] | None:
        """The number of heads, the head switch and the track switch; ``None`` where the switches
        are not of two kinds in a regular pattern. Disks that go on with one head for some tracks
        have a third kind, to the next such tracks of the first head, which may take nearly as long
        as one of the others."""
        if len(self.switches) != 2 or any(switch.mixed for switch in self.switches):
            return None
        common, rare = sorted(self.switches, key=lambda switch: -len(switch.numbers))
        apart = np.diff(rare.numbers)
        if len(apart) < 2:
            return None
        heads = int(np.median(apart))
        if np.mean(apart == heads) < _IN_TURN or not _HEADS_MIN <= heads <= _HEADS_MAX:
            return None
        # The pattern must last from the first switch to the last: a drift changes times only once.
        count = len(common.numbers) + len(rare.numbers)
        if abs(len(rare.numbers) * heads - count) > heads + (1 - _IN_TURN) * count:
            return None
        if heads == 2 and rare.numbers[0] == 0:
            common, rare = rare, common
        return heads, common, rare


def _time(seconds: Floats) -> tuple[float, float]:
    """The mean, and its error at 90 %."""
    error = two_sided_t(math.inf) * float(seconds.std()) / math.sqrt(len(seconds))
    return float(seconds.mean()), CLOCK_S + error


def _mixed(seconds: Floats, by_chance_s: float) -> bool:
    """Whether the times of a kind are of two groups, each of which is no exception, with a gap
    between them that is more than chance."""
    few = math.ceil(_KIND_MIN * len(seconds))
    gaps = np.diff(np.sort(seconds))[few - 1 : len(seconds) - few]
    return bool(len(gaps)) and float(gaps.max()) > max(by_chance_s, 2 * CLOCK_S)


def asked(view: View) -> list[Measured]:
    """The reads that follow the head; the near reads where these show that nothing moves."""
    return FOLLOWING(view) if NEAR(view) and not view.once(still) else NEAR(view)


@dataclass(frozen=True)
class _Read:
    """The result of the reads that follow the head."""

    followed: Followed
    track_bytes: float
    distance_bytes: float
    turn_s: float
    detail: dict[str, Any]
    bounds: tuple[float, float]
    """Of the bytes of a track, from which reads meet the end of one."""
    off: float = 0.0
    """How far the length by the times is from the one that is told, as a share: the clock was not
    that of the spindle."""


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
    # The first read does not count: the arm may have come from anywhere.
    followed = Followed.of(log.latency_s[1:])
    if followed is None or followed.staying_share + followed.leaving_share < _TOGETHER_MIN:
        return unknown(say("track_bytes.not_followed"))
    distance, turn_s = float(point.point[PointAxis.STRIDE]), 60 / rpm
    passed = distance * turn_s / followed.staying_s
    off = followed.leaving_share / (distance / passed) - 1
    if abs(off) > _SWITCHES_OFF_MAX:
        shares = {"longer": followed.leaving_share, "expected": distance / passed}
        return unknown(say("track_bytes.other_share", track=passed, **shares))
    bounds = track_ends.length(followed.leaving, distance, passed)
    if bounds is None:
        return unknown(say("track_bytes.unequal_tracks", track=passed))
    track = passed if bounds[0] <= passed <= bounds[1] else sum(bounds) / 2
    detail = {
        "staying_s": followed.staying_s,
        "switches_s": [switch.seconds for switch in followed.switches],
        "switches": [len(switch.numbers) for switch in followed.switches],
        "leaving_share": followed.leaving_share,
        "bytes_per_second": distance / float(log.latency_s[1:].mean()),
        "goodness": {"switches_off": off, "times_off": passed / track - 1},
    }
    by_clock = abs(passed / track - 1)
    return _Read(followed, track, distance, turn_s, detail, bounds, by_clock)


def track_bytes(view: View) -> Answer:
    """Finds the size of a track at the outer edge."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    said = say("measured", distance=read.distance_bytes, turn=read.turn_s)
    answer = known(read.track_bytes, said, bounds=read.bounds, detail=read.detail)
    return answer.checked(Assumption.FOLLOWS_TRACKS, True, ids(FOLLOWING(view)))


def track_switch(view: View) -> Answer:
    """Finds the time of a switch to the next cylinder, or of any switch where there is only one
    kind."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    if lost := _lost_turns(read):
        return lost
    if len(read.followed.switches) == 1:
        return _switch(view, read, read.followed.switches[0], say("either"))
    turns = read.followed.in_turn
    if turns is None:
        return _out_of_turn(read)
    heads, head, track = turns
    if heads == 2:
        return _either(view, read, head, track, track)
    said = say("every", heads=heads) if heads > 3 else say("measured")
    return _switch(view, read, track, said)


def head_switch(view: View) -> Answer:
    """Finds the time of a switch to the next head of a cylinder."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    if lost := _lost_turns(read):
        return lost
    turns = read.followed.in_turn
    if turns is None:
        return _out_of_turn(read)
    heads, head, track = turns
    if heads == 2:
        return _either(view, read, head, track, head)
    return _switch(view, read, head, say("measured"))


def heads(view: View) -> Answer:
    """Finds the number of heads."""
    read = view.once(_read)
    if isinstance(read, Answer):
        return read
    if lost := _lost_turns(read):
        return lost
    turns = read.followed.in_turn
    if turns is None:
        return _out_of_turn(read)
    count, head, track = turns
    said = say("measured", heads=count, head=head.seconds, track=track.seconds)
    return _tested(view, read, known(count, said, detail=read.detail))


@dataclass(frozen=True)
class Alike:
    """Tracks whose switches all take equally long, but for a few: their least and most bytes, what
    a switch takes, in seconds, with its error, and the time of a turn."""

    bounds: tuple[float, float]
    switch_s: float
    error_s: float
    turn_s: float


def alike(view: View) -> Alike | None:
    """The tracks at the start of the disk, where nearly all switches take equally long; ``None``
    elsewhere."""
    read = view.once(_read)
    if isinstance(read, Answer) or _lost_turns(read) or len(read.followed.switches) > 1:
        return None
    [switch] = read.followed.switches
    error_s = switch.error_s + read.off * switch.seconds
    return Alike(read.bounds, switch.seconds, error_s, read.turn_s)


def _switch(view: View, read: _Read, switch: Switch, said: Said) -> Answer:
    bounds = _bounds(read, switch)
    return _tested(view, read, known(switch.seconds, said, bounds=bounds, detail=read.detail))


def _either(view: View, read: _Read, head: Switch, track: Switch, asked: Switch) -> Answer:
    """The switch of one kind of a disk with two heads, where it may be that of the other."""
    quickest, longest = sorted((head.seconds, track.seconds))
    times = {"quickest": quickest, "longest": longest}
    ends = [_bounds(read, switch) for switch in (head, track)]
    bounds = min(low for low, _ in ends), max(high for _, high in ends)
    apart = bounds[1] - bounds[0] > UNSURE * bounds[0]
    if apart and head.seconds > track.seconds:
        return unknown(say("track_switch.which", **times), detail=read.detail)
    said = say("track_switch.longer_of_two" if apart else "track_switch.one_of_two", **times)
    return _tested(view, read, known(asked.seconds, said, bounds=bounds, detail=read.detail))


def _bounds(read: _Read, switch: Switch) -> tuple[float, float]:
    return about(switch.seconds, switch.error_s + read.off * switch.seconds)


def _tested(view: View, read: _Read, answer: Answer) -> Answer:
    """The answer with its tests: the reads take the expected times, and the two kinds of switches
    alternate; where there is one kind, their order does not count."""
    evidence = ids(FOLLOWING(view))
    in_turn = True if read.followed.in_turn else None
    answer = answer.checked(Assumption.FOLLOWS_TRACKS, True, evidence)
    return answer.checked(Assumption.HEADS_IN_TURN, in_turn, evidence if in_turn else ())


def _lost_turns(read: _Read) -> Answer | None:
    """The answer where a kind of switches takes a turn or more; ``None`` elsewhere."""
    longest = max(read.followed.switches, key=lambda switch: switch.seconds)
    if longest.seconds + longest.error_s < read.turn_s:
        return None
    said = say("track_switch.lost_turns", longest=longest.seconds, turn=read.turn_s)
    return unknown(said, detail=read.detail)


def _out_of_turn(read: _Read) -> Answer:
    """The reason why the switches do not show the heads."""
    switches = read.followed.switches
    if len(switches) == 1:
        # These may be head switches of a disk that goes on with one head for many tracks.
        others = 1 - read.followed.leaving_share / (1 - read.followed.staying_share)
        if others * len(switches[0].numbers) >= 1:
            return unknown(say("track_switch.mostly_alike", others=others), detail=read.detail)
        met = len(switches[0].numbers)
        return unknown(say("track_switch.alike", switches=met), detail=read.detail)
    times = [switch.seconds for switch in switches]
    return unknown(say("track_switch.no_turns", times=times), detail=read.detail)
