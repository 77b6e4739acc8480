"""Tests of a user's own: access specifications of a suite file become workloads.

docs/suites.md has the keys. A list in place of a value sweeps it: one measurement for each
combination, the last key fastest.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.common import listed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import (
    CONTENT,
    COUNT,
    PAUSE,
    SECONDS,
    SHARE,
    SIZE,
    Kind,
    show_percent,
    unknown,
)
from fourcorners.suites.steps import Fill, Purge, Rest, SteadyWrites, Step, Trim, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.units import shortened
from fourcorners.wording import chosen_size
from fourcorners.workload import CLOSED_LOOP, Stream, Workload, partly_random, strided


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError("use true or false")
    return value


def _size_or_share(value: Any) -> int | float:
    if isinstance(value, str) and not value.strip().endswith("%"):
        return int(SIZE.read(value))
    return float(SHARE.read(value))


def _show_size_or_share(value: int | float) -> str:
    return chosen_size(value) if isinstance(value, int) else show_percent(value)


def _finite(text: str) -> float:
    """Raises ``ValueError``."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _pattern(value: Any) -> str:
    kind, *numbers = str(value).split(":")
    if kind == "strided" and len(numbers) == 1:
        return strided(int(SIZE.read(numbers[0])))
    wanted = {"sequential": 0, "random": 0, "zipf": 1, "hot-cold": 2, "partly-random": 1}
    try:
        known = wanted.get(kind) == len([_finite(number) for number in numbers])
    except ValueError:
        known = False
    if not known:
        raise UserError(
            "use sequential, random, zipf:EXPONENT, hot-cold:DATA:ACCESSES or strided:SIZE"
        )
    return str(value)


def _arrival(value: Any) -> str:
    kind, *numbers = str(value).split(":")
    wanted = {"closed": (0,), "fixed": (1,), "poisson": (1,), "bursts": (2, 3)}
    try:
        known = len([_finite(number) for number in numbers]) in wanted.get(kind, ())
    except ValueError:
        known = False
    if not known:
        raise UserError("use closed, fixed:IOPS, poisson:IOPS or bursts:IOPS:IOS")
    return str(value)


_TEXT = {"type": "string"}
SIZE_OR_SHARE = Kind(
    "a size or a share", _size_or_share, _show_size_or_share, {"type": ["string", "number"]}
)
BOOLEAN = Kind("true or false", _boolean, str, {"type": "boolean"})
STREAM_KEYS: dict[str, Kind] = {
    "reads": SHARE,
    "block": SIZE,
    "pattern": Kind("a pattern", _pattern, str, _TEXT),
    "random": SHARE,
    "alignment": SIZE,
    "misalignment": SIZE,
    "queue-depth": COUNT,
    "workers": COUNT,
    "offset": SIZE_OR_SHARE,
    "span": SIZE_OR_SHARE,
    "content": CONTENT,
    "arrival": Kind("an arrival", _arrival, str, _TEXT),
    "flush-every": COUNT,
    "fua": BOOLEAN,
}
"""What a stream's keys mean; :class:`fourcorners.Stream` has the same by longer names."""

WORKLOAD_KEYS: dict[str, Kind] = {"duration": SECONDS, "ramp": SECONDS, "amount": SIZE}
TEST_KEYS = ("name", "title", "purpose", "prepare", "workload")
_PREPARED = ("purge", "fill", "settle")


@dataclass(frozen=True)
class _Workload:
    """One ``[[test.workload]]``: every combination of its lists."""

    name: str
    limits: Mapping[str, Any]
    streams: tuple[Mapping[str, tuple[Any, ...]], ...]
    scale: float

    def measurements(self, subject: Subject, seed: int) -> list[Measurement]:
        swept = [(n, key) for n, s in enumerate(self.streams) for key in s if len(s[key]) > 1]
        measurements = []
        for values in itertools.product(*(self.streams[n][key] for n, key in swept)):
            chosen = [
                {key: options[0] for key, options in stream.items()} for stream in self.streams
            ]
            for (n, key), value in zip(swept, values, strict=True):
                chosen[n][key] = value
            texts = [
                f"{key} {STREAM_KEYS[key].show(v)}"
                for (_, key), v in zip(swept, values, strict=True)
            ]
            measurements.append(
                Measurement(
                    "/".join([self.name, *(text.replace(" ", "-") for text in texts)]),
                    ", ".join([self.name, *texts]),
                    Workload(
                        [_stream(stream, subject) for stream in chosen],
                        seconds=self._scaled("duration"),
                        transfer_bytes=self.limits.get("amount"),
                        ramp_s=self._scaled("ramp") or 0.0,
                        seed=seed,
                    ),
                    _axes([(key, value) for (_, key), value in zip(swept, values, strict=True)])
                    | {"workload": self.name},
                )
            )
        return measurements

    def _scaled(self, key: str) -> float | None:
        seconds = self.limits.get(key)
        return None if seconds is None else seconds * self.scale

    @property
    def swept(self) -> list[str]:
        """The keys with several values."""
        return [key for stream in self.streams for key in stream if len(stream[key]) > 1]

    def describe(self) -> str:
        """One line for the plan and the report."""
        streams = []
        for stream in self.streams:
            parts = [
                f"{key} {listed([STREAM_KEYS[key].show(value) for value in options])}"
                for key, options in stream.items()
            ]
            streams.append(", ".join(parts))
        limits = [
            f"{key} {WORKLOAD_KEYS[key].show(value if key == 'amount' else self._scaled(key))}"
            for key, value in self.limits.items()
        ]
        return "; ".join([*limits, " beside ".join(streams)])


def own_test(given: Mapping[str, Any], where: str, scale: float, file: str) -> Definition:
    """A test from a ``[[test]]`` without ``use``; raises :class:`UserError`."""
    for key in given:
        if key not in TEST_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(TEST_KEYS))}")
    name = given.get("name")
    if not isinstance(name, str) or not name or not all(c.isalnum() or c in "-_." for c in name):
        raise UserError(
            f"{where}: name = {name!r}: give the test a name of letters, digits, -, _ and ."
        )
    steps = _prepared(given.get("prepare", list(_PREPARED)), where)
    tables = given.get("workload")
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{where}: workload is missing: write at least one [[test.workload]]")
    workloads = [
        _workload(table, f"{where}, workload {number}", number, scale)
        for number, table in enumerate(tables, start=1)
    ]
    names = [workload.name for workload in workloads]
    for name_ in names:
        if names.count(name_) > 1:
            raise UserError(f'{where}: two workloads are named "{name_}": give each its own name')

    def plan(subject: Subject, parameters: Any, seed: int) -> Plan:
        measurements = [m for w in workloads for m in w.measurements(subject, seed)]
        preparation = tuple(step(subject) for step in steps)
        return Plan(
            {workload.name: workload.describe() for workload in workloads},
            (Phase(preparation, tuple(measurements)),),
            _charts(workloads),
        )

    return Definition(
        name=name,
        title=str(given.get("title", name)),
        source=file,
        purpose=str(given.get("purpose", "A test of the user's own.")),
        plan=plan,
    )


def _workload(table: Any, where: str, number: int, scale: float) -> _Workload:
    if not isinstance(table, Mapping):
        raise UserError(f"{where}: write it as a table, [[test.workload]]")
    name = table.get("name", f"workload-{number}")
    if not isinstance(name, str) or not name:
        raise UserError(f"{where}: name = {name!r}: use text")
    keys = ["name", "stream", *WORKLOAD_KEYS, *STREAM_KEYS]
    limits = {}
    for key, value in table.items():
        if key not in keys:
            raise UserError(f"{where}: {unknown('key', key, keys)}")
        if key in WORKLOAD_KEYS:
            limits[key] = _read(WORKLOAD_KEYS[key], key, value, where)
    if not {"duration", "amount"} & limits.keys():
        raise UserError(f'{where}: duration is missing: say how long it runs, such as "30 s"')
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
        _options(stream, where if stream is own else f"{where}, stream {n}")
        for n, stream in enumerate(given, start=1)
    ]
    return _Workload(name, limits, tuple(streams), scale)


def _options(given: Any, where: str) -> dict[str, tuple[Any, ...]]:
    if not isinstance(given, Mapping):
        raise UserError(f"{where}: write it as a table, [[test.workload.stream]]")
    for key in given:
        if key not in STREAM_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(STREAM_KEYS))}")
    for key in ("reads", "block", "pattern"):
        if key not in given and not (key == "pattern" and "random" in given):
            example = {"reads": '"70 %"', "block": '"4 KiB"', "pattern": '"random"'}[key]
            raise UserError(f"{where}: {key} is missing: write, for example, {key} = {example}")
    if "random" in given and "pattern" in given:
        raise UserError(f"{where}: random and pattern exclude each other: leave out one of them")
    options = {}
    for key, kind in STREAM_KEYS.items():
        if key in given:
            values = given[key] if isinstance(given[key], list) else [given[key]]
            if not values:
                raise UserError(f"{where}: {key} = []: use at least one value")
            options[key] = tuple(_read(kind, key, value, where) for value in values)
    return options


def _read(kind: Kind, key: str, value: Any, where: str) -> Any:
    try:
        return kind.read(value)
    except UserError as error:
        raise UserError(f"{where}: {key} = {shortened(repr(value))}: {error}") from error


def _stream(chosen: Mapping[str, Any], subject: Subject) -> Stream:
    area = subject.area_bytes

    def within(value: int | float) -> int:
        return subject.rounded(int(value * area) if isinstance(value, float) else value)

    offset = within(chosen.get("offset", 0))
    wanted = within(chosen["span"]) if "span" in chosen else area
    pattern = chosen.get("pattern") or partly_random(chosen["random"])
    return Stream(
        read_fraction=chosen["reads"],
        block_bytes=chosen["block"],
        pattern=pattern,
        offset_bytes=offset,
        span_bytes=max(min(wanted, area - offset), 0),
        alignment_bytes=chosen.get("alignment"),
        misalignment_bytes=chosen.get("misalignment", 0),
        queue_depth=chosen.get("queue-depth", 1),
        arrival=chosen.get("arrival", CLOSED_LOOP),
        workers=chosen.get("workers", 1),
        content=chosen.get("content", "incompressible"),
        flush_every_writes=chosen.get("flush-every"),
        fua=chosen.get("fua", False),
    )


_AXES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "reads": ("read_percent", lambda share: 100 * share),
    "block": ("block_bytes", lambda size: size),
    "queue-depth": ("queue_depth", lambda depth: depth),
    "random": ("random_percent", lambda share: 100 * share),
    "alignment": ("alignment_bytes", lambda size: size),
    "misalignment": ("misalignment_bytes", lambda size: size),
    "workers": ("workers", lambda count: count),
    "flush-every": ("flush_every_writes", lambda count: count),
}


def _axes(values: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    axes = {}
    for key, value in values:
        name, convert = _AXES.get(key, (key, lambda v, key=key: STREAM_KEYS[key].show(v)))
        axes[name] = convert(value)
    return axes


def _charts(workloads: Sequence[_Workload]) -> tuple[Chart, ...]:
    """A sweep of one number is a line, of two a heat map; anything else is told by the second."""
    swept = list(dict.fromkeys(key for workload in workloads for key in workload.swept))
    numbers = [_AXES[key][0] for key in swept if key in _AXES]
    words = tuple(key for key in swept if key not in _AXES)
    if len(numbers) == 2 and not words:
        return tuple(
            Chart("heat", title, y, numbers[1], numbers[0], ("workload",))
            for title, y in (("IOPS", "iops"), ("MB/s", "mbps"), ("Mean latency", "latency_mean"))
        )
    if numbers:
        series = ("workload", *numbers[1:], *words)
        return (
            Chart("lines", "Throughput", "mbps", numbers[0], series=series),
            Chart("lines", "Mean latency", "latency_mean", numbers[0], series=series, log="y"),
        )
    return (
        Chart("seconds", "IOPS by the second", "iops", series=("label",)),
        Chart("seconds", "MB/s by the second", "mbps", series=("label",)),
        Chart("percentiles", "Latency percentiles", "latency", series=("label",)),
    )


def _prepared(given: Any, where: str) -> list[Callable[[Subject], Step]]:
    if not isinstance(given, list):
        raise UserError(f'{where}: prepare = {given!r}: use a list, such as ["purge", "fill"]')
    return [_step(step, where) for step in given]


def _step(text: Any, where: str) -> Callable[[Subject], Step]:
    word, _, rest = str(text).partition(" ")
    try:
        if word == "fill" and rest:
            amount = _size_or_share(rest)
            return lambda subject: Fill(
                subject.share_bytes(amount)
                if isinstance(amount, float)
                else subject.span_bytes(amount)
            )
        if word == "idle" and rest:
            seconds = PAUSE.read(rest)
            return lambda subject: Rest(seconds)
    except UserError as error:
        raise UserError(f"{where}: prepare = {text!r}: {error}") from error
    simple: dict[str, Callable[[Subject], Step]] = {
        "purge": lambda subject: Purge(),
        "fill": lambda subject: Fill(subject.area_bytes),
        "settle": lambda subject: settle(),
        "steady": lambda subject: SteadyWrites(subject.area_bytes),
        "trim": lambda subject: Trim(),
    }
    if rest or word not in simple:
        raise UserError(
            f"{where}: prepare = {text!r}: use purge, fill, fill SIZE, fill SHARE, steady, settle, "
            "trim or idle TIME"
        )
    return simple[word]
