"""What a session showed, as a run folder."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import scipy

from fourcorners import _core
from fourcorners.analysis import find
from fourcorners.documents import Fact, changed
from fourcorners.machine.environment import describe_host
from fourcorners.manifest import SCHEMA_VERSION, Manifest, RunStatus, TestEntry
from fourcorners.recording.arrays import LatencyDistribution
from fourcorners.recording.raw import distribution, from_raw
from fourcorners.reporting.html import write_html
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.entry import entry_of
from fourcorners.store.folder import timestamp
from fourcorners.store.writer import run_name
from fourcorners.suites.chart_tables import default_charts
from fourcorners.target.target import Target
from fourcorners.wording import count, duration, percent

LATE_SHARE_MAX = 0.01
"""Of the answers: beyond it even the 99th percentile of the latencies is the host's."""

FALSE_ALARM = 1e-3
"""The chance that a host with that share of late answers is said not to keep up."""


@dataclass(frozen=True)
class Session:
    """A session that has ended.

    ``ended`` is ``stopped``, ``power-cut`` or ``failed``, with the ``failure``. ``lateness`` is how
    late answers were, and ``late_share`` the share of those that were later than 100 us and than
    5 % of the drive's own time. ``events`` has losses of power, changed writes and counts.
    """

    run: Run
    ended: str
    failure: str | None
    lateness: LatencyDistribution
    late_share: float
    events: Mapping[str, Any]

    @property
    def host_was_limit(self) -> bool:
        """Whether programs saw this machine and not the drive."""
        return kept_up_sentence(self.events["late"], self.events["answers"]) is not None


def kept_up_sentence(late: int, answers: int) -> str | None:
    """What to say of a host that does not keep up; nothing of one that does, or where chance
    explains so many late answers (binomial test)."""
    if scipy.stats.binom.sf(late - 1, answers, LATE_SHARE_MAX) > FALSE_ALARM:
        return None
    return (
        f"The host could not keep up: {percent(late / answers)} of the answers were late by more "
        "than 100 µs and by more than 5 % of the drive's own time. What programs measured is the "
        "host's limit."
    )


def keep_session(
    target: Target,
    raw: "_core.RawSession",
    *,
    out: str | Path,
    began_s: float,
    seed: int,
    speed: float,
    command: str | None,
) -> Session:
    """Writes the run folder of a session; raises :class:`UserError` where it cannot."""
    events = json.loads(raw.events_json)
    lateness = distribution(raw.lateness)
    late_share = events["late"] / events["answers"] if events["answers"] else 0.0
    # No part of the point: it came of the session, and no two sessions would be at the same one.
    late = {
        "late_share": late_share,
        "lateness_p50_s": lateness.percentile_s(50),
        "lateness_p99_s": lateness.percentile_s(99),
        "lateness_max_s": lateness.max_s,
    }
    point: dict[str, Fact] = {"speed": speed}
    recording = from_raw(raw.recording, simulated=True).placed(
        id="served/io", test="served", label="all that programs asked for", point=point
    )
    notes = [*target.notes, *_notes(lateness, speed, events)]
    status: RunStatus = "failed" if raw.failure is not None else "complete"
    writer = RunWriter.create(out, run_name(f"served {target.name}"))
    writer.add(recording)
    if target.drive_text is not None:
        writer.text(schema.DRIVE, target.drive_text)
    for name, text in target.member_texts.items():
        writer.text(schema.MEMBER.format(name), text)
    writer.text(schema.SERVED, json.dumps({**events, **late}, indent=1) + "\n")
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        id=writer.name,
        created=timestamp(began_s),
        status=status,
        version=version("fourcorners"),
        command=command,
        suite="served",
        profile="served",
        seed=seed,
        target=target.describe(),
        environment=describe_host(),
        notes=notes,
        tests=[
            TestEntry(
                name="served",
                title="Served to programs",
                source=None,
                status=status,
                reason=raw.failure,
                purpose="What programs asked of the drive, in the drive's own time.",
                preparation=[],
                parameters={},
                wall_s=time.time() - began_s,
                recordings=[entry_of(recording)],
                # There is one recording, so that its label would only crowd out the operations'.
                charts=[changed(chart, series=()) for chart in default_charts([])],
            )
        ],
    )
    writer.findings(find(writer.checkpoint(manifest)))
    manifest.ended = timestamp(time.time())
    run = writer.checkpoint(manifest)
    write_html([run], run.path / schema.REPORT, replace=True)
    return Session(writer.finish(), raw.ended, raw.failure, lateness, late_share, events)


def _notes(lateness: LatencyDistribution, speed: float, events: Mapping[str, Any]) -> Sequence[str]:
    notes = []
    if lateness.max_s is not None:
        notes.append(
            f"Answers were late by {duration(lateness.percentile_s(50))} in the median and "
            f"{duration(lateness.percentile_s(99))} at the 99th percentile; latencies are the "
            "drive's own, without that."
        )
    if (sentence := kept_up_sentence(events["late"], events["answers"])) is not None:
        notes.append(sentence)
    if speed != 1.0:
        notes.append(f"The drive's time passed {speed:g} times as fast as real time.")
    for cut in events["power_cuts"]:
        lost = sum(length for _, length in cut["lost"])
        notes.append(
            f"Power failed {duration(cut['at_ns'] * 1e-9)} after the session began, after "
            f"{count(cut['written_ios'], 'write')}: {count(lost, 'byte')} that were acknowledged "
            f"were lost, and {count(cut['unacknowledged_ios'], 'I/O')} got no answer."
        )
    if events["corruptions"]:
        writes = count(len(events["corruptions"]), "write")
        notes.append(f"Faults changed the data of {writes}.")
    return notes
