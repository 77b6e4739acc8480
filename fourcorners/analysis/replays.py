"""Findings about the replay of a trace: ``summary_replay``, ``replay``, ``replay_timing``,
``replay_latency``, ``replay_wear``, ``replay_state`` and ``replay_endurance``.

What the reviews gave of their traces: data rate, busy time, shares of I/Os by size and queue depth,
average and worst access time, and all of it by the minute (``detail["minutes"]``); how late I/Os
were issued; latencies against the recorded ones; what it did to the drive's flash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.recording import Recording
from fourcorners.replayed import Replayed
from fourcorners.sentences import Said, say

# By definition; a year of the Julian calendar.
MINUTE_S = 60
DAY_S = 86_400
YEAR_S = 365.25 * DAY_S

WAITED_SHARE_MIN = 0.001
"""Of the time, from which others on the machine are named: so much makes a tenth of the one I/O in
a hundred late that a p99 speaks of."""

BEHIND_SHARE_MIN = 0.5
"""Of the mean delay, from which the drive and not the issuing is what made I/Os late."""


def find(run: RunData) -> list[Finding]:
    """The findings, of the first recording of a replay; none without one."""
    for recording in run.recordings:
        if recording.replayed is not None and recording.operations:
            return list(_findings(recording, recording.replayed))
    return []


def _findings(recording: Recording, replayed: Replayed) -> Iterator[Finding]:
    minutes = _minutes(recording, replayed)
    yield _summary(recording, replayed)
    yield _replay(recording, replayed, minutes)
    if replayed.off_time_p99_s is not None:
        yield _timing(recording, replayed)
    for finding in (_latency(recording), _wear(recording, minutes)):
        if finding is not None:
            yield finding
    yield _state(recording, minutes)
    if (endurance := _endurance(recording)) is not None:
        yield endurance


def _summary(recording: Recording, replayed: Replayed) -> Finding:
    """What the trace is to this drive, in a sentence or two: by when I/Os were due, or by how long
    all of them took where they were due at no time."""
    mean_s = _mean_s(recording)
    recorded_s = _recorded_mean_s(recording)
    if replayed.off_time_p99_s is None:
        told = say(
            "summary_replay.chased",
            elapsed=_time(recording.elapsed_s),
            recorded=_time(recording.point.get("recorded_s", 0.0)),
            access_mean_s=mean_s,
        )
    else:
        late, _, behind = _lateness(recording, replayed)
        told = say(
            "summary_replay.timed",
            busy=_busy(recording, replayed),
            access_mean_s=mean_s,
            recorded=[]
            if recorded_s is None
            else [say("summary_replay.recorded", recorded_mean_s=recorded_s)],
            behind=[say("summary_replay.behind", late=late)] if behind else [],
        )
    return worded("summary_replay", "The trace on this drive", "measured", told)


def _replay(recording: Recording, replayed: Replayed, minutes: list[dict[str, Any]]) -> Finding:
    transfers = list(recording.transfers.values()) or list(recording.operations.values())
    mean_s = _mean_s(recording)
    busy = _busy(recording, replayed)
    return worded(
        "replay",
        "Replay of a trace",
        "measured",
        say(
            "replay.measured",
            ios=replayed.ios,
            elapsed=_time(recording.elapsed_s),
            recorded=_time(recording.point.get("recorded_s", 0.0)),
            bytes_per_second=recording.bytes_per_second,
            access_mean_s=mean_s,
            access_max_s=max((one.latency_max_s or 0.0) for one in transfers),
            busy=busy,
        ),
        value=mean_s,
        unit="s",
        evidence=[recording.id],
        detail={
            "busy_share": busy,
            "sizes": replayed.sizes,
            "depths": replayed.depths,
            "minutes": minutes,
        },
    )


def _mean_s(recording: Recording) -> float:
    """The mean access time of reads and writes, of other operations where there are none."""
    some = list(recording.transfers.values()) or list(recording.operations.values())
    ios = sum(one.ios for one in some)
    return sum((one.latency_mean_s or 0.0) * one.ios for one in some) / max(ios, 1)


def _recorded_mean_s(recording: Recording) -> float | None:
    """The mean access time of the same I/Os in the trace; ``None`` where it does not tell."""
    waited_s, ios = 0.0, 0
    for name, one in recording.transfers.items():
        mean_s = recording.point.get(f"recorded_{name}_mean_s")
        if one.ios and mean_s is None:
            return None
        waited_s += (mean_s or 0.0) * one.ios
        ios += one.ios
    return waited_s / ios if ios else None


def _busy(recording: Recording, replayed: Replayed) -> float:
    return min(replayed.busy_s / recording.elapsed_s, 1.0) if recording.elapsed_s else 0.0


def _time(seconds: float) -> Said:
    return say("replay.short" if seconds < MINUTE_S else "replay.long", seconds=seconds)


def _minutes(recording: Recording, replayed: Replayed) -> list[dict[str, Any]]:
    """What completed in each minute; ``None`` for access times of one without completions."""
    transfers = recording.transfers
    found: list[dict[str, Any]] = []
    programmed_before = 0
    for number, minute in enumerate(replayed.minutes):
        seconds = slice(number * MINUTE_S, (number + 1) * MINUTE_S)
        ios, moved, written, waited_s, worst_s = 0, 0, 0, 0.0, 0.0
        for name, one in transfers.items():
            counts = one.second_ios[seconds]
            ios += int(counts.sum())
            moved += int(one.second_bytes[seconds].sum())
            if name == "write":
                written += int(one.second_bytes[seconds].sum())
            waited_s += float(np.nansum(one.second_latency_mean_s[seconds] * counts))
            worst_s = max(worst_s, float(np.nanmax([0.0, *one.second_latency_max_s[seconds]])))
        lasted_s = min(recording.elapsed_s - number * MINUTE_S, MINUTE_S)
        programmed = minute.flash_programmed_bytes
        told = programmed is not None and written > 0
        found.append(
            {
                "ios": ios,
                "bytes_per_second": moved / lasted_s if lasted_s > 0 else 0.0,
                "access_mean_s": waited_s / ios if ios else None,
                "access_max_s": worst_s if ios else None,
                "busy_share": min(minute.busy_s / lasted_s, 1.0) if lasted_s > 0 else 0.0,
                "written_bytes": written,
                "write_amplification": ((programmed or 0) - programmed_before) / written
                if told
                else None,
                "condition": minute.condition,
            }
        )
        programmed_before = programmed or programmed_before
    return found


def _lateness(recording: Recording, replayed: Replayed) -> tuple[float, float, bool]:
    """The share of the I/Os that were issued late, the share of the delay for which they waited for
    a place among those outstanding, and whether the drive is what made them late."""
    late = replayed.late_ios / max(replayed.ios, 1)
    stages = {
        stage: sum(
            (one.stage_mean_s(stage) or 0.0) * one.ios for one in recording.operations.values()
        )
        for stage in ("queue", "lateness")
    }
    delay_s = sum(stages.values())
    waited = stages["queue"] / delay_s if delay_s else 0.0
    return late, waited, late > 0 and waited >= BEHIND_SHARE_MIN


def _timing(recording: Recording, replayed: Replayed) -> Finding:
    late, waited, behind = _lateness(recording, replayed)
    # A processor that others had makes late whatever is due meanwhile.
    for_processor_s = replayed.waited_s or 0.0
    return worded(
        "replay_timing",
        "How late I/Os were issued",
        "measured",
        say("replay_timing.exact")
        if replayed.off_time_max_s == 0
        else say(
            "replay_timing.measured",
            p50_s=replayed.off_time_p50_s,
            p99_s=replayed.off_time_p99_s,
            max_s=replayed.off_time_max_s,
            late=late,
            late_s=replayed.late_s,
            behind=[say("replay_timing.behind", waited=waited)] if behind else [],
            busy=[
                say("replay_timing.busy", waited_s=for_processor_s, elapsed_s=recording.elapsed_s)
            ]
            if late and not behind and for_processor_s >= WAITED_SHARE_MIN * recording.elapsed_s
            else [],
        ),
        value=replayed.off_time_p99_s,
        unit="s",
        evidence=[recording.id],
        detail={
            "p50_s": replayed.off_time_p50_s,
            "max_s": replayed.off_time_max_s,
            "late_share": late,
            "waited_share": waited,
            "waited_for_processor_s": replayed.waited_s,
        },
    )


def _latency(recording: Recording) -> Finding | None:
    rows: list[dict[str, Any]] = []
    for name, one in recording.operations.items():
        recorded = {
            key: recording.point.get(f"recorded_{name}_{key}_s")
            for key in ("mean", "p50", "p90", "p99", "p999", "max")
        }
        if recorded["p50"] is not None and one.ios:
            here = {
                "p50": one.latency_percentile_s(50),
                "p90": one.latency_percentile_s(90),
                "p99": one.latency_percentile_s(99),
                "p999": one.latency_percentile_s(99.9),
                "mean": one.latency_mean_s,
                "max": one.latency_max_s,
            }
            rows.append({"operation": name, "recorded_s": recorded, "replayed_s": here})
    said = [
        say(
            "replay_latency.operation",
            operation=row["operation"],
            p50_s=row["replayed_s"]["p50"],
            p99_s=row["replayed_s"]["p99"],
            recorded_p50_s=row["recorded_s"]["p50"],
            recorded_p99_s=row["recorded_s"]["p99"],
        )
        for row in rows
        if row["operation"] in recording.transfers
    ]
    if not said:
        return None
    return worded(
        "replay_latency",
        "Latencies against the recorded ones",
        "measured",
        say("replay_latency.measured", operations=said),
        evidence=[recording.id],
        detail={"operations": rows},
    )


def _wear(recording: Recording, minutes: list[dict[str, Any]]) -> Finding | None:
    amplification = recording.write_amplification
    if amplification is None:
        return None
    told = [one["write_amplification"] for one in minutes if one["write_amplification"] is not None]
    ends = [say("replay_wear.ends", first=told[0], last=told[-1])] if len(told) > 1 else []
    return worded(
        "replay_wear",
        "What the trace does to the flash",
        "measured",
        say("replay_wear.measured", amplification=amplification, ends=ends),
        value=amplification,
        unit="1",
        evidence=[recording.id],
        detail={
            "flash_programmed_bytes": recording.flash_programmed_bytes,
            "by_minute": told,
        },
    )


def _state(recording: Recording, minutes: list[dict[str, Any]]) -> Finding:
    told = [minute["condition"] for minute in minutes if minute["condition"]]
    title = "The drive's state over time"
    if not told:
        return worded(
            "replay_state",
            title,
            "not identifiable",
            say("replay_state.untold"),
            evidence=[recording.id],
        )
    figures = [
        say(
            "replay_state.same" if told[0].get(name) == last else "replay_state.figure",
            name=state_words(name),
            first=told[0].get(name, last),
            last=last,
        )
        for name, last in told[-1].items()
        if last != told[0].get(name) or told[0] == told[-1]
    ]
    return worded(
        "replay_state",
        title,
        "measured",
        say("replay_state.alone", figures=[_alone(name, last) for name, last in told[-1].items()])
        if len(told) == 1
        else say("replay_state.told", minutes=len(told), figures=figures),
        evidence=[recording.id],
        detail={"first": told[0], "last": told[-1]},
    )


def _alone(name: str, last: float) -> Said:
    return say("replay_state.last", name=state_words(name), last=last)


_STATES = {
    "free_blocks_min": "free blocks on the fullest plane",
    "erase_count_mean": "erases of a block in the mean",
    "erase_count_max": "erases of the block with the most",
    "write_buffer_bytes": "bytes in the write buffer",
    "write_cache_bytes": "bytes in the write cache",
    "slc_cache_bytes": "bytes in the SLC cache",
    "slc_folded_bytes": "bytes folded from the SLC cache",
    "unwritten_superblocks": "superblocks that were never written",
    "merges": "merges that copy",
    "switches": "merges without a copy",
    "switch_merges": "merges without a copy",
    "partial_merges": "merges that copy a part",
    "full_merges": "merges that copy all",
}
"""Of names whose words say little; programs that simulate drives have others."""


def state_words(name: str) -> str:
    """What a drive calls a part of its state, in words."""
    return _STATES.get(name, name.replace("_", " "))


def _endurance(recording: Recording) -> Finding | None:
    endurance = recording.point.get("endurance_bytes")
    recorded_s = recording.point.get("recorded_s")
    write = recording.operations.get("write")
    if endurance is None or not recorded_s or write is None or not write.bytes:
        return None
    per_s = write.bytes / recorded_s
    return worded(
        "replay_endurance",
        "Endurance under this load",
        "measured",
        say(
            "replay_endurance.measured",
            per_day=per_s * DAY_S,
            endurance=endurance,
            years=endurance / per_s / YEAR_S,
        ),
        value=endurance / per_s / YEAR_S,
        unit="years",
        evidence=[recording.id],
        detail={"endurance_bytes": endurance, "written_bytes_per_s": per_s},
    )
