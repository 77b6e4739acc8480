"""Tests as data: the tables of a suite file, and of the program's own test files, become tests.

docs/suites.md has the keys.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.access import (
    LIMITS,
    STREAM_KEYS,
    WORKLOAD_KEYS,
)
from fourcorners.suites.chart_tables import default_charts, read_charts, table_of
from fourcorners.suites.common import listed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.file_parameters import FileParameters
from fourcorners.suites.file_phases import FilePhase, FileWorkload
from fourcorners.suites.parameters import (
    SHARE,
    SIZE,
    Kind,
    unknown,
)
from fourcorners.suites.preparation import step
from fourcorners.suites.subject import Subject
from fourcorners.suites.terms import Names, check_names, term_or_value
from fourcorners.units import shortened
from fourcorners.wording import chosen_size

_PREPARED = ("purge", "fill", "settle")
_EACH_KEYS = {**STREAM_KEYS, "filled": SHARE}
PHASE_KEYS = ("each", "prepare", "continues", "workload")
TEST_KEYS = ("name", "title", "purpose", "shown", "needs", "prepare", "workload", "phase", "chart")
TEXT_KEYS = ("name", "id", "label", "axes")
_PROGRAM_KEYS = ("source", "does", "parameters")


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


def _phases(
    given: Mapping[str, Any], where: str, scale: float, names: Names
) -> tuple[FilePhase, ...]:
    tables = given.get("phase")
    if tables is None:
        alone = {key: given[key] for key in ("prepare", "workload") if key in given}
        return (_phase(alone, where, scale, names, 1),)
    for key in ("prepare", "workload"):
        if key in given:
            raise UserError(f"{where}: {key} stands beside [[test.phase]]: move it into a phase")
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{where}: phase must be one or more tables, [[test.phase]]")
    phases: list[FilePhase] = []
    for number, table in enumerate(tables, start=1):
        count = sum(len(phase.workloads) for phase in phases)
        phases.append(_phase(table, f"{where}, phase {number}", scale, names, count + 1))
    return tuple(phases)


def _phase(table: Any, where: str, scale: float, names: Names, first: int) -> FilePhase:
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
    return FilePhase(each, steps, workloads, continues)


def _workload(table: Any, where: str, number: int, scale: float, names: Names) -> FileWorkload:
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
    return FileWorkload(name, limits, tuple(streams), id, label, axes, scale)


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
