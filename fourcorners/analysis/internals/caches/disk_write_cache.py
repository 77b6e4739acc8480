"""What a disk's write cache is short of in a burst: the way of the arm to the first track.

A burst is accepted into the cache while the arm is under way and waits for its sector: nothing
leaves until then. The line that what is accepted follows later therefore begins so much lower,
what the disk writes in that time: half a turn in the mean, and about two switches between tracks
for the way and settling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fourcorners import wording
from fourcorners.analysis.finding import Finding

_SWITCHES = 2
_TRACKS_MAX = 2.0
"""Height of the steps in which room comes free, in tracks, above which they are not tracks."""


def added(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a disk, ``write_buffer_bytes`` with what left the cache too late; as they are
    where the rotation, a switch of tracks or the buffer is not known."""
    known = {f.name: f for f in findings if f.verdict == "measured" and f.value}
    needed = (
        "write_buffer_bytes",
        "write_drain_rate",
        "rotation_rpm",
        "track_switch",
        "track_bytes",
    )
    if any(name not in known for name in needed):
        return list(findings)
    size, drain, rpm, switch, track = (float(known[name].value or 0) for name in needed)
    steps = size * float(known["write_buffer_bytes"].detail["goodness"]["steps_over_size"])
    half_turn_s = 30 / rpm
    late_s = half_turn_s + _SWITCHES * switch
    # The sector comes after anything from none to one turn.
    if steps > _TRACKS_MAX * track:
        found = known["write_buffer_bytes"].unidentified(
            "A burst is accepted in larger steps than tracks: what was written before it may not "
            "have left the cache, or it is too large to be filled by the burst."
        )
        return [found if f.name == found.name else f for f in findings]
    low, high = known["write_buffer_bytes"].interval or (size, size)
    found = replace(
        known["write_buffer_bytes"],
        text=f"A burst fills {wording.size(size + drain * late_s)} of buffer before it has to wait "
        f"for the platters, {wording.size(drain * late_s)} of it for the arm's way to the first "
        f"track, which takes {wording.duration(late_s)}, half a turn more or less.",
        value=size + drain * late_s,
        interval=(
            low + drain * (late_s - half_turn_s - switch),
            high + drain * (late_s + half_turn_s + switch),
        ),
        evidence=[*known["write_buffer_bytes"].evidence, *known["track_switch"].evidence],
    )
    return [found if f.name == found.name else f for f in findings]
