"""What is run on a drive to reproduce a review, and what came out of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fourcorners.recording import Recording
from fourcorners.suites import TESTS, Subject
from fourcorners.suites.test import Measurement, Phase

LINK_3G = (("link.line_rate", "3 Gb/s"),)
LINK_6G = (("link.line_rate", "6 Gb/s"),)


Plan = Callable[[int, float], tuple[Phase, ...]]
"""Phases for a drive of a capacity in bytes, with all durations times a factor."""


def of_test(name: str, capacity_bytes: int, **parameters: Any) -> tuple[Phase, ...]:
    """The phases of a test of the program on a simulated drive, with other parameters than its
    own: seconds, bytes, shares and counts by their names."""
    definition = TESTS[name]
    subject = Subject("simulated", capacity_bytes)
    phases = definition.plan(subject, definition.parameters(**parameters), 1).phases
    return tuple(phase for phase in phases if isinstance(phase, Phase))


def default(test: str, parameter: str) -> Any:
    """What a test of the program has for a parameter where nothing else is asked for."""
    return getattr(TESTS[test].parameters(), parameter)


def unprepared(phase: Phase) -> Phase:
    """What a phase measures, in the state that the drive is in."""
    return replace(phase, preparation=())


def under(name: str, measurements: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """A test's measurements, with ``name`` before their ids."""
    return tuple(replace(one, id=f"{name}/{one.id}") for one in measurements)


@dataclass(frozen=True)
class Experiment:
    """One drive of the catalog with its settings, and the phases that it goes through in order.

    ``drive`` is a catalog name, or an array of such drives (``raid0:2xNAME``).

    ``plan`` is a function of a module, so that an experiment can travel to another process.
    """

    source: str
    drive: str
    plan: Plan
    variant: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """What results are found by: source, drive and, where there are several, variant."""
        return "/".join(part for part in (self.source, self.drive, self.variant) if part)


@dataclass(frozen=True)
class SimulatedResult:
    """What figures, checks and plots need of one recording with one kind of operation.

    Rates are of successful I/Os; ``second_ios`` has the I/Os of each full second.
    """

    iops: float
    bytes_per_second: float
    latency_min_s: float
    latency_mean_s: float
    latency_max_s: float
    second_ios: tuple[int, ...] = ()

    @property
    def megabytes_per_second(self) -> float:
        """In units of 10^6 bytes, as most reviews give rates."""
        return self.bytes_per_second / 1e6

    @classmethod
    def of(cls, measurement: Measurement, recording: Recording) -> "SimulatedResult":
        """Raises ``ValueError`` when I/Os failed or none was made: no review's figure has any."""
        if recording.error_count or set(recording.operations) != {measurement.stream.operation}:
            raise ValueError(f"{measurement.id}: failed I/Os, or none at all")
        operation = recording.operations[measurement.stream.operation]
        assert operation.latency_min_s is not None
        assert operation.latency_mean_s is not None
        assert operation.latency_max_s is not None
        return cls(
            iops=operation.iops,
            bytes_per_second=operation.bytes_per_second,
            latency_min_s=operation.latency_min_s,
            latency_mean_s=operation.latency_mean_s,
            latency_max_s=operation.latency_max_s,
            second_ios=tuple(operation.second_ios[: int(recording.elapsed_s)].tolist()),
        )


class NotRunError(LookupError):
    """A result is asked for that there is none of; the message says why."""


@dataclass(frozen=True)
class Results:
    """Everything measured: by experiment, then by recording.

    ``absent`` has the experiments that could not run, with the reason.
    """

    measured: Mapping[str, Mapping[str, SimulatedResult]]
    absent: Mapping[str, str]

    def __call__(self, experiment: str, recording: str) -> SimulatedResult:
        """One recording; raises :class:`NotRunError` when its experiment was not run."""
        return self.of(experiment)[recording]

    def of(self, experiment: str) -> Mapping[str, SimulatedResult]:
        """All recordings of an experiment; raises :class:`NotRunError` when it was not run."""
        if experiment not in self.measured:
            raise NotRunError(self.absent.get(experiment, f"{experiment} was not run"))
        return self.measured[experiment]
