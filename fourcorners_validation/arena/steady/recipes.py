"""Compares recipes for preconditioning on drives of the corpus: the volume that each writes, and
whether they reach the same state."""

from concurrent.futures import Executor
from dataclasses import dataclass

from fourcorners.documents import Count
from fourcorners.recording import Recording
from fourcorners.running.precondition import write_until_steady
from fourcorners.suites.steps import Fill
from fourcorners.workload import Workload
from fourcorners_validation.arena.steady.contest import ATTEMPTS_MAX, TAIL_CHANGE_MAX
from fourcorners_validation.arena.steady.drives import OwnCase, draw
from fourcorners_validation.arena.tables import Figure

# The preconditioning of reviews and of SNIA.
CUSTOMARY_FILLS = 2
CUSTOMARY_CAPACITIES = 2.0
"""SNIA's workload-independent preconditioning writes the capacity twice in sequence; to write it
twice more at random is what vendors' testing guides and fio's users do."""

MEASURED_CAPACITIES = 4.0
"""Written to measure the rate that a recipe leads to, and in each half of the long run: over one or
two capacities a steady drive's rate wanders by as much as the recipes may differ, as
:attr:`Compared.wander` says for as many as these."""


@dataclass(frozen=True)
class Compared:
    """Both recipes on one drive: written capacities, and the rate of the next
    :data:`MEASURED_CAPACITIES` over the rate of the long run, less 1."""

    customary_capacities: Figure
    customary_error: Figure
    fast_capacities: Figure
    fast_error: Figure
    wander: Figure
    """The customary rate against that of the next as many capacities, less 1: two measurements of
    the same state."""
    attempts: Count

    @property
    def between(self) -> float:
        """The rate after the fast recipe over that after the customary one, less 1."""
        return (1 + self.fast_error) / (1 + self.customary_error) - 1


def is_comparable(case: OwnCase) -> bool:
    """Whether the case is about uniform random writes, which preconditioning is defined by."""
    return case.stream.pattern == "random" and case.stream.read_share == 0


def compare(seed: int, index: int) -> Compared:
    """Preconditions a drive of the corpus both ways, each from erased, and measures. As in the
    contest, a drive whose long run still changes has no steady state to compare: another is
    drawn."""
    for attempt in range(ATTEMPTS_MAX):
        case = draw(seed, index, attempt)
        if not is_comparable(case):
            continue
        compared, change = _compare(case, attempt + 1)
        if abs(change) <= TAIL_CHANGE_MAX:
            break
    return compared


def _compare(case: OwnCase, attempts: int) -> tuple[Compared, float]:
    """The comparison, and the change from the first half of the long run to the second."""
    drive = case.opened()
    capacity = drive.capacity_bytes
    written = 0

    def run(workload: Workload) -> Recording:
        nonlocal written
        recording = drive.run(workload)
        written += recording.write.bytes
        return recording

    def rate(capacities: float, seed: int) -> float:
        count = int(capacities * capacity)
        workload = Workload([case.stream], volume_bytes=count, seed=seed)
        return drive.run(workload).bytes_per_second

    seeds = [case.seed + 10**6 * number for number in range(1, 5)]
    for workload in Fill(capacity, times=CUSTOMARY_FILLS).workloads(case.seed):
        run(workload)
    count = int(CUSTOMARY_CAPACITIES * capacity)
    run(Workload([case.stream], volume_bytes=count, seed=seeds[0]))
    customary, customary_rate = written, rate(MEASURED_CAPACITIES, seeds[1])
    halves = [rate(MEASURED_CAPACITIES, seed) for seed in seeds[2:]]
    long_run = 2 / (1 / halves[0] + 1 / halves[1])
    drive.purge()
    written = 0
    for workload in Fill(capacity).workloads(case.seed):
        run(workload)
    write_until_steady(
        run, case.stream, span_bytes=capacity, capacity_bytes=capacity, seed=case.seed
    )
    fast, fast_rate = written, rate(MEASURED_CAPACITIES, seeds[1])
    compared = Compared(
        customary_capacities=customary / capacity,
        customary_error=customary_rate / long_run - 1,
        fast_capacities=fast / capacity,
        fast_error=fast_rate / long_run - 1,
        wander=halves[0] / customary_rate - 1,
        attempts=attempts,
    )
    return compared, halves[1] / halves[0] - 1


def run_recipes(executor: Executor, *, traces: int, seed: int) -> list[Compared]:
    """Both recipes on every drive among the first ``traces`` of a corpus that they apply to."""
    indices = [index for index in range(traces) if is_comparable(draw(seed, index))]
    return [f.result() for f in [executor.submit(compare, seed, index) for index in indices]]
