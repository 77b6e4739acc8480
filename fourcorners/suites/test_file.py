"""Tests as data: the tables of a suite file, and of the program's own test files, become tests.

docs/suites.md has the keys. A list in place of a value sweeps it: one measurement for each
combination, the last key fastest.
"""

import itertools
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.access import (
    AXES,
    EVERYTHING,
    LIMITS,
    STREAM_KEYS,
    WORKLOAD_KEYS,
    addressable,
    stream_of,
)
from fourcorners.suites.chart_tables import default_charts, read_charts, table_of
from fourcorners.suites.common import listed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.file_parameters import FileParameters
from fourcorners.suites.parameters import (
    SHARE,
    SIZE,
    Kind,
    unknown,
)
from fourcorners.suites.preparation import StepAt, step
from fourcorners.suites.subject import Subject
from fourcorners.suites.terms import Names, Scope, Term, check_names, term_or_value
from fourcorners.suites.test import Measurement, Phase
from fourcorners.units import shortened
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload

_PREPARED = ("purge", "fill", "settle")
_EACH_KEYS = {**STREAM_KEYS, "filled": SHARE}
PHASE_KEYS = ("each", "prepare", "continues", "workload")
TEST_KEYS = ("name", "title", "purpose", "shown", "needs", "prepare", "workload", "phase", "chart")
TEXT_KEYS = ("name", "id", "label", "axes")
_PROGRAM_KEYS = ("source", "does", "parameters")
_Point = tuple[str, Kind, Any]
"""A key that is swept, or a name of ``each``, its kind and its value."""


@dataclass(frozen=True)
class _Workload:
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
class _Phase:
    """Preparation, and the workloads in the state that it leaves; once for each of ``each``."""

    each: Mapping[str, tuple[Kind, Any]]
    steps: tuple[StepAt, ...]
    workloads: tuple[_Workload, ...]
    continues: bool

    @property
    def names(self) -> Names:
        """The names of ``each`` in this phase, and the kinds of their values."""
        return {name: kind for name, (kind, _) in self.each.items()}

    def phases(self, scope: Scope, seed: int, left_out: list[str]) -> list[Phase]:
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


def own_test(given: Mapping[str, Any], where: str, scale: float, file: str) -> Definition:
    """A test from a ``[[test]]`` without ``use``; raises :class:`UserError`."""
    for key in given:
        if key not in TEST_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(TEST_KEYS))}")
    return _definition(
        given,
        where,
        scale,
        source=file,
        purpose=str(given.get("purpose", "A test of the user's own.")),
        does="",
    )


def program_test(name: str, folder: str = "tests") -> Definition:
    """A test of the program from its file in a folder of ``suites``."""
    file = resources.files(f"fourcorners.suites.{folder}").joinpath(f"{name}.toml")
    given = tomllib.loads(file.read_text("utf-8"))
    for key in given:
        if key not in (*TEST_KEYS, *_PROGRAM_KEYS):
            raise UserError(f"{name}: {unknown('key', key, [*TEST_KEYS, *_PROGRAM_KEYS])}")
    return _definition(given, name, 1.0, given["source"], given["purpose"], given["does"])


def _definition(
    given: Mapping[str, Any], where: str, scale: float, source: str, purpose: str, does: str
) -> Definition:
    name = given.get("name")
    if not isinstance(name, str) or not name or not all(c.isalnum() or c in "-_." for c in name):
        raise UserError(
            f"{where}: name = {name!r}: give the test a name of letters, digits, -, _ and ."
        )
    parameters = FileParameters.read(given.get("parameters", {}))
    phases = _phases(given, where, scale, parameters.names)
    workloads = [workload for phase in phases for workload in phase.workloads]
    for one, count in Counter(w.name for w in workloads if w.id is None).items():
        if count > 1:
            raise UserError(f'{where}: two workloads are named "{one}": give each its own name')
    swept = list(dict.fromkeys(key for workload in workloads for key in workload.swept))
    shown = _table(given.get("shown", {}), where, "shown", parameters.names)
    charts = read_charts(given["chart"], where) if "chart" in given else default_charts(swept)
    needs = _read(SIZE, "needs", given["needs"], where, {}) if "needs" in given else 0

    def plan(subject: Subject, chosen: Any, seed: int) -> Plan:
        if subject.area_bytes < needs:
            raise UserError(
                f"{where}: {name} needs a target of {chosen_size(needs)}, and this one has "
                f"{chosen_size(subject.area_bytes)}: use a larger one, or smaller sizes"
            )
        scope = parameters.scope(subject, chosen)
        left_out: list[str] = []
        made = tuple(one for phase in phases for one in phase.phases(scope, seed, left_out))
        ids = [measurement.id for phase in made for measurement in phase.measurements]
        for id, count in Counter(ids).items():
            if count > 1:
                raise UserError(
                    f'{where}: two measurements are named "{id}": tell them apart by id'
                )
        texts = {name: scope.text(text) for name, text in shown.items()} or {
            workload.name: workload.describe() for workload in workloads
        }
        if left_out:
            sizes = listed(list(dict.fromkeys(left_out)))
            texts["left out"] = f"{sizes}: the target cannot address them"
        reason = None if made else "the target can address none of the sizes"
        return Plan(texts, made, charts, reason)

    plan.__doc__ = does
    return Definition(
        name=name,
        title=str(given.get("title", name)),
        source=source,
        purpose=purpose,
        plan=plan,
        parameters=parameters.cls,
    )


def _phases(given: Mapping[str, Any], where: str, scale: float, names: Names) -> tuple[_Phase, ...]:
    tables = given.get("phase")
    if tables is None:
        alone = {key: given[key] for key in ("prepare", "workload") if key in given}
        return (_phase(alone, where, scale, names, 1),)
    for key in ("prepare", "workload"):
        if key in given:
            raise UserError(f"{where}: {key} stands beside [[test.phase]]: move it into a phase")
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{where}: phase must be one or more tables, [[test.phase]]")
    phases: list[_Phase] = []
    for number, table in enumerate(tables, start=1):
        count = sum(len(phase.workloads) for phase in phases)
        phases.append(_phase(table, f"{where}, phase {number}", scale, names, count + 1))
    return tuple(phases)


def _phase(table: Any, where: str, scale: float, names: Names, first: int) -> _Phase:
    if not isinstance(table, Mapping):
        raise UserError(f"{where}: write it as a table, [[test.phase]]")
    for key in table:
        if key not in PHASE_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(PHASE_KEYS))}")
    each = {}
    for key, value in table_of(table.get("each", {}), where, "each").items():
        if key not in _EACH_KEYS:
            raise UserError(f"{where}: each: {unknown('key', key, list(_EACH_KEYS))}")
        each[key] = (_EACH_KEYS[key], _options(_EACH_KEYS[key], key, value, where, names))
    known = {**names, **{name: kind for name, (kind, _) in each.items()}}
    continues = table.get("continues", False)
    if not isinstance(continues, bool):
        raise UserError(f"{where}: continues = {continues!r}: use true or false")
    prepare = table.get("prepare", [] if continues else list(_PREPARED))
    if not isinstance(prepare, list):
        raise UserError(f'{where}: prepare = {prepare!r}: use a list, such as ["purge", "fill"]')
    steps = tuple(step(text, where, known) for text in prepare)
    tables = table.get("workload")
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{where}: workload is missing: write at least one [[test.workload]]")
    workloads = tuple(
        _workload(one, f"{where}, workload {number}", number, scale, known)
        for number, one in enumerate(tables, start=first)
    )
    return _Phase(each, steps, workloads, continues)


def _workload(table: Any, where: str, number: int, scale: float, names: Names) -> _Workload:
    if not isinstance(table, Mapping):
        raise UserError(f"{where}: write it as a table, [[test.workload]]")
    name = table.get("name", f"workload-{number}")
    if not isinstance(name, str) or not name:
        raise UserError(f"{where}: name = {name!r}: use text")
    keys = [*TEXT_KEYS, "stream", *WORKLOAD_KEYS, *STREAM_KEYS]
    limits = {}
    for key, value in table.items():
        if key not in keys:
            raise UserError(f"{where}: {unknown('key', key, keys)}")
        if key in WORKLOAD_KEYS:
            limits[key] = _read(WORKLOAD_KEYS[key], key, value, where, names)
    own = {key: value for key, value in table.items() if key in STREAM_KEYS}
    given = table.get("stream", [own])
    if "stream" in table and own:
        raise UserError(
            f"{where}: {next(iter(own))} stands beside [[test.workload.stream]]: move it into "
            "the streams"
        )
    if not isinstance(given, list) or not given:
        raise UserError(f"{where}: stream must be one or more tables, [[test.workload.stream]]")
    streams = [
        _stream(stream, where if stream is own else f"{where}, stream {n}", names)
        for n, stream in enumerate(given, start=1)
    ]
    ends = all(any(key in stream for key in LIMITS) for stream in streams)
    if not ends and not {"duration", "amount"} & limits.keys():
        raise UserError(f'{where}: duration is missing: say how long it runs, such as "30 s"')
    here = {**names, **{key: STREAM_KEYS[key] for key in streams[0]}}
    id, label = (_template(table, key, where, here) for key in ("id", "label"))
    axes = _table(table.get("axes", {}), where, "axes", here)
    return _Workload(name, limits, tuple(streams), id, label, axes, scale)


def _template(table: Mapping[str, Any], key: str, where: str, names: Names) -> str | None:
    text = table.get(key)
    if text is None:
        return None
    if not isinstance(text, str) or not text:
        raise UserError(f"{where}: {key} = {text!r}: use text")
    return str(_table({key: text}, where, key, names)[key])


def _stream(given: Any, where: str, names: Names) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise UserError(f"{where}: write it as a table, [[test.workload.stream]]")
    for key in given:
        if key not in STREAM_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(STREAM_KEYS))}")
    for key in ("reads", "block", "pattern"):
        other = {"pattern": "random", "block": "sizes"}.get(key)
        if key not in given and other not in given:
            example = {"reads": '"70 %"', "block": '"4 KiB"', "pattern": '"random"'}[key]
            raise UserError(f"{where}: {key} is missing: write, for example, {key} = {example}")
    if "random" in given and "pattern" in given:
        raise UserError(f"{where}: random and pattern exclude each other: leave out one of them")
    if "sizes" in given and "block" in given:
        raise UserError(f"{where}: sizes and block exclude each other: leave out one of them")
    return {
        key: _options(kind, key, given[key], where, names)
        for key, kind in STREAM_KEYS.items()
        if key in given
    }


def _options(kind: Kind, key: str, value: Any, where: str, names: Names) -> Any:
    """A value, or the values of a list."""
    if not isinstance(value, list):
        return _read(kind, key, value, where, names, sweeps=True)
    if not value:
        raise UserError(f"{where}: {key} = []: use at least one value")
    options = tuple(_read(kind, key, one, where, names) for one in value)
    return options if len(options) > 1 else options[0]


def _read(kind: Kind, key: str, value: Any, where: str, names: Names, sweeps: bool = False) -> Any:
    try:
        return term_or_value(kind, value, names, sweeps)
    except UserError as error:
        raise UserError(f"{where}: {key} = {shortened(repr(value))}: {error}") from error


def _table(given: Any, where: str, key: str, names: Names) -> dict[str, Any]:
    """A table of texts, whose terms must be known, and of plain values."""
    table = dict(table_of(given, where, key))
    for name, value in table.items():
        if not isinstance(value, str | int | float | bool):
            raise UserError(f"{where}: {key}: {name}: use text or a number")
        try:
            check_names(str(value), names)
        except UserError as error:
            raise UserError(f"{where}: {key}: {name}: {error}") from error
    return table


def _show(kind: Kind, given: Any) -> str:
    if isinstance(given, Term):
        return f"each {given.name}"
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
