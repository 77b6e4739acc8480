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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.source import Measured, RunData

Floats = npt.NDArray[np.float64]

TITLES = {
    "track_bytes": "Track at the outer edge",
    "track_switch": "Switch to the next cylinder",
    "head_switch": "Switch to the next head",
    "heads": "Heads",
}

_ALIKE = 0.1
"""Relative width, to either side, of the times that are one."""

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

_Z90 = 1.645


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
        staying = np.abs(seconds / np.median(seconds) - 1) <= _ALIKE
        mean, error = _time(seconds[staying])
        leaving = np.flatnonzero(seconds > (1 + _ALIKE) * mean)
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
    return float(seconds.mean()), _CLOCK_S + _Z90 * float(seconds.std()) / math.sqrt(len(seconds))


def find(run: RunData, point: Measured, rpm: float | None) -> list[Finding]:
    """The findings.

    Args:
        run: the run.
        point: the reads at equal distances.
        rpm: turns a minute, ``None`` if not known.
    """
    evidence = [point.recording]
    if rpm is None:
        return _unidentified(
            "Without the speed of rotation, times do not say how long tracks are.", evidence
        )
    try:
        log = run.ios(point.recording)
    except KeyError:
        return _unidentified("The run has no single reads of those that follow the head.", evidence)
    # Where the arm was before the first read is another matter.
    seconds = log.latency_s[1:]
    distance, turn_s = float(point.point["stride_bytes"]), 60 / rpm
    followed = Followed.of(seconds)
    if followed is None or followed.staying_share + followed.leaving_share < _TOGETHER_MIN:
        return _unidentified(
            "Reads at equal distances do not take one of a few times: the disk does not read on "
            "between them, or other load moves its arm.",
            evidence,
        )
    track = distance * turn_s / followed.staying_s
    off = followed.leaving_share / (distance / track) - 1
    if abs(off) > _SWITCHES_OFF_MAX:
        return _unidentified(
            f"{wording.percent(followed.leaving_share)} of the reads take longer than the rest; "
            f"with tracks of {wording.size(track)} it would be "
            f"{wording.percent(distance / track)}.",
            evidence,
        )
    detail = {
        "staying_s": followed.staying_s,
        "switches_s": [switch.seconds for switch in followed.switches],
        "switches": [len(switch.numbers) for switch in followed.switches],
        "leaving_share": followed.leaving_share,
        "goodness": {"switches_off": off},
    }
    relative = followed.staying_error_s / followed.staying_s
    return [
        Finding(
            "track_bytes",
            TITLES["track_bytes"],
            "measured",
            f"A track at the outer edge holds {wording.size(track)}: {wording.size(distance)} pass "
            f"the head in {wording.duration(followed.staying_s)} of a turn of "
            f"{wording.duration(turn_s)}.",
            value=track,
            unit="B",
            interval=(track * (1 - relative), track * (1 + relative)),
            evidence=evidence,
            detail=detail | {"interval": RESOLUTION},
        ),
        *_switches(followed, detail, evidence),
    ]


def _switches(followed: Followed, detail: Mapping[str, Any], evidence: list[str]) -> list[Finding]:
    """What lies between two tracks."""
    in_turn = followed.in_turn
    if in_turn is None and len(followed.switches) > 1:
        times = " or ".join(wording.duration(switch.seconds) for switch in followed.switches)
        reason = (
            f"At the end of a track the disk needs {times}, but these do not come in turn as "
            "switches of heads and cylinders do."
        )
        return _unidentified(reason, evidence, detail, but=("track_bytes",))
    if in_turn is None:
        [switch] = followed.switches
        text = (
            f"At the end of a track the disk needs {wording.duration(switch.seconds)} to go on "
            "with the next one, by another head or on the next cylinder."
        )
        reason = (
            "All switches of tracks take equally long: which of them are switches of heads, and "
            "how many heads there are, does not show."
        )
        return [
            _switch("track_switch", switch, text, detail, evidence),
            *_unidentified(reason, evidence, detail, but=("track_bytes", "track_switch")),
        ]
    heads, head, track = in_turn
    text = (
        f"On to the next cylinder takes {wording.duration(track.seconds)}: every {heads}th end of "
        "a track is one of a cylinder."
        if heads > 3
        else f"On to the next cylinder takes {wording.duration(track.seconds)}."
    )
    return [
        _switch("track_switch", track, text, detail, evidence),
        _switch(
            "head_switch",
            head,
            f"On to the next head of a cylinder takes {wording.duration(head.seconds)}.",
            detail,
            evidence,
        ),
        Finding(
            "heads",
            TITLES["heads"],
            "measured",
            f"{heads} heads: switches of {wording.duration(head.seconds)} and of "
            f"{wording.duration(track.seconds)} come in turn, the latter after every {heads} "
            "tracks.",
            value=float(heads),
            unit="1",
            evidence=evidence,
            detail={**detail, "discrete": True},
        ),
    ]


def _switch(
    name: str, switch: Switch, text: str, detail: Mapping[str, Any], evidence: list[str]
) -> Finding:
    return Finding(
        name,
        TITLES[name],
        "measured",
        text,
        value=switch.seconds,
        unit="s",
        interval=(switch.seconds - switch.error_s, switch.seconds + switch.error_s),
        evidence=evidence,
        detail={**detail, "interval": RESOLUTION},
    )


def _unidentified(
    reason: str,
    evidence: list[str],
    detail: Mapping[str, Any] | None = None,
    *,
    but: tuple[str, ...] = (),
) -> list[Finding]:
    return [
        Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail or {})
        for name, title in TITLES.items()
        if name not in but
    ]
