"""Findings ``command_queue_depth`` and, of disks, ``reordering``.

Where reads conflict on dies, the queue shows itself by what has to wait for it (see
:mod:`fourcorners.analysis.internals.flash.interleaving`). Elsewhere by the rate of random reads: it
rises with what is outstanding up to the queue's depth, as a disk chooses the nearest of more and
more commands (Worthington, Ganger and Patt, SIGMETRICS 1994), and stays as it is beyond.
"""

from __future__ import annotations

from collections.abc import Mapping

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.internals.flash import die_conflicts
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.method.medium import moves_an_arm
from fourcorners.analysis.source import RunData, measured

TEST = "probe-depth"

_NO_MORE = 1.03
"""Gain of flash below which nothing is gained; its rates scatter little."""

_NO_MORE_DISK = 1.08
"""The same of disks, whose every access is another way."""

_SECOND = 1.5
"""Gain of a second outstanding read that the host's own part of a command explains."""


def rates(run: RunData) -> dict[int, float]:
    """Random reads per second by how many are outstanding, ascending; empty without the probe."""
    points = measured(run, TEST, "read")
    return {
        depth: m.iops
        for m in sorted(points, key=lambda m: m.queue_depth or 0)
        if "/random/" in m.recording and (depth := m.queue_depth)
    }


def evidence(run: RunData) -> list[str]:
    """The recordings of these rates."""
    return [m.recording for m in measured(run, TEST, "read") if "/random/" in m.recording]


def is_disk(by_depth: Mapping[int, float]) -> bool:
    """Whether one read at a time takes as long as only an arm does."""
    return 1 in by_depth and moves_an_arm(1 / by_depth[1])


def knee(by_depth: Mapping[int, float], no_more: float) -> int | None:
    """The fewest outstanding beyond which nothing is gained; ``None`` if the most still gain."""
    depths = list(by_depth)
    for index, depth in enumerate(depths[:-1]):
        if all(by_depth[deeper] < no_more * by_depth[depth] for deeper in depths[index + 1 :]):
            return depth
    return None


def find(run: RunData) -> list[Finding]:
    """The findings; none where neither probe ran."""
    seen, conflicting = die_conflicts.seen(run)
    beside = conflicting["beside"]
    by_depth = rates(run)
    random = evidence(run)
    found = []
    if seen is not None or by_depth:
        found.append(_queue(seen, beside, by_depth, random))
    if is_disk(by_depth) and len(by_depth) > 1:
        found.append(_reordering(by_depth, random))
    return found


def _queue(
    seen: Seen | None, beside: list[str], by_depth: dict[int, float], evidence: list[str]
) -> Finding:
    name, title = "command_queue_depth", "Commands that the drive accepts at once"
    detail = {
        "discrete": True,
        "queue_depth": list(by_depth),
        "iops": list(by_depth.values()),
    }
    if seen is not None and seen.beside:
        detail |= {"beside": list(seen.beside), "beside_iops": list(seen.beside.values())}
        depth = seen.queue_depth
        if depth is None and seen.is_shared:
            reason = (
                "Something that all reads pass is slower than two dies: by it a read waits for "
                "others before the queue is full."
            )
            return Finding(name, title, "not identifiable", reason, evidence=beside, detail=detail)
        if depth is None:
            reason = (
                f"With up to {max(seen.beside)} reads of another place outstanding there is no "
                "depth from which on a read has to wait."
            )
            return Finding(name, title, "not identifiable", reason, evidence=beside, detail=detail)
        ends = seen.queue_end or 0.0
        return Finding(
            name,
            title,
            "measured",
            f"The drive accepts {depth:,} commands at once: a read of one place finds the queue "
            f"full as soon as {depth:,} of another one are outstanding, and waits longer with each "
            "more.",
            value=float(depth),
            unit="1",
            evidence=beside,
            detail=detail | {"goodness": {"off_a_whole_number": ends - depth}},
        )
    disk = is_disk(by_depth)
    depth = knee(by_depth, _NO_MORE_DISK if disk else _NO_MORE)
    gain = max(by_depth.values()) / by_depth[1] if 1 in by_depth else 0.0
    if depth == 1 or (depth == 2 and not disk and gain < _SECOND):
        value, text = 1, "One command at a time: more outstanding reads gain nothing."
    elif disk and depth is not None:
        value = depth
        text = (
            f"Random reads become faster with up to {depth} outstanding, "
            f"{wording.times(by_depth[depth] / by_depth[1])}, and no further with more: so many "
            "commands the drive chooses from."
        )
    else:
        reason = "What reads gain from a queue does not show how many commands the drive accepts."
        return Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
    return Finding(
        name,
        title,
        "measured",
        text,
        value=float(value),
        unit="1",
        evidence=evidence,
        detail=detail | {"goodness": {"gain": gain}},
    )


def _reordering(by_depth: dict[int, float], evidence: list[str]) -> Finding:
    """Whether the disk serves waiting reads in an order of its own."""
    gain = max(by_depth.values()) / by_depth[1]
    reorders = gain >= _NO_MORE_DISK**2
    text = (
        f"The disk reorders what waits: random reads become {wording.times(gain)} as fast."
        if reorders
        else "The disk serves reads in the order in which they come: a queue gains nothing."
    )
    return Finding(
        "reordering",
        "Reordering of waiting reads",
        "measured",
        text,
        value=float(reorders),
        unit=PRESENCE,
        evidence=evidence,
        detail={
            "discrete": True,
            "gain": gain,
            "queue_depth": list(by_depth),
            "iops": list(by_depth.values()),
            "goodness": {"gain": gain},
        },
    )
