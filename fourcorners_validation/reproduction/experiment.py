"""The experiments that reproduce a review on a drive, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fourcorners.recording import Recording
from fourcorners.suites import TESTS, Subject
from fourcorners.suites.definition import named
from fourcorners.suites.parameters import read_parameters
from fourcorners.suites.preparation import step
from fourcorners.suites.terms import Scope
from fourcorners.suites.test import Measurement, Phase
from fourcorners.suites.test_file import own_test


@dataclass(frozen=True)
class Experiment:
    """One drive of the catalog with its settings, and its tests in order.

    ``drive`` is a catalog name, or an array of such drives (``raid0:2xNAME``).

    ``tests`` are tables as suite files have them (docs/suites.md), each with further keys:
    ``phases`` are the phases to run, counted from 1, if not all of them are run; ``prepare``
    replaces the preparation of the first of them; ``seed`` replaces the seed 1; with
    ``whole-drive`` the span of writes is not kept small to preserve the state of the drive.
    """

    source: str
    drive: str
    tests: tuple[dict[str, Any], ...]
    variant: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The key of a result: source, drive and, if there are several, variant."""
        return "/".join(part for part in (self.source, self.drive, self.variant) if part)

    def plan(self, capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
        """Phases for a drive of a capacity in bytes, with all durations times a factor."""
        return tuple(
            phase for test in self.tests for phase in self._phases(test, capacity_bytes, scale)
        )

    def _phases(
        self, test: Mapping[str, Any], capacity_bytes: int, scale: float
    ) -> tuple[Phase, ...]:
        table = dict(test)
        chosen, seed = table.pop("phases", None), table.pop("seed", 1)
        keeps_state = not table.pop("whole-drive", False)
        subject = Subject("simulated", capacity_bytes, keeps_state=keeps_state)
        prepare = table.pop("prepare", None) if "use" in table else None
        if "use" in table:
            definition = TESTS[table.pop("use")]
            name = table.pop("name", definition.name)
        else:
            definition = own_test(table, self.key, scale, self.source)
            table, name = {}, definition.name
        parameters: Any = read_parameters(definition.parameters, table, self.key, scale)
        made = named(definition, definition.plan(subject, parameters, seed), name).phases
        phases = [phase for phase in made if isinstance(phase, Phase)]
        phases = [phases[number - 1] for number in chosen] if chosen else phases
        if prepare is not None:
            scope = Scope.of(subject, {})
            steps = tuple(step(text, self.key, {})(scope) for text in prepare)
            phases[0] = replace(phases[0], preparation=steps)
        return tuple(phases)


@dataclass(frozen=True)
class SimulatedResult:
    """The part of one recording with one kind of operation that figures, checks and plots need.

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
        """Raises ``ValueError`` if I/Os failed or none was made, as no figure of a review has."""
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
    """A result is requested that does not exist; the message gives the reason."""


@dataclass(frozen=True)
class Results:
    """All measurements, by experiment and then by recording.

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
