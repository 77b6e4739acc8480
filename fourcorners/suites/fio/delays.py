"""When jobs of a fio job file start: fio counts ``startdelay`` from its own start, whatever
``stonewall`` does before (its ``backend.c``), and the time of a job from the job's start."""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.suites.fio.job import FioJob
from fourcorners.suites.fio.quantities import switch


@dataclass(frozen=True)
class Starts:
    """When a group of jobs starts."""

    pause_s: float
    """Before it nothing runs for so long."""
    of_jobs_s: tuple[float, ...]
    """When each of its jobs starts, from the end of the pause."""
    whole_s: float | None
    """How long it runs, without pause and ramp; None where a job may end by its size."""


def starts_of(groups: Sequence[Sequence[FioJob]]) -> list[Starts]:
    """For each group, in order."""
    found: list[Starts] = []
    elapsed_s: float | None = 0.0
    for group in groups:
        if elapsed_s is None and any(job.start_s for job in group):
            group[0].read_as.append(
                "startdelay counts from the end of the jobs before, since how long they take is "
                "not known"
            )
        delays = [max(job.start_s - (elapsed_s or 0.0), 0.0) for job in group]
        pause_s = min(delays)
        starts = tuple(delay - pause_s for delay in delays)
        whole_s = _whole_s(group, starts)
        found.append(Starts(pause_s, starts, whole_s))
        ends = all(job.of("time_based", switch, False) for job in group)
        if elapsed_s is None or whole_s is None or not ends:
            elapsed_s = None
        else:
            elapsed_s += pause_s + group[0].ramp_s + whole_s
    return found


def _whole_s(group: Sequence[FioJob], starts: Sequence[float]) -> float | None:
    times = [
        None if job.runtime_s is None else start + job.runtime_s
        for job, start in zip(group, starts, strict=True)
    ]
    known = [time for time in times if time is not None]
    ending = [time for job, time in zip(group, times, strict=True) if job.ends_all and time]
    return min(ending, default=max(known) if len(known) == len(times) else None)
