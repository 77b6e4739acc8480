"""Runs a workload and says what may mislead about its result."""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.analysis.artefacts import Artefact, Case, detect
from fourcorners.machine.conditions import Conditions
from fourcorners.recording import Recording
from fourcorners.target.target import Target, Watch
from fourcorners.workload import Workload


@dataclass(frozen=True)
class Observed:
    """A recording, the conditions under which it was made, and what they did to it."""

    recording: Recording
    conditions: Conditions
    artefacts: Sequence[Artefact]


def observe(target: Target, workload: Workload, watch: Watch | None = None) -> Observed:
    """Runs ``workload`` as :meth:`Target.run` does, and observes the machine meanwhile.

    What only several measurements can tell (a rate cap of a volume, a cache that this measurement
    did not fill) and the drive's past are judged in runs of suites.

    Raises what :meth:`Target.run` raises.
    """
    observer = target.observer()

    def ticking(elapsed_s: float, ios: int, count: int, latency_sum_s: float) -> bool:
        if observer is not None:
            observer.tick()
        return watch is None or watch(elapsed_s, ios, count, latency_sum_s)

    if observer is not None:
        observer.begin()
    recording = target.run(workload, ticking)
    conditions = Conditions()
    # A target that failed may hang: nothing more is asked of it. Nor after Ctrl-C.
    if observer is not None and not recording.interrupted:
        conditions = observer.end(workload, target.capacity_bytes)
    recording = recording.placed(workload=workload, conditions=conditions)
    case = Case.of(recording, target.capacity_bytes)
    return Observed(recording, conditions, [artefact for _, artefact in detect([case])])
