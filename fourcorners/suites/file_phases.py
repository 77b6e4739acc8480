"""The phases and workloads that a suite file has for a test, and the measurements that they become
on a target.

A list in place of a value sweeps it: one measurement for each combination, the last key fastest.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.suites.access import (
    AXES,
    EVERYTHING,
    STREAM_KEYS,
    WORKLOAD_KEYS,
    addressable,
    stream_of,
)
from fourcorners.suites.common import listed
from fourcorners.suites.parameters import SIZE, Kind
from fourcorners.suites.preparation import StepAt
from fourcorners.suites.terms import Names, Scope, Term
from fourcorners.suites.test import Measurement, Phase
from fourcorners.workload import Workload

_Point = tuple[str, Kind, Any]
"""A key that is swept, or a name of ``each``, its kind and its value."""


@dataclass(frozen=True)
class FileWorkload:
    """One ``[[workload]]``: every combination of its lists."""

    name: str
    limits: Mapping[str, Any]
    streams: tuple[Mapping[str, Any], ...]
    id: str | None
    label: str | None
    axes: Mapping[str, Any]
    scale: float

    def measurements(
        self, scope: Scope, each: Mapping[str, Kind], seed: int, left_out: list[str]
    ) -> list[Measurement]:
        """One for each combination that the target can address; the others go to ``left_out``.
        ``each`` has the names that this phase is one of several for."""
        options = [
            {key: scope.value(given) for key, given in stream.items()} for stream in self.streams
        ]
        swept = [
            (number, key)
            for number, stream in enumerate(options)
            for key, value in stream.items()
            if isinstance(value, tuple)
        ]
        varied = swept + [
            (number, key)
            for number, stream in enumerate(self.streams)
            for key, given in stream.items()
            if isinstance(given, Term) and given.name in each
        ]
        points = [(name, kind, scope.values[name][1]) for name, kind in each.items()]
        measurements = []
        for values in itertools.product(*(options[number][key] for number, key in swept)):
            chosen = [dict(stream) for stream in options]
            for (number, key), value in zip(swept, values, strict=True):
                chosen[number][key] = value
            sizes = [
                chosen[number][key]
                for number, key in varied
                if key in ("block", "alignment") and not addressable(chosen[number], scope.subject)
            ]
            sizes += [
                int(stream["sizes"].partition("/")[0].partition("-")[0])
                for stream in chosen
                if "sizes" in stream and not addressable(stream, scope.subject)
            ]
            if sizes:
                left_out.extend(SIZE.show(size) for size in sizes)
                continue
            here = [
                (key, STREAM_KEYS[key], value)
                for (_, key), value in zip(swept, values, strict=True)
            ]
            measurements.append(self._measurement(chosen, here, points, scope, seed))
        return measurements

    def _measurement(
        self,
        chosen: Sequence[Mapping[str, Any]],
        swept: Sequence[_Point],
        each: Sequence[_Point],
        scope: Scope,
        seed: int,
    ) -> Measurement:
        points = [*each, *swept]
        texts = [f"{name} {kind.show(value)}" for name, kind, value in points]
        here = scope.with_({key: (STREAM_KEYS[key], value) for key, value in chosen[0].items()})
        axes = dict(_axis(*point) for point in (points if self.id is None else swept))
        if self.id is None:
            axes["workload"] = self.name
        streams = [stream_of(self._in_time(stream), scope.subject) for stream in chosen]
        if any(stream.think_s or stream.strided_zones for stream in streams):
            # With pauses and gaps between requests its rate is not the drive's best.
            axes["apart"] = True
        amount = scope.value(self.limits.get("amount"))
        if amount == EVERYTHING:
            block, span = streams[0].block_bytes, streams[0].span_bytes or 0
            amount = max(span - span % block, block)
        return Measurement(
            here.id(self.id)
            if self.id is not None
            else "/".join([self.name, *(text.replace(" ", "-") for text in texts)]),
            here.text(self.label) if self.label is not None else ", ".join([self.name, *texts]),
            Workload(
                streams,
                duration_s=self._seconds("duration", scope),
                volume_bytes=amount,
                ramp_s=self._seconds("ramp", scope) or 0.0,
                seed=seed,
                log_ios=scope.value(self.limits.get("log-ios", 0)),
            ),
            axes | {name: _axis_value(value, here) for name, value in self.axes.items()},
        )

    def _in_time(self, stream: Mapping[str, Any]) -> dict[str, Any]:
        """A stream that begins and ends as much earlier as durations are shorter."""
        return {
            key: value * self.scale if STREAM_KEYS[key].scaled else value
            for key, value in stream.items()
        }

    def _seconds(self, key: str, scope: Scope) -> float | None:
        """A parameter is scaled when it is read, a time that the file has, here."""
        given = self.limits.get(key)
        value: float | None = scope.value(given)
        return value if value is None or isinstance(given, Term) else value * self.scale

    @property
    def swept(self) -> list[str]:
        """The keys with several values."""
        return [key for stream in self.streams for key in stream if isinstance(stream[key], tuple)]

    def describe(self) -> str:
        """One line for the plan and the report."""
        streams = []
        for stream in self.streams:
            parts = [f"{key} {_show(STREAM_KEYS[key], given)}" for key, given in stream.items()]
            streams.append(", ".join(parts))
        limits = [
            f"{key} {_show(WORKLOAD_KEYS[key], self._limit(key, given))}"
            for key, given in self.limits.items()
        ]
        return "; ".join([*limits, " beside ".join(streams)])

    def _limit(self, key: str, given: Any) -> Any:
        scaled = WORKLOAD_KEYS[key].scaled and not isinstance(given, Term)
        return given * self.scale if scaled else given


@dataclass(frozen=True)
class FilePhase:
    """Preparation, and the workloads in the state that it leaves; once for each of ``each``."""

    each: Mapping[str, tuple[Kind, Any]]
    steps: tuple[StepAt, ...]
    workloads: tuple[FileWorkload, ...]
    continues: bool

    @property
    def names(self) -> Names:
        """The names of ``each`` in this phase, and the kinds of their values."""
        return {name: kind for name, (kind, _) in self.each.items()}

    def phases(self, scope: Scope, seed: int, left_out: list[str]) -> list[Phase]:
        """One for each of ``each``, without those whose measurements the target cannot address."""
        phases = []
        for here in scope.each(self.each):
            measurements = [
                m
                for workload in self.workloads
                for m in workload.measurements(here, self.names, seed, left_out)
            ]
            if measurements:
                steps = tuple(at(here) for at in self.steps)
                phases.append(Phase(steps, tuple(measurements), self.continues))
        return phases


def _show(kind: Kind, given: Any) -> str:
    if isinstance(given, Term):
        return f"{'the first' if given.first else 'each'} {given.name}"
    return listed([kind.show(one) for one in (given if isinstance(given, tuple) else (given,))])


def _axis(key: str, kind: Kind, value: Any) -> tuple[str, Any]:
    name, convert = AXES.get(key, (key, kind.show))
    return name, convert(value)


def _axis_value(given: Any, scope: Scope) -> Any:
    """A number where the text is one name that stands for one, as a plot needs it."""
    if not isinstance(given, str):
        return given
    if given.startswith("{") and given.endswith("}") and given[1:-1] in scope.values:
        value = scope.values[given[1:-1]][1]
        return 100 * value if isinstance(value, float) else value
    return scope.text(given)
