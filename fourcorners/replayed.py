"""What a trace is as a stream's requests, and how its replay went: parts of workloads and runs."""

from typing import Literal

import msgspec

from fourcorners.documents import Count, Part

Pacing = Literal["recorded", "depth", "think-times"]


class TraceDocument(Part, kw_only=True):
    """A trace as the core replays it.

    Its requests are due at their recorded times (``recorded``), as soon as no more are outstanding
    than were when they were recorded, or than ``depth`` (``depth``), or after the completions that
    they followed, as long as they did then (``think-times``). Times are divided by ``speed``.
    """

    files: list[str]
    format: str | None = None
    pace: Pacing = "recorded"
    speed: float = 1.0
    depth: Count | None = None
    span_bytes: Count
    """The byte behind the last one that it touches."""
    alignment_bytes: Count = 512
    """What offsets and lengths are widened to multiples of."""
    ios: Count
    length_ns: Count
    written_bytes: Count
    writes: bool
    """It has more than reads and flushes."""
    is_far_out_of_order: bool = False

    @property
    def length_s(self) -> float:
        """How long its replay takes at recorded times."""
        return self.length_ns / 1e9 / self.speed


_PACES = {
    "recorded": "at recorded times",
    "depth": "as fast as possible, {depth} outstanding",
    "think-times": "after the completions that I/Os followed when they were recorded",
}


def pace_words(trace: TraceDocument) -> str:
    """The pace of a replay, such as "at recorded times, 2 times as fast"."""
    depth = f"up to {trace.depth}" if trace.depth else "as many as then"
    text = _PACES[trace.pace].format(depth=depth)
    # Where nothing is due at a time there is no time to divide.
    is_faster = trace.speed != 1 and trace.pace != "depth"
    return text + (f", {trace.speed:g} times as fast" if is_faster else "")


class ReplayedMinute(Part, kw_only=True):
    """One minute of a replay, by its completions."""

    busy_s: float
    flash_programmed_bytes: Count | None = None
    """By its end, since the start; ``None`` where the target does not tell."""
    condition: dict[str, float] = msgspec.field(default_factory=dict)
    """What state the drive said it was in at its end, by names with the unit last: free blocks,
    erases of a block, fill of caches. Empty where it says nothing."""


class Replayed(Part, kw_only=True):
    """How a trace was replayed, beside what every recording has.

    ``off_time`` is from when an I/O was due to its submission, ``None`` where none was due at a
    time. I/Os count by size in classes: up to 512 bytes, up to twice that, and so on; by the queue
    depth when they were issued, with themselves: 1, 2, up to 4, and so on.
    """

    off_time_p50_s: float | None = None
    off_time_p99_s: float | None = None
    off_time_max_s: float | None = None
    late_ios: Count
    """Issued more than ``late_s`` after they were due."""
    late_s: float
    sizes: dict[str, list[Count]]
    depths: list[Count]
    busy_s: float
    """Time with an I/O outstanding."""
    minutes: list[ReplayedMinute]
    waited_s: float | None = None
    """Time that the thread which issues waited for a processor; ``None`` in virtual time, and where
    the system does not tell."""

    @property
    def ios(self) -> int:
        """I/Os that were issued."""
        return sum(self.depths)
