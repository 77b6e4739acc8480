"""A fio job file as a suite's document: groups of jobs that run together, and where each has its
area of the target."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fourcorners.suites.fio.delays import Starts, starts_of
from fourcorners.suites.fio.job import FioJob, text_of
from fourcorners.suites.fio.job_file import sections_of
from fourcorners.suites.fio.quantities import switch
from fourcorners.suites.fio.told import Extent
from fourcorners.wording import chosen_size
from fourcorners.workload import WORKERS_MAX

SUFFIXES = (".fio", ".job")
_GRID_BYTES = 4096
"""Areas of files that fio would make begin at multiples of a page, as file systems have them."""


def suite_document(path: Path) -> dict[str, Any]:
    """The suite that a job file asks for; raises :class:`fourcorners.errors.UserError`."""
    jobs = [FioJob(section) for section in sections_of(path)[1]]
    areas = _Areas(jobs)
    groups = _groups(jobs)
    starts = starts_of(groups)
    tables = [_workload(*one, areas) for one in zip(groups, starts, strict=True)]
    passed = list(dict.fromkeys(text for job in jobs for text in job.passed_over))
    read_as = list(dict.fromkeys(text for job in jobs for text in job.read_as))
    names = [_group_name(group) for group in groups]
    for number, (table, name) in enumerate(zip(tables, names, strict=True), start=1):
        table["name"] = table["id"] = name if names.count(name) == 1 else f"{number}-{name}"
        table["label"] = table["name"]
    shown = {table["name"]: _told(group) for table, group in zip(tables, groups, strict=True)}
    shown["areas"] = areas.told
    if passed:
        shown["passed over"] = ", ".join(passed)
    if read_as:
        shown["read as"] = "; ".join(read_as)
    traces = [table["trace"] for table in tables if "trace" in table]
    reads = any(job.read_share > 0 for job in jobs)
    fill = "fill" if areas.total_bytes is None else f"fill {areas.total_bytes} B"
    if len(traces) == len(tables):
        fill = f"fill {max(trace['span_bytes'] for trace in traces)} B"
    test: dict[str, Any] = {
        "name": _plain(path.stem),
        "title": f"fio job {_plain(path.name)}",
        "purpose": "A job file of fio's.",
        "shown": {key: text.replace("{", "(").replace("}", ")") for key, text in shown.items()},
        **_in_phases(tables, [one.pause_s for one in starts], [fill] if reads else []),
    }
    if areas.total_bytes is not None:
        test["needs"] = f"{areas.total_bytes} B"
    return {"schema_version": 1, "name": test["name"], "title": test["title"], "test": [test]}


def _in_phases(
    tables: Sequence[dict[str, Any]], pauses: Sequence[float], prepare: list[str]
) -> dict[str, Any]:
    """The measurements, with pauses before those whose jobs all wait."""
    if not any(pauses):
        return {"prepare": prepare, "workload": list(tables)}
    phases: list[dict[str, Any]] = []
    for table, pause_s in zip(tables, pauses, strict=True):
        if not phases or pause_s:
            steps = [f"idle {_seconds(pause_s)}"] if pause_s else []
            before = {"continues": True, "prepare": steps} if phases else {}
            phases.append({"prepare": [*prepare, *steps], **before, "workload": []})
        phases[-1]["workload"].append(table)
    return {"phase": phases}


def _groups(jobs: Sequence[FioJob]) -> list[list[FioJob]]:
    """Jobs that run at the same time, in order."""
    groups: list[list[FioJob]] = []
    for job in jobs:
        waited = job.told.get("wait_for")
        names = [one.section.name for one in groups[-1]] if groups else []
        if waited is not None and waited not in names:
            raise job.error(f"wait_for={waited}: use the name of a job right before this one")
        begins = job.of("stonewall", switch, False) or waited is not None
        if begins or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups


class _Areas:
    """Where files are on the target: those that jobs share by name, and one for each clone of the
    others, one after the other; all of the target for each where one has no size."""

    def __init__(self, jobs: Sequence[FioJob]) -> None:
        ends: dict[Any, int] = {}
        known = True
        for job in jobs:
            for clone in range(job.clones):
                if not isinstance(job.size, int) or not isinstance(job.offset, int):
                    known = False
                    continue
                end = job.offset + clone * job.increment + job.size
                key = self._key(job, clone)
                ends[key] = max(ends.get(key, 0), end)
        self._starts: dict[Any, int] = {}
        self.total_bytes: int | None = None
        if not known:
            self.told = "every job without a size has all of the target"
            return
        start = 0
        for key, end in ends.items():
            self._starts[key] = start
            start += -(-end // _GRID_BYTES) * _GRID_BYTES
        self.total_bytes = start
        files = f"{len(ends)} files one after the other" if len(ends) > 1 else "one file"
        self.told = f"{files}, {chosen_size(start)} from the start of the target"

    @staticmethod
    def _key(job: FioJob, clone: int) -> Any:
        return job.file or (job.section.where, clone)

    def offset(self, job: FioJob, clone: int) -> Extent:
        """Where a clone's area begins on the target."""
        start = self._starts.get(self._key(job, clone), 0)
        if isinstance(job.offset, float):
            if job.increment:
                raise job.error("an offset in percent and offset_increment exclude each other")
            return job.offset
        return start + job.offset + clone * job.increment


def _workload(group: Sequence[FioJob], starts: Starts, areas: _Areas) -> dict[str, Any]:
    if any(job.iolog for job in group):
        if len(group) > 1:
            raise group[0].error("a trace is replayed alone: write stonewall before and after it")
        replay = {"name": "", **group[0].replay()}
        del replay["shown"]
        return replay
    ramps = {job.ramp_s for job in group}
    if len(ramps) > 1:
        raise group[0].error("jobs that run together have different ramp_time: give all the same")
    [ramp_s] = ramps
    if ramp_s and any(starts.of_jobs_s):
        raise group[0].error(
            "ramp_time and startdelay of jobs that run together exclude each other"
        )
    table: dict[str, Any] = {"name": ""}
    if ramp_s:
        table["ramp"] = _seconds(ramp_s)
    whole_s = starts.whole_s
    if whole_s is not None:
        table["duration"] = _seconds(whole_s)
    streams = []
    for job, start_s in zip(group, starts.of_jobs_s, strict=True):
        own: dict[str, Any] = {}
        if start_s:
            own["start"] = _seconds(start_s)
        time = None if job.runtime_s is None else start_s + job.runtime_s
        if time is not None and (whole_s is None or time < whole_s):
            own["stop"] = _seconds(ramp_s + time)
        own |= {"job": _plain(job.section.name)} if len(group) > 1 else {}
        streams += [{**stream, **own} for stream in _placed(job, areas)]
    workers = sum(stream.get("workers", 1) for stream in streams)
    if workers > WORKERS_MAX:
        raise group[0].error(f"{workers} jobs at a time are more than the limit of {WORKERS_MAX}")
    table["stream"] = streams
    return table


def _placed(job: FioJob, areas: _Areas) -> list[dict[str, Any]]:
    """The streams of all clones; those that are alike are workers of one."""
    streams = job.streams()
    places = [areas.offset(job, clone) for clone in range(job.clones)]
    together = len(set(places)) == 1 and job.is_random
    found = []
    for place in places[:1] if together else places:
        for stream in streams:
            one = dict(stream)
            if place:
                one["offset"] = text_of(place)
            if job.size is not None:
                one["span"] = text_of(job.size)
            if together and job.clones > 1:
                one["workers"] = job.clones
                kind, _, rate = one.get("arrival", "").partition(":")
                if rate:
                    one["arrival"] = f"{kind}:{float(rate) * job.clones:.9g}"
            found.append(one)
    return found


def _told(group: Sequence[FioJob]) -> str:
    """What jobs were asked to do, in fio's words."""
    texts = []
    for job in group:
        left_out = {*job.passed_over, f"filename={job.told.get('filename')}"}
        words = [f"{key}={text}" for key, text in job.told.items()]
        texts.append(" ".join(word for word in words if word not in left_out))
    counted = [
        f"{texts.count(text)} times {text}" if texts.count(text) > 1 else text for text in texts
    ]
    return " beside ".join(dict.fromkeys(counted))


def _group_name(group: Sequence[FioJob]) -> str:
    names = list(dict.fromkeys(_plain(job.section.name) for job in group))
    few = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2}-more"]
    return "+".join(few)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or "job"


def _seconds(value: float) -> str:
    return f"{value * 1e9:.0f} ns"
